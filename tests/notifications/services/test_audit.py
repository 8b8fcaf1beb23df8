"""Audit: every accepted notification counts in exactly one place, and every row agrees with its neighbours."""

from __future__ import annotations

from io import StringIO
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from notifications.models import DeliveryEvent, Message, Notification
from notifications.services.audit import audit
from notifications.services.cancel import cancel
from notifications.services.settle import settle
from notifications.sql.audit import ACCEPTED
from notifications.sql.lock import lock
from notifications.states import State
from tests import factories
from tests.factories import SECOND
from tests.notifications.stories import sms, sms_then_email

pytestmark = pytest.mark.usefixtures("seeded")


def say():
    """Run the command. Returns its exit code and what it prints."""
    out = StringIO()
    try:
        call_command("audit", stdout=out)
    except SystemExit as end:
        return end.code, out.getvalue()
    return 0, out.getvalue()


class TestSound:
    def test_the_identity_is_printed(self):
        for state in [*State, State.DELIVERED, State.QUEUED]:
            factories.message(state)

        code, text = say()

        assert code == 0
        assert (
            "accepted 12 = delivered 2 + unconfirmed 1 + failed 1 + expired 1 + suppressed 1 + cancelled 1"
            " + dead_lettered 1 + open 4   OK" in text
        )
        assert "entries: 0 missing, 0 surplus" in text
        assert "possible duplicates: 0" in text

    def test_an_empty_house_is_sound(self):
        code, text = say()

        assert (code, "accepted 0 =" in text) == (0, True)

    @pytest.mark.parametrize("state", list(State))
    def test_so_is_what_the_factory_makes(self, state):
        factories.message(state)

        assert audit().faults == []

    def test_so_is_what_the_engine_made(self, world):
        world.listen()
        for number in ("01", "02", "03", "04", "05", "08"):
            sms(f"+49151123456{number}")
            sms_then_email(f"+49151123456{number}")
        cancel(sms().notification_id)

        assert audit().is_sound
        for _ in range(3):
            world.drain()
            assert audit().is_sound
            world.hear()
            assert audit().is_sound

        assert Notification.objects.filter(end="delivered").count() >= 5

    def test_so_is_a_message_whose_call_is_being_made(self):
        message = factories.message()
        factories.begun(message, factories.account())

        assert audit().is_sound

    def test_it_counts_in_windows_as_in_one(self):
        for state in State:
            factories.message(state)
            factories.message(state)

        assert audit(window=3) == audit()

    def test_it_sees_one_moment(self, aside):
        """What others commit meanwhile neither counts nor contradicts."""
        factories.message()
        meanwhile = []

        def accept_something_after_the_first_count(execute, statement, *rest):
            result = execute(statement, *rest)
            if statement == ACCEPTED and not meanwhile:
                meanwhile.append(aside(factories.message, State.DELIVERED).result(5))
            return result

        with connection.execute_wrapper(accept_something_after_the_first_count):
            report = audit()

        assert meanwhile
        assert (report.accepted, report.counts["open"], report.is_sound) == (1, 1, True)


def remove_entry(message):
    message.entry.delete()
    return message.id, "is sent and has no outbox entry"


def leave_entry(message):
    change(message, state=State.FAILED)
    end(message, "failed")
    return message.id, "is failed and still has an outbox entry"


def end_too_early(message):
    end(message, "failed")
    return message.notification_id, "end is failed, its messages say open"


def forget_the_end(message):
    message.entry.delete()
    change(message, state=State.DELIVERED)
    return message.notification_id, "end is open, its messages say delivered"


def write_another_end(message):
    message.entry.delete()
    change(message, state=State.DELIVERED)
    end(message, "failed")
    return message.notification_id, "end is failed, its messages say delivered"


def remove_message(message):
    message.entry.delete()
    message.attempts.all().delete()
    Message.objects.filter(id=message.id).delete()
    return message.notification_id, "has no message"


def remove_attempt(message):
    message.attempts.all().delete()
    return message.id, "counts 1 attempts, 0 are on file"


def miscount(message):
    change(message, attempt_count=2)
    return message.id, "counts 2 attempts, 1 are on file"


def renumber(message):
    message.attempts.update(number=2)
    return message.id, "counts 1 attempts, 1 are on file"


def end_without_dead_letter(message):
    message.entry.delete()
    change(message, state=State.DEAD_LETTERED)
    end(message, "dead_lettered")
    return message.id, "is dead-lettered and in no dead letter"


def remove_notification(message):
    execute("DELETE FROM notification WHERE id = %s", message.notification_id)
    return message.id, "belongs to no notification"


def orphan_entry(message):
    execute("UPDATE outbox SET message_id = %s WHERE message_id = %s", NOBODY, message.id)
    return NOBODY, "outbox entry belongs to no message"


def orphan_attempt(message):
    message.attempts.update(message_id=NOBODY)
    return NOBODY, "attempt belongs to no message"


def orphan_report(message):
    event = factories.event(message, "sent")
    DeliveryEvent.objects.filter(id=event.id).update(message_id=NOBODY)
    return NOBODY, "report belongs to no message"


NOBODY = UUID(int=7)


def change(message, **fields):
    Message.objects.filter(id=message.id).update(**fields)


def end(message, end):
    Notification.objects.filter(id=message.notification_id).update(end=end, ended_at=timezone.now())


def execute(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


class TestDamage:
    @pytest.mark.parametrize(
        "damage",
        [
            remove_entry,
            leave_entry,
            end_too_early,
            forget_the_end,
            write_another_end,
            remove_message,
            remove_attempt,
            miscount,
            renumber,
            end_without_dead_letter,
            remove_notification,
            orphan_entry,
            orphan_attempt,
            orphan_report,
        ],
    )
    def test_is_named_with_its_row_and_ends_with_1(self, damage):
        innocent, message = factories.message(State.SENT), factories.message(State.SENT)
        id, sentence = damage(message)

        code, text = say()

        assert code == 1
        assert f"{id} {sentence}" in text
        assert "BROKEN" in text
        assert not any(str(id) in text for id in (innocent.id, innocent.notification_id))


def test_the_statement_and_settle_agree_about_the_end_of_any_two_messages():
    for first in State:
        for second in State:
            owner = factories.notification("sms-then-email")
            factories.message(first, of=owner, escalated_at=timezone.now() - SECOND)
            factories.message(second, of=owner, step=1)
    ids = list(Notification.objects.values_list("id", flat=True))
    with transaction.atomic():
        lock(ids)
        settle(ids)

    assert audit().faults == []


ALONE = {"channel": "sms", "window_seconds": 90}
STEPS = [{"channels": ["sms", "email"], "need": need, "window_seconds": 90} for need in ("first", "all")]


def settled(steps, states):
    """A notification of these steps whose messages are in these states, each a step and a part."""
    owner = factories.notification(steps=steps)
    for (step, part), state in states.items():
        factories.message(state, of=owner, step=step, part=part, escalated_at=timezone.now() - SECOND)
    return owner.id


@pytest.mark.parametrize("step", STEPS, ids=["first", "all"])
def test_they_agree_about_messages_that_go_at_once(step):
    """Beside a step before, and as the only one."""
    ids = []
    for first in State:
        for second in State:
            ids.append(settled([step], {(0, 0): first, (0, 1): second}))
            ids.append(settled([ALONE, step], {(0, 0): State.UNCONFIRMED, (1, 0): first, (1, 1): second}))
            ids.append(settled([step, ALONE], {(0, 0): first, (0, 1): second, (1, 0): State.FAILED}))
    with transaction.atomic():
        lock(ids)
        settle(ids)

    report = audit()
    assert report.faults == []
    assert {"delivered", "failed", "unconfirmed", "dead_lettered"} <= report.counts.keys(), "nothing was tested"


@pytest.mark.parametrize(
    ("step", "states", "right", "wrong"),
    [
        (STEPS[0], (State.DELIVERED, State.FAILED), "delivered", "failed"),
        (STEPS[1], (State.DELIVERED, State.FAILED), "failed", "delivered"),
        (STEPS[0], (State.UNCONFIRMED, State.FAILED), "unconfirmed", "failed"),
        (STEPS[1], (State.UNCONFIRMED, State.FAILED), "failed", "unconfirmed"),
    ],
)
def test_a_wrong_end_of_messages_that_go_at_once_is_found(step, states, right, wrong):
    id = settled([step], {(0, 0): states[0], (0, 1): states[1]})
    Notification.objects.filter(id=id).update(end=right, ended_at=timezone.now())
    assert audit().is_sound

    Notification.objects.filter(id=id).update(end=wrong)

    (fault,) = audit().faults
    assert (fault.id, fault.sentence) == (id, f"end is {wrong}, its messages say {right}")

"""Dead letters: what nobody could deliver waits for a person, who replays or discards it."""

from __future__ import annotations

import pytest
from celery import shared_task
from django.db import OperationalError, connection
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import Attempt, DeadLetter, Message, Notification, OutboxEntry, Outcome
from notifications.services.audit import audit
from notifications.services.replay import CannotReplay, discard, replay
from notifications.states import End, State
from notifications.tasks import Hint
from tests import factories
from tests.factories import SECOND, make_due
from tests.notifications.racing import together
from tests.notifications.stories import told

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def message():
    return factories.message(State.DEAD_LETTERED, tries=8, tried=[1], rerouted=True)


def letter():
    return DeadLetter.objects.get()


class TestReplay:
    def test_gives_a_new_entry_and_new_tries_and_opens_the_notification(self, message, queues):
        replay(letter().id, by="ana")

        assert told(message) == (State.QUEUED, "replayed")
        assert (message.tries, message.tried, message.rerouted) == (0, [], False)
        entry = OutboxEntry.objects.get()
        assert (entry.lane, entry.claim, entry.due_at <= timezone.now()) == (Lane.NORMAL, None, True)
        notification = Notification.objects.get()
        assert (notification.end, notification.ended_at) == (None, None)
        assert queues() == {"normal": 1}
        assert audit().is_sound

    def test_notes_who_did_it(self, message):
        replay(letter().id, by="ana")

        assert (letter().resolution, letter().resolved_by, letter().resolved_at is not None) == (
            "replayed",
            "ana",
            True,
        )

    def test_continues_the_numbers_of_its_attempts(self, world, message):
        replay(letter().id, by="ana")

        world.drain(Lane.NORMAL)

        assert list(message.attempts.order_by("number").values_list("number", "outcome")) == [
            (1, "refused"),
            (2, "taken"),
        ]

    def test_looks_up_first_where_the_last_attempt_was_unclear(self, world, message):
        Attempt.objects.update(outcome=Outcome.UNCLEAR)
        Message.objects.update(perhaps_sent=True)

        replay(letter().id, by="ana")

        assert told(message) == (State.UNCERTAIN, "replayed")
        assert OutboxEntry.objects.get().lane == Lane.UPKEEP
        make_due(message)
        world.drain()
        assert (world.requests("twilio", "find"), world.requests("twilio", "send")) == (1, 0)

    def test_sends_at_once_where_a_look_up_said_that_it_is_not_there(self, message):
        Attempt.objects.update(outcome=Outcome.UNCLEAR, looked_up="not_there")

        replay(letter().id, by="ana")

        assert told(message)[0] == State.QUEUED

    def test_happens_once(self, message):
        replay(letter().id, by="ana")

        with pytest.raises(CannotReplay, match="replayed already"):
            replay(letter().id, by="ben")

        assert (OutboxEntry.objects.count(), letter().resolved_by) == (1, "ana")

    def test_by_two_at_once_happens_once(self, message, aside):
        def try_to(name):
            try:
                return replay(letter().id, by=name)
            except CannotReplay as refusal:
                return str(refusal)

        answers = together(aside, lambda: try_to("ana"), lambda: try_to("ben"))

        assert sorted(answer or "" for answer in answers) == ["", "it was replayed already"]
        assert OutboxEntry.objects.count() == 1

    @pytest.mark.parametrize(
        "change",
        [
            {"stopped_at": timezone.now()},
            {"expires_at": timezone.now() - SECOND},
            {"incident": "over"},
        ],
        ids=["cancelled", "expired", "incident over"],
    )
    def test_is_refused_for_what_is_not_useful_any_more(self, message, change):
        if "incident" in change:
            change = {"incident": factories.incident(ended_at=timezone.now())}
        Notification.objects.update(**change)

        with pytest.raises(CannotReplay, match="expired"):
            replay(letter().id, by="ana")

        assert (told(message)[0], letter().resolved_at) == (State.DEAD_LETTERED, None)
        assert not OutboxEntry.objects.exists()

    def test_is_refused_for_what_a_late_receipt_delivered(self, message):
        Message.objects.update(state=State.DELIVERED)

        with pytest.raises(CannotReplay, match="delivered by now"):
            replay(letter().id, by="ana")

    def test_that_fails_again_leaves_another_letter(self, world, message):
        factories.ProviderAccount.objects.update(is_on=False)
        replay(letter().id, by="ana")

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.DEAD_LETTERED
        assert DeadLetter.objects.filter(message=message, resolved_at=None).count() == 1
        assert Notification.objects.get().end == End.DEAD_LETTERED


class TestDiscard:
    def test_leaves_the_message_where_it_is(self, message):
        discard(letter().id, by="ana")

        assert (letter().resolution, letter().resolved_by) == ("discarded", "ana")
        assert (told(message)[0], Notification.objects.get().end) == (State.DEAD_LETTERED, End.DEAD_LETTERED)

    @pytest.mark.parametrize("then", [replay, discard])
    def test_is_final(self, message, then):
        discard(letter().id, by="ana")

        with pytest.raises(CannotReplay, match="discarded already"):
            then(letter().id, by="ben")


@shared_task(name="tests.fails_for_good", base=Hint)
def fails_for_good():
    raise ValueError(f"no such number: {factories.NUMBER}")


class TestTask:
    """A task that fails for good leaves a dead letter, too."""

    @pytest.fixture(autouse=True)
    def failed(self, seeded):
        assert fails_for_good.apply().failed()

    def test_is_on_file_without_what_its_error_says(self):
        assert (letter().kind, letter().task, letter().message) == ("task", "tests.fails_for_good", None)
        assert letter().last_error == "ValueError"

    def test_is_not_replayed(self):
        with pytest.raises(CannotReplay, match="runs again by itself"):
            replay(letter().id, by="ana")

    def test_can_be_discarded(self):
        discard(letter().id, by="ana")

        assert letter().resolution == "discarded"


@shared_task(name="tests.has_no_database", base=Hint)
def has_no_database():
    raise OperationalError


class TestTaskWithoutDatabase:
    def test_has_failed_for_good_when_its_tries_are_used_up(self):
        assert has_no_database.apply().failed()

        assert (letter().task, letter().last_error) == ("tests.has_no_database", "OperationalError")

    def test_is_named_in_the_log_where_it_cannot_be_filed(self, outage, caplog):
        outage.begin()
        has_no_database.on_failure(OperationalError(), "id", (), {}, None)
        outage.end()
        connection.close()

        assert "tests.has_no_database" in caplog.text
        assert not DeadLetter.objects.exists()

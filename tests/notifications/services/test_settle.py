"""Settle: a notification of several messages ends once, and each further step begins once, however things coincide."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

import notifications.sql.lock as locks
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Message, Notification, OutboxEntry, ProviderAccount
from notifications.reasons import Reason
from notifications.runtime import Runtime
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.record import record
from notifications.services.settle import settle
from notifications.sql.record import Verdict
from notifications.states import End, State
from tests import factories
from tests.factories import SECOND, close_window, make_due
from tests.notifications.racing import together, until_waiting
from tests.notifications.stories import end_of, fallback_of, sms_then_email, told

SILENT = "+4915112345602"

pytestmark = pytest.mark.usefixtures("seeded")


def two_open_messages():
    """An SMS that may still arrive though its window is over, and the e-mail that was sent after it."""
    owner = factories.notification("sms-then-email")
    first = factories.message(State.SENT, of=owner, escalated_at=timezone.now())
    return first, factories.message(State.SENT, of=owner, step=1)


def fail(message):
    """End a message as the worker that holds its claim does."""
    token = uuid4()
    OutboxEntry.objects.filter(message=message).update(claim=token)
    verdict = Verdict(message_id=message.id, leaving=State.SENT, state=State.FAILED, reason=Reason.NOT_DELIVERED)
    return lambda: record(
        [verdict],
        claim=token,
        notification_ids={message.id: message.notification_id},
        runtime=Runtime(None),
    )


class TestTwoEndsAtOnce:
    def test_end_the_notification(self, aside):
        """Each reads its sibling after it has the lock: otherwise both would see the other one open."""
        for _ in range(10):
            first, second = two_open_messages()

            together(aside, fail(first), fail(second))

            assert end_of(first) == End.FAILED, "open for ever"
            assert (told(first)[0], told(second)[0]) == (State.FAILED, State.FAILED)
        assert audit().is_sound

    def test_end_it_when_both_had_to_wait(self, aside):
        first, second = two_open_messages()

        with transaction.atomic():
            locks.lock_notifications([first.notification_id])
            ends = [aside(fail(first)), aside(fail(second))]
            until_waiting(2)
        for end in ends:
            end.result(5)

        assert end_of(first) == End.FAILED

    def test_as_receipts_end_it_as_well(self, aside):
        for _ in range(10):
            first, second = two_open_messages()
            factories.event(first, "failed")
            factories.event(second, "bounced", account=second.account)

            together(aside, apply_waiting, apply_waiting)
            apply_waiting()

            assert end_of(first) == End.FAILED

    def test_a_receipt_and_a_worker_end_it_together(self, aside):
        for _ in range(10):
            first, second = two_open_messages()
            factories.event(first, "failed")

            together(aside, apply_waiting, fail(second))

            assert end_of(first) == End.FAILED

    def test_a_delivery_wins_whichever_comes_first(self, aside):
        for _ in range(10):
            first, second = two_open_messages()
            factories.event(first, "delivered")

            together(aside, apply_waiting, fail(second))

            assert end_of(first) == End.DELIVERED


@pytest.fixture
def overdue(world):
    """An SMS whose window is over, of an account that cannot be asked just now. Its drain escalates it."""
    ProviderAccount.objects.filter(slug="twilio").update(opened_at=timezone.now())
    accounts.forget()

    def make():
        owner = factories.notification("sms-then-email")
        message = factories.message(State.SENT, of=owner, escalate_at=timezone.now() - SECOND)
        factories.event(message, "failed")
        return message

    return make


class TestFallbackOnce:
    """A failed receipt is applied on one connection while a drain escalates on another."""

    def test_however_the_two_coincide(self, world, overdue, aside):
        for _ in range(20):
            message = overdue()

            together(aside, apply_waiting, lambda: world.drain(Lane.UPKEEP))
            apply_waiting()

            assert told(message)[0] == State.FAILED
            assert Message.objects.filter(notification=message.notification_id, step=1).count() == 1
            assert fallback_of(message).state == State.QUEUED
        assert audit().is_sound

    @pytest.mark.parametrize("first", ["receipt", "timer"])
    def test_whichever_has_the_lock_first(self, world, overdue, aside, first):
        message = overdue()
        works = {"receipt": apply_waiting, "timer": lambda: world.drain(Lane.UPKEEP)}

        with transaction.atomic():
            locks.lock_notifications([message.notification_id])
            doing = [aside(works.pop(first))]
            until_waiting(1)
            doing.append(aside(works.popitem()[1]))
            until_waiting(2)
        for done in doing:
            done.result(9)
        apply_waiting()

        assert told(message)[0] == State.FAILED
        assert Message.objects.filter(step=1).count() == OutboxEntry.objects.count() == 1
        assert Notification.objects.get().fallback_sent_at is not None
        assert audit().is_sound

    def test_two_settles_at_once_add_one_step(self, aside):
        owner = factories.notification("sms-then-email")
        factories.message(State.FAILED, of=owner)

        def settle_locked():
            with transaction.atomic():
                locks.lock([owner.id])
                settle([owner.id])

        together(aside, *[settle_locked] * 4)

        assert Message.objects.filter(step=1).count() == OutboxEntry.objects.count() == 1


class TestWindow:
    """A silent SMS gives way to the e-mail when its time is up."""

    @pytest.fixture
    def silent(self, world):
        world.listen()
        message = sms_then_email(SILENT)
        world.drain(Lane.NORMAL)
        return message

    def test_its_end_asks_once_more_and_then_begins_the_next_step(self, world, silent):
        close_window(silent)

        world.drain(Lane.UPKEEP)

        assert world.requests("twilio", "status") == 1
        assert (told(silent)[0], silent.escalate_at, silent.escalated_at is not None) == (State.SENT, None, True)
        assert fallback_of(silent).state == State.QUEUED
        world.drain(Lane.NORMAL)
        world.hear()
        assert (end_of(silent), told(fallback_of(silent))[0]) == (End.DELIVERED, State.DELIVERED)
        assert told(silent)[0] == State.SENT, "open for evidence"

    def test_what_gave_way_is_never_sent_again(self, world, silent):
        close_window(silent)
        world.drain(Lane.UPKEEP, Lane.NORMAL)

        make_due(silent)
        world.drain()

        assert world.requests("twilio") == 1

    def test_a_vendor_that_is_away_does_not_stop_the_clock(self, world, silent):
        world.sandbox.set_faults("twilio", outage="drop")
        close_window(silent)

        world.drain(Lane.UPKEEP)

        assert fallback_of(silent).state == State.QUEUED

    def test_a_vendor_whose_account_is_opened_is_not_asked(self, world, silent):
        ProviderAccount.objects.filter(slug="twilio").update(opened_at=timezone.now())
        accounts.forget()
        close_window(silent)

        world.drain(Lane.UPKEEP)

        assert world.requests("twilio", "status") == 0
        assert fallback_of(silent).state == State.QUEUED

    def test_a_delivery_learned_at_its_end_stops_the_fallback(self, world, silent):
        world.sandbox.messages()[0][1].status = "delivered"
        close_window(silent)

        world.drain(Lane.UPKEEP)

        assert told(silent)[0] == State.DELIVERED
        assert (Message.objects.count(), end_of(silent)) == (1, End.DELIVERED)

    def test_a_message_still_queued_at_its_end_is_not_sent_any_more(self, world):
        message = sms_then_email()
        close_window(message)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.EXPIRED, "window_over")
        assert fallback_of(message).state == State.SENT
        assert world.requests("twilio") == 0

    @pytest.mark.parametrize(
        "change",
        [{"stopped_at": timezone.now()}, {"expires_at": timezone.now() - SECOND}],
        ids=["stopped", "expired"],
    )
    def test_nothing_follows_what_is_not_useful_any_more(self, world, silent, change):
        Notification.objects.update(**change)
        close_window(silent)

        world.drain(Lane.UPKEEP, Lane.NORMAL)

        assert (Message.objects.count(), told(silent)[0]) == (1, State.SENT)

    def test_a_window_still_open_begins_nothing(self, world, silent):
        make_due(silent)

        world.drain(Lane.UPKEEP, Lane.NORMAL)

        assert Message.objects.count() == 1


class TestLateReceipt:
    @pytest.fixture
    def escalated(self, world):
        message = sms_then_email(SILENT)
        world.drain(Lane.NORMAL)
        close_window(message)
        world.drain(Lane.UPKEEP)
        return message

    def test_of_a_delivery_calls_off_a_fallback_that_has_not_begun(self, world, escalated):
        factories.event(escalated, "delivered", account=escalated.account)

        apply_waiting()

        assert told(fallback_of(escalated)) == (State.CANCELLED, "delivered_by_another_step")
        assert end_of(escalated) == End.DELIVERED
        assert world.drain() == 0
        assert world.on_the_wire("postmark") == 0

    def test_of_a_delivery_calls_off_a_fallback_that_is_claimed(self, world, escalated):
        batch = world.claim(Lane.NORMAL)
        factories.event(escalated, "delivered", account=ProviderAccount.objects.get(slug="twilio"))
        apply_waiting()

        world.deliver(batch)

        assert told(fallback_of(escalated))[0] == State.CANCELLED
        assert world.on_the_wire("postmark") == 0

    def test_of_a_delivery_leaves_a_fallback_alone_that_is_on_the_wire(self, world, escalated):
        factories.begun(fallback_of(escalated), ProviderAccount.objects.get(slug="postmark"))
        factories.event(escalated, "delivered", account=ProviderAccount.objects.get(slug="twilio"))

        apply_waiting()

        assert told(fallback_of(escalated))[0] == State.QUEUED
        assert end_of(escalated) == End.DELIVERED

    def test_of_a_delivery_counts_beside_a_fallback_that_left(self, world, escalated):
        world.listen()
        world.drain(Lane.NORMAL)
        factories.event(escalated, "delivered", account=ProviderAccount.objects.get(slug="twilio"))
        apply_waiting()
        assert (told(escalated)[0], told(fallback_of(escalated))[0]) == (State.DELIVERED, State.SENT)
        assert end_of(escalated) == End.DELIVERED

        world.hear()

        assert told(fallback_of(escalated))[0] == State.DELIVERED
        assert Notification.objects.get().fallback_sent_at is not None

    def test_of_a_failure_begins_no_second_fallback(self, world, escalated):
        factories.event(escalated, "failed", account=ProviderAccount.objects.get(slug="twilio"))

        apply_waiting()

        assert told(escalated)[0] == State.FAILED
        assert Message.objects.filter(step=1).count() == 1
        assert end_of(escalated) is None

"""Cancel: what has not left is stopped, and what has is reported as it is."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest
from django.db import transaction

from notifications.lanes import Lane
from notifications.models import Message, Notification, OutboxEntry
from notifications.services.apply import apply_waiting
from notifications.services.cancel import CancelResult, UnknownNotification, cancel
from notifications.sql.begin import Intent, begin
from notifications.sql.claim import claim
from notifications.states import ENDED, End, State
from tests import factories
from tests.notifications.racing import until_waiting
from tests.notifications.stories import told

pytestmark = pytest.mark.usefixtures("seeded")


def results(notification):
    return [result.result for result in cancel(notification.id)]


class TestResult:
    def test_what_was_waiting_is_stopped(self):
        message = factories.message()

        assert results(message.notification) == [CancelResult.STOPPED]

        assert told(message) == (State.CANCELLED, "stopped")
        notification = Notification.objects.get()
        assert (notification.end, notification.stopped_at is not None) == (End.CANCELLED, True)
        assert not OutboxEntry.objects.exists()

    def test_what_was_claimed_and_not_begun_is_stopped(self):
        message, token = factories.message(), uuid4()
        claim(Lane.NORMAL, 1, claim=token, lease_seconds=60)

        assert results(message.notification) == [CancelResult.STOPPED]

        intent = Intent(message.id, 1, factories.account().id, None, "h", 600)
        assert begin([intent], claim=token, call_seconds=20) == set()

    def test_what_is_being_called_is_unknown_and_left_to_its_worker(self):
        message = factories.message()
        token = factories.begun(message, factories.account())

        assert results(message.notification) == [CancelResult.UNKNOWN]

        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.attempt) == (token, 1)
        notification = Notification.objects.get()
        assert (told(message)[0], notification.end, notification.stopped_at is not None) == (State.QUEUED, None, True)

    @pytest.mark.parametrize(
        ("state", "result"),
        [(State.UNCERTAIN, CancelResult.UNKNOWN), (State.SENT, CancelResult.ALREADY_AT_THE_PROVIDER)],
    )
    def test_what_may_have_left_stays_open_for_its_receipt(self, state, result):
        message = factories.message(state)

        assert results(message.notification) == [result]

        assert told(message)[0] == state
        assert Notification.objects.get().end is None
        assert OutboxEntry.objects.count() == 1

    @pytest.mark.parametrize("state", sorted(ENDED))
    def test_what_has_ended_has_ended(self, state):
        message = factories.message(state)

        assert results(message.notification) == [CancelResult.ENDED]

        notification = Notification.objects.get()
        assert (told(message)[0], notification.end) == (state, state)
        assert notification.stopped_at is not None, "an operator could send it again, evidence could open it again"

    def test_each_message_has_its_own(self):
        owner = factories.notification("sms-then-email")
        first = factories.message(State.SENT, of=owner)
        second = factories.message(of=owner, step=1)

        by_id = {result.id: result.result for result in cancel(owner.id)}

        assert by_id == {first.id: CancelResult.ALREADY_AT_THE_PROVIDER, second.id: CancelResult.STOPPED}
        assert Notification.objects.get().end is None

    def test_again_changes_nothing(self):
        message = factories.message()
        cancel(message.notification_id)
        before = Notification.objects.values().get()

        assert results(message.notification) == [CancelResult.ENDED]
        assert Notification.objects.values().get() == before

    def test_of_a_notification_that_does_not_exist_is_an_error(self):
        with pytest.raises(UnknownNotification):
            cancel(uuid4())


class TestAfterwards:
    def test_no_further_step_begins(self):
        owner = factories.notification("sms-then-email")
        message = factories.message(State.SENT, of=owner)
        cancel(owner.id)
        factories.event(message, "failed")

        apply_waiting()

        assert told(message)[0] == State.FAILED
        assert (Message.objects.count(), Notification.objects.get().end) == (1, End.FAILED)

    def test_a_delivery_still_counts(self):
        message = factories.message()
        account = factories.account()
        factories.begun(message, account)
        cancel(message.notification_id)
        factories.event(message, "delivered", account=account)

        apply_waiting()

        assert Notification.objects.get().end == End.DELIVERED


class TestRace:
    """Cancel and begin lock the same entry: one of them comes first, and both know which."""

    def test_one_that_comes_while_begin_commits_knows_that_a_call_is_made(self, aside):
        message, token = factories.message(), uuid4()
        claim(Lane.NORMAL, 1, claim=token, lease_seconds=60)
        intent = Intent(message.id, 1, factories.account().id, None, "h", 600)

        with transaction.atomic():
            assert begin([intent], claim=token, call_seconds=20) == {message.id}
            cancelling = aside(results, message.notification)
            until_waiting()

        assert cancelling.result(5) == [CancelResult.UNKNOWN]
        assert told(message)[0] == State.QUEUED

    def test_begin_that_comes_while_a_cancel_commits_calls_nothing(self, aside):
        message, token = factories.message(), uuid4()
        claim(Lane.NORMAL, 1, claim=token, lease_seconds=60)
        intent = Intent(message.id, 1, factories.account().id, None, "h", 600)

        with transaction.atomic():
            assert results(message.notification) == [CancelResult.STOPPED]
            beginning = aside(begin, [intent], claim=token, call_seconds=20)
            until_waiting()

        assert beginning.result(5) == set()
        assert told(message)[0] == State.CANCELLED

    def test_whoever_wins_the_call_is_made_or_the_message_is_stopped_and_never_both(self, aside):
        account = factories.account()
        for _ in range(20):
            message, token = factories.message(), uuid4()
            claim(Lane.NORMAL, 1, claim=token, lease_seconds=60)
            intent = Intent(message.id, 1, account.id, None, "h", 600)
            gate = threading.Barrier(2)

            def begin_at_the_gate(intent=intent, token=token, gate=gate):
                gate.wait(5)
                return begin([intent], claim=token, call_seconds=20)

            def cancel_at_the_gate(message=message, gate=gate):
                gate.wait(5)
                return results(message.notification)

            began, stopped = aside(begin_at_the_gate), aside(cancel_at_the_gate)

            outcome = bool(began.result(5)), stopped.result(5)
            assert outcome in [(True, [CancelResult.UNKNOWN]), (False, [CancelResult.STOPPED])]

"""A worker that lost its claim moves nothing. Its late yes is evidence, its late no is only filed."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from notifications.lanes import Lane
from notifications.models import Attempt, DeliveryEvent, Message, OutboxEntry, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.cancel import CancelResult, cancel
from notifications.states import End, State
from providers.sandbox import Refusal
from tests import factories
from tests.factories import make_due, run_out
from tests.notifications.stories import attempts, end_of, fallback_of, sms, sms_then_email, told


@pytest.fixture
def drain_fenced(world, aside):
    """A drain that loses its claims while its calls are made: it pauses so long that another worker takes over."""

    def another_worker():
        for entry in OutboxEntry.objects.filter(began_at__isnull=False):
            run_out(entry.message)
        world.drain(Lane.NORMAL)

    def drain(meanwhile=another_worker):
        done: list[Future] = []
        world.drain(Lane.NORMAL, transport=world.between(after=lambda answers: done.append(aside(meanwhile).result(9))))

    return drain


class TestFencedWorker:
    def test_moves_nothing(self, world, drain_fenced):
        message = sms()

        drain_fenced()

        assert told(message) == (State.UNCERTAIN, "outcome_unknown")
        assert attempts(message) == [(1, "twilio", "unclear")]
        entry = OutboxEntry.objects.get()
        assert (entry.lane, entry.claim) == (Lane.UPKEEP, None)

    def test_has_its_late_yes_filed_and_counted_as_evidence(self, world, drain_fenced):
        message = sms()
        drain_fenced()
        taken = world.sandbox.messages()[0][1]

        attempt = Attempt.objects.get()
        assert (attempt.outcome, attempt.error) == ("unclear", "LeaseRanOut")
        assert attempt.late_answer == "taken"
        assert attempt.provider_message_id == taken.id
        event = DeliveryEvent.objects.get()
        assert (event.source, event.kind, event.message_id, event.attempt_number) == (
            "late_answer",
            "accepted",
            message.id,
            1,
        )

        apply_waiting()

        assert told(message) == (State.SENT, "")
        assert world.drain() == 0
        assert world.on_the_wire() == 1

    def test_hints_that_there_is_evidence(self, world, drain_fenced, queues):
        sms()

        drain_fenced()

        assert queues()["control"] >= 1

    @pytest.mark.parametrize(
        "no",
        [
            {"refuse": Refusal(400, 21617)},
            {"refuse": Refusal(401, 20003)},
            {"rate_limit": 1},
            {"outage": "status_500"},
        ],
        ids=["content refused", "account refused", "busy", "unclear again"],
    )
    def test_has_its_late_no_filed_and_nothing_more(self, world, drain_fenced, no):
        world.sandbox.set_faults("twilio", **no)
        message = sms()

        drain_fenced()
        apply_waiting()

        assert told(message) == (State.UNCERTAIN, "outcome_unknown")
        assert attempts(message) == [(1, "twilio", "unclear")]
        assert Attempt.objects.get().late_answer != ""
        assert not DeliveryEvent.objects.exists()

    def test_does_not_spoil_what_its_batch_still_holds(self, world, aside):
        lost, held = sms(), sms()

        def take_one_away(answers):
            if not Attempt.objects.exists():
                OutboxEntry.objects.filter(message=lost).update(claim=None)

        world.deliver(world.claim(Lane.NORMAL), transport=world.between(after=take_one_away))

        assert (told(lost)[0], told(held)[0]) == (State.QUEUED, State.SENT)
        apply_waiting()
        assert told(lost)[0] == State.SENT
        assert world.on_the_wire() == 2

    def test_whose_message_was_looked_up_in_vain_and_sent_again_is_counted_as_a_duplicate(self, world, drain_fenced):
        """Its provider's search showed nothing twice, and yet it had been taken."""
        message = sms()

        def another_worker_sends_it_again():
            run_out(message)
            world.drain(Lane.NORMAL)
            world.sandbox.set_faults("twilio", look_up_blind=True)
            for _ in range(2):
                make_due(message)
                world.drain(Lane.UPKEEP)
            world.drain(Lane.NORMAL)

        drain_fenced(another_worker_sends_it_again)
        apply_waiting()

        assert told(message) == (State.SENT, "")
        assert [row[0] for row in attempts(message)] == [1, 2]
        assert world.on_the_wire() == 2
        assert audit().possible_duplicates == 1


class TestEvidenceBeforeTheAnswer:
    """A receipt can be faster than the answer to the call it is about."""

    def test_delivers_and_the_late_answer_is_filed(self, world, drain_fenced):
        message = sms()
        account = ProviderAccount.objects.get(slug="twilio")

        def receipt():
            factories.event(message, "delivered", account=account)
            apply_waiting()

        drain_fenced(receipt)
        apply_waiting()

        assert (told(message), end_of(message)) == ((State.DELIVERED, ""), End.DELIVERED)
        attempt = Attempt.objects.get()
        assert (attempt.outcome, attempt.provider_message_id) == ("taken", world.sandbox.messages()[0][1].id)
        assert attempt.late_answer == "taken"
        assert not OutboxEntry.objects.exists()

    def test_of_a_failure_begins_the_next_step_once(self, world, drain_fenced):
        message = sms_then_email()
        account = ProviderAccount.objects.get(slug="twilio")

        def receipt():
            factories.event(message, "failed", account=account)
            apply_waiting()

        drain_fenced(receipt)
        apply_waiting()

        assert told(message) == (State.FAILED, "not_delivered")
        assert Message.objects.filter(step=1).count() == 1
        assert fallback_of(message).state == State.SENT


class TestCancelDuringTheCall:
    def test_answers_unknown_and_the_answer_is_recorded(self, world, drain_fenced):
        message = sms_then_email()
        results = []

        drain_fenced(lambda: results.extend(cancel(message.notification_id)))

        assert [result.result for result in results] == [CancelResult.UNKNOWN]
        assert told(message) == (State.SENT, "")

    def test_stops_a_message_that_turned_out_not_to_be_sent(self, world, drain_fenced):
        world.sandbox.set_faults("twilio", rate_limit=1)
        message = sms_then_email()
        drain_fenced(lambda: cancel(message.notification_id))
        assert told(message)[0] == State.QUEUED

        make_due(message)
        world.drain(Lane.NORMAL)

        assert (told(message), end_of(message)) == ((State.CANCELLED, "stopped"), End.CANCELLED)
        assert Message.objects.count() == 1

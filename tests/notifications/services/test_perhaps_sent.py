"""What may be out stays marked until something settles it: no other provider, no claim that it was not sent."""

from __future__ import annotations

import socket

import pytest
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import DeadLetter, Message, Notification, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.services.cancel import CancelResult, cancel
from notifications.services.replay import replay
from notifications.states import End, State
from providers.sandbox import Refusal
from tests import factories
from tests.factories import SECOND, close_window, make_due
from tests.notifications.stories import attempts, due_at, end_of, fallback_of, only_send, sms, sms_then_email, told


def update_account(slug, **fields):
    ProviderAccount.objects.filter(slug=slug).update(**fields)
    accounts.forget()


def let_it_go_unclear(world, message):
    """Send a message once without an answer; nobody can be asked, and its client would rather have it twice."""
    world.sandbox.set_faults("twilio", accept_then_drop=True)
    world.drain(Lane.NORMAL)
    make_due(message)
    world.drain(Lane.UPKEEP)
    world.sandbox.set_faults("twilio", accept_then_drop=None)
    assert told(message) == (State.QUEUED, "send_again")
    assert message.perhaps_sent


@pytest.fixture
def perhaps_sent(world):
    """A message that waits to be sent again, though the first one may be out; another provider is ready to send."""
    only_send("twilio")
    message = sms(on_unclear="send_again")
    let_it_go_unclear(world, message)
    world.account("twilio-spare", priority=0)
    return message


def cannot_be_reached(world):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    update_account("twilio", base_url=f"http://127.0.0.1:{port}")


def is_busy(world):
    world.sandbox.set_faults("twilio", rate_limit=1)


def recover(world):
    world.sandbox.set_faults("twilio", rate_limit=None)
    update_account("twilio", base_url=world.sandbox.base_url("twilio"))


class TestSecondCall:
    @pytest.mark.parametrize("break_down", [cannot_be_reached, is_busy])
    def test_that_is_not_taken_does_not_send_it_by_another_provider(self, world, perhaps_sent, break_down):
        """As a refused connection once did: it was told by the reason, which such an answer replaces."""
        break_down(world)

        world.drain(Lane.NORMAL)

        assert told(perhaps_sent) == (State.QUEUED, "waiting_to_retry")
        assert perhaps_sent.perhaps_sent
        recover(world)
        make_due(perhaps_sent)
        world.drain(Lane.NORMAL)
        assert attempts(perhaps_sent) == [(1, "twilio", "unclear"), (2, "twilio", "not_sent"), (3, "twilio", "taken")]
        assert world.requests("twilio-spare") == 0

    def test_that_is_taken_takes_the_mark_away(self, world, perhaps_sent):
        world.drain(Lane.NORMAL)

        assert told(perhaps_sent) == (State.SENT, "")
        assert not perhaps_sent.perhaps_sent

    def test_that_meets_an_account_at_fault_leaves_it_to_a_person(self, world, perhaps_sent):
        world.sandbox.set_faults("twilio", refuse=Refusal(401, 20003))

        world.drain(Lane.NORMAL)

        assert told(perhaps_sent) == (State.DEAD_LETTERED, "account_at_fault")
        assert attempts(perhaps_sent) == [(1, "twilio", "unclear"), (2, "twilio", "refused")]
        replay(DeadLetter.objects.get().id, by="ana")
        assert told(perhaps_sent) == (State.UNCERTAIN, "replayed"), "it would be sent without asking"

    def test_waits_for_the_account_that_may_have_it_while_that_one_is_off(self, world, perhaps_sent):
        update_account("twilio", is_on=False)

        world.drain(Lane.NORMAL)

        assert told(perhaps_sent) == (State.QUEUED, "waiting_to_retry")
        assert due_at(perhaps_sent) > timezone.now()
        assert world.requests("twilio-spare") == 0
        update_account("twilio", is_on=True)
        make_due(perhaps_sent)
        world.drain(Lane.NORMAL)
        assert attempts(perhaps_sent) == [(1, "twilio", "unclear"), (2, "twilio", "taken")]

    def test_is_made_by_any_provider_once_the_first_one_certainly_does_not_have_it(self, world):
        world.sandbox.set_faults("twilio", accept_then_drop=True, look_up_blind=True)
        message = sms()
        world.drain(Lane.NORMAL)
        world.account("twilio-spare", priority=0)
        for _ in range(2):
            assert told(message)[0] == State.UNCERTAIN
            assert message.perhaps_sent
            make_due(message)
            world.drain(Lane.UPKEEP)
        assert told(message) == (State.QUEUED, "not_there")
        assert not message.perhaps_sent

        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "unclear"), (2, "twilio-spare", "taken")]

    def test_is_not_made_once_a_report_says_where_the_first_one_is(self, world, perhaps_sent):
        factories.event(perhaps_sent, "sent")

        apply_waiting()
        world.drain(Lane.NORMAL)

        assert told(perhaps_sent) == (State.SENT, "")
        assert not perhaps_sent.perhaps_sent
        assert world.requests("twilio") == 1


class TestCancel:
    def test_answers_unknown_and_nothing_more_is_sent(self, world, perhaps_sent):
        assert [row.result for row in cancel(perhaps_sent.notification_id)] == [CancelResult.UNKNOWN]

        world.drain()

        assert told(perhaps_sent) == (State.UNCERTAIN, "not_sent_again")
        assert (end_of(perhaps_sent), world.requests("twilio")) == (None, 1)

    def test_ends_unconfirmed_when_no_proof_comes(self, world, perhaps_sent):
        cancel(perhaps_sent.notification_id)
        world.drain()
        Message.objects.update(receipt_deadline=timezone.now() - SECOND)
        make_due(perhaps_sent)

        world.drain()

        assert told(perhaps_sent) == (State.UNCONFIRMED, "no_proof_in_time")
        assert end_of(perhaps_sent) == End.UNCONFIRMED


def end_its_incident(message):
    Notification.objects.update(incident=factories.incident(ended_at=timezone.now() - SECOND))


def let_it_expire(message):
    Notification.objects.update(expires_at=timezone.now() - SECOND)


def opt_out(message):
    factories.suppression(message, "opted_out")


def suppress(message):
    factories.suppression(message, "invalid")


class TestNotWantedAnyMore:
    @pytest.mark.parametrize("change", [end_its_incident, let_it_expire, opt_out, suppress])
    def test_is_left_to_evidence_instead_of_an_end_that_says_it_was_not_sent(self, world, perhaps_sent, change):
        change(perhaps_sent)

        world.drain()

        assert told(perhaps_sent) == (State.UNCERTAIN, "not_sent_again")
        assert (end_of(perhaps_sent), world.requests("twilio")) == (None, 1)
        assert due_at(perhaps_sent) == perhaps_sent.receipt_deadline
        assert not DeadLetter.objects.exists(), "there is nothing that a person should decide"

    def test_its_proof_still_counts(self, world, perhaps_sent):
        let_it_expire(perhaps_sent)
        world.drain()
        factories.event(perhaps_sent, "delivered")

        apply_waiting()

        assert (told(perhaps_sent), end_of(perhaps_sent)) == ((State.DELIVERED, ""), End.DELIVERED)

    def test_its_window_over_it_gives_way_to_the_next_step_and_stays_open(self, world):
        only_send("twilio")
        message = sms_then_email(on_unclear="send_again")
        let_it_go_unclear(world, message)
        close_window(message)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.UNCERTAIN, "not_sent_again")
        assert message.escalated_at is not None
        assert fallback_of(message).state == State.SENT
        assert world.requests("twilio") == 1

    def test_delivered_by_another_step_it_is_not_called_cancelled(self, seeded):
        owner = factories.notification("sms-then-email")
        first = factories.message(of=owner, account=factories.account(), perhaps_sent=True, attempt_count=1)
        second = factories.message(State.SENT, of=owner, step=1)
        factories.event(second, "delivered")

        apply_waiting()

        assert told(first) == (State.UNCERTAIN, "not_sent_again")
        assert told(second) == (State.DELIVERED, "")


class TestAccountThatOnlySends:
    """Its setting `may_read` is false."""

    def test_is_not_searched(self, world):
        only_send("twilio")
        world.sandbox.set_faults("twilio", accept_then_drop=True)
        message = sms(on_unclear="hold")
        world.drain(Lane.NORMAL)
        make_due(message)

        world.drain()

        assert told(message) == (State.UNCERTAIN, "held")
        assert world.requests("twilio", "find") == 0

    def test_is_not_asked_for_a_status(self, world):
        only_send("twilio")
        message = sms()
        world.drain(Lane.NORMAL)
        assert told(message) == (State.SENT, "")
        assert due_at(message) == message.receipt_deadline
        make_due(message)

        world.drain()

        assert told(message) == (State.SENT, "")
        assert world.requests("twilio", "status") == 0

    def test_still_proves_by_reports_what_it_sent(self, world):
        only_send("twilio")
        world.listen()
        message = sms()
        world.drain(Lane.NORMAL)

        world.hear()

        assert told(message) == (State.DELIVERED, "")

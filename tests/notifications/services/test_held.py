"""Held: what may be out, and nobody can be asked about, waits for proof, or for a person who decides."""

from __future__ import annotations

import pytest
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import DeadLetter, Message, Notification, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.cancel import cancel
from notifications.services.replay import CannotReplay, discard, replay
from notifications.states import State
from tests import factories
from tests.factories import SECOND, close_window, make_due
from tests.notifications.racing import together
from tests.notifications.stories import attempts, fallback_of, only_send, sms, sms_then_email, told


@pytest.fixture
def go_unclear(world):
    """Sends what is queued without an answer, by an account that nobody can ask; a message of it is then held."""
    only_send("twilio")

    def send(message):
        world.sandbox.set_faults("twilio", accept_then_drop=True)
        world.drain(Lane.NORMAL)
        make_due(message)
        world.drain(Lane.UPKEEP)
        world.sandbox.set_faults("twilio", accept_then_drop=None)
        assert told(message) == (State.UNCERTAIN, "held")

    return send


@pytest.fixture
def held(world, go_unclear):
    """A message that is held; another provider is ready to send."""
    message = sms(on_unclear="hold")
    go_unclear(message)
    world.account("twilio-spare", priority=0)
    return message


def letter():
    return DeadLetter.objects.get()


def be_busy(world, is_so):
    world.sandbox.set_faults("twilio", rate_limit=1 if is_so else None)


def be_switched_off(world, is_so):
    ProviderAccount.objects.filter(slug="twilio").update(is_on=not is_so)
    accounts.forget()


class TestLetter:
    def test_is_filed_for_a_person_to_see(self, held):
        assert (letter().kind, letter().message_id, letter().reason) == ("held", held.id, "held")
        assert letter().resolved_at is None
        assert audit().is_sound

    def test_is_not_filed_where_its_client_would_rather_have_it_twice(self, world):
        only_send("twilio")
        world.sandbox.set_faults("twilio", accept_then_drop=True)
        message = sms(on_unclear="send_again")
        world.drain(Lane.NORMAL)
        make_due(message)

        world.drain(Lane.UPKEEP)

        assert told(message) == (State.QUEUED, "send_again")
        assert not DeadLetter.objects.exists()

    def test_is_one_as_long_as_it_is_open(self, world, held):
        make_due(held)

        world.drain(Lane.UPKEEP)

        assert told(held) == (State.UNCERTAIN, "held")
        assert DeadLetter.objects.count() == 1

    @pytest.mark.parametrize(("kind", "state"), [("delivered", State.DELIVERED), ("sent", State.SENT)])
    def test_is_answered_by_proof(self, held, kind, state):
        factories.event(held, kind)

        apply_waiting()

        assert told(held)[0] == state
        assert (letter().resolution, letter().resolved_by) == ("answered", "")
        assert letter().resolved_at is not None

    def test_is_answered_by_the_deadline(self, world, held):
        Message.objects.update(receipt_deadline=timezone.now() - SECOND)
        make_due(held)

        world.drain()

        assert told(held) == (State.UNCONFIRMED, "no_proof_in_time")
        assert letter().resolution == "answered"

    def test_of_another_message_stays_open(self, world, held, go_unclear):
        other = sms("+4915112345602", on_unclear="hold")
        world.account("twilio-spare").delete()
        go_unclear(other)
        factories.event(held, "delivered")

        apply_waiting()

        assert list(DeadLetter.objects.filter(resolved_at=None).values_list("message", flat=True)) == [other.id]


class TestSendAgain:
    def test_sends_it_through_the_account_that_may_have_it(self, world, held):
        replay(letter().id, by="ana")
        assert told(held) == (State.QUEUED, "replayed")

        world.drain(Lane.NORMAL)

        assert told(held) == (State.SENT, "")
        assert attempts(held) == [(1, "twilio", "unclear"), (2, "twilio", "taken")]
        assert (letter().resolution, letter().resolved_by) == ("replayed", "ana")
        assert audit().possible_duplicates == 1

    @pytest.mark.parametrize("hinder", [be_busy, be_switched_off])
    def test_is_not_forgotten_over_a_call_that_was_not_taken(self, world, held, hinder):
        replay(letter().id, by="ana")
        hinder(world, True)
        world.drain(Lane.NORMAL)
        assert told(held) == (State.QUEUED, "replayed")
        hinder(world, False)
        make_due(held)

        world.drain(Lane.NORMAL)

        assert told(held) == (State.SENT, "")
        assert {row[1] for row in attempts(held)} == {"twilio"}
        assert DeadLetter.objects.count() == 1

    def test_that_is_unclear_as_well_leaves_another_letter(self, world, held, go_unclear):
        first = letter()
        replay(first.id, by="ana")

        go_unclear(held)

        assert held.attempts.count() == 2
        assert DeadLetter.objects.exclude(id=first.id).get().resolved_at is None

    def test_by_two_at_once_sends_it_once(self, world, held, aside):
        def try_to(name):
            try:
                return replay(letter().id, by=name)
            except CannotReplay as refusal:
                return str(refusal)

        answers = together(aside, lambda: try_to("ana"), lambda: try_to("ben"))

        assert sorted(answer or "" for answer in answers) == ["", "it was replayed already"]
        world.drain(Lane.NORMAL)
        assert held.attempts.count() == 2

    def test_is_refused_once_it_is_known(self, held):
        Message.objects.update(state=State.SENT)

        with pytest.raises(CannotReplay, match="sent by now"):
            replay(letter().id, by="ana")

    def test_is_refused_for_what_is_not_wanted_any_more(self, world, held):
        cancel(held.notification_id)

        with pytest.raises(CannotReplay, match="cancelled"):
            replay(letter().id, by="ana")

        assert (told(held)[0], letter().resolved_at) == (State.UNCERTAIN, None)

    def test_is_refused_beside_its_next_step(self, world, go_unclear):
        message = sms_then_email(on_unclear="hold")
        go_unclear(message)
        close_window(message)
        world.drain(Lane.UPKEEP, Lane.NORMAL)
        assert fallback_of(message).state == State.SENT

        with pytest.raises(CannotReplay, match="next step began"):
            replay(letter().id, by="ana")

        world.drain()
        assert (told(message)[0], world.requests("twilio")) == (State.UNCERTAIN, 1)


class TestDiscard:
    def test_leaves_it_waiting_for_proof(self, held):
        discard(letter().id, by="ana")
        assert told(held) == (State.UNCERTAIN, "held")
        factories.event(held, "delivered")

        apply_waiting()

        assert told(held) == (State.DELIVERED, "")
        assert (letter().resolution, letter().resolved_by) == ("discarded", "ana")

    def test_keeps_it_from_being_filed_again(self, world, held):
        discard(letter().id, by="ana")
        make_due(held)

        world.drain(Lane.UPKEEP)

        assert told(held) == (State.UNCERTAIN, "held")
        assert letter().resolution == "discarded"

    def test_does_not_keep_its_next_step_waiting(self, world, go_unclear):
        message = sms_then_email(on_unclear="hold")
        go_unclear(message)
        discard(letter().id, by="ana")
        close_window(message)

        world.drain(Lane.UPKEEP, Lane.NORMAL)

        assert fallback_of(message).state == State.SENT
        assert DeadLetter.objects.count() == 1
        assert Notification.objects.get().end is None

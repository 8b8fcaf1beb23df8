"""Check: what may or may not have gone out is looked up, never sent again blindly; what was sent is asked after."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import DeadLetter, DeliveryEvent, Message, Notification, OutboxEntry, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.states import End, State
from providers.messages import Ability
from providers.registry import PROVIDERS
from providers.twilio import Twilio
from tests import factories
from tests.factories import SECOND, close_window, make_due
from tests.notifications.conftest import PACE
from tests.notifications.stories import attempts, due_at, email, sms, sms_then_email, told

NEVER = 1000.0  # seconds, longer than any test
DEADLINE_SECONDS = 10.0
DELAY_SECONDS = 5.0  # Twilio's, until its search shows a message
TIMEOUT = "+4915112345606"


@pytest.fixture
def pace():
    """Vendors that go no further than taking a message whose answer was lost."""
    return replace(PACE, unanswered_after=NEVER)


@pytest.fixture
def look_up(world):
    """Lets a message be due for its look-up, and makes it."""

    def ask(message):
        make_due(message)
        world.drain(Lane.UPKEEP)
        return told(message)

    return ask


@pytest.fixture
def dropping(world):
    """A vendor that takes messages and closes the connection without an answer."""
    world.sandbox.set_faults("twilio", accept_then_drop=True)


class TestUnclear:
    def test_becomes_uncertain_and_is_asked_after_when_the_search_can_show_it(self, world, dropping):
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.UNCERTAIN, "outcome_unknown")
        attempt = message.attempts.get()
        assert (attempt.outcome, attempt.error, message.tries) == ("unclear", "OutcomeUnknown", 1)
        wait = (due_at(message) - attempt.began_at).total_seconds()
        assert wait == pytest.approx(DEADLINE_SECONDS + DELAY_SECONDS, abs=1)
        assert wait > DEADLINE_SECONDS + DELAY_SECONDS - 0.1
        assert OutboxEntry.objects.get().lane == Lane.UPKEEP

    def test_waits_as_long_as_the_accounts_own_setting_says(self, world, dropping):
        ProviderAccount.objects.filter(slug="twilio").update(
            settings={**factories.SETTINGS["twilio"], "look_up_delay_seconds": 60}
        )
        accounts.forget()
        message = sms()

        world.drain(Lane.NORMAL)

        assert due_at(message) - message.attempts.get().began_at > timedelta(seconds=69)

    def test_is_not_asked_before_its_time(self, world, dropping):
        sms()
        world.drain(Lane.NORMAL)

        assert world.drain() == 0
        assert world.requests("twilio", "find") == 0

    def test_urgent_ones_are_asked_by_the_control_lane(self, world, dropping):
        message = sms(priority="critical")

        world.drain(Lane.CRITICAL)

        assert OutboxEntry.objects.get(message=message).lane == Lane.CONTROL

    @pytest.mark.parametrize("fault", ["status_500", "drop"])
    def test_is_what_an_outage_leads_to_that_does_not_say_what_it_did(self, world, fault):
        world.account("twilio-spare")
        world.sandbox.set_faults("twilio", outage=fault)
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.UNCERTAIN
        assert world.requests("twilio-spare") == 0, "another provider may send what the first one has"


class TestFound:
    def test_after_a_timeout_it_is_sent_and_was_on_the_wire_once(self, world, numbers_are, look_up):
        numbers_are(send_deadline_seconds=0.3)
        message = sms(TIMEOUT)
        world.drain(Lane.NORMAL)
        assert told(message)[0] == State.UNCERTAIN
        numbers_are(send_deadline_seconds=DEADLINE_SECONDS)

        assert look_up(message) == (State.SENT, "")

        ((_, taken),) = world.sandbox.messages()
        attempt = message.attempts.get()
        assert (attempt.outcome, attempt.looked_up, attempt.provider_message_id) == ("unclear", "found", taken.id)
        assert {event.source for event in DeliveryEvent.objects.all()} == {"look_up"}
        assert world.drain() == 0
        assert world.requests("twilio") == 1

    def test_of_an_account_that_was_switched_off_meanwhile(self, world, dropping, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        ProviderAccount.objects.update(is_on=False)
        accounts.forget()

        assert look_up(message) == (State.SENT, "")

    def test_is_found_by_reference_too(self, world, look_up):
        world.sandbox.set_faults("postmark", accept_then_drop=True)
        message = email()
        world.drain(Lane.NORMAL)
        assert told(message)[0] == State.UNCERTAIN

        assert look_up(message) == (State.SENT, "")
        assert world.on_the_wire("postmark") == 1

    def test_with_what_has_become_of_it(self, world, dropping, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        world.sandbox.messages()[0][1].status = "delivered"

        assert look_up(message) == (State.DELIVERED, "")
        assert Notification.objects.get().end == End.DELIVERED


class TestNotThere:
    @pytest.fixture
    def uncertain(self, world, dropping):
        """A message that its vendor took, whose search shows nothing."""
        message = sms()
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("twilio", accept_then_drop=None, look_up_blind=True)
        return message

    def test_one_no_is_not_enough(self, world, uncertain, look_up):
        before = timezone.now()

        assert look_up(uncertain)[0] == State.UNCERTAIN

        assert uncertain.not_there == 1
        assert due_at(uncertain) - before >= timedelta(seconds=59)
        assert uncertain.attempts.get().looked_up is None
        assert world.drain() == 0
        assert world.requests("twilio") == 1

    def test_two_clear_noes_send_it_again_as_a_new_attempt(self, world, uncertain, look_up):
        look_up(uncertain)
        assert look_up(uncertain) == (State.QUEUED, "not_there")
        assert uncertain.attempts.get().looked_up == "not_there"

        world.drain(Lane.NORMAL)

        assert told(uncertain) == (State.SENT, "")
        assert attempts(uncertain) == [(1, "twilio", "unclear"), (2, "twilio", "taken")]
        assert world.requests("twilio") == 2

    def test_both_noes_are_on_file_and_change_nothing_by_themselves(self, world, uncertain, look_up):
        look_up(uncertain)
        look_up(uncertain)

        events = DeliveryEvent.objects.values_list("kind", "source")
        assert list(events) == [("not_there", "look_up")] * 2

    @pytest.mark.parametrize("fault", [{"outage": "drop"}, {"outage": "status_500"}, {"rate_limit": 1}])
    def test_no_answer_is_no_no(self, world, uncertain, look_up, fault):
        look_up(uncertain)
        world.sandbox.set_faults("twilio", **fault)

        assert look_up(uncertain)[0] == State.UNCERTAIN

        assert uncertain.not_there == 1
        assert world.requests("twilio") == 1

    def test_it_is_given_to_a_person_when_its_tries_are_used_up(self, world, uncertain, look_up):
        Message.objects.update(tries=8)
        look_up(uncertain)

        assert look_up(uncertain) == (State.DEAD_LETTERED, "tries_used_up")

        assert world.drain() == 0
        assert DeadLetter.objects.get().message_id == uncertain.id

    def test_it_fails_when_the_next_step_has_begun(self, world, dropping, look_up):
        message = sms_then_email()
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("twilio", look_up_blind=True)
        close_window(message)
        world.drain(Lane.UPKEEP)
        assert told(message)[0] == State.UNCERTAIN
        assert message.escalated_at is not None

        look_up(message)
        assert look_up(message) == (State.FAILED, "not_there")
        assert world.requests("twilio") == 1

    def test_it_is_not_sent_again_when_its_window_is_over(self, world, dropping, look_up):
        message = sms_then_email()
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("twilio", look_up_blind=True)
        look_up(message)
        close_window(message)

        world.drain(Lane.UPKEEP)
        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.UNCERTAIN, "a look hurried by the end of the window is no second clear no"
        assert message.attempts.get().looked_up is None
        assert Message.objects.get(step=1).state == State.SENT
        assert due_at(message) > message.attempts.get().began_at + timedelta(seconds=DEADLINE_SECONDS + DELAY_SECONDS)
        assert look_up(message) == (State.FAILED, "not_there")
        assert world.requests("twilio") == 1

    def test_a_late_receipt_after_all_stops_the_second_call(self, world, uncertain, look_up):
        look_up(uncertain)
        look_up(uncertain)
        assert told(uncertain)[0] == State.QUEUED
        taken = world.sandbox.messages()[0][1]
        factories.event(uncertain, "sent", account=uncertain.account, provider_message_id=taken.id)

        apply_waiting()
        world.drain(Lane.NORMAL)

        assert told(uncertain) == (State.SENT, "")
        assert world.requests("twilio") == 1


class TestCannotTell:
    def test_several_that_match_leave_it_uncertain(self, world, dropping, look_up):
        """Two alike, both taken: nobody can say which is which, and none is sent again."""
        first, second = sms(), sms()
        world.drain(Lane.NORMAL)

        make_due(first)
        make_due(second)
        world.drain(Lane.UPKEEP)

        assert [told(message)[0] for message in (first, second)] == [State.UNCERTAIN] * 2
        assert {message.not_there for message in Message.objects.all()} == {0}
        assert world.requests("twilio") == world.on_the_wire() == 2

    def test_two_alike_of_which_one_arrived_share_it_out(self, world, look_up):
        with transaction.atomic():
            messages = [sms(), sms()]
        world.sandbox.set_faults("twilio", accept_then_drop=True)
        calls = []

        def break_down_before_the_second(batch):
            calls.append(batch)
            if len(calls) == 2:
                world.sandbox.set_faults("twilio", outage="drop")

        world.drain(Lane.NORMAL, transport=world.between(before=break_down_before_the_second))
        world.sandbox.set_faults("twilio", outage=None)
        assert world.on_the_wire() == 1
        for message in messages:
            make_due(message)

        world.deliver(world.claim(Lane.UPKEEP))

        states = sorted(told(message)[0] for message in messages)
        assert states == [State.SENT, State.UNCERTAIN]

    def test_at_its_receipt_deadline_it_ends_unconfirmed(self, world, dropping, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        Message.objects.update(receipt_deadline=timezone.now() - SECOND)

        assert look_up(message) == (State.UNCONFIRMED, "no_proof_in_time")
        assert Notification.objects.get().end == End.UNCONFIRMED
        assert world.requests("twilio", "find") == 0


class Blind(Twilio):
    """A provider without a search."""

    name = "blind"
    abilities = frozenset({Ability.RECEIPTS})


class TestCannotBeAsked:
    @pytest.fixture(autouse=True)
    def blind(self, world, dropping, monkeypatch):
        monkeypatch.setitem(PROVIDERS, "blind", Blind)
        ProviderAccount.objects.filter(slug="twilio").update(provider="blind")
        accounts.forget()

    def test_held_it_stays_uncertain_until_the_receipt_deadline(self, world, look_up):
        message = sms(on_unclear="hold")
        world.drain(Lane.NORMAL)

        assert look_up(message) == (State.UNCERTAIN, "held")

        assert due_at(message) == message.receipt_deadline
        assert world.requests("twilio") == 1

    def test_held_it_gives_way_to_the_next_step_on_time(self, world, look_up):
        message = sms_then_email(on_unclear="hold")
        world.drain(Lane.NORMAL)
        look_up(message)
        assert due_at(message) == message.escalate_at

        close_window(message)
        world.drain(Lane.UPKEEP, Lane.NORMAL)

        assert told(message)[0] == State.UNCERTAIN
        assert Message.objects.get(step=1).state == State.SENT
        assert world.requests("twilio") == 1

    def test_is_not_sent_again_beside_its_next_step(self, world, look_up):
        message = sms_then_email(on_unclear="send_again")
        world.drain(Lane.NORMAL)
        close_window(message)
        world.drain(Lane.UPKEEP)
        assert message.notification.messages.count() == 2

        assert look_up(message) == (State.UNCERTAIN, "not_sent_again")

    def test_sent_again_it_counts_as_a_possible_duplicate(self, world, look_up):
        message = sms(on_unclear="send_again")
        world.drain(Lane.NORMAL)
        assert due_at(message) - message.attempts.get().began_at > timedelta(seconds=DEADLINE_SECONDS - 1)
        world.sandbox.set_faults("twilio", accept_then_drop=None)
        assert audit().possible_duplicates == 0

        assert look_up(message) == (State.QUEUED, "send_again")
        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "unclear"), (2, "twilio", "taken")]
        assert audit().possible_duplicates == 1

    def test_is_never_sent_again_by_another_provider(self, world, look_up):
        message = sms(on_unclear="send_again")
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("twilio", accept_then_drop=None)
        world.account("twilio-spare", priority=0)

        look_up(message)
        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "unclear"), (2, "twilio", "taken")]

    def test_is_not_sent_again_for_ever(self, world, look_up, numbers_are):
        numbers_are(failures_in_a_row=100)
        message = sms(on_unclear="send_again")
        for _ in range(12):
            world.drain(Lane.NORMAL)
            if told(message)[0] == State.UNCERTAIN:
                look_up(message)

        assert told(message) == (State.DEAD_LETTERED, "tries_used_up")
        assert world.requests("twilio") == 8

    def test_a_receipt_settles_it(self, world):
        message = sms(on_unclear="hold")
        world.drain(Lane.NORMAL)
        factories.event(message, "delivered", account=ProviderAccount.objects.get(slug="twilio"))

        apply_waiting()

        assert told(message) == (State.DELIVERED, "")


class TestStatus:
    def test_a_delivery_is_learned_by_asking(self, world, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        world.hear()  # silent vendors report nothing

        assert look_up(message) == (State.DELIVERED, "")
        assert {event.source for event in DeliveryEvent.objects.all()} == {"poll"}
        assert Notification.objects.get().end == End.DELIVERED

    def test_an_answer_that_is_no_news_adds_no_row_and_waits_longer(self, world, look_up):
        message = sms("+4915112345602")
        world.drain(Lane.NORMAL)
        look_up(message)
        first_wait = due_at(message) - timezone.now()
        assert DeliveryEvent.objects.count() == 1

        look_up(message)

        assert DeliveryEvent.objects.count() == 1
        assert due_at(message) - timezone.now() > first_wait
        assert (told(message)[0], message.checks) == (State.SENT, 2)

    def test_a_vendor_that_is_away_changes_nothing(self, world, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("twilio", outage="drop")

        assert look_up(message)[0] == State.SENT

        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.strikes, entry.due_at > timezone.now()) == (None, 0, True)

    def test_what_there_is_no_time_to_ask_is_given_back(self, world, numbers_are, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        numbers_are(lease_seconds=15.0)  # less than a call and its margin
        make_due(message)

        world.deliver(world.claim(Lane.UPKEEP))

        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.strikes, entry.due_at <= timezone.now()) == (None, 0, True)
        assert world.requests("twilio", "status") == 0

    def test_at_its_receipt_deadline_it_ends_unconfirmed(self, world, look_up):
        message = sms()
        world.drain(Lane.NORMAL)
        Message.objects.update(receipt_deadline=timezone.now() - SECOND)

        assert look_up(message) == (State.UNCONFIRMED, "no_proof_in_time")
        assert Notification.objects.get().end == End.UNCONFIRMED

    def test_a_message_without_proof_in_time_gives_way_to_the_next_step(self, world):
        steps = [{"channel": "sms"}, {"channel": "email"}]
        owner = factories.notification("sms-then-email", steps=steps)
        message = factories.message(State.SENT, of=owner, receipt_deadline=timezone.now() - SECOND)

        world.drain(Lane.UPKEEP)

        assert told(message)[0] == State.UNCONFIRMED
        assert Message.objects.get(step=1).state == State.QUEUED


class CannotLookUp(Twilio):
    """A provider with a bug."""

    name = "broken"

    def find_request(self, sent, page=None):
        raise ZeroDivisionError


class CannotReadFindings(Twilio):
    name = "broken"

    def find_result(self, answer, sent):
        raise ZeroDivisionError


class CannotAskForStatus(Twilio):
    name = "broken"

    def status_request(self, provider_message_id):
        raise ZeroDivisionError


class TestPoison:
    @pytest.mark.parametrize(
        ("provider", "state"),
        [
            (CannotLookUp, State.UNCERTAIN),
            (CannotReadFindings, State.UNCERTAIN),
            (CannotAskForStatus, State.SENT),
        ],
    )
    def test_a_message_that_cannot_be_asked_after_does_not_stop_the_others(self, world, monkeypatch, provider, state):
        monkeypatch.setitem(PROVIDERS, "broken", provider)
        poison = factories.message(state, account=world.account("twilio-spare", provider="broken"))
        other = sms()
        world.drain(Lane.NORMAL)
        world.hear()
        make_due(other)

        world.deliver(world.claim(Lane.UPKEEP))

        assert told(other) == (State.DELIVERED, "")
        assert told(poison)[0] == state
        entry = OutboxEntry.objects.get(message=poison)
        assert (entry.claim, entry.strikes, entry.due_at > timezone.now()) == (None, 0, True)

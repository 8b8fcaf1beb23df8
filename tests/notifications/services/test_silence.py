"""A provider that takes messages which do not arrive in a country comes last there, until one arrives."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Arrival, Breaker, Cause, OutboxEntry, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.services.arrivals import judge_arrivals
from notifications.services.switch import mend_there, rest_there
from notifications.states import State
from providers.messages import EventKind
from providers.sandbox import Refusal
from tests import factories
from tests.factories import SECOND, make_due
from tests.notifications.stories import due_at, email, only_send, sms, told

AGE = timedelta(seconds=121)
NO_SUCH_NUMBER = "+4915112345604"


def numbers_in(beginning: str, count: int) -> list[str]:
    """Numbers to which messages arrive."""
    return [f"{beginning}{number:06}01" for number in range(count)]


def send_to(world, *addresses, **fields):
    """Send a message to each; hear what vendors report. Returns the messages."""
    messages = [sms(address, **fields) for address in addresses]
    world.drain(Lane.NORMAL)
    world.hear()
    return messages


def senders(messages) -> set[str]:
    return {message.attempts.latest("number").account.slug for message in messages}


def judge():
    """See what has arrived, when it is old enough."""
    judge_arrivals(now=timezone.now() + AGE)


def rest_is_over():
    Breaker.objects.update(opened_until=timezone.now() - SECOND)
    accounts.forget()


@pytest.fixture
def usual(world, numbers_are):
    """For hours, what an account takes has arrived, everywhere."""
    numbers_are(arrivals_least=4, arrivals_usual_least=4)
    world.listen()
    judge()
    send_to(world, *numbers_in("+49151", 4), *numbers_in("+336", 4))
    judge()
    Arrival.objects.update(minute=F("minute") - timedelta(hours=3))


@pytest.fixture
def silent(world, usual):
    """Nothing arrives in Germany by this account any more, as four messages have shown."""
    world.sandbox.set_faults("twilio", lost_to="+49")
    send_to(world, *numbers_in("+49152", 4), *numbers_in("+337", 4))
    judge()


@pytest.fixture
def spare(world):
    return world.account("twilio-spare")


class TestSilence:
    def test_is_told_of_one_country(self, silent):
        breaker = Breaker.objects.get()
        assert (breaker.account.slug, breaker.country, breaker.cause) == ("twilio", "DE", Cause.RECEIPTS)
        assert breaker.detail == "0 of 4 arrived within 2 minutes, usually 100 %"

    def test_moves_that_country_to_the_next_account_and_no_other(self, world, silent, spare):
        german = send_to(world, *numbers_in("+49153", 6))
        french = send_to(world, *numbers_in("+336", 6))

        assert (senders(german), senders(french)) == ({"twilio-spare"}, {"twilio"})
        assert {told(message)[0] for message in german + french} == {State.DELIVERED}

    def test_is_tried_again_by_one_message_at_a_time(self, world, silent, spare):
        rest_is_over()

        messages = [*send_to(world, *numbers_in("+49153", 3)), *send_to(world, *numbers_in("+49154", 3))]

        assert sorted(message.attempts.get().account.slug for message in messages) == ["twilio", *["twilio-spare"] * 5]
        assert Breaker.objects.get().opened_until > timezone.now()

    def test_does_not_end_because_a_message_is_taken(self, world, silent, spare):
        rest_is_over()
        (probe,) = send_to(world, "+4915300000101")

        assert (senders([probe]), told(probe)[0]) == ({"twilio"}, State.SENT)
        assert Breaker.objects.exists()

    def test_ends_when_a_message_arrives(self, world, silent, spare):
        world.sandbox.set_faults("twilio", lost_to=None)
        rest_is_over()
        (probe,) = send_to(world, "+4915300000101")

        assert (senders([probe]), told(probe)[0]) == ({"twilio"}, State.DELIVERED)
        assert not Breaker.objects.exists()
        assert senders(send_to(world, "+4915300000201")) == {"twilio"}

    def test_is_not_told_again_by_what_did_not_arrive_before_its_end(self, world, silent, spare):
        world.sandbox.set_faults("twilio", lost_to=None)
        rest_is_over()
        send_to(world, "+4915300000101")

        judge()

        assert not Breaker.objects.exists()
        assert {row.country for row in Arrival.objects.filter(taken_count__gt=F("delivered_count"))} == set()

    def test_does_not_end_because_an_older_message_arrives(self, world, silent):
        """Sent before, and reported hours late: of now it says nothing."""
        world.sandbox.set_faults("twilio", lost_to=None)
        late = sms("+4915300000101")
        world.drain(Lane.NORMAL)
        Breaker.objects.update(opened_at=timezone.now())

        world.hear()

        assert told(late)[0] == State.DELIVERED
        assert Breaker.objects.exists()

    def test_does_not_end_because_of_a_delivery_that_a_bounce_undid(self, silent):
        twilio = ProviderAccount.objects.get(slug="twilio")
        Breaker.objects.update(opened_at=timezone.now() - timedelta(minutes=1))
        undone = factories.message(State.SENT, account=twilio)
        for kind in (EventKind.DELIVERED, EventKind.BOUNCED):
            factories.event(undone, kind)

        apply_waiting()

        assert told(undone)[0] == State.FAILED
        assert Breaker.objects.exists()

    def test_is_ended_by_a_person_and_not_told_again_at_once(self, world, silent, spare):
        mend_there(ProviderAccount.objects.get(slug="twilio").id, "DE")
        judge()

        assert not Breaker.objects.exists()


class TestLastResort:
    """Better than nothing, where no other account can send."""

    def test_sends_all_the_same(self, world, silent):
        messages = send_to(world, *numbers_in("+49153", 3))

        assert (senders(messages), {told(message)[0] for message in messages}) == ({"twilio"}, {State.SENT})

    def test_ends_with_the_first_message_that_arrives(self, world, silent):
        world.sandbox.set_faults("twilio", lost_to=None)

        send_to(world, "+4915300000101")

        assert not Breaker.objects.exists()

    def test_is_not_asked_before_another_that_may_work_in_a_moment(self, world, silent, spare):
        world.sandbox.set_faults("twilio-spare", rate_limit=1)
        (message,) = send_to(world, "+4915300000101")

        make_due(message)
        world.drain(Lane.NORMAL)

        assert {attempt.account.slug for attempt in message.attempts.all()} == {"twilio-spare"}
        assert told(message) == (State.QUEUED, "waiting_to_retry")

    @pytest.mark.parametrize("refusal", [Refusal(401, 20003), Refusal(400, 21612)])
    def test_is_asked_when_the_other_cannot(self, world, silent, spare, refusal):
        """Its account is at fault, or it cannot reach this recipient."""
        world.sandbox.set_faults("twilio-spare", refuse=refusal)
        message = sms("+4915300000101")

        world.drain(Lane.NORMAL)

        assert [attempt.account.slug for attempt in message.attempts.order_by("number")] == ["twilio-spare", "twilio"]
        assert told(message)[0] == State.SENT

    def test_has_what_it_may_have_already(self, world, silent, spare):
        """What may be out goes by no second provider; its own is the only one that can send it."""
        only_send("twilio")
        ProviderAccount.objects.filter(slug="twilio-spare").update(is_on=False)
        accounts.forget()
        message = sms("+4915300000101", on_unclear="send_again")
        world.sandbox.set_faults("twilio", accept_then_drop=True)
        world.drain(Lane.NORMAL)
        make_due(message)
        world.drain(Lane.UPKEEP)
        assert told(message) == (State.QUEUED, "send_again")
        world.sandbox.set_faults("twilio", accept_then_drop=None)
        ProviderAccount.objects.update(is_on=True)
        accounts.forget()

        make_due(message)
        world.drain(Lane.NORMAL)

        assert senders([message]) == {"twilio"}
        assert told(message)[0] == State.SENT

    def test_keeps_the_places_of_what_waits_for_its_turn(self, world, silent):
        """What has one there goes in its turn, and is no probe."""
        ProviderAccount.objects.filter(slug="twilio").update(rate=50)
        rest_is_over()
        message = sms("+4915300000101")
        OutboxEntry.objects.update(turn_account=ProviderAccount.objects.get(slug="twilio").id, turn_at=timezone.now())

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT
        assert Breaker.objects.get().opened_until < timezone.now()

    def test_is_none_while_its_calls_fail_as_well(self, world, silent, numbers_are):
        numbers_are(failures_in_a_row=3, arrivals_least=4, arrivals_usual_least=4)
        world.sandbox.set_faults("twilio", outage="status_503")
        for address in numbers_in("+49153", 3):
            send_to(world, address)
        waiting = sms("+4915400000101")

        world.drain(Lane.NORMAL)

        breaker = Breaker.objects.get()
        assert (breaker.cause, breaker.calls_fail) == (Cause.RECEIPTS, True)
        assert (told(waiting), waiting.tries) == ((State.QUEUED, "waiting_to_retry"), 0)

    def test_is_one_again_once_a_call_is_answered(self, world, silent):
        Breaker.objects.update(calls_fail=True)
        rest_is_over()
        send_to(world, "+4915300000101")

        assert senders(send_to(world, "+4915300000201")) == {"twilio"}
        breaker = Breaker.objects.get()
        assert (breaker.cause, breaker.calls_fail) == (Cause.RECEIPTS, False)

    def test_is_none_once_its_sender_may_not_be_used(self, world, silent):
        """That is known for certain, and takes the place of what only seems so."""
        twilio = next(account for account in accounts.all() if account.slug == "twilio")

        accounts.open_sender(twilio, "DE", "Register it.")

        breaker = Breaker.objects.get()
        assert (breaker.cause, breaker.detail, breaker.is_last_resort) == (Cause.REGISTRATION, "Register it.", False)


class TestRestByAPerson:
    @pytest.fixture
    def stopped(self, world):
        rest_there(ProviderAccount.objects.get(slug="twilio").id, "DE", "fraud")
        return Breaker.objects.get()

    def test_sends_nothing_there_and_tries_nothing(self, world, stopped):
        message = sms()
        for _ in range(3):
            make_due(message)
            world.drain(Lane.NORMAL)

        assert world.requests("twilio") == 0
        assert told(message) == (State.QUEUED, "waiting_to_retry")
        assert due_at(message) > timezone.now()
        assert stopped.opened_until > timezone.now() + timedelta(days=10_000)

    def test_is_of_that_country_alone(self, world, stopped):
        assert told(send_to(world, "+33612345601")[0])[0] == State.SENT

    def test_is_not_ended_by_an_answer_that_was_under_way(self, world):
        twilio = ProviderAccount.objects.get(slug="twilio")
        Breaker.objects.create(account=twilio, country="DE", opened_until=timezone.now() - SECOND)
        accounts.forget()
        sms()
        batch = world.claim(Lane.NORMAL)
        probing = world.between(before=lambda calls: rest_there(twilio.id, "DE", ""))

        world.deliver(batch, transport=probing)

        assert Breaker.objects.get().cause == Cause.OPERATOR

    def test_is_not_shortened_by_failed_calls_that_were_under_way(self, world, numbers_are):
        numbers_are(failures_in_a_row=1)
        twilio = ProviderAccount.objects.get(slug="twilio")
        world.sandbox.set_faults("twilio", outage="status_503")
        sms()
        batch = world.claim(Lane.NORMAL)
        failing = world.between(before=lambda calls: rest_there(twilio.id, "DE", ""))

        world.deliver(batch, transport=failing)

        breaker = Breaker.objects.get()
        assert breaker.cause == Cause.OPERATOR
        assert breaker.opened_until > timezone.now() + timedelta(days=10_000)

    def test_may_be_of_an_account_whose_addresses_have_no_country(self, world):
        rest_there(ProviderAccount.objects.get(slug="postmark").id, "", "")
        message = email()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.QUEUED, "waiting_to_retry")


class TestShareOfFailedCalls:
    def test_rests_a_provider_that_fails_every_other_call(self, world, numbers_are):
        numbers_are(failing_calls=6)
        for number in range(6):
            world.sandbox.set_faults("twilio", outage="status_503" if number % 2 else None)
            sms()
            world.drain(Lane.NORMAL)

        breaker = Breaker.objects.get()
        assert (breaker.account.slug, breaker.country, breaker.cause) == ("twilio", "DE", Cause.CALLS)

    @pytest.mark.parametrize("faults", [{"rate_limit": 1}, {"refuse": Refusal(401, 20003)}])
    def test_does_not_count_what_says_nothing_of_the_provider(self, world, numbers_are, faults):
        numbers_are(failing_calls=2, failing_share=0.01)
        world.sandbox.set_faults("twilio", **faults)
        for _ in range(6):
            ProviderAccount.objects.update(opened_at=None, opened_until=None)
            accounts.forget()
            sms()
            world.drain(Lane.NORMAL)

        assert not Breaker.objects.exists()

    def test_counts_what_is_said_about_the_message_as_answered(self, world, numbers_are):
        numbers_are(failing_calls=4, failing_share=0.75, failures_in_a_row=100)
        for number in range(4):
            world.sandbox.set_faults("twilio", outage="status_503" if number >= 2 else None)
            sms(NO_SUCH_NUMBER)
            world.drain(Lane.NORMAL)

        assert not Breaker.objects.exists()

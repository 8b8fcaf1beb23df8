"""A provider that fails in a country rests there, and its outage spends no tries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Breaker, Message, ProviderAccount
from notifications.states import State
from providers.sandbox import Refusal
from tests.factories import SECOND, make_due
from tests.notifications.stories import due_at, sms, told

NO_SUCH_NUMBER = "+4915112345604"


@pytest.fixture
def in_trouble(world, numbers_are):
    """Three calls in a row have failed; the breaker is open, and the outage goes on."""
    numbers_are(failures_in_a_row=3)
    world.sandbox.set_faults("twilio", outage="status_503")
    for _ in range(3):
        sms()
        world.drain(Lane.NORMAL)
    return Breaker.objects.get()


def rest_is_over():
    Breaker.objects.update(opened_until=timezone.now() - SECOND)
    accounts.forget()


class TestTrouble:
    def test_begins_with_so_many_failures_in_a_row(self, in_trouble):
        assert (in_trouble.account.slug, in_trouble.country) == ("twilio", "DE")
        assert ProviderAccount.objects.get(slug="twilio").opened_at is None

    def test_does_not_begin_while_others_are_answered(self, world, numbers_are):
        numbers_are(failures_in_a_row=3)
        for number in range(6):
            world.sandbox.set_faults("twilio", outage="status_503" if number % 3 else None)
            sms()
            world.drain(Lane.NORMAL)

        assert not Breaker.objects.exists()

    def test_costs_a_waiting_message_no_try(self, world, in_trouble):
        message = sms()
        before = world.requests("twilio")

        for _ in range(20):
            make_due(message)
            world.drain(Lane.NORMAL)

        assert told(message) == (State.QUEUED, "waiting_to_retry")
        assert (message.tries, message.attempts.count(), world.requests("twilio")) == (0, 0, before)
        assert timedelta(seconds=20) < due_at(message) - timezone.now() <= timedelta(seconds=60)

    def test_sends_by_another_account_meanwhile(self, world, in_trouble):
        world.account("twilio-spare")
        message = sms()

        world.drain(Lane.NORMAL)

        assert (told(message)[0], world.on_the_wire("twilio-spare")) == (State.SENT, 1)

    def test_is_probed_with_one_message_and_ends_with_its_success(self, world, in_trouble):
        world.sandbox.set_faults("twilio", outage=None)
        rest_is_over()
        first, second = sms(), sms()
        world.drain(Lane.NORMAL)
        make_due(first)
        make_due(second)

        world.drain(Lane.NORMAL)

        assert not Breaker.objects.exists()
        assert {told(message)[0] for message in (first, second)} == {State.SENT}

    def test_ends_with_any_answer_about_the_message(self, world, in_trouble):
        world.sandbox.set_faults("twilio", outage=None)
        rest_is_over()
        message = sms(NO_SUCH_NUMBER)

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.FAILED
        assert not Breaker.objects.exists()

    def test_is_not_what_a_fault_of_ours_is(self, world, numbers_are):
        """An account that needs a person is not waited for: the message goes to the dead letters."""
        world.sandbox.set_faults("twilio", refuse=Refusal(401, 20003))
        sms()
        world.drain(Lane.NORMAL)
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "no_account")


class TestOneCountry:
    """A provider that works everywhere but in one country."""

    @pytest.fixture
    def failing(self, world):
        world.account("twilio-spare")  # asked second
        world.sandbox.set_faults("twilio", outage="status_503", outage_to="+49")

    def test_moves_that_country_to_the_next_account_and_no_other(self, world, failing):
        german, french = [], []
        for number in range(20):
            german.append(sms(f"+49151{number:06}01"))
            french.append(sms(f"+336{number:06}01"))
            world.drain(Lane.NORMAL)

        by_spare = Message.objects.filter(account__slug="twilio-spare")
        assert {message.country for message in by_spare} == {"DE"}
        assert by_spare.count() >= 15, "five calls tell it, and none is made twice"
        assert {told(message)[0] for message in french} == {State.SENT}
        assert {(row.account.slug, row.country) for row in Breaker.objects.all()} == {("twilio", "DE")}

    def test_is_tried_again_by_one_message_at_a_time(self, world, failing):
        for number in range(5):
            sms(f"+49151{number:06}01")
            world.drain(Lane.NORMAL)
        rest_is_over()
        messages = [sms(f"+49151{number:06}01") for number in range(10, 16)]

        world.drain(Lane.NORMAL)

        tried = [message.id for message in messages if message.attempts.filter(account__slug="twilio").exists()]
        assert len(tried) == 1
        assert Breaker.objects.get().opened_until > timezone.now()

    def test_comes_back_when_a_probe_succeeds(self, world, failing):
        for number in range(5):
            sms(f"+49151{number:06}01")
            world.drain(Lane.NORMAL)
        world.sandbox.set_faults("twilio", outage=None, outage_to=None)
        rest_is_over()
        sms("+4915100002001")
        world.drain(Lane.NORMAL)

        after = sms("+4915100002101")
        world.drain(Lane.NORMAL)

        assert not Breaker.objects.exists()
        assert after.attempts.get().account.slug == "twilio"

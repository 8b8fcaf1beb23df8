"""A provider in trouble rests, and its outage spends no tries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import ProviderAccount
from notifications.states import State
from providers.sandbox import Refusal
from tests.factories import SECOND, make_due
from tests.notifications.stories import due_at, sms, told

NO_SUCH_NUMBER = "+4915112345604"


@pytest.fixture
def in_trouble(world, numbers_are):
    """Three calls in a row have failed; the account is opened, and so is the outage."""
    numbers_are(failures_in_a_row=3)
    world.sandbox.set_faults("twilio", outage="status_503")
    for _ in range(3):
        sms()
        world.drain(Lane.NORMAL)
    return ProviderAccount.objects.get(slug="twilio")


def rest_is_over():
    ProviderAccount.objects.update(opened_until=timezone.now() - SECOND)
    accounts.forget()


class TestTrouble:
    def test_begins_with_so_many_failures_in_a_row(self, in_trouble):
        assert in_trouble.opened_at is not None
        assert in_trouble.opened_reason == "provider in trouble"

    def test_does_not_begin_while_others_are_answered(self, world, numbers_are):
        numbers_are(failures_in_a_row=3)
        for number in range(6):
            world.sandbox.set_faults("twilio", outage="status_503" if number % 3 else None)
            sms()
            world.drain(Lane.NORMAL)

        assert ProviderAccount.objects.get(slug="twilio").opened_at is None

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

        assert ProviderAccount.objects.get(slug="twilio").opened_at is None
        assert {told(message)[0] for message in (first, second)} == {State.SENT}

    def test_ends_with_any_answer_about_the_message(self, world, in_trouble):
        world.sandbox.set_faults("twilio", outage=None)
        rest_is_over()
        message = sms(NO_SUCH_NUMBER)

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.FAILED
        assert ProviderAccount.objects.get(slug="twilio").opened_at is None

    def test_is_not_what_a_fault_of_ours_is(self, world, numbers_are):
        """An account that needs a person is not waited for: the message goes to the dead letters."""
        world.sandbox.set_faults("twilio", refuse=Refusal(401, 20003))
        sms()
        world.drain(Lane.NORMAL)
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "no_account")

"""A sender that may not be used in a country is not used there, everything else goes on, and an operator is told once."""

from __future__ import annotations

import pytest
from django.utils import timezone
from structlog.testing import capture_logs

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Breaker, Cause, DeliveryEvent, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.states import State
from providers.sandbox import Refusal
from tests import factories
from tests.factories import SECOND
from tests.notifications.stories import attempts, sms, told

UNREGISTERED = Refusal(400, 30034)
ADVICE = "Register the brand and the campaign of this number for 10DLC in the Twilio console."
FRENCH = "+33612345601"


def alarms(logs):
    return [entry for entry in logs if entry["event"] == "sender may not be used there"]


class TestRefused:
    @pytest.fixture
    def refused(self, world):
        """A message that the first account's sender may not send, and the second's may."""
        world.account("twilio-spare")
        world.sandbox.set_faults("twilio", refuse=UNREGISTERED)
        message = sms()
        with capture_logs() as logs:
            world.drain(Lane.NORMAL)
        return message, logs

    def test_goes_by_another_account_at_once_and_spends_no_try(self, refused):
        message, _ = refused

        assert told(message)[0] == State.SENT
        assert attempts(message) == [(1, "twilio", "refused"), (2, "twilio-spare", "taken")]
        assert message.tries == 1

    def test_opens_the_sender_in_that_country_and_not_the_account(self, world, refused):
        breaker = Breaker.objects.get()

        assert (breaker.account.slug, breaker.country, breaker.cause) == ("twilio", "DE", Cause.REGISTRATION)
        assert breaker.detail == ADVICE
        assert not ProviderAccount.objects.filter(opened_at__isnull=False).exists()
        world.sandbox.set_faults("twilio", refuse=None)
        french = sms(FRENCH)
        world.drain(Lane.NORMAL)
        assert french.attempts.get().account.slug == "twilio"

    def test_alarms_once_and_says_what_to_do(self, world, refused):
        [alarm] = alarms(refused[1])
        assert (alarm["log_level"], alarm["account"], alarm["country"]) == ("error", "twilio", "DE")
        assert alarm["advice"] == ADVICE

        rest_is_over()
        with capture_logs() as logs:
            sms()
            world.drain(Lane.NORMAL)

        assert alarms(logs) == []
        assert world.requests("twilio") == 2, "the probe"

    def test_is_not_waited_for_without_another_account(self, world):
        world.sandbox.set_faults("twilio", refuse=UNREGISTERED)
        sms()
        world.drain(Lane.NORMAL)
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "no_account")

    def test_ends_when_a_message_is_taken(self, world, refused):
        world.sandbox.set_faults("twilio", refuse=None)
        rest_is_over()
        sms()

        world.drain(Lane.NORMAL)

        assert not Breaker.objects.exists()

    def test_does_not_end_with_a_no(self, world, refused):
        world.sandbox.set_faults("twilio", refuse=Refusal(400, 21610))
        rest_is_over()
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.SUPPRESSED, "opted_out")
        assert Breaker.objects.get().opened_until > timezone.now()

    def test_matters_more_than_failed_calls(self, world, numbers_are):
        numbers_are(failures_in_a_row=1)
        world.sandbox.set_faults("twilio", outage="status_503")
        sms()
        world.drain(Lane.NORMAL)
        assert Breaker.objects.get().cause == Cause.CALLS
        world.sandbox.set_faults("twilio", outage=None, refuse=UNREGISTERED)
        rest_is_over()
        sms()

        world.drain(Lane.NORMAL)

        assert (Breaker.objects.get().cause, Breaker.objects.get().detail) == (Cause.REGISTRATION, ADVICE)


class TestReported:
    """Where the vendor takes messages, and its receipts tell that the sender may not be used."""

    @pytest.fixture(autouse=True)
    def rows(self, seeded):
        accounts.forget()

    def report(self, kind="failed", code="30034", **fields):
        message = factories.message(State.SENT, **fields)
        factories.event(message, kind)
        DeliveryEvent.objects.filter(message=message).update(error_code=code)
        accounts.forget()
        return message

    def test_opens_the_sender_until_a_message_arrives(self):
        message = self.report()

        apply_waiting()

        assert told(message) == (State.FAILED, "not_delivered")
        breaker = Breaker.objects.get()
        assert (breaker.account_id, breaker.country, breaker.detail) == (message.account_id, message.country, ADVICE)
        assert breaker.cause == Cause.RECEIPTS, "messages are taken all the same: a yes mends nothing"

    def test_alarms_once_however_many_there_are(self):
        for number in range(3):
            self.report(address=f"+49151{number:06}01")
        with capture_logs() as logs:
            apply_waiting()
            self.report(address="+4915100000901")
            apply_waiting()

        assert len(alarms(logs)) == 1
        assert Breaker.objects.count() == 1

    @pytest.mark.parametrize(
        ("kind", "code"), [("failed", "30003"), ("failed", ""), ("delivered", "30034"), ("unknown", "30034")]
    )
    def test_opens_nothing_for_other_reports(self, kind, code):
        self.report(kind, code)

        apply_waiting()

        assert not Breaker.objects.exists()


def rest_is_over():
    Breaker.objects.update(opened_until=timezone.now() - SECOND)
    accounts.forget()

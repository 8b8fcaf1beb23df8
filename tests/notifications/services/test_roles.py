"""What becomes of each kind of recipient, from acceptance to its end, over real connections and real webhooks."""

from __future__ import annotations

import pytest

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Attempt, Message, ProviderAccount, Suppression
from notifications.services.audit import audit
from notifications.states import End, State
from providers.registry import PROVIDERS
from providers.twilio import Twilio
from tests import factories
from tests.factories import close_window, make_due
from tests.notifications.stories import due_at, email, end_of, fallback_of, sms, sms_then_email, told


@pytest.fixture(autouse=True)
def listening(world):
    world.listen()


class TestSms:
    @pytest.mark.parametrize(
        ("number", "state", "reason", "suppressed"),
        [
            ("01", State.DELIVERED, "", ""),
            ("02", State.SENT, "", ""),
            ("03", State.FAILED, "not_delivered", ""),
            ("04", State.FAILED, "recipient_refused", "invalid"),
            ("07", State.DELIVERED, "", ""),
            ("08", State.SUPPRESSED, "opted_out", "opted_out"),
            ("09", State.DELIVERED, "", ""),
            ("10", State.DELIVERED, "", ""),
        ],
        ids=["delivered", "silent", "undeliverable", "invalid", "late and twice", "opted out", "dropped", "slow"],
    )
    def test_comes_to_its_end(self, world, number, state, reason, suppressed):
        message = sms(f"+49151123456{number}")

        world.drain(Lane.NORMAL)
        world.hear()

        assert told(message) == (state, reason)
        assert list(Suppression.objects.values_list("reason", flat=True)) == ([suppressed] if suppressed else [])
        assert world.on_the_wire() == (0 if number in ("04", "08") else 1)
        assert audit().is_sound

    def test_that_timed_out_is_known_by_its_receipt_before_anybody_asks(self, world, numbers_are):
        numbers_are(send_deadline_seconds=0.3)
        message = sms("+4915112345606")

        world.drain(Lane.NORMAL)
        world.hear()

        assert told(message) == (State.DELIVERED, "")
        attempt = Attempt.objects.get()
        assert attempt.provider_message_id == world.sandbox.messages()[0][1].id
        assert (world.requests("twilio", "send"), world.requests("twilio", "find")) == (1, 0)


class TestEmail:
    @pytest.mark.parametrize(
        ("mailbox", "state", "reason", "suppressed"),
        [
            ("delivered", State.DELIVERED, "", ""),
            ("silent", State.SENT, "", ""),
            ("bounce", State.FAILED, "bounced", "hard_bounce"),
            ("complaint", State.DELIVERED, "", "complaint"),
            ("invalid", State.FAILED, "recipient_refused", ""),
            ("slow", State.DELIVERED, "", ""),
        ],
    )
    def test_comes_to_its_end(self, world, mailbox, state, reason, suppressed):
        message = email(f"{mailbox}@example.org")

        world.drain(Lane.NORMAL)
        world.hear()

        assert told(message) == (state, reason)
        assert list(Suppression.objects.values_list("reason", flat=True)) == ([suppressed] if suppressed else [])
        assert audit().is_sound

    def test_whose_mailbox_is_full_is_sent_once_more_and_then_fails(self, world):
        message = email("softbounce@example.org")
        world.drain(Lane.NORMAL)
        world.hear()
        assert told(message) == (State.QUEUED, "not_reached")

        make_due(message)
        world.drain(Lane.NORMAL)
        world.hear()

        assert (told(message), end_of(message)) == ((State.FAILED, "not_reached"), End.FAILED)
        assert world.on_the_wire() == 2


class TestReceipts:
    def test_repeated_and_shuffled_come_to_the_same(self, world):
        world.sandbox.set_faults("twilio", callback_repeat=3, callback_shuffle=True)
        messages = [sms(f"+491511234{number:02}01") for number in range(8)]

        world.drain(Lane.NORMAL)
        world.hear()

        assert {told(message) for message in messages} == {(State.DELIVERED, "")}
        assert {message.delivery_events.count() for message in messages} == {2}


class Relay(Twilio):
    """A provider that says nothing about what it took."""

    name = "relay"
    abilities = frozenset()


class TestNothingProvesIt:
    @pytest.fixture(autouse=True)
    def relay(self, world, monkeypatch):
        monkeypatch.setitem(PROVIDERS, "relay", Relay)
        ProviderAccount.objects.filter(slug="twilio").update(provider="relay")
        accounts.forget()

    def test_it_ends_unconfirmed_when_it_was_taken(self, world):
        message = sms()

        world.drain(Lane.NORMAL)

        assert (told(message), end_of(message)) == ((State.UNCONFIRMED, "nothing_proves_it"), End.UNCONFIRMED)

    def test_it_waits_for_its_window_where_another_step_follows(self, world):
        message = sms_then_email()
        world.drain(Lane.NORMAL)
        assert (told(message)[0], due_at(message)) == (State.SENT, message.escalate_at)

        close_window(message)
        world.drain(Lane.UPKEEP)

        assert fallback_of(message).state == State.QUEUED

    def test_it_is_enough_where_its_step_waits_for_acceptance_only(self, world):
        steps = [{"channel": "sms", "wait_for": "accepted", "window_seconds": 90}, {"channel": "email"}]
        message = factories.message(of=factories.notification("sms-then-email", steps=steps))

        world.drain(Lane.NORMAL)

        assert (told(message)[0], end_of(message)) == (State.UNCONFIRMED, End.UNCONFIRMED)
        assert Message.objects.count() == 1


class TestWaitForAcceptance:
    @pytest.fixture
    def message(self, seeded):
        steps = [{"channel": "sms", "wait_for": "accepted", "window_seconds": 90}, {"channel": "email"}]
        message = factories.message(of=factories.notification("sms-then-email", steps=steps))
        Message.objects.update(escalate_at=message.created_at + 90 * factories.SECOND)
        return message

    def test_the_window_ends_with_acceptance(self, world, message):
        world.sandbox.set_faults("twilio", silent=True)

        world.drain(Lane.NORMAL)

        assert (told(message)[0], message.escalate_at) == (State.SENT, None)

    def test_a_failure_after_it_still_gives_way(self, world, message):
        world.sandbox.set_faults("twilio", silent=True)
        world.drain(Lane.NORMAL)
        factories.event(message, "failed", account=ProviderAccount.objects.get(slug="twilio"))

        world.hear()

        assert fallback_of(message).state == State.QUEUED

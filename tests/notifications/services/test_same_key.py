"""Same key: what may be out is sent again byte for byte under its idempotency key, and the provider drops a second one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Attempt, DeadLetter, Message, Notification, ProviderAccount
from notifications.services.audit import audit
from notifications.services.cancel import CancelResult, cancel
from notifications.services.replay import replay
from notifications.states import End, State
from providers.messages import Ability
from providers.registry import PROVIDERS
from providers.sandbox import SandboxAccount
from providers.twilio import Twilio
from tests import factories
from tests.factories import MAILBOX, close_window, make_due
from tests.notifications.conftest import PACE
from tests.notifications.stories import attempts, due_at, email, end_of, sms, told

HOUR = timedelta(hours=1)
NEVER = 1000.0  # seconds, longer than any test
BOUNCING = "bounce@example.org"


@pytest.fixture
def pace():
    """A vendor that is through with a call as soon as it has taken it, and a repeat at once is answered."""
    return replace(PACE, slow_answer=0.0)


@pytest.fixture
def more_vendors(live_server):
    webhook = f"{live_server.url}/webhooks/resend/"
    return [SandboxAccount("resend", "resend", factories.CREDENTIALS["resend"], webhook)]


@pytest.fixture(autouse=True)
def resend(world):
    """The account that sends e-mail; another one is next in line."""
    return world.account("resend", provider="resend", priority=1)


@pytest.fixture
def dropping(world):
    world.sandbox.set_faults("resend", accept_then_drop=True)


@pytest.fixture
def calls(world):
    """Drains, keeping the requests that send."""
    requests = []

    def drain(*lanes):
        def keep(batch):
            requests.extend(call.request for call in batch if call.request.method == "POST")

        world.drain(*lanes, transport=world.between(before=keep))
        return requests

    return drain


def go_on(world, message, *, drain=None):
    """Let the next action of a message be due, and do it."""
    make_due(message)
    (drain or world.drain)(Lane.NORMAL, Lane.UPKEEP)
    return told(message)


def update_account(slug, **fields):
    ProviderAccount.objects.filter(slug=slug).update(**fields)
    accounts.forget()


def use_another_sender():
    update_account("resend", settings={"from": "other@example.org"})


def outlive_the_key():
    Attempt.objects.update(began_at=F("began_at") - 23 * HOUR)


class TestRepeat:
    def test_asks_nobody_and_arrives_once(self, world, dropping):
        message = email()
        world.drain(Lane.NORMAL)
        assert told(message) == (State.UNCERTAIN, "outcome_unknown")
        world.sandbox.set_faults("resend", accept_then_drop=None)

        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert go_on(world, message) == (State.SENT, "")

        assert attempts(message) == [(1, "resend", "unclear"), (2, "resend", "taken")]
        assert world.on_the_wire() == 1
        ((_, taken),) = world.sandbox.messages()
        assert message.attempts.get(number=2).provider_message_id == taken.id
        assert audit().possible_duplicates == 0

    def test_is_the_same_to_the_byte_and_has_the_same_key(self, world, dropping, calls):
        message = email()
        calls(Lane.NORMAL)
        go_on(world, message, drain=calls)
        go_on(world, message, drain=calls)

        first, second = calls(Lane.NORMAL)

        assert first == second
        assert first.headers["Idempotency-Key"] == f"{message.id.hex}-1"
        hashes = set(message.attempts.values_list("request_hash", "provider_key"))
        assert (len(hashes), message.attempts.count()) == (1, 2)

    def test_waits_longer_each_time(self, world, dropping, numbers_are):
        numbers_are(normal_retry_seconds=100 * HOUR.total_seconds())
        message = email()
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("resend", outage="drop")
        waits = []
        for _ in range(5):
            now = timezone.now()
            assert go_on(world, message) == (State.QUEUED, "same_key")
            waits.append((due_at(message) - now).total_seconds())
            go_on(world, message)

        assert all(wait > 1 for wait in waits)
        assert waits[-1] > 2 * waits[0]

    def test_is_not_made_for_ever(self, world, dropping, numbers_are):
        numbers_are(failures_in_a_row=100)
        message = email()
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("resend", outage="drop")
        for _ in range(14):
            go_on(world, message)
        assert told(message)[0] == State.UNCERTAIN

        go_on(world, message)

        assert told(message) == (State.DEAD_LETTERED, "tries_used_up")
        assert (world.requests("resend"), world.on_the_wire()) == (8, 1)

    def test_goes_on_under_its_key_where_a_person_sends_it_again(self, world, dropping):
        message = email()
        world.drain(Lane.NORMAL)
        Message.objects.update(tries=8)
        go_on(world, message)
        world.sandbox.set_faults("resend", accept_then_drop=None)

        replay(DeadLetter.objects.get().id, by="ana")

        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert go_on(world, message) == (State.SENT, "")
        assert world.on_the_wire() == 1

    def test_after_one_that_was_not_taken_still_has_the_first_key(self, world, dropping):
        message = email()
        world.drain(Lane.NORMAL)
        go_on(world, message)
        world.sandbox.set_faults("resend", rate_limit=1)
        assert go_on(world, message) == (State.QUEUED, "waiting_to_retry")
        world.sandbox.set_faults("resend", rate_limit=None)

        assert go_on(world, message) == (State.SENT, "")

        keys = set(message.attempts.values_list("provider_key", flat=True))
        assert (attempts(message)[1:], keys) == (
            [(2, "resend", "not_sent"), (3, "resend", "taken")],
            {f"{message.id.hex}-1"},
        )
        assert (world.on_the_wire(), world.requests("postmark")) == (1, 0)

    def test_gives_way_to_evidence(self, world, dropping):
        world.listen()
        message = email()
        world.drain(Lane.NORMAL)
        go_on(world, message)
        world.sandbox.set_faults("resend", accept_then_drop=None)
        go_on(world, message)

        world.hear()

        assert (told(message), end_of(message)) == ((State.DELIVERED, ""), End.DELIVERED)

    def test_counts_a_report_that_names_the_first_call(self, world, dropping):
        """The first call made the mail, so all its reports carry the first call's name."""
        world.listen()
        message = email(BOUNCING)
        world.drain(Lane.NORMAL)
        go_on(world, message)
        world.sandbox.set_faults("resend", accept_then_drop=None)
        go_on(world, message)

        world.hear()

        assert message.attempts.count() == 2
        assert set(message.delivery_events.values_list("attempt_number", flat=True)) == {1}
        assert told(message) == (State.FAILED, "bounced")


class TestFirstCallStillRunning:
    @pytest.fixture
    def pace(self):
        return replace(PACE, slow_answer=NEVER)

    def test_is_waited_for(self, world, numbers_are):
        numbers_are(send_deadline_seconds=0.3)
        message = email("timeout@example.org", on_unclear="hold")
        world.drain(Lane.NORMAL)
        numbers_are(send_deadline_seconds=10.0)
        go_on(world, message)

        assert go_on(world, message) == (State.UNCERTAIN, "outcome_unknown")

        assert message.attempts.get(number=2).error_code == "concurrent_idempotent_requests"
        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert world.on_the_wire() == 1


class TestNoRepeat:
    @pytest.fixture
    def unclear(self, world, dropping):
        message = email(on_unclear="hold")
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("resend", accept_then_drop=None)
        return message

    @pytest.mark.parametrize("change", [use_another_sender, outlive_the_key])
    def test_where_the_bytes_would_differ_or_the_key_is_forgotten(self, world, unclear, change):
        change()

        assert go_on(world, unclear) == (State.UNCERTAIN, "held")
        assert (world.requests("resend"), world.requests("postmark")) == (1, 0)

    @pytest.mark.parametrize("change", [use_another_sender, outlive_the_key])
    def test_where_that_happens_while_it_waits_for_its_turn(self, world, unclear, change):
        assert go_on(world, unclear) == (State.QUEUED, "same_key")
        change()

        assert go_on(world, unclear) == (State.UNCERTAIN, "held")
        assert world.requests("resend") == 1

    def test_takes_a_new_key_where_its_client_would_rather_have_it_twice(self, world, unclear):
        Notification.objects.update(on_unclear="send_again")
        use_another_sender()

        assert go_on(world, unclear) == (State.QUEUED, "send_again")
        assert go_on(world, unclear) == (State.SENT, "")

        keys = unclear.attempts.order_by("number").values_list("provider_key", flat=True)
        assert list(keys) == [f"{unclear.id.hex}-1", f"{unclear.id.hex}-2"]
        assert world.on_the_wire("resend", MAILBOX) == 2
        assert audit().possible_duplicates == 1

    def test_of_what_was_cancelled(self, world, unclear):
        go_on(world, unclear)

        assert [row.result for row in cancel(unclear.notification_id)] == [CancelResult.UNKNOWN]

        assert go_on(world, unclear) == (State.UNCERTAIN, "not_sent_again")
        assert world.requests("resend") == 1

    def test_of_what_was_cancelled_while_its_outcome_was_unknown(self, world, unclear):
        cancel(unclear.notification_id)

        assert go_on(world, unclear) == (State.UNCERTAIN, "not_sent_again")
        assert world.requests("resend") == 1

    def test_beside_the_next_step(self, world, dropping):
        steps = [{"channel": "email", "wait_for": "delivered", "window_seconds": 90}, {"channel": "sms"}]
        owner = factories.notification(steps=steps)
        message = factories.message(of=owner)
        world.drain(Lane.NORMAL)
        close_window(message)

        world.drain(Lane.NORMAL, Lane.UPKEEP, Lane.NORMAL)

        assert owner.messages.get(step=1).state == State.SENT
        assert go_on(world, message) == (State.UNCERTAIN, "not_sent_again")
        assert world.requests("resend") == 1


class Keyed(Twilio):
    """A provider with keys whose requests say how long they are useful."""

    name = "keyed"
    abilities = frozenset({Ability.KEYS, Ability.RECEIPTS})
    key_life_seconds = 3600.0


def test_a_repeat_says_what_the_first_call_said_of_how_long_it_is_useful(world, monkeypatch, calls):
    """That depends on the hour: it is filed with the call."""
    monkeypatch.setitem(PROVIDERS, "keyed", Keyed)
    update_account("twilio", provider="keyed")
    world.sandbox.set_faults("twilio", accept_then_drop=True)
    message = sms(on_unclear="hold")
    calls(Lane.NORMAL)
    Notification.objects.update(expires_at=F("expires_at") - 12 * HOUR)

    assert go_on(world, message, drain=calls) == (State.QUEUED, "same_key")
    go_on(world, message, drain=calls)

    first, second = calls(Lane.NORMAL)
    assert b"ValidityPeriod" in first.body
    assert first.body == second.body
    assert len(set(message.attempts.values_list("useful_seconds", flat=True))) == 1


def test_another_account_of_the_same_provider_does_not_know_the_key(world, dropping):
    message = email(on_unclear="hold")
    world.drain(Lane.NORMAL)
    update_account("resend", is_on=False)
    factories.account("resend-spare", provider="resend", priority=0)
    accounts.forget()
    assert go_on(world, message) == (State.QUEUED, "same_key")

    assert go_on(world, message) == (State.QUEUED, "waiting_to_retry")

    assert message.attempts.count() == 1

"""Faults of ours that a push service blames on its devices, and tokens that are good no more."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone
from structlog.testing import capture_logs

from notifications import send
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Attempt, Message, ProviderAccount, Suppression
from notifications.states import State
from providers.messages import Token
from providers.sandbox import SandboxAccount
from tests.factories import NUMBER, SECOND, make_due
from tests.notifications.stories import push, told
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import case

SLUG = "phones"


@pytest.fixture(params=["apns"])
def name(request):
    return request.param


@pytest.fixture
def more_vendors(name):
    return [SandboxAccount(SLUG, name, SAMPLES[name].provider.account.credentials)]


@pytest.fixture(autouse=True)
def account(world, name, numbers_are):
    numbers_are(cache_seconds=0.0)
    credentials = dict(SAMPLES[name].provider.account.credentials)
    return world.account(SLUG, provider=name, channels=["push"], credentials=credentials)


def device(name, role, person=0):
    return f"{name}:{person:06x}a1b2c3d4e5f60718293a4b5c6d7e8f90{role}"


def broadcast(world, name, count, role="01", **fields):
    """One push to each of so many people."""
    messages = [push(device(name, role, person), **fields) for person in range(count)]
    world.drain(Lane.NORMAL)
    return messages


def refuse(world, fault):
    """From now on the vendor answers every send so."""
    world.sandbox.set_faults(SLUG, refuse=fault)


def rest_is_over():
    ProviderAccount.objects.update(opened_until=timezone.now() - SECOND)
    accounts.forget()


def suppressed():
    return list(Suppression.objects.values_list("reason", flat=True))


def opened():
    return ProviderAccount.objects.get(slug=SLUG).opened_reason


@pytest.mark.parametrize("before", [0, 3], ids=["after a start", "in the middle of the day"])
class TestEveryTokenBad:
    """The case push-every-token-bad-means-us."""

    def test_push_every_token_bad_means_us(self, world, name, before, numbers_are):
        numbers_are(batch_size=10)
        [mass] = json.loads(case("push-every-token-bad-means-us/responses.json"))["mass"]
        broadcast(world, name, before)
        refuse(world, {"status": mass["status"], "code": 0, "message": mass["reason"]})

        with capture_logs() as logs:
            broadcast(world, name, mass["count"])

        alarms = [entry for entry in logs if entry["log_level"] == "error"]
        assert [(alarm["event"], alarm["account"]) for alarm in alarms] == [("account opened", SLUG)]
        assert "environment" in alarms[0]["reason"]
        assert "environment" in opened()
        assert suppressed() == []
        assert world.requests(SLUG) < 25 + before, "the account rests after a few"

    def test_after_the_repair_all_tokens_work(self, world, name, before):
        broadcast(world, name, before)
        refuse(world, {"status": 400, "code": 0, "message": "BadDeviceToken"})
        broadcast(world, name, 20)
        refuse(world, None)
        rest_is_over()
        push(device(name, "01", 999))
        world.drain(Lane.NORMAL)
        assert opened() == ""

        messages = broadcast(world, name, 20)

        assert {told(message)[0] for message in messages} == {State.UNCONFIRMED}
        assert suppressed() == []

    def test_has_messages_go_on_to_their_next_step(self, world, name, before):
        broadcast(world, name, before)
        refuse(world, {"status": 400, "code": 0, "message": "BadDeviceToken"})
        ids = [
            send(
                {"push": device(name, "01", person), "sms": NUMBER},
                {"push": {"text": "Ready"}, "sms": {"text": "Ready"}},
            ).id
            for person in range(12)
        ]

        for _ in range(3):
            world.drain(Lane.NORMAL)

        by_sms = Message.objects.filter(notification__in=ids, channel="sms", state=State.SENT)
        assert by_sms.count() == 12


class TestOneTokenBad:
    def test_among_many_that_work_is_used_no_more(self, world, name):
        broadcast(world, name, 3)
        message = push(device(name, "04", 77))
        world.drain(Lane.NORMAL)
        assert (told(message), suppressed()) == ((State.FAILED, "recipient_refused"), [])

        broadcast(world, name, 1)

        assert suppressed() == ["invalid"]
        assert opened() == ""

    def test_however_often_blames_nobody(self, world, name):
        for _ in range(8):
            push(device(name, "04", 77))
            world.drain(Lane.NORMAL)

        assert (opened(), suppressed()) == ("", [])

    def test_by_an_account_that_was_changed_since_is_not_judged(self, world, name, account):
        broadcast(world, name, 3)
        account.settings = {"environment": "sandbox"}
        account.save(update_fields=["settings"])
        push(device(name, "04", 77))
        world.drain(Lane.NORMAL)
        broadcast(world, name, 1)

        assert suppressed() == []


@pytest.mark.parametrize("name", ["fcm"])
class TestInvalidArgument:
    """The case push-fcm-invalid-argument-keeps-token: by the vendor's own answers."""

    TOO_BIG, BAD_TOKEN, GONE, MISMATCH = range(4)

    @pytest.fixture
    def recorded(self):
        return json.loads(case("push-fcm-invalid-argument-keeps-token/responses.json"))

    def code(self, recorded, which):
        [found] = [part["errorCode"] for part in recorded[which]["error"]["details"] if "errorCode" in part]
        return {"status": recorded[which]["http"], "code": 0, "message": found}

    def test_push_fcm_invalid_argument_of_a_payload_keeps_the_token(self, world, name, recorded):
        broadcast(world, name, 2)
        refuse(world, self.code(recorded, self.TOO_BIG))
        message = push(device(name, "01", 9))
        world.drain(Lane.NORMAL)
        refuse(world, None)
        broadcast(world, name, 2)

        assert told(message) == (State.DEAD_LETTERED, "invalid_request")
        assert (suppressed(), opened()) == ([], "")

    def test_push_fcm_invalid_argument_of_a_token_removes_it_if_others_work(self, world, name):
        bad = push(device(name, "04", 9))
        world.drain(Lane.NORMAL)
        broadcast(world, name, 1)
        assert (told(bad)[0], suppressed()) == (State.FAILED, [])

        push(device(name, "04", 9))
        world.drain(Lane.NORMAL)
        broadcast(world, name, 1)

        assert suppressed() == ["invalid"]

    def test_push_fcm_invalid_argument_is_not_unregistered(self, world, name):
        push(device(name, "03", 9))
        world.drain(Lane.NORMAL)

        assert suppressed() == ["unregistered"]

    def test_push_fcm_invalid_argument_nor_a_project_that_changed(self, world, name, recorded):
        broadcast(world, name, 2)
        refuse(world, self.code(recorded, self.MISMATCH))

        with capture_logs() as logs:
            broadcast(world, name, 40)

        alarms = [entry for entry in logs if entry["log_level"] == "error"]
        assert [alarm["account"] for alarm in alarms] == [SLUG]
        assert "project" in alarms[0]["reason"]
        assert suppressed() == []


@pytest.mark.parametrize("name", ["fcm"])
class TestToken:
    def forget_at_the_vendor(self, account):
        """The vendor takes the token that we hold no more."""
        credentials = accounts.by_slug(SLUG).provider.account.credentials
        accounts.logins.keep(account.id, credentials, Token("ya29.withdrawn", 3600.0), 0.0)
        accounts.logins._logins[account.id].renewed_at = float("inf")

    def test_is_asked_for_once_for_many(self, world, name):
        broadcast(world, name, 20)
        broadcast(world, name, 20)

        assert (world.requests(SLUG, "token"), world.requests(SLUG)) == (1, 40)

    def test_is_asked_for_again_when_it_is_refused(self, world, name, account):
        self.forget_at_the_vendor(account)
        [message] = broadcast(world, name, 1)
        assert told(message) == (State.QUEUED, "waiting_to_retry")
        assert (opened(), world.requests(SLUG, "token")) == ("", 0)

        make_due(message)
        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.UNCONFIRMED
        assert (world.requests(SLUG, "token"), world.requests(SLUG)) == (1, 2)

    def test_refused_to_many_at_once_spends_no_second_one(self, world, name, account):
        self.forget_at_the_vendor(account)
        messages = [push(device(name, "01", person)) for person in range(6)]
        world.deliver(world.claim(Lane.NORMAL))
        assert {told(message) for message in messages} == {(State.QUEUED, "waiting_to_retry")}

        for message in messages:
            make_due(message)
        world.drain(Lane.NORMAL)

        assert {told(message)[0] for message in messages} == {State.UNCONFIRMED}
        assert (opened(), world.requests(SLUG, "token"), world.requests(SLUG)) == ("", 1, 12)

    def test_refused_twice_opens_the_account(self, world, name, account):
        self.forget_at_the_vendor(account)
        [message] = broadcast(world, name, 1)
        self.forget_at_the_vendor(account)
        make_due(message)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "account_at_fault")
        assert opened().startswith("AuthenticationFailed")

    def test_that_cannot_be_had_sends_nothing_and_costs_a_try(self, world, name):
        world.sandbox.set_faults(SLUG, outage="status_503")
        messages = broadcast(world, name, 3)

        assert {(*told(message), message.tries) for message in messages} == {(State.QUEUED, "waiting_to_retry", 1)}
        assert (Attempt.objects.count(), world.requests(SLUG)) == (0, 0)
        assert world.requests(SLUG, "token") == 2, "once for each of two batches"

    def test_of_a_slow_vendor_is_not_waited_for_without_end(self, world, name, numbers_are):
        numbers_are(critical_send_deadline_seconds=0.05)
        world.sandbox.set_faults(SLUG, latency_seconds=1.0)

        [message] = broadcast(world, name, 1)

        assert (told(message)[0], Attempt.objects.count()) == (State.QUEUED, 0)

    def test_of_an_account_that_google_does_not_know_opens_it_once(self, world, name, account):
        account.credentials = {**account.credentials, "client_email": "nobody@example.com"}
        account.save(update_fields=["credentials"])

        messages = [push(device(name, "01", person)) for person in range(5)]
        with capture_logs() as logs:
            world.deliver(world.claim(Lane.NORMAL))

        assert {told(message)[0] for message in messages} == {State.DEAD_LETTERED}
        assert [entry["account"] for entry in logs if entry["log_level"] == "error"] == [SLUG]
        assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["attempt failed"]
        assert opened().startswith("AuthenticationFailed invalid_grant")

    def test_is_in_no_log(self, world, name):
        with capture_logs() as logs:
            broadcast(world, name, 1)
            broadcast(world, name, 1, role="03")

        held = accounts.logins._logins.popitem()[1].token.value
        assert held.startswith("ya29.")
        assert held not in str(logs)


@pytest.mark.parametrize("name", ["webpush"])
class TestAddressOfOurs:
    def test_is_the_devices_fault_and_never_called(self, world, name, account):
        account.base_url = ""
        account.save(update_fields=["base_url"])
        accounts.forget()
        keys = {"p256dh": SAMPLES["webpush"].message.to.split('"')[7], "auth": "BTBZMqHH6r4Tts7J_aSIgg"}
        message = push({"endpoint": "https://127.0.0.1/push/abc", "keys": keys})

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "recipient_refused")
        assert suppressed() == ["forbidden"]
        assert opened() == ""

"""Push services: the stories of a push, by the engine against the vendor that the sandbox plays."""

from __future__ import annotations

import json

import pytest

from notifications import send
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Attempt, Notification, ProviderAccount, Suppression
from notifications.services.receipts import receipt_of
from notifications.states import State
from providers.messages import Channel
from providers.registry import PROVIDERS
from providers.sandbox import SandboxAccount, browser
from tests.factories import make_due
from tests.notifications.stories import attempts, push, told
from tests.providers.samples import SAMPLES

SLUG = "vendor"
PUSHING = sorted(name for name, provider in PROVIDERS.items() if Channel.PUSH in provider.channels)


@pytest.fixture(params=PUSHING)
def name(request):
    return request.param


@pytest.fixture
def more_vendors(name):
    return [SandboxAccount(SLUG, name, SAMPLES[name].provider.account.credentials)]


@pytest.fixture(autouse=True)
def account(world, name):
    """The only account that sends pushes."""
    known = SAMPLES[name].provider.account
    return world.account(
        SLUG, provider=name, channels=["push"], credentials=dict(known.credentials), settings=dict(known.settings)
    )


def token(role, person=0):
    """A device's own name at its service, by the role it plays."""
    return f"{person:06x}a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718{role}"


def device(name, role, person=0):
    if name == "webpush":
        return browser.subscription(f"https://push.example.net/push/{token(role, person)}")
    return f"{name}:{token(role, person)}"


def go_on(world, message):
    """Let the next action of a message be due, and do it."""
    make_due(message)
    world.drain(Lane.NORMAL, Lane.UPKEEP)
    return told(message)


def calls(world):
    """How many calls that send the vendor had, and how many pushes devices show of them."""
    return world.requests(SLUG), world.on_the_wire(SLUG)


def suppressed():
    return list(Suppression.objects.values_list("reason", flat=True))


class TestTaken:
    def test_ends_unconfirmed_where_nobody_waits(self, world, name):
        message = push(device(name, "01"))

        world.drain(Lane.NORMAL)

        ((_, taken),) = world.sandbox.messages()
        assert told(message) == (State.UNCONFIRMED, "nothing_proves_it")
        assert (taken.text, taken.attempt, calls(world)) == ("Table ready", message.id.hex, (1, 1))
        assert attempts(message) == [(1, SLUG, "taken")]

    def test_carries_title_data_receipt_and_urgency(self, world, name):
        content = {"push": {"title": "Your table", "text": "It is ready", "data": {"table": "7"}}}
        accepted = send({"push": device(name, "01")}, content, priority="high")
        world.drain(Lane.HIGH)

        ((_, taken),) = world.sandbox.messages()
        message = Notification.objects.get(id=accepted.id).messages.get()
        wire = str(taken.content)
        assert all(word in wire for word in ("Your table", "It is ready", "'table': '7'", receipt_of(message.id)))
        assert {"fcm": "HIGH", "apns": "'apns-priority': '10'", "webpush": "'urgency': 'high'"}[name] in wire

    def test_by_no_account_of_another_app(self, world, name):
        given = json.dumps(device(name, "01")) if name == "webpush" else token("01")
        message = push(f"{name}/shop:{given}".replace(" ", ""))

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "no_account")
        assert calls(world) == (0, 0)


class TestGone:
    def test_fails_and_is_not_tried_again(self, world, name):
        message = push(device(name, "03"))

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "recipient_refused")
        assert suppressed() == ["unregistered"]
        again = push(device(name, "03"))
        world.drain(Lane.NORMAL)
        assert told(again) == (State.SUPPRESSED, "address_suppressed")
        assert calls(world) == (1, 0)

    def test_leaves_no_trace_of_the_device(self, world, name, account):
        push(device(name, "04"))
        world.drain(Lane.NORMAL)
        answer = Attempt.objects.get().answer

        assert token("04") not in answer
        assert token("04") not in str(Attempt.objects.values())


class TestBusy:
    def test_is_sent_later(self, world, name):
        message = push(device(name, "05"))
        world.drain(Lane.NORMAL)
        assert told(message) == (State.QUEUED, "waiting_to_retry")

        for _ in range(2):
            go_on(world, message)

        assert told(message)[0] == State.UNCONFIRMED
        assert calls(world) == (3, 1)


class TestAnswerLost:
    def test_is_repeated_and_shown_once(self, world, name):
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = push(device(name, "01"), on_unclear="hold")
        world.drain(Lane.NORMAL)
        assert (told(message), calls(world)) == ((State.UNCERTAIN, "outcome_unknown"), (1, 1))
        world.sandbox.set_faults(SLUG, accept_then_drop=None)

        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert go_on(world, message)[0] == State.UNCONFIRMED

        assert calls(world) == (2, 1)
        first, second = Attempt.objects.order_by("number").values_list("request_hash", flat=True)
        assert first == second


class TestOutage:
    def test_is_waited_for(self, world, name):
        world.sandbox.set_faults(SLUG, outage="status_503")
        message = push(device(name, "01"))
        world.drain(Lane.NORMAL)
        assert told(message)[0] in (State.UNCERTAIN, State.QUEUED)
        world.sandbox.set_faults(SLUG, outage=None)

        for _ in range(3):
            if told(message)[0] in (State.UNCERTAIN, State.QUEUED):
                go_on(world, message)

        assert (told(message)[0], calls(world)[1]) == (State.UNCONFIRMED, 1)


class TestBadCredentials:
    def test_open_the_account(self, world, name, account):
        sample = SAMPLES[name]
        broken = {"fcm": "private_key", "apns": "key_id", "webpush": "vapid_private_key"}[name]
        account.credentials = {**sample.provider.account.credentials, broken: "x"}
        account.save(update_fields=["credentials"])
        accounts.forget()
        message = push(device(name, "01"))

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.DEAD_LETTERED
        assert ProviderAccount.objects.get(slug=SLUG).opened_reason.startswith("AuthenticationFailed")
        assert calls(world)[1] == 0


@pytest.mark.parametrize("name", ["fcm"])
class TestShownByTheApp:
    def test_arrives_as_data_and_is_repeated_under_its_tag(self, world, name, account):
        account.settings = {"data_only": True}
        account.save(update_fields=["settings"])
        accounts.forget()
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = push(device(name, "01"))
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults(SLUG, accept_then_drop=None)

        go_on(world, message)
        go_on(world, message)

        ((_, taken),) = world.sandbox.messages()
        assert (told(message)[0], taken.text, taken.attempt) == (State.UNCONFIRMED, "Table ready", message.id.hex)
        assert calls(world) == (2, 1)

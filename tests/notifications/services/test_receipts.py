"""Receipts of apps: what a device says proves that a push arrived, in time or late, and nothing else does."""

from __future__ import annotations

import pytest

from notifications import selectors, send, tokens
from notifications.lanes import Lane
from notifications.models import DeliveryEvent, Message, Route
from notifications.services.apply import apply_waiting
from notifications.services.receipts import UnknownReceipt, receipt_of, take_receipt
from notifications.states import End, State
from providers.sandbox import SandboxAccount
from tests.factories import MAILBOX, NUMBER, close_window
from tests.notifications.stories import attempts, end_of, push, told
from tests.providers.samples import SAMPLES
from tests.providers.samples.apns import DEVICE

SLUG = "phones"
SILENT = "+4915112345602"
CONTENT = {
    "push": {"title": "Your table", "text": "It is ready"},
    "sms": {"text": "Your table is ready"},
    "email": {"subject": "Your table", "text": "It is ready"},
}


@pytest.fixture
def more_vendors():
    return [SandboxAccount(SLUG, "apns", SAMPLES["apns"].provider.account.credentials)]


@pytest.fixture(autouse=True)
def account(world):
    credentials = dict(SAMPLES["apns"].provider.account.credentials)
    return world.account(SLUG, provider="apns", channels=["push"], credentials=credentials)


@pytest.fixture
def first(world):
    """A push that was taken, whose window is open; an SMS and an e-mail wait behind it."""
    return sent_push(world, NUMBER)


def sent_push(world, number):
    to = {"push": f"apns:{DEVICE}", "sms": number, "email": MAILBOX}
    accepted = send(to, CONTENT, route="push-then-sms-then-email")
    world.drain(Lane.NORMAL)
    message = Message.objects.get(notification=accepted.id)
    assert told(message) == (State.SENT, "")
    return message


def shown(world):
    """What the app finds in the push."""
    ((_, taken),) = world.sandbox.messages(account=SLUG)
    return taken.content["payload"]


def steps_of(message):
    """Channel and state of each message of a notification, in order."""
    rows = Message.objects.filter(notification=message.notification_id).order_by("step")
    return list(rows.values_list("channel", "state"))


def window_is_over(world, message):
    close_window(message)
    world.drain(Lane.NORMAL, Lane.UPKEEP)
    world.drain(Lane.NORMAL)


class TestInTime:
    def test_delivers_and_nothing_follows(self, world, first):
        assert take_receipt(shown(world)["receipt"])
        apply_waiting()

        assert (told(first), end_of(first)) == ((State.DELIVERED, ""), End.DELIVERED)
        window_is_over(world, first)
        assert steps_of(first) == [("push", State.DELIVERED)]
        assert world.on_the_wire("twilio") == world.on_the_wire("postmark") == 0

    def test_is_on_file_as_what_the_app_said(self, world, first):
        take_receipt(shown(world)["receipt"])
        apply_waiting()

        event = DeliveryEvent.objects.get()
        assert (event.kind, event.provider_status) == ("delivered", "received by the app")
        assert (event.message_id, event.account.slug) == (first.id, SLUG)

    def test_repeated_is_not_counted_again(self, world, first):
        receipt = shown(world)["receipt"]

        assert [take_receipt(receipt) for _ in range(3)] == [True, False, False]
        apply_waiting()
        assert not take_receipt(receipt)

        assert DeliveryEvent.objects.count() == 1
        assert told(first)[0] == State.DELIVERED


class TestMissing:
    def test_has_an_sms_follow_and_then_an_email(self, world):
        message = sent_push(world, SILENT)

        window_is_over(world, message)
        assert steps_of(message) == [("push", State.SENT), ("sms", State.SENT)]
        sms = Message.objects.get(notification=message.notification_id, step=1)
        window_is_over(world, sms)

        assert [channel for channel, _ in steps_of(message)] == ["push", "sms", "email"]
        assert world.on_the_wire("postmark") == 1

    def test_late_delivers_the_notification_all_the_same(self, world):
        message = sent_push(world, SILENT)
        receipt = shown(world)["receipt"]
        window_is_over(world, message)

        assert take_receipt(receipt)
        apply_waiting()

        assert (told(message)[0], end_of(message)) == (State.DELIVERED, End.DELIVERED)
        assert DeliveryEvent.objects.filter(message=message, kind="delivered").count() == 1
        sms = Message.objects.get(notification=message.notification_id, step=1)
        window_is_over(world, sms)
        assert [channel for channel, _ in steps_of(message)] == ["push", "sms"]

    def test_lifts_what_ended_unconfirmed(self, world):
        message = push(f"apns:{DEVICE}")
        world.drain(Lane.NORMAL)
        assert told(message)[0] == State.UNCONFIRMED

        take_receipt(shown(world)["receipt"])
        apply_waiting()

        assert told(message) == (State.DELIVERED, "")


class TestEarly:
    def test_before_the_answer_is_on_file_counts(self, world):
        accepted = send({"push": f"apns:{DEVICE}"}, {"push": CONTENT["push"]})
        message = Message.objects.get(notification=accepted.id)
        heard = []

        def the_app_is_quick(answers):
            heard.append(take_receipt(receipt_of(message.id)))
            apply_waiting()

        world.drain(Lane.NORMAL, transport=world.between(after=the_app_is_quick))

        assert heard == [True]
        assert (told(message), attempts(message)) == ((State.DELIVERED, ""), [(1, SLUG, "taken")])
        assert world.on_the_wire(SLUG) == 1

    def test_of_what_has_not_left_is_not_believed(self, world):
        message = push(f"apns:{DEVICE}")

        with pytest.raises(UnknownReceipt):
            take_receipt(receipt_of(message.id))


class TestForged:
    @pytest.mark.parametrize(
        "change",
        [
            lambda receipt: receipt[:-2] + ("AA" if receipt[-2:] != "AA" else "BB"),
            lambda receipt: "A" + receipt[1:] if receipt[0] != "A" else "B" + receipt[1:],
            lambda receipt: "",
            lambda receipt: "é",
            lambda receipt: receipt + "AAAA",
            lambda receipt: tokens.make("unsubscribe", b"x" * 16),
            lambda receipt: tokens.make("receipt", b"x" * 16),
            lambda receipt: tokens.make("receipt", b"short"),
        ],
    )
    def test_is_not_believed(self, world, first, change):
        with pytest.raises(UnknownReceipt):
            take_receipt(change(shown(world)["receipt"]))

        assert DeliveryEvent.objects.count() == 0


def test_is_not_asked_for_where_nobody_waits(world):
    Route.objects.create(name="push-accepted", steps=[{"channel": "push", "wait_for": "accepted"}])
    selectors.routes.forget()
    send({"push": f"apns:{DEVICE}"}, {"push": CONTENT["push"]}, route="push-accepted")

    world.drain(Lane.NORMAL)

    assert "receipt" not in shown(world)
    assert "mutable-content" not in shown(world)["aps"]

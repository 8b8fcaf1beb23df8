"""Events on their way to endpoints: signed, kept, tried again, and nobody else's worry."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications import selectors, send
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Breaker, Message, Notification, OutboxEntry, ProviderAccount, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.services import endpoints
from notifications.services.accept import accept
from notifications.services.request import Refused
from notifications.states import State
from providers.transport.choice import make_transport
from tests import factories
from tests.factories import SECOND, make_due
from tests.notifications.stories import due_at, sms, told

INVALID = "+4915112345604"  # refused at once: its notification ends


@pytest.fixture
def listening(world):
    """Makes an endpoint that plays a role at the sandbox, which checks its signature."""

    def make(name: str, role: str = "ok", **fields: Any) -> WebhookEndpoint:
        path = f"/hooks/{role}/{name}"
        world.sandbox.receivers.set(path, secret=factories.ENDPOINT_SECRET)
        endpoint = factories.endpoint(name, world.sandbox.url + path, **fields)
        accounts.forget()
        selectors.endpoints.forget()
        return endpoint

    return make


def events(name: str) -> list[Message]:
    """The events for an endpoint, oldest first."""
    return list(Message.objects.filter(channel="webhook", address=name).order_by("id"))


def event_of(message: Message, name: str) -> Message:
    """The event that told an endpoint of a message's notification."""
    return Message.objects.get(address=name, notification__reference=str(message.notification_id))


def ended(world: Any, *names: str) -> list[Message]:
    """End a notification. Returns its event for each of these endpoints."""
    message = sms(INVALID)
    world.drain(Lane.NORMAL)
    return [event_of(message, name) for name in names]


def arrived(world: Any, name: str) -> list[dict[str, Any]]:
    """What an endpoint was told, in the order it came."""
    return [json.loads(call.body) for call in world.sandbox.receivers.arrivals() if call.path.endswith(f"/{name}")]


def move_clock(message: Message) -> None:
    """Let the wait of an event, and any rest of its endpoint, be over."""
    Breaker.objects.update(opened_until=timezone.now() - SECOND)
    accounts.forget()
    make_due(message)


class TestAnEvent:
    def test_tells_how_a_notification_ended(self, world, listening):
        listening("orders")
        accepted = send({"sms": INVALID}, {"sms": {"text": "Hi"}}, reference="order-7", metadata={"name": "Zoë ✅"})
        world.drain(Lane.NORMAL)
        world.drain(Lane.NORMAL)

        [call] = world.sandbox.receivers.arrivals()
        said = json.loads(call.body)

        assert call.is_signed is True
        assert call.headers["content-type"] == "application/json"
        assert said["type"] == "notification.failed"
        assert datetime.fromisoformat(said["timestamp"]).tzinfo is not None
        assert said["data"] == {
            "id": str(accepted.id),
            "state": said["type"].partition(".")[2],
            "sequence": 1,
            "reference": "order-7",
            "metadata": {"name": "Zoë ✅"},
        }
        assert "Zoë ✅" in call.body

    def test_is_delivered_when_it_is_taken(self, world, listening):
        listening("orders")
        [event] = ended(world, "orders")

        world.drain(Lane.NORMAL)

        assert told(event) == (State.DELIVERED, "")
        assert Notification.objects.get(id=event.notification_id).client.name == EVENTS

    def test_is_not_told_of(self, world, listening):
        listening("orders")
        ended(world, "orders")

        for _ in range(3):
            world.drain(Lane.NORMAL)

        assert len(events("orders")) == 1

    def test_goes_to_those_who_ask_for_it(self, world, listening):
        for name, types in {"all": [], "kind": ["notification.*"], "this": ["notification.failed"],
                            "other": ["notification.delivered", "sms.received"]}.items():  # fmt: skip
            listening(name, event_types=types)
        listening("stranger", of="shop")
        ended(world)

        told_to = {event.address for event in Message.objects.filter(channel="webhook")}
        assert told_to == {"all", "kind", "this"}

    def test_keeps_its_id_over_tries(self, world, listening):
        listening("orders", "fail")
        [event] = ended(world, "orders")
        for _ in range(2):
            world.drain(Lane.NORMAL)
            move_clock(event)

        first, second = world.sandbox.receivers.arrivals()

        assert first.id == second.id == f"msg_{event.id.hex}"
        assert first.body == second.body
        assert first.is_signed is second.is_signed is True


class TestAFailingEndpoint:
    def test_is_tried_by_the_schedule(self, world, listening, numbers_are):
        numbers_are(failures_in_a_row=100, failing_calls=1000)
        listening("orders", "fail")
        [event] = ended(world, "orders")

        waits = []
        for _ in range(11):
            world.drain(Lane.NORMAL)
            waits.append((due_at(event) - timezone.now()).total_seconds())
            move_clock(event)
        world.drain(Lane.NORMAL)

        expected = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, 86_400, 86_400)
        assert all(least - 1 < wait <= 1.1 * least for wait, least in zip(waits, expected, strict=True)), waits
        assert told(event) == (State.DEAD_LETTERED, "tries_used_up")
        assert len(arrived(world, "orders")) == 12

    def test_rests_and_its_events_spend_no_tries(self, world, listening, numbers_are):
        numbers_are(failures_in_a_row=3)
        listening("orders", "fail")
        for _ in range(5):
            ended(world)
        for _ in range(3):
            for event in events("orders"):
                make_due(event)
            world.drain(Lane.NORMAL)

        assert Breaker.objects.get().account.slug == "orders"
        calls = len(arrived(world, "orders"))
        for event in events("orders"):
            make_due(event)
        world.drain(Lane.NORMAL)
        assert len(arrived(world, "orders")) == calls

    def test_moves_no_other(self, world, listening, numbers_are):
        numbers_are(failures_in_a_row=2)
        listening("bad", "fail")
        listening("good")
        for _ in range(6):
            ended(world)
            world.drain(Lane.NORMAL)

        assert {told(event)[0] for event in events("good")} == {State.DELIVERED}
        assert [said["data"]["id"] for said in arrived(world, "good")] == [
            Notification.objects.get(id=event.notification_id).reference for event in events("good")
        ]

    def test_that_says_nothing_holds_up_nobody(self, world, listening, numbers_are):
        numbers_are(send_deadline_seconds=0.3)
        listening("silent", "timeout")
        listening("good")
        ended(world, "silent", "good")
        other = sms()

        world.drain(Lane.NORMAL)

        assert (told(other)[0], told(events("good")[0])[0]) == (State.SENT, State.DELIVERED)
        assert told(events("silent")[0])[0] == State.UNCERTAIN

    def test_that_may_have_it_is_sent_it_again_under_its_id(self, world, listening, numbers_are):
        numbers_are(send_deadline_seconds=0.3)
        endpoint = listening("silent", "timeout")
        [event] = ended(world, "silent")
        world.drain(Lane.NORMAL)
        world.sandbox.receivers.set("/hooks/timeout/silent", role="ok")
        for _ in range(3):
            move_clock(event)
            world.drain(*Lane)

        assert told(event)[0] == State.DELIVERED
        assert len({call.id for call in world.sandbox.receivers.arrivals()}) == 1
        assert ProviderAccount.objects.get(id=endpoint.account_id).is_on

    def test_that_is_busy_says_when_to_come_again(self, world, listening):
        listening("orders", "busy")
        [event] = ended(world, "orders")

        world.drain(Lane.NORMAL)

        event.refresh_from_db()
        assert (event.state, event.tries) == (State.QUEUED, 0)
        assert 6 < (due_at(event) - timezone.now()).total_seconds() < 10

    def test_a_redirect_is_not_followed(self, world, listening):
        listening("orders", "redirect")
        [event] = ended(world, "orders")

        world.drain(Lane.NORMAL)

        assert [call.path for call in world.sandbox.receivers.arrivals()] == ["/hooks/redirect/orders"]
        assert told(event) == (State.QUEUED, "waiting_to_retry")


class TestAnEndpointThatIsGone:
    def test_is_switched_off_and_its_events_are_kept(self, world, listening):
        endpoint = listening("orders", "gone")
        kept = [ended(world, "orders")[0] for _ in range(3)]
        world.drain(Lane.NORMAL)
        kept += ended(world, "orders")
        world.drain(Lane.NORMAL)

        endpoint.refresh_from_db()
        assert (endpoint.account.is_on, endpoint.off_reason) == (False, "the endpoint is gone")
        assert {told(event) for event in kept} == {(State.QUEUED, "endpoint_off")}
        assert all(due_at(event) > timezone.now() + timedelta(minutes=20) for event in kept)
        assert len(arrived(world, "orders")) <= 3

    def test_gets_them_in_order_once_it_is_on(self, world, listening, numbers_are, settings):
        numbers_are(cache_seconds=0.0)
        endpoint = listening("orders", "gone")
        for _ in range(4):
            ended(world)
            world.drain(Lane.NORMAL)
        world.sandbox.receivers.clear()
        world.sandbox.receivers.set("/hooks/gone/orders", role="ok")

        endpoints.switch_on(endpoint)
        due = [due_at(event) for event in events("orders")]
        world.drain(Lane.NORMAL, transport=make_transport("requests", 1, settings.WEBHOOKS))

        assert due == sorted(due)
        assert len(set(due)) == 4
        assert {told(event) for event in events("orders")} == {(State.DELIVERED, "")}
        assert [said["data"]["id"] for said in arrived(world, "orders")] == [
            Notification.objects.get(id=event.notification_id).reference for event in events("orders")
        ]
        endpoint.refresh_from_db()
        assert (endpoint.off_reason, endpoint.failing_since) == ("", None)

    def test_a_wait_is_left_until_every_process_knows(self, world, listening):
        endpoint = listening("orders", "gone")
        [event] = ended(world, "orders")
        world.drain(Lane.NORMAL)

        endpoints.switch_on(endpoint)

        assert timedelta(seconds=8) < due_at(event) - timezone.now() < timedelta(seconds=11)

    def test_what_somebody_holds_is_left_alone(self, world, listening):
        endpoint = listening("orders", "gone")
        [event] = ended(world, "orders")
        world.drain(Lane.NORMAL)
        make_due(event)
        world.claim(Lane.NORMAL)
        before = due_at(event)

        endpoints.switch_on(endpoint)

        assert due_at(event) == before


class TestAForbiddenAddress:
    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("http://127.0.0.2:{port}/hooks/ok", "the address is not public"),
            ("http://169.254.169.254:{port}/latest/meta-data", "the address is not public"),
            ("http://[::ffff:127.0.0.1]:{port}/hooks/ok", "the address is not public"),
            ("http://127.0.0.1:22/", "port 22 is not allowed"),
            ("ftp://127.0.0.1:{port}/", "the address is none"),
        ],
    )
    def test_switches_its_endpoint_off(self, world, listening, url, reason):
        endpoint = listening("orders")
        credentials = {**endpoint.account.credentials, "url": url.format(port=world.sandbox.url.rpartition(":")[2])}
        ProviderAccount.objects.filter(id=endpoint.account_id).update(credentials=credentials)
        accounts.forget()
        [event] = ended(world, "orders")

        world.drain(Lane.NORMAL)

        endpoint.refresh_from_db()
        assert (endpoint.account.is_on, endpoint.off_reason) == (False, reason)
        assert told(event) == (State.QUEUED, "endpoint_off")
        assert [attempt.outcome for attempt in event.attempts.all()] == ["not_sent"]
        assert world.sandbox.receivers.arrivals() == []

    def test_keeps_a_secret_that_is_none_from_being_used(self, world, listening):
        endpoint = listening("orders")
        credentials = {**endpoint.account.credentials, "secret": "nonsense"}
        ProviderAccount.objects.filter(id=endpoint.account_id).update(credentials=credentials)
        accounts.forget()
        [event] = ended(world, "orders")

        world.drain(Lane.NORMAL)

        endpoint.refresh_from_db()
        assert (endpoint.account.is_on, told(event)) == (False, (State.QUEUED, "endpoint_off"))
        assert not event.attempts.exists()


class TestAClientsOwn:
    """An endpoint is a channel, too: what its client has to say, to one of its own."""

    def test_goes_out_as_it_was_written_when_it_was_accepted(self, world, listening):
        listening("orders", of="shop", event_types=["sms.received"])
        fields = {"to": {"webhook": "orders"}, "content": {"webhook": {"type": "order.paid", "data": {"n": "Zoë"}}}}
        now = timezone.now()
        accepted = accept(fields, client_name="shop", now=now)

        world.drain(Lane.NORMAL)

        [call] = world.sandbox.receivers.arrivals()
        assert (call.is_signed, call.body) == (
            True,
            f'{{"type":"order.paid","timestamp":"{now.isoformat()}","data":{{"n":"Zoë"}}}}',
        )
        assert Notification.objects.get(id=accepted.id).end == "delivered"

    def test_is_heard_of_as_well(self, world, listening):
        listening("orders", of="shop")
        fields = {"to": {"webhook": "orders"}, "content": {"webhook": {"type": "order.paid", "data": {}}}}
        accept(fields, client_name="shop", now=timezone.now())
        for _ in range(4):
            world.drain(Lane.NORMAL)

        assert [said["type"] for said in arrived(world, "orders")] == ["order.paid", "notification.delivered"]

    def test_a_key_is_good_for_the_same_request_later(self, world, listening):
        listening("orders", of="shop")
        fields = {
            "to": {"webhook": "orders"},
            "content": {"webhook": {"type": "x", "data": {}}},
            "idempotency_key": "k",
        }
        now = timezone.now()

        first, again = (accept(fields, client_name="shop", now=now + late) for late in (0 * SECOND, SECOND))

        assert (again.id, again.replayed) == (first.id, True)

    @pytest.mark.parametrize("client_name", ["shop", "other"])
    def test_goes_to_no_other_clients_endpoint(self, world, listening, client_name):
        factories.client("other")
        listening("orders", of="warehouse")
        selectors.clients.forget()
        factories.client("shop")
        fields = {"to": {"webhook": "orders"}, "content": {"webhook": {"type": "x", "data": {}}}}

        with pytest.raises(Refused) as refused:
            accept(fields, client_name=client_name, now=timezone.now())

        assert [error.field for error in refused.value.errors] == ["to.webhook"]
        assert not OutboxEntry.objects.exists()

    def test_code_in_this_project_may_use_any(self, world, listening):
        listening("orders", of="warehouse")

        send({"webhook": "orders"}, {"webhook": {"type": "x", "data": {}}})
        world.drain(Lane.NORMAL)

        assert len(arrived(world, "orders")) == 1

    def test_one_made_a_moment_ago_is_known(self, world, listening):
        selectors.endpoints.get()
        factories.endpoint("orders", f"{world.sandbox.url}/hooks/ok")

        assert send({"webhook": "orders"}, {"webhook": {"type": "x", "data": {}}})

    def test_beside_another_channel_it_wants_a_route(self, world, listening):
        listening("orders")
        to = {"webhook": "orders", "sms": factories.NUMBER}
        content = {"webhook": {"type": "x", "data": {}}, "sms": {"text": "Hi"}}

        with pytest.raises(Refused) as refused:
            send(to, content)

        assert [error.field for error in refused.value.errors] == ["route"]

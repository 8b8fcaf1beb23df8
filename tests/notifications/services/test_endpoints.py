"""Endpoints made, changed and ended, and everything that is refused."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Client, Message, ProviderAccount, WebhookEndpoint
from notifications.services import endpoints
from notifications.services.request import FieldError, Refused
from providers.transport.foreign import ForeignRules
from tests import factories

CASE = json.loads((Path(__file__).parents[2] / "cases" / "http-header-values-beyond-ascii" / "input.json").read_text())
URL = "https://customer.example.org/hooks"
PUBLIC, PRIVATE = "93.184.215.14", "10.0.0.7"


def known_as(*addresses: str):
    """A resolver by which every name has these addresses."""

    def look_up(host: str, port: int, seconds: float) -> Sequence[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return look_up


def unknown(host: str, port: int, seconds: float) -> Sequence[Any]:
    raise OSError("no such name")


def make(of: str = "shop", look_up: Any = known_as(PUBLIC), **fields: Any) -> tuple[WebhookEndpoint, str]:  # noqa: B008
    return endpoints.create(factories.client(of), {"name": "orders", "url": URL, **fields}, look_up=look_up)


def refusal(**fields: Any) -> FieldError:
    """The one error of an endpoint that is refused; nothing of it is stored."""
    before = ProviderAccount.objects.count()
    with pytest.raises(Refused) as refused:
        make(**fields)
    assert ProviderAccount.objects.count() == before
    [error] = refused.value.errors
    return error


pytestmark = pytest.mark.usefixtures("seeded")


class TestMaking:
    def test_stores_an_account_and_shows_its_secret(self):
        endpoint, secret = make(
            event_types=["notification.*"], owner_email="Ops@Example.ORG", headers={"X-Ok": "plain"}
        )

        account = ProviderAccount.objects.get(slug="orders")
        assert (account.provider, account.channels, account.is_on) == ("webhook", ["webhook"], True)
        assert account.credentials == {"url": URL, "secret": secret}
        assert account.settings == {"headers": {"X-Ok": "plain"}}
        assert (endpoint.event_types, endpoint.owner_email) == (["notification.*"], "Ops@example.org")
        assert secret.startswith("whsec_")

    def test_a_name_that_cannot_be_resolved_now_is_taken(self):
        assert make(look_up=unknown)

    @pytest.mark.parametrize("name", ["", "Orders", "a" * 51, "a b", "ä", "-a", "a/b", "a_b", "..", 7])
    def test_refuses_names(self, name):
        assert refusal(name=name).field == "name"

    def test_refuses_a_name_that_is_taken(self):
        factories.account("twilio")
        make()

        assert refusal(name="twilio").reason == refusal(of="other").reason == "is taken"

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("http://customer.example.org/", "is not https"),
            ("https://user:secret@customer.example.org/", "has a user or a password in it"),
            ("https://customer.example.org:22/", "port 22 is not allowed"),
            ("https://m\u00fcller.example/", "is none"),
            ("https://customer.example.org/\r\nHost: evil", "is none"),
            ("customer.example.org", "is none"),
            ("javascript:alert(1)", "is none"),
            ("https://customer.example.org/" + "x" * 2000, "String should have at most 2000 characters"),
        ],
    )
    def test_refuses_urls(self, url, reason):
        error = refusal(url=url)

        assert (error.field, error.reason) == ("url", reason)

    @pytest.mark.parametrize("address", [PRIVATE, "127.0.0.1", "169.254.169.254"])
    def test_refuses_a_host_that_is_not_public(self, address):
        error = refusal(look_up=known_as(address))

        assert (error.field, error.reason) == ("url", "is not public")
        assert address not in str(error)

    def test_takes_what_an_operator_allows(self, settings):
        settings.WEBHOOKS = ForeignRules([ip_network("10.0.0.0/8")], allows_http=True, ports=frozenset({8080}))

        assert make(url="http://inside.example:8080/", look_up=known_as(PRIVATE))

    @pytest.mark.parametrize(
        "types", [["notification"], ["*"], ["order.paid"], ["notification.delivered", ""], "x", [7]]
    )
    def test_refuses_types_of_events_that_there_are_not(self, types):
        assert refusal(event_types=types).field.startswith("event_types")

    def test_refuses_an_address_that_is_no_mailbox(self):
        assert refusal(owner_email="nobody").field == "owner_email"

    def test_http_header_values_beyond_ascii(self):
        given = CASE["endpoint_headers"]

        reasons = {name: refusal(headers={name: value}).reason for name, value in given.items() if name != "X-Ok"}

        assert reasons == {
            "X-Title": "has a value that cannot be sent",
            "X-Tag": "has a value that cannot be sent",
            "Content-Length": "has a header that is ours",
        }
        assert make(headers={"X-Ok": given["X-Ok"]})

    @pytest.mark.parametrize(
        "headers",
        [
            {"Host": "evil"},
            {"TRANSFER-encoding": "chunked"},
            {"Connection": "close"},
            {"Webhook-Id": "x"},
            {"webhook-anything": "x"},
            {"Content-Type": "text/plain"},
            {"Proxy-Authorization": "x"},
            {"X Y": "x"},
            {"X:": "x"},
            {"": "x"},
            {"X\r\nHost": "x"},
            {"X": ""},
            {"X": " x"},
            {"X": "a\tb"},
            {"X": "a\x7f"},
            {"X": "x" * 1001},
            {"X": "1", "x": "2"},
            {f"X-{number}": "x" for number in range(21)},
            {"X": 7},
            ["X"],
        ],
    )
    def test_refuses_headers_that_would_break_a_call(self, headers):
        assert refusal(headers=headers).field.startswith("headers")

    def test_refuses_one_too_many(self, settings, numbers_are):
        numbers_are(endpoints_of_a_client=2)
        make(name="one"), make(name="two")

        assert refusal(name="three").accepted == "at most 2 endpoints of a client"
        assert make(name="three", of="other")

    def test_refuses_the_client_that_tells_of_events(self):
        assert refusal(of="events").field == "client"

    def test_names_every_fault_at_once(self):
        with pytest.raises(Refused) as refused:
            make(name="A", url="ftp://x", event_types=["?"], headers={"Host": "x"}, colour="red")

        fields = {error.field for error in refused.value.errors}
        assert fields == {"name", "url", "event_types.0", "headers", "colour"}


class TestTwoAtOnce:
    def test_are_not_both_the_last(self, numbers_are, aside):
        numbers_are(endpoints_of_a_client=1)
        factories.client("shop")

        tries = [aside(make, name=name) for name in ("one", "two")]
        faults = [type(done.exception()) for done in tries]

        assert sorted(faults, key=str) == sorted([Refused, type(None)], key=str)
        assert WebhookEndpoint.objects.count() == 1

    def test_do_not_both_get_a_name(self, aside):
        factories.client("shop"), factories.client("other")

        tries = [aside(make, of=of) for of in ("shop", "other")]

        assert sorted([type(done.exception()) for done in tries], key=str) == sorted([Refused, type(None)], key=str)


class TestChanging:
    def test_leaves_what_is_not_named(self):
        endpoint, secret = make(event_types=["sms.received"], owner_email="a@example.org", headers={"X-Ok": "plain"})

        changed = endpoints.change(endpoint, {"url": f"{URL}/new", "event_types": []}, look_up=known_as(PUBLIC))

        assert (changed.event_types, changed.owner_email) == ([], "a@example.org")
        assert changed.account.credentials == {"url": f"{URL}/new", "secret": secret}
        assert changed.account.settings == {"headers": {"X-Ok": "plain"}}

    def test_switches_off_and_on(self):
        endpoint, _ = make()

        off = endpoints.change(endpoint, {"is_on": False})
        assert (off.account.is_on, off.off_reason) == (False, "switched off by hand")

        on = endpoints.change(endpoint, {"is_on": True})
        assert (on.account.is_on, on.off_reason) == (True, "")

    @pytest.mark.parametrize(
        "fields",
        [
            {"name": "other"},
            {"url": "http://x.example/"},
            {"is_on": "yes"},
            {"secret": "x"},
            {"headers": {"Host": "x"}},
        ],
    )
    def test_refuses_what_making_refuses(self, fields):
        endpoint, _ = make()

        with pytest.raises(Refused):
            endpoints.change(endpoint, fields, look_up=known_as(PUBLIC))

    def test_refuses_a_host_that_is_not_public(self):
        endpoint, _ = make()

        with pytest.raises(Refused, match="is not public"):
            endpoints.change(endpoint, {"url": f"{URL}/new"}, look_up=known_as(PRIVATE))


class TestRotating:
    def test_keeps_the_secret_before_for_a_day(self):
        endpoint, first = make(headers={"X-Ok": "plain"})
        now = timezone.now()

        second = endpoints.rotate_secret(endpoint, now=now)

        account = ProviderAccount.objects.get(slug="orders")
        assert account.credentials == {"url": URL, "secret": second, "previous_secret": first}
        assert account.settings == {
            "headers": {"X-Ok": "plain"},
            "previous_secret_until": (now + timedelta(days=1)).isoformat(),
        }
        assert len({first, second, endpoints.rotate_secret(endpoint, now=now)}) == 3


class TestTrying:
    def test_sends_an_event_whatever_it_asks_for(self):
        endpoint, _ = make(event_types=["sms.received"])
        now = timezone.now()

        endpoints.send_test(endpoint, now=now)
        endpoints.send_test(endpoint, now=now)

        said = [json.loads(message.notification.content["webhook"]["text"]) for message in Message.objects.all()]
        assert said == [{"type": "endpoint.test", "timestamp": now.isoformat(), "data": {"endpoint": "orders"}}] * 2

    def test_refuses_one_that_is_off(self):
        endpoint, _ = make()
        endpoints.stop(endpoint)

        with pytest.raises(Refused, match="is switched off"):
            endpoints.send_test(endpoints.find("orders", client_id=endpoint.client_id), now=timezone.now())


class TestEnding:
    def test_leaves_the_account_for_what_is_on_file(self):
        endpoint, _ = make()
        endpoints.send_test(endpoint, now=timezone.now())

        endpoints.delete(endpoint)

        assert not WebhookEndpoint.objects.exists()
        assert ProviderAccount.objects.get(slug="orders").is_on is False
        assert refusal().reason == "is taken"
        assert Message.objects.count() == 1

    def test_is_found_by_its_client_alone(self):
        make()
        other = Client.objects.create(name="other")

        assert endpoints.of_client(other.id) == []
        with pytest.raises(endpoints.UnknownEndpoint):
            endpoints.find("orders", client_id=other.id)

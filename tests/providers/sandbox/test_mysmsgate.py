"""MySMSGate: roles, refusals, the history, reports; and what the product's own adapter makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RouteRejected,
    Unavailable,
    UnknownRefusal,
)
from providers.messages import Account, CannotTell, EventKind, Found, NotThere
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Product
from tests.providers.sandbox.test_adapters import ATTEMPT, Desk, sms

CREDENTIALS = {"api_key": "msg-key-0123456789"}


class Client:
    """Knows no adapter: says what articles and integrations say."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers.update({"Authorization": "Bearer msg-key-0123456789"})
        self.url = f"{sandbox.base_url('phones')}/api/v1"

    def send(self, to: Any, **fields: Any) -> requests.Response:
        asked = payload("mysmsgate/send_request.json") | {"to": to} | fields
        return self.http.post(f"{self.url}/send", json=asked, timeout=10)

    def get(self, path: str) -> Any:
        return self.http.get(f"{self.url}/{path}", timeout=10).json()


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    account = SandboxAccount("phones", "mysmsgate", CREDENTIALS, f"http://{product.host}/webhooks/phones/secret/")
    with Sandbox([account], pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[Client]:
    client = Client(sandbox)
    yield client
    client.http.close()


@pytest.fixture
def desk(sandbox: Sandbox) -> Iterator[Desk]:
    settings = {"devices": ["phone-a", "phone-b"], "send_client_message_id": True}
    account = Account("phones", CREDENTIALS, settings, base_url=sandbox.base_url("phones"))
    transport = RequestsTransport(concurrency=2)
    yield Desk(connect("mysmsgate", account), transport, sms)
    transport.close()


class TestAnswers:
    @pytest.mark.parametrize("file", ["send_request", "send_request_text"])
    def test_takes_both_forms(self, client: Client, file: str) -> None:
        asked = payload(f"mysmsgate/{file}.json")

        answer = client.http.post(f"{client.url}/send", json=asked, timeout=10)

        assert answer.status_code == 202
        assert shape(answer.json()) == shape(payload("mysmsgate/send_response_202.json"))

    def test_shows_one_message(self, client: Client) -> None:
        id = client.send(number("02")).json()["sms_id"]

        assert client.get(f"sms?id={id}") == {"id": id, "status": "pending"}
        assert shape(client.get(f"sms?id={id}")) == shape(payload("mysmsgate/get_sms_200.json"))
        assert client.get("sms?id=1")["success"] is False

    def test_shows_the_history_newest_first(self, client: Client, sandbox: Sandbox) -> None:
        ids = [client.send(number("03")).json()["sms_id"] for _ in range(3)]
        assert sandbox.wait_idle(10)

        history = client.get("history?direction=out&limit=2")["history"]

        assert [entry["id"] for entry in history] == ids[:0:-1]
        assert shape(history[0]) == shape(payload("mysmsgate/history_200.json")["history"][0])
        assert history[0]["status"] == "failed"
        assert client.get("history?direction=in")["history"] == []

    @pytest.mark.parametrize(
        ("role", "words"),
        [("01", ["SENT", "DELIVERED"]), ("03", ["SENT", "FAILED"]), ("07", ["DELIVERED"] * 2 + ["SENT"] * 2)],
    )
    def test_reports_are_as_in_the_example(
        self, client: Client, product: Product, sandbox: Sandbox, role: str, words: list[str]
    ) -> None:
        client.send(number(role), client_message_id="ntf-0001-a1")
        assert sandbox.wait_idle(10)

        assert [call.json["status"] for call in product.calls] == words
        for call in product.calls:
            assert shape(call.json) == shape(payload("mysmsgate/callback_delivered.json"))
            assert call.url.endswith("/webhooks/phones/secret/")

    def test_reports_once(self, client: Client, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500

        client.send(number("01"))

        assert sandbox.wait_idle(10)
        assert len(product.calls) == 2

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"to": None}, 400),
            ({"to": "015112345601"}, 400),
            ({"to": number("04")}, 400),
            ({"to": number("08")}, 400),
            ({"message": ""}, 400),
            ({"device_id": ""}, 404),
            ({"slot": 2}, 400),
            ({"client_message_id": 7}, 400),
        ],
    )
    def test_is_refused(self, client: Client, sandbox: Sandbox, change: dict[str, Any], status: int) -> None:
        answer = client.send(**{"to": number("01")} | change)

        assert answer.status_code == status
        assert shape(answer.json()) == shape(payload("mysmsgate/error.json"))
        assert sandbox.counts().taken == 0

    def test_needs_the_key(self, client: Client, sandbox: Sandbox) -> None:
        client.http.headers["Authorization"] = "Bearer wrong"

        assert client.send(number("01")).status_code == 401
        assert sandbox.counts().unknown_requests == 1

    def test_gives_no_id_twice_though_started_again(self, client: Client, sandbox: Sandbox) -> None:
        first = client.send(number("02")).json()["sms_id"]
        with Sandbox([SandboxAccount("phones", "mysmsgate", CREDENTIALS)], pace=PACE) as another:
            other = Client(another)

            assert other.send(number("02")).json()["sms_id"] > first
            other.http.close()


class TestAdapter:
    def test_delivers_and_tells(self, desk: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = desk.send(number("01"))

        events = [desk.hear(call) for call in product.wait_for(2)]

        [(_, message)] = sandbox.messages()
        assert sent.provider_status == "pending"
        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id, message.id}
        assert message.content.device in ("phone-a", "phone-b")
        assert desk.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_is_silent(self, desk: Desk, sandbox: Sandbox, product: Product) -> None:
        sent = desk.send(number("02"))

        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert desk.status(sent.provider_message_id) == [EventKind.ACCEPTED]

    def test_fails_for_good_without_suppression(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("03"))

        event = desk.hear(product.wait_for(2)[-1])

        assert (event.kind, event.suppress) == (EventKind.FAILED, None)
        assert desk.status(sent.provider_message_id) == [EventKind.FAILED]

    def test_tells_the_same_twice_under_one_key(self, desk: Desk, product: Product) -> None:
        desk.send(number("07"))

        events = [desk.hear(call) for call in product.wait_for(4)]

        assert len({event.dedupe_key for event in events}) == 2

    def test_answers_late(self, desk: Desk) -> None:
        assert desk.send(number("10")).provider_status == "pending"

    @pytest.mark.parametrize(
        ("role", "error"),
        [
            ("04", RouteRejected),
            ("05", RateLimited),
            ("08", UnknownRefusal),
            ("06", OutcomeUnknown),
            ("09", OutcomeUnknown),
        ],
    )
    def test_says_no(self, desk: Desk, role: str, error: type[ProviderError]) -> None:
        with pytest.raises(error) as raised:
            desk.send(number(role))

        assert raised.value.suppress is None

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, desk: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role))

        found = desk.find(number(role))

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id

    def test_cannot_be_told_from_another_to_the_same_number(self, desk: Desk) -> None:
        for text in ("the one", "another"):
            desk.send(number("02"), text=text)

        assert isinstance(desk.find(number("02"), text="the one"), CannotTell)

    def test_is_not_there_only_behind_what_is_older(self, desk: Desk, sandbox: Sandbox) -> None:
        desk.send(number("02", 1))
        assert isinstance(desk.find(number("02", 2)), CannotTell)
        [(_, message)] = sandbox.messages()
        message.taken_at -= 60

        assert isinstance(desk.find(number("02", 2)), NotThere)

    def test_is_not_shown_while_the_history_lags(self, desk: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("phones", look_up_lag_seconds=3600)
        desk.send(number("02"))

        assert isinstance(desk.find(number("02")), CannotTell)

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 402, "code": 0}}, InsufficientBalance),
            ({"refuse": {"status": 409, "code": 0}}, Unavailable),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, desk: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("phones", **fault)

        with pytest.raises(error) as raised:
            desk.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

"""Infrai: the adapter against the sandbox, its idempotency keys, and what the sandbox does not take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    UnknownRefusal,
)
from providers.infrai import Infrai
from providers.messages import (
    Account,
    AttemptRef,
    Channel,
    EventKind,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
)
from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox import infrai as vendor
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import eventually, number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Product

KEYS = {"api_key": "ifr_pk_proj_test"}
KEYED = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1", key="0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    account = SandboxAccount("infrai", "infrai", KEYS, f"http://{product.host}/webhooks/infrai/")
    with Sandbox([account], pace=PACE) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, account: Account, transport: RequestsTransport) -> None:
        self.adapter = Infrai(account)
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        [[answer]] = send_many(self._transport, [TransportCall("only", request, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def send(self, to: str, text: str = "Grüße 123456", attempt: AttemptRef = KEYED) -> SendResult:
        request = self.adapter.send_request(OutgoingMessage(Channel.SMS, to, text), attempt)
        return self.adapter.send_result(self.ask(request))

    def status(self, provider_message_id: str | None) -> list[EventKind]:
        answer = self.ask(self.adapter.status_request(provider_message_id or ""))
        return [event.kind for event in self.adapter.status_result(answer)]


@pytest.fixture
def infrai(sandbox: Sandbox) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=2)
    yield Desk(Account("infrai", KEYS, {"from": "Landfall"}, base_url=sandbox.base_url("infrai")), transport)
    transport.close()


@pytest.fixture
def http(sandbox: Sandbox) -> Iterator[requests.Session]:
    """A client that knows no adapter."""
    session = requests.Session()
    session.trust_env = False
    session.headers["Authorization"] = "Bearer ifr_pk_proj_test"
    yield session
    session.close()


class TestRoles:
    @pytest.mark.parametrize(
        ("role", "kind"),
        [
            ("01", EventKind.DELIVERED),
            ("02", EventKind.ACCEPTED),
            ("03", EventKind.FAILED),
            ("07", EventKind.DELIVERED),
            ("08", EventKind.FAILED),
            ("10", EventKind.DELIVERED),
        ],
    )
    def test_is_told_when_asked(self, infrai: Desk, sandbox: Sandbox, role: str, kind: EventKind) -> None:
        sent = infrai.send(number(role))

        eventually(lambda: infrai.status(sent.provider_message_id), lambda kinds: kinds == [kind])

        assert (sent.provider_status, sent.segments) == ("queued", 1)

    def test_nothing_is_told_unasked(self, infrai: Desk, sandbox: Sandbox, product: Product) -> None:
        infrai.send(number("01"))

        assert sandbox.wait_idle(10)
        assert product.calls == []

    @pytest.mark.parametrize(("role", "error"), [("04", UnknownRefusal), ("05", RateLimited)])
    def test_says_no(self, infrai: Desk, role: str, error: type[ProviderError]) -> None:
        with pytest.raises(error) as raised:
            infrai.send(number(role))

        assert raised.value.suppress is None

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_settled_by_the_same_call_again(self, infrai: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            infrai.send(number(role))

        sent = infrai.send(number(role))

        [(_, message)] = sandbox.messages()
        assert sent.provider_message_id == message.id
        assert message.attempt == KEYED.id

    def test_is_not_settled_by_other_words_under_the_same_key(self, infrai: Desk, sandbox: Sandbox) -> None:
        infrai.send(number("01"))

        with pytest.raises(OutcomeUnknown) as raised:
            infrai.send(number("01"), "Other words")

        assert raised.value.http_status == 409
        assert sandbox.counts().taken == 1

    def test_a_message_that_is_none_is_told_nothing_of(self, infrai: Desk) -> None:
        assert infrai.status("sms_none") == []


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 402, "code": 0}}, InsufficientBalance),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(
        self, infrai: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults("infrai", **fault)

        with pytest.raises(error) as raised:
            infrai.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_another_key_is_refused(self, infrai: Desk, sandbox: Sandbox) -> None:
        infrai.adapter = Infrai(replace(infrai.adapter.account, credentials={"api_key": "other"}))

        with pytest.raises(AuthenticationFailed):
            infrai.send(number("01"))
        assert sandbox.counts().unknown_requests == 1


class TestWire:
    def test_answers_are_as_in_the_examples(self, http: requests.Session, sandbox: Sandbox) -> None:
        url = f"{sandbox.base_url('infrai')}/v1/sms"
        taken = http.post(f"{url}/send", json={"to": number("01"), "body": "Hello"}, timeout=10).json()
        assert sandbox.wait_idle(10)
        id = taken["data"]["sms_id"]

        assert shape(taken) == shape(payload("infrai/send_response_200.json"))
        assert shape(http.get(f"{url}/status/{id}", timeout=10).json()) == shape(payload("infrai/status_200.json"))
        told = http.get(f"{url}/events/{id}", timeout=10).json()["data"]
        assert [event["status"] for event in told] == ["queued", "sent", "delivered"]

    def test_equal_calls_without_a_key_are_one(self, http: requests.Session, sandbox: Sandbox) -> None:
        for body in ("Hello", "Hello", "Hello again"):
            http.post(f"{sandbox.base_url('infrai')}/v1/sms/send", json={"to": number("01"), "body": body}, timeout=10)

        assert sandbox.counts().taken == 2

    def test_a_key_is_forgotten_after_a_day(
        self, infrai: Desk, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        infrai.send(number("01"))
        monkeypatch.setattr(vendor, "KEY_LIFE_SECONDS", 0)

        infrai.send(number("01"))

        assert sandbox.counts().taken == 2

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b"{", 400),
            (b"[]", 400),
            (b'{"to": "+4915112345601", "text": "x"}', 400),
            (b'{"to": 5, "body": "x"}', 422),
            (b'{"to": "0151", "body": "x"}', 422),
            (b'{"to": "+4915112345601"}', 422),
        ],
    )
    def test_is_refused(self, http: requests.Session, sandbox: Sandbox, body: bytes, status: int) -> None:
        answer = http.post(f"{sandbox.base_url('infrai')}/v1/sms/send", data=body, timeout=10)

        assert (answer.status_code, answer.json()["ok"]) == (status, False)
        assert sandbox.counts().taken == 0

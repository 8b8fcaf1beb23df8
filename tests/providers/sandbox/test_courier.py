"""Courier: the adapter against the sandbox, its idempotency keys, and what the sandbox does not take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from providers.courier import Courier
from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRequest,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
)
from providers.messages import (
    Account,
    Attachment,
    AttemptRef,
    Channel,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    Headers,
    HttpRequest,
    HttpResponse,
    Mail,
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox.vendors.courier import vendor
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.samples.courier import API_KEY, SECRET
from tests.providers.sandbox.clients import eventually, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product
from tests.providers.test_courier import SCHEMAS

ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
AGAIN, OTHER = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-2"), AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7e-1")
KEYS = {"api_key": API_KEY, "webhook_secret": SECRET}
SETTINGS = {"from": "Shop <no-reply@example.com>", "provider": "postmark"}
STORED_FAILURE = {"refuse": {"status": 500, "code": 0}}


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    account = SandboxAccount("courier", "courier", KEYS, f"http://{product.host}/webhooks/courier/")
    with Sandbox([account], pace=PACE) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, account: Account, transport: RequestsTransport) -> None:
        self.adapter = Courier(account)
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        [[answer]] = send_many(self._transport, [TransportCall("only", request, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def request(self, to: str, attempt: AttemptRef = ATTEMPT, **changes: Any) -> HttpRequest:
        message = OutgoingMessage(Channel.EMAIL, to, "Grüße 😭", "Your order", "<p>Grüße</p>")
        return self.adapter.send_request(replace(message, **changes), attempt)

    def send(self, to: str, attempt: AttemptRef = ATTEMPT, **changes: Any) -> SendResult:
        return self.adapter.send_result(self.ask(self.request(to, attempt, **changes)))

    def find(self, attempt: AttemptRef = ATTEMPT, page: str | None = None, **changes: Any) -> FindResult:
        message = OutgoingMessage(Channel.EMAIL, "ana@example.org", "Grüße", "Your order")
        sent = SentMessage(message, attempt, datetime.now(UTC), 5.0, **changes)
        return self.adapter.find_result(self.ask(self.adapter.find_request(sent, page)), sent)

    def status(self, provider_message_id: str | None) -> list[EventKind]:
        answer = self.ask(self.adapter.status_request(provider_message_id or ""))
        return [event.kind for event in self.adapter.status_result(answer)]

    def hear(self, call: Call) -> DeliveryEvent:
        [event] = self.adapter.parse_webhook(WebhookRequest("POST", call.url, Headers(call.headers), call.body))
        return event


@pytest.fixture
def courier(sandbox: Sandbox) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=2)
    yield Desk(Account("courier", KEYS, SETTINGS, base_url=sandbox.base_url("courier")), transport)
    transport.close()


class TestRoles:
    def test_delivers_and_tells(self, courier: Desk, product: Product) -> None:
        sent = courier.send("delivered+1@example.org")

        events = [courier.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert len({event.dedupe_key for event in events}) == 2
        assert courier.status(sent.provider_message_id) == [EventKind.DELIVERED]

    @pytest.mark.parametrize(
        ("local", "kind", "suppress"),
        [
            ("bounce", EventKind.BOUNCED, "hard_bounce"),
            ("softbounce", EventKind.NOT_REACHED, None),
            ("invalid", EventKind.FAILED, None),
            ("silent", EventKind.SENT, None),
            ("complaint", EventKind.DELIVERED, None),
        ],
    )
    def test_ends_as_its_address_says(
        self, courier: Desk, product: Product, sandbox: Sandbox, local: str, kind: EventKind, suppress: str | None
    ) -> None:
        sent = courier.send(f"{local}@example.org")
        assert sandbox.wait_idle(10)

        event = courier.hear(product.calls[-1])

        assert (event.kind, event.suppress) == (kind, suppress)
        assert courier.status(sent.provider_message_id) == [kind]

    def test_timeout_is_settled_by_the_same_call_again(self, courier: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(OutcomeUnknown):
            courier.send("timeout@example.org")

        sent = eventually(
            lambda: courier.ask(courier.request("timeout@example.org")), lambda answer: answer.status != 409
        )

        [(_, message)] = sandbox.messages()
        assert courier.adapter.send_result(sent).provider_message_id == message.id
        assert message.attempt == ATTEMPT.id


class TestKeys:
    def test_answer_as_the_first_time(self, courier: Desk, sandbox: Sandbox) -> None:
        first = courier.send("ana@example.org")

        assert courier.send("ana@example.org") == first
        assert courier.send("ana@example.org", AGAIN) != first
        assert sandbox.counts().taken == 2

    def test_keep_a_failure(self, courier: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("courier", **STORED_FAILURE)
        for _ in range(2):
            with pytest.raises(OutcomeUnknown) as raised:
                courier.send("ana@example.org")
            sandbox.set_faults("courier", refuse=None)

        assert raised.value.http_status == 500
        assert (courier.find(), sandbox.counts().taken) == (NotThere(), 0)
        assert courier.send("ana@example.org", AGAIN).provider_message_id

    @pytest.mark.parametrize("fault", [{"outage": "status_503"}, {"refuse": {"status": 400, "code": 0}}])
    def test_keep_neither_a_refusal_nor_what_a_machine_in_front_says(
        self, courier: Desk, sandbox: Sandbox, fault: dict[str, Any]
    ) -> None:
        sandbox.set_faults("courier", **fault)
        with pytest.raises(ProviderError):
            courier.send("ana@example.org")
        sandbox.set_faults("courier", outage=None, refuse=None)

        assert courier.send("ana@example.org").provider_message_id

    def test_of_a_call_that_is_running_is_a_conflict(
        self, courier: Desk, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vendor.CourierVendor, "_busy_seconds", lambda self, ledger, reply: 60.0)
        courier.send("ana@example.org")

        with pytest.raises(OutcomeUnknown) as raised:
            courier.send("ana@example.org")

        assert (raised.value.http_status, sandbox.counts().taken) == (409, 1)

    def test_are_forgotten_after_a_day(self, courier: Desk, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        first = courier.send("ana@example.org")
        monkeypatch.setattr(vendor, "KEY_LIFE_SECONDS", 0)

        assert courier.send("ana@example.org") != first


class TestSearch:
    def test_finds_any_attempt_of_a_message(self, courier: Desk) -> None:
        sent = courier.send("ana@example.org")
        courier.send("ana@example.org", OTHER)

        for attempt in (ATTEMPT, AGAIN):
            found = courier.find(attempt)
            assert isinstance(found, Found)
            assert found.provider_message_id == sent.provider_message_id
        assert courier.find(owned_ids=frozenset({str(sent.provider_message_id)})) == NotThere()

    def test_turns_pages(self, courier: Desk) -> None:
        ids = [courier.send("ana@example.org", replace(ATTEMPT, key=f"key-{n}")).provider_message_id for n in range(26)]

        first = courier.find(owned_ids=frozenset(map(str, ids)))
        assert isinstance(first, NextPage)
        second = courier.find(page=first.page)

        assert getattr(second, "provider_message_id", None) == ids[0]

    def test_lags_and_goes_blind(self, courier: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("courier", look_up_lag_seconds=0.05)
        courier.send("ana@example.org")
        assert courier.find() == NotThere()
        eventually(courier.find, lambda found: isinstance(found, Found))

        sandbox.set_faults("courier", look_up_blind=True)
        assert courier.find() == NotThere()

    @pytest.mark.parametrize("query", ["", "?tags=", "?tags=x&status=SENT"])
    def test_plays_one_tag(self, courier: Desk, query: str) -> None:
        request = courier.adapter.status_request("x")

        assert courier.ask(replace(request, url=request.url.replace("/x", query))).status == 400


class TestShapes:
    def test_are_as_in_the_examples(self, courier: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = courier.send("ana@example.org")
        product.wait_for(2)
        alone = json.loads(courier.ask(courier.adapter.status_request(str(sent.provider_message_id))).body)
        message = OutgoingMessage(Channel.EMAIL, "", "")
        asked = courier.adapter.find_request(SentMessage(message, ATTEMPT, datetime.now(UTC), 5.0))
        listed = json.loads(courier.ask(asked).body)

        assert shape(alone) == shape(payload("courier/message-get-response.json"))
        assert shape(listed) == shape(payload("courier/messages-list-response.json"))
        assert [shape(call.json) for call in product.calls] == [
            shape(payload(f"courier/webhook-{name}.json")) for name in ("sent", "delivered")
        ]
        for told in (alone, listed["results"][0]):
            jsonschema.validate(told, SCHEMAS["MessageDetails"])

    def test_of_a_bounce_is_as_in_the_example(self, courier: Desk, product: Product, sandbox: Sandbox) -> None:
        courier.send("bounce@example.org")
        assert sandbox.wait_idle(10)

        told, recorded = product.calls[-1].json, payload("courier/webhook-undeliverable.json")

        assert set(recorded["data"]) <= set(told["data"])
        assert set(recorded["data"]["providers"][0]) <= set(told["data"]["providers"][0])


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 402, "code": 0}}, InsufficientBalance),
            ({"refuse": {"status": 422, "code": 0}}, InvalidRequest),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(
        self, courier: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults("courier", **fault)

        with pytest.raises(error) as raised:
            courier.send("ana@example.org")

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_another_key_is_refused(self, courier: Desk, sandbox: Sandbox) -> None:
        account = courier.adapter.account
        courier.adapter = Courier(replace(account, credentials={**KEYS, "api_key": "pk_other"}))

        with pytest.raises(AuthenticationFailed):
            courier.send("ana@example.org")
        assert sandbox.counts().unknown_requests == 1


class TestRules:
    def test_take_all_that_a_mail_has(self, courier: Desk) -> None:
        files = (Attachment("März.pdf", "application/pdf", b"%PDF"),)

        assert courier.send("ana@example.org", mail=Mail("Ana", "help@example.com", files)).provider_message_id

    @pytest.mark.parametrize(
        "changes",
        [
            {"to": {}},
            {"to": {"email": "nobody"}},
            {"content": {"title": "x"}},
            {"channels": {"email": {"override": {"headers": {}}}}},
            {"metadata": {"tags": "x"}},
            {"metadata": {"trace": "x"}},
            {"routing": {"method": "best", "channels": []}},
            {"timeout": {"message": "1 m"}},
            {"headers": {}},
        ],
    )
    def test_refuse(self, courier: Desk, sandbox: Sandbox, changes: dict[str, Any]) -> None:
        request = courier.request("ana@example.org")
        body = {"message": json.loads(request.body)["message"] | changes}

        answer = courier.ask(replace(request, body=json.dumps(body).encode()))

        assert (answer.status, shape(json.loads(answer.body))) == (400, shape(payload("courier/error-400.json")))
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"message": 5}'])
    def test_must_be_a_message(self, courier: Desk, body: bytes) -> None:
        assert courier.ask(replace(courier.request("ana@example.org"), body=body)).status == 400


class TestWebhook:
    def test_that_was_changed_is_not_believed(self, courier: Desk, product: Product) -> None:
        courier.send("silent@example.org")
        [genuine] = product.wait_for(1)

        with pytest.raises(InvalidSignature):
            courier.hear(Call(genuine.url, genuine.headers, genuine.body.replace(b"SENT", b"DELIVERED")))

    def test_is_repeated_until_2xx(self, courier: Desk, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500 if number == 0 else 202
        courier.send("silent@example.org")

        assert sandbox.wait_idle(10)
        first, again = [courier.hear(call) for call in product.calls]
        assert first == again

"""SendGrid: the adapter against the sandbox, and what the sandbox does not take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from providers.errors import (
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
    UnknownRefusal,
)
from providers.messages import (
    Account,
    Attachment,
    AttemptRef,
    CannotTell,
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
from providers.sendgrid import SendGrid
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.samples.sendgrid import API_KEY, PRIVATE_KEY, PUBLIC_KEY
from tests.providers.sandbox.clients import eventually, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product

ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
KEYS = {"api_key": API_KEY, "webhook_private_key": PRIVATE_KEY}
SETTINGS = {"from": "Shop <no-reply@example.com>"}


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    account = SandboxAccount("grid", "sendgrid", KEYS, f"http://{product.host}/webhooks/grid/")
    with Sandbox([account], pace=PACE) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, adapter: SendGrid, transport: RequestsTransport) -> None:
        self.adapter = adapter
        self.began_at = datetime.now(UTC)
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        [[answer]] = send_many(self._transport, [TransportCall("only", request, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def request(self, to: str, **changes: Any) -> HttpRequest:
        message = OutgoingMessage(Channel.EMAIL, to, "Grüße 😭", "Your order", "<p>Grüße</p>")
        return self.adapter.send_request(replace(message, **changes), ATTEMPT)

    def send(self, to: str, **changes: Any) -> SendResult:
        return self.adapter.send_result(self.ask(self.request(to, **changes)))

    def find(self, to: str, attempt: AttemptRef = ATTEMPT, **changes: Any) -> FindResult:
        message = OutgoingMessage(Channel.EMAIL, to, "Grüße", "Your order")
        sent = SentMessage(message, attempt, self.began_at, 5.0, **changes)
        result = self.adapter.find_result(self.ask(self.adapter.find_request(sent)), sent)
        if isinstance(result, NextPage):
            result = self.adapter.find_result(self.ask(self.adapter.find_request(sent, result.page)), sent)
        return result

    def hear(self, call: Call) -> DeliveryEvent:
        [event] = self.adapter.parse_webhook(WebhookRequest("POST", call.url, Headers(call.headers), call.body))
        return event


@pytest.fixture
def grid(sandbox: Sandbox) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=2)
    account = Account(
        "grid", {"api_key": API_KEY, "webhook_public_key": PUBLIC_KEY}, SETTINGS, base_url=sandbox.base_url("grid")
    )
    yield Desk(SendGrid(account), transport)
    transport.close()


class TestRoles:
    def test_delivers_and_tells(self, grid: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = grid.send("delivered+1@example.org")

        calls = product.wait_for(2)

        events = [grid.hear(call) for call in calls]
        assert [event.kind for event in events] == [EventKind.ACCEPTED, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        [(_, message)] = sandbox.messages()
        assert (message.id, message.attempt) == (sent.provider_message_id, ATTEMPT.id)
        assert all(call.body.endswith(b"\r\n") for call in calls)

    @pytest.mark.parametrize(
        ("local", "kind", "suppress", "example"),
        [
            ("bounce", EventKind.BOUNCED, "hard_bounce", "bounce-hard"),
            ("softbounce", EventKind.NOT_REACHED, None, "bounce-soft"),
            ("complaint", EventKind.COMPLAINED, "complaint", "complaint"),
        ],
    )
    def test_ends_as_its_address_says(
        self, grid: Desk, product: Product, sandbox: Sandbox, local: str, kind: EventKind, suppress: str, example: str
    ) -> None:
        grid.send(f"{local}@example.org")
        assert sandbox.wait_idle(10)

        event = grid.hear(product.calls[-1])

        assert (event.kind, event.suppress) == (kind, suppress)
        [recorded] = payload(f"sendgrid/webhook-{example}.json")
        for name in ("category", "send_id", "attempt_no"):
            recorded.pop(name)
        [told] = product.calls[-1].json
        assert shape(told) == shape(recorded | {"landfall_attempt": "…"})

    @pytest.mark.parametrize(("local", "suppress"), [("bounce", "hard_bounce"), ("complaint", "complaint")])
    def test_drops_what_goes_to_an_address_of_that_kind(
        self, grid: Desk, product: Product, sandbox: Sandbox, local: str, suppress: str
    ) -> None:
        grid.send(f"{local}@example.org")
        assert sandbox.wait_idle(10)
        grid.send(f"{local.upper()}@example.org")
        assert sandbox.wait_idle(10)

        event = grid.hear(product.calls[-1])

        assert (event.kind, event.suppress, event.provider_status) == (EventKind.FAILED, suppress, "dropped")

    def test_invalid_is_refused(self, grid: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(InvalidRecipient) as raised:
            grid.send("invalid@example.org")

        assert raised.value.code == "personalizations.0.to.0.email"
        assert sandbox.counts().taken == 0

    def test_timeout_is_found_in_the_logs(self, grid: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(OutcomeUnknown):
            grid.send("timeout@example.org")
        assert sandbox.wait_idle(10)

        found = grid.find("timeout@example.org")

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id
        assert [event.kind for event in found.events] == [EventKind.ACCEPTED, EventKind.DELIVERED]

    def test_slow_and_silent_are_taken(self, grid: Desk, sandbox: Sandbox) -> None:
        grid.send("slow@example.org")
        grid.send("silent@example.org")

        assert sandbox.counts().taken == 2


class TestLogs:
    def test_are_as_in_the_examples(self, grid: Desk, sandbox: Sandbox) -> None:
        grid.send("ana.pereira@example.net")
        assert sandbox.wait_idle(10)
        sent = SentMessage(OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", ""), ATTEMPT, grid.began_at, 5.0)

        listed = json.loads(grid.ask(grid.adapter.find_request(sent)).body)
        alone = json.loads(grid.ask(grid.adapter.find_request(sent, listed["messages"][0]["sg_message_id"])).body)

        assert shape(listed) == shape(payload("sendgrid/logs-search-response.json"))
        expected = payload("sendgrid/logs-message-response.json")
        expected.pop("category")
        assert shape(alone | {"custom_args": {}}) == shape(expected | {"custom_args": {}})

    def test_show_another_attempts_mail_as_what_it_is(self, grid: Desk) -> None:
        grid.send("ana@example.org")

        assert isinstance(grid.find("ana@example.org", AttemptRef("0" * 32 + "-1")), CannotTell)
        assert grid.find("ben@example.org") == NotThere()
        assert isinstance(grid.find("ANA@example.org"), Found)

    def test_find_an_address_with_a_quote(self, grid: Desk) -> None:
        sent = grid.request("ana@example.org")
        body = json.loads(sent.body)
        body["personalizations"][0]["to"][0]["email"] = "o'brien@example.org"
        grid.ask(replace(sent, body=json.dumps(body).encode()))

        assert isinstance(grid.find("o'brien@example.org"), Found)

    def test_lag_and_go_blind(self, grid: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("grid", look_up_lag_seconds=0.05)
        grid.send("ana@example.org")
        assert grid.find("ana@example.org") == NotThere()
        eventually(lambda: grid.find("ana@example.org"), lambda found: isinstance(found, Found))

        sandbox.set_faults("grid", look_up_blind=True)
        assert grid.find("ana@example.org") == NotThere()


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 403, "code": 0, "message": "from"}}, SenderNotAllowed),
            ({"refuse": {"status": 400, "code": 0, "message": "content"}}, InvalidRequest),
            ({"refuse": {"status": 402, "code": 0}}, UnknownRefusal),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, grid: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("grid", **fault)

        with pytest.raises(error) as raised:
            grid.send("ana@example.org")

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_of_another_key_is_refused(self, grid: Desk, sandbox: Sandbox) -> None:
        account = grid.adapter.account
        grid.adapter = SendGrid(replace(account, credentials={**account.credentials, "api_key": "SG.other"}))

        with pytest.raises(AuthenticationFailed):
            grid.send("ana@example.org")
        assert sandbox.counts().unknown_requests == 1


def changed(grid: Desk, **changes: Any) -> HttpResponse:
    request = grid.request("ana@example.org")
    fields = {**json.loads(request.body), **changes}
    kept = {name: value for name, value in fields.items() if value is not None}
    return grid.ask(replace(request, body=json.dumps(kept).encode()))


class TestRules:
    def test_take_all_that_a_mail_has(self, grid: Desk) -> None:
        files = (Attachment("März.pdf", "application/pdf", b"%PDF"), Attachment("a.png", "image/png", b"x", "logo"))
        mail = Mail("Ana, Pereira", "help@example.com", files, "https://example.com/u/1")

        assert grid.send("ana@example.org", mail=mail).provider_message_id

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"personalizations": []}, "personalizations"),
            ({"personalizations": [{"to": []}]}, "personalizations.0.to"),
            ({"personalizations": [{"to": [{"email": "nobody"}]}]}, "personalizations.0.to.0.email"),
            (
                {"personalizations": [{"to": [{"email": "a@x.example"}], "custom_args": {"a": 1}}]},
                "personalizations.0.custom_args",
            ),
            ({"from": None}, "from.email"),
            ({"reply_to": {"email": "x"}}, "reply_to.email"),
            ({"subject": ""}, "subject"),
            ({"content": []}, "content"),
            ({"content": [{"type": "text/plain", "value": ""}]}, "content.0.value"),
            ({"content": [{"type": "text/html", "value": "x"}, {"type": "text/plain", "value": "x"}]}, "content"),
            ({"headers": {"Subject": "x"}}, "headers"),
            ({"headers": {"X-A": "x\r\nBcc: y"}}, "headers"),
            ({"headers": {"X-A": 1}}, "headers"),
            ({"attachments": [{"content": "?", "filename": "x"}]}, "attachments.0.content"),
            ({"attachments": [{"content": "eA=="}]}, "attachments.0.content"),
        ],
    )
    def test_refuse(self, grid: Desk, sandbox: Sandbox, changes: dict[str, Any], field: str) -> None:
        answer = changed(grid, **changes)

        assert (answer.status, json.loads(answer.body)["errors"][0]["field"]) == (400, field)
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("body", [b"{", b"[]"])
    def test_must_be_json(self, grid: Desk, body: bytes) -> None:
        assert grid.ask(replace(grid.request("ana@example.org"), body=body)).status == 400

    @pytest.mark.parametrize(
        "asked", [{}, [], {"query": "status IN ('x')"}, {"query": "to_email = 'a' OR 'b'"}, {"query": 5}]
    )
    def test_play_one_query(self, grid: Desk, asked: Any) -> None:
        sent = SentMessage(OutgoingMessage(Channel.EMAIL, "a@x.example", ""), ATTEMPT, grid.began_at, 5.0)

        assert grid.ask(replace(grid.adapter.find_request(sent), body=json.dumps(asked).encode())).status == 400


class TestWebhook:
    def test_that_was_changed_is_not_believed(self, grid: Desk, product: Product) -> None:
        grid.send("ana@example.org")
        genuine = product.wait_for(1)[0]

        for body in (genuine.body.replace(b"processed", b"delivered"), genuine.body.rstrip(), genuine.body + b"\n"):
            with pytest.raises(InvalidSignature):
                grid.hear(Call(genuine.url, genuine.headers, body))

    def test_is_repeated_until_2xx(self, grid: Desk, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500 if number == 0 else 202
        grid.send("silent@example.org")

        assert sandbox.wait_idle(10)
        first, again = [grid.hear(call) for call in product.calls]
        assert first == again

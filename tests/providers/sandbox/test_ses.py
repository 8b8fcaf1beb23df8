"""Amazon SES: the adapter against the sandbox, and what the sandbox does not take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
)
from providers.messages import (
    Account,
    Attachment,
    AttemptRef,
    Channel,
    DeliveryEvent,
    EventKind,
    Headers,
    HttpRequest,
    HttpResponse,
    Mail,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)
from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox.amazon import certificate
from providers.ses import Ses
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product

ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
TOPIC = "arn:aws:sns:us-east-1:123456789012:ses-events"
KEYS = {
    "access_key_id": "AKIDEXAMPLE",
    "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "topic_arn": TOPIC,
}
SETTINGS = {"from": "Müller <no-reply@example.com>", "configuration_set": "transactional"}


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    with Sandbox([SandboxAccount("ses", "ses", KEYS, f"http://{product.host}/webhooks/ses/")], pace=PACE) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, adapter: Ses, transport: RequestsTransport) -> None:
        self.adapter = adapter
        self.clock = timedelta()  # how far ours is off
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        signed = self.adapter.authorize(request, datetime.now(UTC) + self.clock)
        [[answer]] = send_many(self._transport, [TransportCall("only", signed, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def request(self, to: str, **changes: Any) -> HttpRequest:
        message = OutgoingMessage(Channel.EMAIL, to, "Grüße 😭", "Your order", "<p>Grüße</p>")
        return self.adapter.send_request(replace(message, **changes), ATTEMPT)

    def send(self, to: str, **changes: Any) -> SendResult:
        return self.adapter.send_result(self.ask(self.request(to, **changes)))

    def hear(self, call: Call) -> DeliveryEvent:
        [event] = self.adapter.parse_webhook(WebhookRequest("POST", call.url, Headers(call.headers), call.body))
        return event


@pytest.fixture
def ses(sandbox: Sandbox) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=2)
    credentials = {**KEYS, "signing_certificate": certificate().decode()}
    yield Desk(Ses(Account("ses", credentials, SETTINGS, base_url=sandbox.base_url("ses"))), transport)
    transport.close()


class TestRoles:
    def test_delivers_and_tells(self, ses: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = ses.send("delivered+1@example.org")

        events = [ses.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        [(_, message)] = sandbox.messages()
        assert (message.id, message.attempt) == (sent.provider_message_id, ATTEMPT.id)

    @pytest.mark.parametrize(
        ("local", "kind", "suppress", "example"),
        [
            ("delivered", EventKind.DELIVERED, None, "delivery"),
            ("bounce", EventKind.BOUNCED, "hard_bounce", "bounce-hard"),
            ("softbounce", EventKind.NOT_REACHED, None, "bounce-soft"),
            ("complaint", EventKind.COMPLAINED, "complaint", "complaint"),
        ],
    )
    def test_ends_as_its_address_says(
        self, ses: Desk, product: Product, sandbox: Sandbox, local: str, kind: EventKind, suppress: str, example: str
    ) -> None:
        ses.send(f"{local}@example.org")
        assert sandbox.wait_idle(10)

        event = ses.hear(product.calls[-1])

        assert (event.kind, event.suppress) == (kind, suppress)
        recorded, told = payload(f"ses/webhook-{example}.json"), json.loads(product.calls[-1].json["Message"])
        for record in (recorded, told):
            for name in [name for name in record["mail"]["tags"] if not name.startswith("ses:")]:
                record["mail"]["tags"].pop(name)
        assert shape(told) == shape(recorded)

    @pytest.mark.parametrize("local", ["bounce", "complaint"])
    def test_keeps_a_list_of_addresses_of_that_kind(
        self, ses: Desk, product: Product, sandbox: Sandbox, local: str
    ) -> None:
        ses.send(f"{local}@example.org")
        assert sandbox.wait_idle(10)
        ses.send(f"{local.upper()}@example.org")
        assert sandbox.wait_idle(10)

        event = ses.hear(product.calls[-1])

        assert (event.kind, event.suppress) == (EventKind.FAILED, "inactive")

    def test_invalid_is_refused(self, ses: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(InvalidRecipient):
            ses.send("invalid@example.org", mail=Mail("Ana"))

        assert sandbox.counts().taken == 0

    def test_timeout_is_settled_by_an_event(self, ses: Desk, product: Product) -> None:
        with pytest.raises(OutcomeUnknown):
            ses.send("timeout@example.org")

        assert ses.hear(product.wait_for(1)[0]).attempt == ATTEMPT.id

    def test_slow_and_silent_are_taken(self, ses: Desk, sandbox: Sandbox) -> None:
        ses.send("slow@example.org")
        ses.send("silent@example.org")

        assert sandbox.counts().taken == 2


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 403, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 400, "code": 0, "message": "SendingPausedException"}}, SenderNotAllowed),
            ({"refuse": {"status": 400, "code": 0, "message": "MessageRejected: spam"}}, ContentRejected),
            (
                {
                    "refuse": {
                        "status": 429,
                        "code": 0,
                        "message": "TooManyRequestsException: Daily message quota exceeded.",
                    }
                },
                InsufficientBalance,
            ),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, ses: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("ses", **fault)

        with pytest.raises(error) as raised:
            ses.send("ana@example.org")

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    @pytest.mark.parametrize("minutes", [-6, 6])
    def test_a_clock_that_is_off_is_refused(self, ses: Desk, minutes: int) -> None:
        ses.clock = timedelta(minutes=minutes)

        with pytest.raises(AuthenticationFailed) as raised:
            ses.send("ana@example.org")

        assert raised.value.code == "InvalidSignatureException"

    def test_a_key_of_another_service_is_refused(self, ses: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Ses, "service", "sms-voice")

        with pytest.raises(AuthenticationFailed):
            ses.send("ana@example.org")


def changed(ses: Desk, **changes: Any) -> HttpResponse:
    request = ses.request("ana@example.org")
    fields = {**json.loads(request.body), **changes}
    kept = {name: value for name, value in fields.items() if value is not None}
    return ses.ask(replace(request, body=json.dumps(kept).encode()))


def simple(**changes: Any) -> dict[str, Any]:
    return {"Simple": {"Subject": {"Data": "x"}, "Body": {"Text": {"Data": "x"}}, **changes}}


class TestRules:
    def test_take_all_that_a_mail_has(self, ses: Desk, sandbox: Sandbox) -> None:
        files = (Attachment("März.pdf", "application/pdf", b"%PDF"), Attachment("a.png", "image/png", b"x", "logo"))
        mail = Mail("Zoë, Müller", "help@example.com", files, "https://example.com/u/1")

        assert ses.send("ana@example.org", mail=mail).provider_message_id

        [(_, message)] = sandbox.messages()
        assert message.to == "ana@example.org"
        assert {header["name"] for header in message.content.headers} == {
            *("X-Attempt-Id", "List-Unsubscribe", "List-Unsubscribe-Post"),
        }

    @pytest.mark.parametrize(
        ("changes", "exception"),
        [
            ({"FromEmailAddress": None}, "MessageRejected"),
            ({"ReplyToAddresses": ["x"]}, "BadRequestException"),
            ({"Destination": {}}, "BadRequestException"),
            ({"Destination": {"ToAddresses": ["a@x.example", "b@x.example"]}}, "BadRequestException"),
            ({"Destination": {"ToAddresses": ["a@x.example, b@x.example"]}}, "BadRequestException"),
            ({"Destination": {"ToAddresses": ["jörg@x.example"]}}, "BadRequestException"),
            ({"Content": {}}, "BadRequestException"),
            ({"Content": simple(Subject={})}, "BadRequestException"),
            ({"Content": simple(Body={})}, "BadRequestException"),
            ({"Content": simple(Headers=[{"Name": "X:", "Value": "x"}])}, "BadRequestException"),
            ({"Content": simple(Headers=[{"Name": "X", "Value": "x\r\ny"}])}, "BadRequestException"),
            ({"Content": simple(Attachments=[{"FileName": "x", "RawContent": "?"}])}, "BadRequestException"),
            ({"EmailTags": [{"Name": "a b", "Value": "x"}]}, "BadRequestException"),
            ({"Text": "x"}, "BadRequestException"),
        ],
    )
    def test_refuse(self, ses: Desk, sandbox: Sandbox, changes: dict[str, Any], exception: str) -> None:
        answer = changed(ses, **changes)

        assert (answer.status, answer.headers["x-amzn-ErrorType"]) == (400, exception)
        assert sandbox.counts().taken == 0

    def test_without_a_configuration_set_nothing_is_told(self, ses: Desk, sandbox: Sandbox, product: Product) -> None:
        assert changed(ses, ConfigurationSetName=None).status == 200

        assert sandbox.wait_idle(10)
        assert product.calls == []

    def test_know_one_operation(self, ses: Desk) -> None:
        request = ses.request("ana@example.org")

        assert ses.ask(replace(request, url=request.url.replace("outbound-emails", "identities"))).status == 404
        assert ses.ask(replace(request, body=b"[]")).headers["x-amzn-ErrorType"] == "SerializationException"


class TestNotification:
    def test_that_was_changed_is_not_believed(self, ses: Desk, product: Product) -> None:
        ses.send("ana@example.org")
        genuine = product.wait_for(1)[0]

        for old, new in ((b"Send", b"Delivery"), (b":ses-events", b":others")):
            assert old in genuine.body
            with pytest.raises(InvalidSignature):
                ses.hear(Call(genuine.url, genuine.headers, genuine.body.replace(old, new)))

    @pytest.mark.parametrize(("status", "calls"), [(403, 1), (503, 3)])
    def test_is_repeated_after_a_5xx_and_never_after_a_4xx(
        self, ses: Desk, sandbox: Sandbox, product: Product, status: int, calls: int
    ) -> None:
        product.status = lambda number: status
        ses.send("silent@example.org")

        assert sandbox.wait_idle(10)
        assert len(product.calls) == calls
        assert len({ses.hear(call).dedupe_key for call in product.calls}) == 1

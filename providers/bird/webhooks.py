"""What Bird calls us with: events, signed by the Standard Webhooks scheme.

https://www.standardwebhooks.com: v1 is an HMAC with SHA-256. While a secret is being replaced the header holds a
signature by each. How old a call is does not matter: its id is signed, so a call that somebody kept and plays again is
one more repetition of an event already on file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers import reading
from providers.bird.codes import meaning
from providers.errors import InvalidSignature, MalformedWebhook
from providers.messages import DeliveryEvent, EventKind, Headers, InboundMessage, WebhookRequest
from providers.signatures import is_standard_webhook

PREFIX = "sms."
INCOMING = "sms.received"


def genuine(request: WebhookRequest, secret: str) -> tuple[str, dict[str, Any]]:
    """Check the signature. Returns the call's id and what it says. Raises InvalidSignature, MalformedWebhook."""
    headers = Headers(request.headers)
    if not is_standard_webhook(headers, request.body, secret, prefix="webhook"):
        raise InvalidSignature("the signature is missing or wrong")
    call_id, report = reading.identifier(headers.get("webhook-id")), reading.json_object(request.body)
    if call_id is None or report is None or not reading.word(report.get("type")):
        raise MalformedWebhook("the webhook is no JSON object with a type, or has no id")
    return call_id, report


def events(call_id: str, report: Mapping[str, Any], raw: bytes) -> list[DeliveryEvent]:
    told, data = reading.word(report.get("type")), part(report, "data")
    if told.lower() == INCOMING:
        return []
    message_id, attempt = reading.identifier(data.get("sms_id")), attempt_of(data)
    is_about_sms = told.lower().startswith(PREFIX)
    if message_id is None and attempt is None and is_about_sms:
        raise MalformedWebhook("the webhook names no message")
    code = reading.word(part(data, "error").get("code"), limit=50)
    kind, suppress = meaning(told.lower().removeprefix(PREFIX), code) if is_about_sms else (EventKind.UNKNOWN, None)
    return [
        DeliveryEvent(
            kind=kind,
            dedupe_key=call_id,
            attempt=attempt,
            provider_message_id=message_id,
            provider_status=told,
            error_code=code,
            occurred_at=reading.iso_time(report.get("timestamp")),
            suppress=suppress,
            raw=raw,
        )
    ]


def inbound(call_id: str, report: Mapping[str, Any], raw: bytes) -> list[InboundMessage]:
    if reading.word(report.get("type")).lower() != INCOMING:
        return []
    data = part(report, "data")
    sender, recipient = reading.identifier(data.get("from")), reading.identifier(data.get("to"))
    text = data.get("text") or ""  # none with attachments only
    if sender is None or recipient is None or not isinstance(text, str):
        raise MalformedWebhook("the incoming message has no sender, recipient or text")
    received_at = reading.iso_time(report.get("timestamp"))
    return [InboundMessage(call_id, sender, recipient, reading.clean(text), received_at, raw)]


def attempt_of(message: Mapping[str, Any]) -> str | None:
    """Our attempt id, which every event and record shows as it was given."""
    return reading.identifier(part(message, "metadata").get("attempt"))


def part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = fields.get(name)
    return inner if isinstance(inner, dict) else {}

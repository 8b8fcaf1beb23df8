"""Vonage SMS API: an account, its receipts, and the sample for the contract test."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.vonage_sms import VonageSms
from tests.providers.samples.base import ATTEMPT, Sample, payload

SMS_VECTORS = json.loads(payload("vonage_sms/signature_vectors.json"))
SMS_SECRET = SMS_VECTORS["signature_secret"]
SMS_CREDENTIALS = {"api_key": "abcd1234", "api_secret": "abcdef0123456789", "signature_secret": SMS_SECRET}
SMS_URL = "https://notify.example.com/webhooks/vonage-sms/"


def vonage_sms(**settings: Any) -> VonageSms:
    return VonageSms(Account("vonage-sms", SMS_CREDENTIALS, {"from": "+15005550006", **settings}, callback_url=SMS_URL))


def sms_signature(pairs: Sequence[tuple[bytes, bytes]], secret: str = SMS_SECRET) -> str:
    """Sign as Vonage does, written a second time: HMAC with SHA-256."""
    text = b"".join(b"&%s=%s" % (name, value.replace(b"&", b"_").replace(b"=", b"_")) for name, value in sorted(pairs))
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def receipt_by_json(body: bytes | dict[str, Any]) -> WebhookRequest:
    """A receipt as JSON; what is no JSON object becomes a form."""
    fields = body if isinstance(body, dict) else _object(body)
    if fields is None:
        return receipt_by_form(body if isinstance(body, bytes) else b"")
    unsigned = {name: value for name, value in fields.items() if name != "sig"}
    pairs = [(_bytes(name), _bytes(value)) for name, value in unsigned.items()]
    data = json.dumps({**unsigned, "sig": sms_signature(pairs)}).encode()
    return WebhookRequest("POST", SMS_URL, Headers({"Content-Type": "application/json"}), data)


def receipt_by_form(body: bytes | dict[str, str]) -> WebhookRequest:
    data = urlencode(body).encode() if isinstance(body, dict) else body
    signed = b"&".join((data, b"sig=" + sms_signature(pairs_in(data)).encode()))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return WebhookRequest("POST", SMS_URL, Headers(headers), signed)


def receipt_by_get(query: bytes | dict[str, str]) -> WebhookRequest:
    form = receipt_by_form(query)
    return WebhookRequest("GET", f"{SMS_URL}?{form.body.decode()}", Headers(), b"")


def pairs_in(form: bytes) -> list[tuple[bytes, bytes]]:
    parts = [part.replace(b"+", b" ").partition(b"=") for part in form.split(b"&") if part]
    pairs = [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in parts]
    return [(name, value) for name, value in pairs if name != b"sig"]


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _bytes(value: Any) -> bytes:
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="replace")


SAMPLE = Sample(
    vonage_sms(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    receipt_by_json,
    secrets=(SMS_CREDENTIALS["api_secret"], SMS_SECRET),
    fields=(
        *(
            "messages",
            "message-count",
            "status",
            "message-id",
            "error-text",
            "0",
            "1",
            "7",
            "33",
            "please wait [ 250 ]",
        ),
        *("messageId", "err-code", "client-ref", "scts", "message-timestamp", "msisdn", "to", "text", "sig", "keyword"),
        *(
            "records",
            "items_count",
            "request_status",
            "_links",
            "next",
            "href",
            "message_id",
            "client_ref",
            "error_code",
        ),
        *("delivered", "failed", "rejected", "expired", "buffered", "unknown", "SUCCESS", "14155550100"),
        *(ATTEMPT.id, f"{ATTEMPT.id}-3", "2026-01-15 10:00:03"),
    ),
    of_the_text=frozenset({"type", "client-ref"}),
    search_url="https://api.nexmo.com",
    proof_in_body=True,
    answered=lambda id: {"message-count": "1", "messages": [{"status": "0", "message-id": id}]},
)

"""MessageBird: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import quote, urlencode

from providers.messagebird import MessageBird
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample, payload

MESSAGEBIRD_VECTOR = json.loads(payload("messagebird/signature_vector.json"))
SIGNING_KEY = MESSAGEBIRD_VECTOR["signing_key"]
MESSAGEBIRD_URL = "https://notify.example.com/webhooks/messagebird/"


def messagebird(**settings: Any) -> MessageBird:
    credentials = {"access_key": "live_EXAMPLE0000000000000", "signing_key": SIGNING_KEY}
    return MessageBird(
        Account("messagebird", credentials, settings or {"from": "+15005550006"}, callback_url=MESSAGEBIRD_URL)
    )


def token(url: str, body: bytes = b"", *, key: str = SIGNING_KEY, digest: str = "HS256", **claims: Any) -> str:
    """Sign as MessageBird does, written a second time; a claim that is None is left out."""
    usual = {"iss": "MessageBird", "nbf": 1768471203, "exp": 4102444800, "url_hash": _sha256(url.encode())}
    if body:
        usual["payload_hash"] = _sha256(body)
    kept = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    signed = ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": digest, "typ": "JWT"}, kept))
    proof = hmac.new(key.encode(), signed.encode(), getattr(hashlib, f"sha{digest[2:]}")).digest()
    return f"{signed}.{_base64(proof)}"


def messagebird_get(fields: dict[str, str] | bytes) -> WebhookRequest:
    """A report as it comes: a query, and no body."""
    query = quote(fields, safe="%&=+-._~") if isinstance(fields, bytes) else urlencode(fields)
    url = f"{MESSAGEBIRD_URL}?{query}"
    return WebhookRequest("GET", url, Headers({"MessageBird-Signature-JWT": token(url)}), b"")


def messagebird_post(body: bytes | dict[str, str], url: str = MESSAGEBIRD_URL) -> WebhookRequest:
    data = body if isinstance(body, bytes) else urlencode(body).encode()
    headers = {
        "MessageBird-Signature-JWT": token(url, data),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return WebhookRequest("POST", url, Headers(headers), data)


def _from_body(body: bytes) -> WebhookRequest:
    """A query as it was recorded; of JSON, a query with its names and values."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    return messagebird_get({str(k): str(v) for k, v in content.items()} if isinstance(content, dict) else body)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


SAMPLE = Sample(
    messagebird(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    _from_body,
    secrets=("live_EXAMPLE0000000000000", SIGNING_KEY),
    fields=(
        *("id", "errors", "code", "parameter", "recipients", "items", "recipient", "status", "statusDatetime"),
        *("statusReason", "statusErrorCode", "messagePartCount", "reference", "direction", "createdDatetime"),
        *("offset", "totalCount", "originator", "body", "shortcode", "mid", "message", "receive_datetime"),
        *("delivered", "delivery_failed", "103", "9", "25", "14155550100", "+14155550100", ATTEMPT.id, "mo"),
        "2027-01-15T10:00:01+00:00",
    ),
)

"""Plivo: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any
from urllib.parse import parse_qsl

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.plivo import Plivo
from tests.providers.samples.base import ATTEMPT, Sample

PLIVO_TOKEN = "plivo-auth-token-000000000000000000000001"
PLIVO_URL = f"https://notify.example.com/webhooks/plivo/?attempt={ATTEMPT.id}"
NONCE = "12345678901234567890"


def plivo(**settings: Any) -> Plivo:
    credentials = {"auth_id": "MAXXXXXXXXXXXXXXXXXX", "auth_token": PLIVO_TOKEN}
    return Plivo(
        Account(
            "plivo",
            credentials,
            settings or {"from": "+15005550006"},
            callback_url="https://notify.example.com/webhooks/plivo/",
        )
    )


def plivo_signature(url: str, body: bytes = b"", key: str = PLIVO_TOKEN, method: str = "POST") -> str:
    """Sign in version 3 as Plivo does, written a second time."""
    base, _, query = url.partition("?")
    asked = "&".join(f"{name}={value}" for name, value in sorted(_pairs(query)))
    told = "".join(name + value for name, value in sorted(_pairs(body.decode("latin-1"))))
    if method == "GET" or not told:
        text = f"{base}?{asked}" if asked else base
    else:
        text = f"{base}?{asked}.{told}" if asked else f"{base}?{told}"
    proof = hmac.new(key.encode(), f"{text}.{NONCE}".encode("latin-1"), hashlib.sha256)
    return base64.b64encode(proof.digest()).decode()


def plivo_webhook(body: bytes, url: str = PLIVO_URL) -> WebhookRequest:
    return WebhookRequest("POST", url, Headers(plivo_headers(plivo_signature(url, body))), body)


def plivo_headers(signature: str) -> dict[str, str]:
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Plivo-Signature-V3": signature,
        "X-Plivo-Signature-V3-Nonce": NONCE,
    }


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True, encoding="latin-1")


SAMPLE = Sample(
    plivo(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    plivo_webhook,
    secrets=(PLIVO_TOKEN,),
    fields=(
        *("api_id", "error", "message_uuid", "invalid_number", "meta", "objects", "next", "offset", "total_count"),
        *("message_state", "message_time", "message_updated_time", "message_direction", "outbound", "error_code"),
        *("from_number", "to_number", "14155550100", "15005550006", "sent", "delivered", "failed", "000", "50", "200"),
        *("MessageUUID", "Status", "ErrorCode", "Sequence", "Text", "2027-01-15 10:00:01+00:00"),
        *("5b40a428-bfc7-4daf-9d06-726c558bf3b8", "insufficient credit"),
    ),
    answered=lambda id: {"message": "message(s) queued", "message_uuid": [id]},
)

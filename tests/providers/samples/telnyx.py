"""Telnyx: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.telnyx import Telnyx
from tests.providers.samples.base import ATTEMPT, Sample, payload

TELNYX_VECTOR = json.loads(payload("telnyx/signature_vector.json"))
TELNYX_SEED = bytes.fromhex(TELNYX_VECTOR["private_seed_hex_for_tests_only"])
TELNYX_URL = f"https://notify.example.com/webhooks/telnyx/?attempt={ATTEMPT.id}"


def telnyx(**settings: Any) -> Telnyx:
    credentials = {"api_key": "KEY0123456789", "webhook_public_key": TELNYX_VECTOR["public_key_base64"]}
    return Telnyx(
        Account(
            "telnyx",
            credentials,
            settings or {"from": "+15005550006", "messaging_profile_id": "83d2343b-553f-4c5f-b8c8-fd27004f94bf"},
            callback_url="https://notify.example.com/webhooks/telnyx/",
        )
    )


def telnyx_webhook(body: bytes | dict[str, Any], sent_at: str = "1768471203") -> WebhookRequest:
    """Sign as Telnyx does, written a second time."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    proof = Ed25519PrivateKey.from_private_bytes(TELNYX_SEED).sign(b"|".join((sent_at.encode(), data)))
    headers = {
        "telnyx-signature-ed25519": base64.b64encode(proof).decode(),
        "telnyx-timestamp": sent_at,
        "Content-Type": "application/json",
    }
    return WebhookRequest("POST", TELNYX_URL, Headers(headers), data)


SAMPLE = Sample(
    telnyx(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    telnyx_webhook,
    secrets=("KEY0123456789",),
    fields=(
        *("data", "id", "to", "from", "status", "parts", "errors", "code", "source", "pointer", "/to"),
        *("event_type", "payload", "occurred_at", "completed_at", "direction", "inbound", "webhook_url", "text"),
        *("message.finalized", "message.received", "message.sent", "10dlc.brand.update", "phone_number"),
        *("delivered", "delivery_failed", "40001", "40300", "10002", "10009", "+14155550100", TELNYX_URL, ATTEMPT.id),
        "2026-01-15T10:00:03.123+00:00",
    ),
    answered=lambda id: {"data": {"id": id}},
)

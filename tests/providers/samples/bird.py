"""Bird: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from providers.bird import Bird
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample, payload

BIRD_VECTOR = json.loads(payload("bird/signature_vector.json"))
BIRD_SECRET = BIRD_VECTOR["secret"]


def bird(**settings: Any) -> Bird:
    credentials = {"api_key": "bk_eu1_EXAMPLE000000000000", "webhook_secret": BIRD_SECRET}
    return Bird(Account("bird", credentials, {"from": "+15005550006", **settings}))


def bird_webhook(
    body: bytes | dict[str, Any], call_id: str = "msg_0000000000000000000000001", secret: str = BIRD_SECRET
) -> WebhookRequest:
    """Sign as Standard Webhooks has it, written a second time."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    text = b".".join((call_id.encode(), b"1768471203", data))
    proof = hmac.new(base64.b64decode(secret.partition("_")[2]), text, hashlib.sha256).digest()
    headers = {
        "webhook-id": call_id,
        "webhook-timestamp": "1768471203",
        "webhook-signature": f"v1,{base64.b64encode(proof).decode()}",
        "Content-Type": "application/json",
    }
    return WebhookRequest("POST", "https://notify.example.com/webhooks/bird/", Headers(headers), data)


SAMPLE = Sample(
    bird(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    bird_webhook,
    secrets=("bk_eu1_EXAMPLE000000000000", BIRD_SECRET),
    fields=(
        *("error", "type", "code", "name", "param", "details", "id", "status", "segments", "count", "metadata"),
        *("attempt", ATTEMPT.id, "data", "next_cursor", "created_at", "sent_at", "delivered_at", "last_error"),
        *("sms_id", "timestamp", "from", "to", "text", "occurred_at", "direction", "outbound"),
        *("sms.delivered", "sms.failed", "sms.undelivered", "sms.received", "email.sent", "delivered", "undelivered"),
        *("recipient_opted_out", "unreachable", "validation_error", "conflict_error", "E01001", "E01005"),
        *("SMSInvalidRecipient", "2027-01-15T10:00:01Z"),
    ),
    not_processed=frozenset({501, 503}),
)

"""Resend: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.resend import Resend
from tests.providers.samples.base import ATTEMPT, Sample, payload

RESEND_VECTOR = json.loads(payload("resend/signature-vector.json"))
RESEND_SECRET = RESEND_VECTOR["signing_secret"]


def resend(**settings: str) -> Resend:
    credentials = {"api_key": "re_EXAMPLE_0000000000000000000000", "webhook_secret": RESEND_SECRET}
    return Resend(Account("resend", credentials, {"from": "no-reply@notify.example.com", **settings}))


def resend_webhook(body: bytes | dict[str, Any], call_id: str = "msg_2pXq9vNw7cT4sK1rLbE6yHd3ZfA") -> WebhookRequest:
    """Sign as Svix does, written a second time."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    text = b".".join((call_id.encode(), b"1796055640", data))
    proof = hmac.new(base64.b64decode(RESEND_SECRET.split("_")[1]), text, hashlib.sha256).digest()
    headers = Headers(
        {
            "svix-id": call_id,
            "svix-timestamp": "1796055640",
            "svix-signature": f"v1,{base64.b64encode(proof).decode()}",
            "Content-Type": "application/json",
        }
    )
    return WebhookRequest("POST", "https://notify.example.com/webhooks/resend/", headers, data)


SAMPLE = Sample(
    resend(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    resend_webhook,
    secrets=("re_EXAMPLE_0000000000000000000000", RESEND_SECRET),
    fields=(
        *(
            "statusCode",
            "name",
            "message",
            "id",
            "last_event",
            "type",
            "data",
            "email_id",
            "created_at",
            "tags",
        ),
        *("attempt", ATTEMPT.id, "bounce", "subType", "suppressed", "failed", "reason", "previous_bounce"),
        *("email.bounced", "email.suppressed", "email.failed", "contact.created", "Permanent", "delivered"),
        *("validation_error", "rate_limit_exceeded", "invalid_idempotent_request", "Invalid `to` field"),
        "2026-11-30T16:20:34.126Z",
    ),
)

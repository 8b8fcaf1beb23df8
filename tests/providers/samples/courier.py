"""Courier: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from providers.courier import Courier
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample, payload

API_KEY = "pk_prod_EXAMPLE"
VECTOR = json.loads(payload("courier/signature-vector.json"))
SECRET = VECTOR["secret"]


def courier(webhook_secret: str = SECRET, **settings: str) -> Courier:
    credentials = {"api_key": API_KEY, "webhook_secret": webhook_secret}
    # A vendor that gets files.
    known = {"from": "no-reply@notify.example.com", "provider": "postmark", **settings}
    return Courier(Account("courier", credentials, known))


def courier_webhook(
    body: bytes | dict[str, Any], sent_at: str = "1796055640123", secret: str = SECRET
) -> WebhookRequest:
    """Sign as Courier does, written a second time."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    proof = hmac.new(secret.encode(), b".".join((sent_at.encode(), data)), hashlib.sha256).hexdigest()
    headers = Headers({"courier-signature": f"t={sent_at},signature={proof}", "Content-Type": "application/json"})
    return WebhookRequest("POST", "https://notify.example.com/webhooks/courier/", headers, data)


SAMPLE = Sample(
    courier(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    courier_webhook,
    secrets=(API_KEY, SECRET),
    fields=(
        *("message", "type", "requestId", "data", "id", "status", "reason", "error", "providers", "results", "paging"),
        *("more", "cursor", "message:updated", "audiences:updated", "enqueued", "sent", "delivered", "1796055634126"),
        *("UNDELIVERABLE", "DELIVERED", "SENT", "BOUNCED", "PROVIDER_ERROR", "550 5.1.1", "452 4.2.2", ATTEMPT.id),
    ),
    answered=lambda id: {"requestId": id},
    lacks=frozenset({"to_name", "unsubscribe_url"}),
)

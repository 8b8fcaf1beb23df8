"""MySMSGate: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import json
from typing import Any

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.mysmsgate import MySmsGate
from tests.providers.samples.base import ATTEMPT, Sample


def mysmsgate(**settings: Any) -> MySmsGate:
    return MySmsGate(Account("mysmsgate", {"api_key": "msg-key-0123456789"}, settings))


def mysmsgate_webhook(body: bytes | dict[str, Any]) -> WebhookRequest:
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = Headers({"Content-Type": "application/json"})
    return WebhookRequest("POST", "https://notify.example.com/webhooks/mysmsgate/", headers, data)


SAMPLE = Sample(
    mysmsgate(send_client_message_id=True),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    mysmsgate_webhook,
    secrets=("msg-key-0123456789",),
    fields=(
        *("success", "sms_id", "id", "status", "state", "sms", "error", "message", "detail", "reason", "history"),
        *("phone_to", "source", "api", "created_at", "message_id", "client_message_id", "timestamp", "event", "type"),
        *("from", "pending", "sent", "delivered", "FAILED", "ping", "device offline", "+14155550100", ATTEMPT.id),
        *("2027-01-15T10:00:05Z", "12345"),
    ),
)

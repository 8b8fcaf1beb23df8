"""Postmark: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import json
from typing import Any

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.postmark import Postmark
from tests.providers.samples.base import ATTEMPT, Sample, payload


def postmark(**settings: str) -> Postmark:
    credentials = {
        "server_token": "00000000-1111-2222-3333-444444444444",
        "webhook_user": "pm-user",
        "webhook_password": "pm-pass-9f2c",
    }
    return Postmark(Account("postmark", credentials, {"from": "no-reply@notify.example.com", **settings}))


def postmark_webhook(body: bytes | dict[str, Any]) -> WebhookRequest:
    authorization = json.loads(payload("postmark/webhook-auth-vector.json"))["expected_header"].partition(": ")[2]
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = Headers({"Authorization": authorization, "Content-Type": "application/json"})
    return WebhookRequest("POST", "https://notify.example.com/webhooks/postmark/", headers, data)


SAMPLE = Sample(
    postmark(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    postmark_webhook,
    secrets=("00000000-1111-2222-3333-444444444444", "pm-pass-9f2c"),
    fields=(
        *("ErrorCode", "Message", "MessageID", "TotalCount", "Messages", "Metadata", "attempt", ATTEMPT.id),
        *("Status", "Sent", "MessageEvents", "Type", "Details", "Recipient", "ReceivedAt", "RecordType"),
        *("Bounce", "HardBounce", "SubscriptionChange", "SubscriptionChanged", "SuppressSending", "TypeCode"),
        *("SuppressionReason", "ManualSuppression", "300", "406", "2026-11-30T16:20:31.1182113Z", "ID"),
    ),
    not_processed=frozenset({503}),
    proof_is_password=True,
)

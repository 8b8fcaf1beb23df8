"""Sinch: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.sinch import Sinch
from tests.providers.samples.base import ATTEMPT, Sample

SINCH_SECRET = "sinch-hmac-secret-0001"
SINCH_URL = "https://notify.example.com/webhooks/sinch/"
SINCH_PLAN = "jd63jf88477ll123ab4567cd89012ef3"


def sinch(**settings: Any) -> Sinch:
    credentials = {
        "service_plan_id": SINCH_PLAN,
        "api_token": "token-000000000000000000000001",
        "webhook_secret": SINCH_SECRET,
    }
    return Sinch(Account("sinch", credentials, settings or {"from": "+15005550006"}, callback_url=SINCH_URL))


def sinch_webhook(body: bytes | dict[str, Any], secret: str = SINCH_SECRET) -> WebhookRequest:
    """Sign as Sinch does, written a second time."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    nonce, sent_at = "01FJA8B4A7BM43YGWSG9GBV067", "1768471203"
    proof = hmac.new(secret.encode(), b".".join((data, nonce.encode(), sent_at.encode())), hashlib.sha256)
    headers = {
        "Content-Type": "application/json",
        "x-sinch-webhook-signature": base64.b64encode(proof.digest()).decode(),
        "x-sinch-webhook-signature-nonce": nonce,
        "x-sinch-webhook-signature-timestamp": sent_at,
        "x-sinch-webhook-signature-algorithm": "HmacSHA256",
    }
    return WebhookRequest("POST", SINCH_URL, Headers(headers), data)


SAMPLE = Sample(
    sinch(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    sinch_webhook,
    secrets=("token-000000000000000000000001", SINCH_SECRET),
    fields=(
        *("id", "code", "text", "count", "page", "page_size", "batches", "client_reference", "canceled", ATTEMPT.id),
        *("type", "batch_id", "recipient", "status", "statuses", "recipients", "at", "total_message_count", "body"),
        *("recipient_delivery_report_sms", "delivery_report_sms", "mo_text", "from", "to", "14155550100"),
        *("Delivered", "Aborted", "Unknown", "404", "406", "syntax_invalid_parameter_format", "missing_callback_url"),
        *("parameter 'to[0]'", "2027-01-15T10:00:03.123Z", "01FC66621XXXXX119Z8PMV1QPQ"),
    ),
)

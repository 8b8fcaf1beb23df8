"""Anymail: accounts at three of its vendors, their webhooks, and the samples for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from providers.anymail import Anymail
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample

KEY, SECRET_KEY, SIGNING_KEY, PASSWORD = "key-1f0e2d3c", "secret-9d8c7b", "signing-4a5b6c", "hook-pass-77aa"
BASIC = {"webhook_user": "hook-user", "webhook_password": PASSWORD}
CREDENTIALS: dict[str, Mapping[str, str]] = {
    "brevo": {"api_key": KEY, **BASIC},
    "mailersend": {"api_token": KEY, "signing_secret": SIGNING_KEY},
    "mailgun": {"api_key": KEY, "webhook_signing_key": SIGNING_KEY},
    "mailjet": {"api_key": KEY, "secret_key": SECRET_KEY, **BASIC},
    "mailtrap": {"api_token": KEY, "signing_secret": SIGNING_KEY},
    "mandrill": {"api_key": KEY, "webhook_key": SIGNING_KEY},
    "postal": {"api_key": KEY},
    "scaleway": {"secret_key": KEY},
    "sparkpost": {"api_key": KEY, **BASIC},
    "unisender_go": {"api_key": KEY},
}
OPTIONS: dict[str, Mapping[str, str]] = {"scaleway": {"project_id": "project-1"}}
OWN_ADDRESS = {
    "postal": "https://postal.example.com",
    "unisender_go": "https://go1.unisender.ru/en/transactional/api/v1",
}
URL = "https://notify.example.com/webhooks/anymail/"


def anymail(esp: str, **settings: Any) -> Anymail:
    known = {"esp": esp, "from": "no-reply@notify.example.com", "options": OPTIONS.get(esp, {})}
    return Anymail(
        Account("anymail", CREDENTIALS.get(esp, {}), {**known, **settings}, OWN_ADDRESS.get(esp), callback_url=URL)
    )


def mailgun_webhook(body: bytes | dict[str, Any]) -> WebhookRequest:
    """Sign as Mailgun does, written a second time: within the body, which has to be JSON."""
    report = body if isinstance(body, dict) else _report(body)
    stamp = {"timestamp": "1800007200", "token": "c1e0a0d9e6f74b1f8a3f7f1d9a3d8d5e4b6c7a8b9c0d1e2f3a"}
    text = (stamp["timestamp"] + stamp["token"]).encode()
    proof = hmac.new(SIGNING_KEY.encode(), text, hashlib.sha256).hexdigest()
    data = json.dumps({**report, "signature": {**stamp, "signature": proof}}).encode()
    return WebhookRequest("POST", URL, Headers({"Content-Type": "application/json"}), data)


def basic_webhook(body: bytes | dict[str, Any]) -> WebhookRequest:
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    proof = base64.b64encode(f"hook-user:{PASSWORD}".encode()).decode()
    headers = Headers({"Authorization": f"Basic {proof}", "Content-Type": "application/json"})
    return WebhookRequest("POST", URL, headers, data)


def _report(body: bytes) -> dict[str, Any]:
    try:
        report = json.loads(body)
    except (ValueError, RecursionError):
        report = None
    return report if isinstance(report, dict) else {"event-data": body.decode(errors="replace")}


MESSAGE = OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300)
FIELDS = ("attempt", ATTEMPT.id, "event", "delivered", "failed", "bounce", "message", "id", "code", "timestamp", "time")

SAMPLE = Sample(
    anymail("mailgun"),
    MESSAGE,
    mailgun_webhook,
    secrets=(KEY, SIGNING_KEY),
    fields=(
        *FIELDS,
        *("event-data", "signature", "user-variables", "delivery-status", "severity", "permanent", "headers"),
        *("message-id", "Queued. Thank you.", "description"),
    ),
    answered=lambda id: {"id": id, "message": "Queued. Thank you."},
    proof_in_body=True,
    payloads="anymail_mailgun",
    vendor_url="https://api.mailgun.net",
)
BREVO = Sample(
    anymail("brevo"),
    MESSAGE,
    basic_webhook,
    secrets=(KEY, PASSWORD),
    fields=(*FIELDS, *("messageId", "hard_bounce", "X-Mailin-custom", "ts_epoch", "message-id", "email", "reason")),
    answered=lambda id: {"messageId": id},
    of_the_text=frozenset({"textContent", "htmlContent"}),
    proof_is_password=True,
    payloads="anymail_brevo",
    vendor_url="https://api.brevo.com",
)
MAILJET = Sample(
    anymail("mailjet"),
    MESSAGE,
    basic_webhook,
    secrets=(KEY, SECRET_KEY, PASSWORD),
    fields=(*FIELDS, *("Messages", "To", "Email", "MessageID", "Status", "success", "Payload", "hard_bounce", "error")),
    answered=lambda id: {"Messages": [{"Status": "success", "To": [{"Email": MESSAGE.to, "MessageID": id}]}]},
    of_the_text=frozenset({"Globals"}),
    proof_is_password=True,
    payloads="anymail_mailjet",
    vendor_url="https://api.mailjet.com",
)

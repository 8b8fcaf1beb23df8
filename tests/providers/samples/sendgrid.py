"""SendGrid: an account, its webhooks signed with a key made here, and the sample for the contract test."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.sendgrid import SendGrid
from tests.providers.samples.base import ATTEMPT, Sample

API_KEY = "SG.EXAMPLEKEYID.EXAMPLESECRET"
KEY = ec.generate_private_key(ec.SECP256R1())
PUBLIC_KEY = base64.b64encode(
    KEY.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
).decode()
PRIVATE_KEY = base64.b64encode(
    KEY.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
).decode()


def sendgrid(webhook_public_key: str = PUBLIC_KEY, **settings: str) -> SendGrid:
    credentials = {"api_key": API_KEY, "webhook_public_key": webhook_public_key}
    return SendGrid(Account("sendgrid", credentials, {"from": "no-reply@notify.example.com", **settings}))


def sendgrid_webhook(body: bytes | list[Any], timestamp: str = "1796055640") -> WebhookRequest:
    """Sign as SendGrid does, written a second time."""
    data = json.dumps(body).encode() + b"\r\n" if isinstance(body, list) else body
    proof = base64.b64encode(KEY.sign(timestamp.encode() + data, ec.ECDSA(hashes.SHA256()))).decode()
    return signed_with(proof, timestamp, data)


def signed_with(proof: str, timestamp: str, body: bytes) -> WebhookRequest:
    headers = Headers(
        {
            "X-Twilio-Email-Event-Webhook-Signature": proof,
            "X-Twilio-Email-Event-Webhook-Timestamp": timestamp,
            "Content-Type": "application/json",
        }
    )
    return WebhookRequest("POST", "https://notify.example.com/webhooks/sendgrid/", headers, body)


SAMPLE = Sample(
    sendgrid(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    sendgrid_webhook,
    secrets=(API_KEY, PUBLIC_KEY),
    fields=(
        *("errors", "field", "message", "personalizations.0.to.0.email", "from", "messages", "events", "custom_args"),
        *("sg_message_id", "sg_event_id", "sg_message_id_created_at", "landfall_attempt", ATTEMPT.id, "event", "type"),
        *("bounce", "dropped", "delivered", "blocked", "reason", "status", "bounce_classification", "timestamp"),
        *("Bounced Address", "account_status_change", "2026-11-30T16:20:31Z", "x.recvd-1", "1796055640", "5.1.1"),
    ),
    of_the_text=frozenset({"content"}),
    id_header="X_Message_Id",
    reports_in_lists=True,
)

"""Vonage Messages API: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.vonage import Vonage
from tests.providers.samples.base import ATTEMPT, Sample, payload

VONAGE_VECTOR = json.loads(payload("vonage/signature_vector.json"))
VONAGE_SECRET = VONAGE_VECTOR["signature_secret"]
VONAGE_CREDENTIALS = {"api_key": "abcd1234", "api_secret": "abcdef0123456789", "signature_secret": VONAGE_SECRET}
VONAGE_URL = "https://notify.example.com/webhooks/vonage/"
APPLICATION_ID = "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"


def vonage(credentials: dict[str, str] | None = None, **settings: Any) -> Vonage:
    return Vonage(
        Account(
            "vonage",
            VONAGE_CREDENTIALS | (credentials or {}),
            {"from": "+15005550006", **settings},
            callback_url=VONAGE_URL,
        )
    )


@cache
def private_key() -> str:
    """An application's key, in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def vonage_token(claims: dict[str, Any], secret: str = VONAGE_SECRET, algorithm: str = "HS256") -> str:
    """Sign as Vonage does, written a second time."""
    text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": algorithm, "typ": "JWT"}, claims))
    return f"{text}.{base64url(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest())}"


def vonage_webhook(body: bytes | dict[str, Any], **claims: Any) -> WebhookRequest:
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    own = {"iat": 1768471203, "iss": "Vonage", "payload_hash": hashlib.sha256(data).hexdigest(), "api_key": "abcd1234"}
    headers = {"Authorization": f"Bearer {vonage_token(own | claims)}", "Content-Type": "application/json"}
    return WebhookRequest("POST", VONAGE_URL, Headers(headers), data)


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


SAMPLE = Sample(
    vonage(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    vonage_webhook,
    secrets=(VONAGE_CREDENTIALS["api_secret"], VONAGE_SECRET),
    fields=(
        *("message_uuid", "status", "client_ref", "channel", "sms", "message_type", "text", "from", "to", "timestamp"),
        *("error", "type", "title", "invalid_parameters", "name", "reason", "records", "items_count", "request_status"),
        *("_links", "next", "href", "message_id", "error_code", "date_finalized", "SUCCESS", "14155550100", ATTEMPT.id),
        *("delivered", "rejected", "undeliverable", "submitted", "1180", "1240", "https://a.example/errors#1170"),
        "2026-01-15T10:00:03Z",
    ),
    answered=lambda id: {"message_uuid": id},
)

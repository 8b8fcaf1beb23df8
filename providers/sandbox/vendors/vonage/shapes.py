"""The Messages API's JSON, field by field as in tests/providers/payloads/vonage/, and the tokens on both sides."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from providers.sandbox.book import Message
from providers.sandbox.segments import segment_count

PRICE = 0.0333
LONGEST_LIFE_SECONDS = 24 * 60 * 60
SKEW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str
    reference: str
    webhook_url: str | None


def report(message: Message, status: str, error_code: int | None, at: float) -> dict[str, Any]:
    """What became of a message."""
    sms: Sms = message.content
    parts = segment_count(message.text)
    fields: dict[str, Any] = {
        "message_uuid": message.id,
        "to": message.to.removeprefix("+"),
        "from": sms.sender,
        "timestamp": _iso(at),
        "status": status,
        "client_ref": sms.reference,
        "channel": "sms",
        "destination": {"network_code": "31026"},
        "sms": {"count_total": str(parts)},
    }
    if error_code is None:
        return fields | {"usage": {"currency": "EUR", "price": f"{PRICE * parts:.4f}"}}
    error = {
        "type": f"https://developer.vonage.com/api-errors/messages#{error_code}",
        "title": str(error_code),
        "detail": "Not delivered by the sandbox.",
        "instance": "bf0ca0bf927b3b52e3cb03217e1a1ddf",
    }
    return fields | {"error": error}


def record(message: Message, account_id: str) -> dict[str, Any]:
    """A message as reports show it."""
    sms: Sms = message.content
    fields: dict[str, Any] = {
        "account_id": account_id,
        "message_id": message.id,
        "client_ref": sms.reference,
        "direction": "outbound",
        "from": sms.sender,
        "to": message.to.removeprefix("+"),
        "provider": "sms",
        "date_received": _zoned(message.taken_at),
        "date_finalized": _zoned(message.updated_at),
        "status": message.status,
        "currency": "EUR",
        "total_price": f"{PRICE * segment_count(message.text):.4f}",
    }
    return fields if message.error_code is None else fields | {"error_code": str(message.error_code)}


def signed(secret: str, api_key: str, body: bytes, at: float) -> str:
    """The Authorization header of a callback: good for this body only."""
    claims = {
        "iat": int(at),
        "jti": str(uuid.uuid4()),
        "iss": "Vonage",
        "payload_hash": hashlib.sha256(body).hexdigest(),
        "api_key": api_key,
    }
    text = b".".join(_base64url(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return f"Bearer {(text + b'.' + _base64url(hmac.digest(secret.encode(), text, 'sha256'))).decode()}"


def claims_in(token: str) -> dict[str, Any]:
    """What a token claims, proven or not; nothing for what is no token."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, binascii.Error):
        return {}
    return claims if isinstance(claims, dict) else {}


def is_valid(token: str, key: RSAPublicKey, now: float) -> bool:
    """Whether an application's token is its own, and of now."""
    text, _, signature = token.rpartition(".")
    claims = claims_in(token)
    issued_at, expires_at = claims.get("iat"), claims.get("exp")
    if not (isinstance(issued_at, int) and isinstance(expires_at, int) and claims.get("jti")):
        return False
    try:
        proof = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        key.verify(proof, text.encode(), PKCS1v15(), SHA256())
    except (InvalidSignature, ValueError):
        return False
    return issued_at - SKEW_SECONDS <= now < expires_at <= issued_at + LONGEST_LIFE_SECONDS


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _zoned(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")

"""Telnyx's JSON, field by field as in its SDK's models and tests/providers/payloads/telnyx/, and how it signs."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import BASIC, EXTENDED, segment_count

VALIDITY_SECONDS = 3600
PRICE_PER_PART = 0.0051
POOL_SENDER = "+15005550006"  # whom every number pool picks
POOL_PROFILE = "83d2343b-553f-4c5f-b8c8-fd27004f94bf"  # to which every sender belongs
ORGANIZATION = "9d76d591-1b7e-405d-8c64-1320ee070245"
UNDELIVERABLE = 40008
STATUSES = {Word.SENT: "sent", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "delivery_failed"}
EVENTS = {Word.SENT: "message.sent", Word.DELIVERED: "message.finalized", Word.UNDELIVERABLE: "message.finalized"}


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str
    profile: str
    webhook_url: str | None


def sms_of(asked: Mapping[str, Any]) -> Sms:
    return Sms(
        asked.get("from") or POOL_SENDER, asked.get("messaging_profile_id") or POOL_PROFILE, asked.get("webhook_url")
    )


def record(message: Message, status: str | None = None, error_code: int | None = None) -> dict[str, Any]:
    """The message as it stands, or as it stood when its status was `status`."""
    sms: Sms = message.content
    told = status or message.status
    code = message.error_code if status is None else error_code
    parts = segment_count(message.text)
    is_over = told in ("delivered", "delivery_failed")
    return {
        "record_type": "message",
        "direction": "outbound",
        "id": message.id,
        "type": "SMS",
        "organization_id": ORGANIZATION,
        "messaging_profile_id": sms.profile,
        "from": {"phone_number": sms.sender, "carrier": "TELNYX LLC", "line_type": "VoIP"},
        "to": [{"phone_number": message.to, "status": told, "carrier": "", "line_type": "Wireless"}],
        "text": message.text,
        "media": [],
        "webhook_url": sms.webhook_url,
        "webhook_failover_url": None,
        "encoding": "GSM-7" if BASIC.union(EXTENDED).issuperset(message.text) else "UCS-2",
        "parts": parts,
        "tags": [],
        "cost": {"amount": f"{PRICE_PER_PART * parts:.4f}", "currency": "USD"},
        "received_at": _time(message.taken_at),
        "sent_at": None if message.sent_at is None else _time(message.sent_at),
        "completed_at": _time(message.updated_at) if is_over else None,
        "valid_until": _time(message.taken_at + VALIDITY_SECONDS) if told == "queued" else None,
        "errors": [] if code is None else [error(code, "Undeliverable", None)],
    }


def event(message: Message, word: Word, at: float) -> dict[str, Any]:
    """The report of what became of a message. Its id is the same for each repetition."""
    sms: Sms = message.content
    status = STATUSES[word]
    code = UNDELIVERABLE if word is Word.UNDELIVERABLE else None
    return {
        "data": {
            "event_type": EVENTS[word],
            "id": str(uuid.uuid5(uuid.UUID(message.id), status)),
            "occurred_at": _time(at),
            "payload": record(message, status, code),
            "record_type": "event",
        },
        "meta": {"attempt": 1, "delivered_to": sms.webhook_url},
    }


def error(code: int, title: str, pointer: str | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "code": str(code),
        "title": title,
        "detail": f"{title}, says the sandbox.",
        "meta": {"url": f"https://developers.telnyx.com/docs/overview/errors/{code}"},
    }
    return told if pointer is None else told | {"source": {"pointer": pointer}}


def private_key(written: str) -> Ed25519PrivateKey:
    """Raises ValueError for what is not base64 of 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(written, validate=True))


def signed(key: Ed25519PrivateKey, body: bytes, at: float) -> dict[str, str]:
    sent_at = str(int(at))
    proof = key.sign(f"{sent_at}|".encode() + body)
    return {"telnyx-signature-ed25519": base64.b64encode(proof).decode(), "telnyx-timestamp": sent_at}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")

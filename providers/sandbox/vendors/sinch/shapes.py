"""Sinch's JSON, field by field as in tests/providers/payloads/sinch/, and the signature of its webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # of their ids
VALIDITY_SECONDS = 3 * 24 * 60 * 60
ECHOED = ("parameters", "callback_url", "client_reference", "max_number_of_message_parts")

QUEUED = ("Queued", 400)
STATUSES: dict[Word, tuple[str, int]] = {
    Word.SENT: ("Dispatched", 401),
    Word.DELIVERED: ("Delivered", 0),
    Word.UNDELIVERABLE: ("Aborted", 402),
}


@dataclass(frozen=True, slots=True)
class Batch:
    """What was asked for. `url` is where reports go, None for nowhere."""

    asked: Mapping[str, Any]
    reports: str
    url: str | None


def new_id() -> str:
    return "01" + "".join(ALPHABET[byte % 32] for byte in os.urandom(24))


def batch_of(message: Message) -> dict[str, Any]:
    batch: Batch = message.content
    made_at = _time(message.taken_at)
    shown = {
        "id": message.id,
        "to": [message.to.removeprefix("+")],
        "canceled": False,
        "body": batch.asked["body"],
        "type": "mt_text",
        "created_at": made_at,
        "modified_at": made_at,
        "delivery_report": batch.reports,
        "send_at": batch.asked.get("send_at", made_at),
        "expire_at": batch.asked.get("expire_at", _time(message.taken_at + VALIDITY_SECONDS)),
        "feedback_enabled": False,
        "flash_message": False,
    }
    if "from" in batch.asked:
        shown["from"] = batch.asked["from"].removeprefix("+")
    return shown | {name: batch.asked[name] for name in ECHOED if name in batch.asked}


def recipient_report(message: Message, status: str, code: int, at: float) -> dict[str, Any]:
    report = {
        "type": "recipient_delivery_report_sms",
        "batch_id": message.id,
        "recipient": message.to.removeprefix("+"),
        "code": code,
        "status": status,
        "at": _time(at),
        "operator_status_at": _time(int(at)),
    }
    return report | _reference(message)


def batch_report(message: Message, status: str, code: int, *, is_full: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"code": code, "status": status, "count": 1}
    if is_full:
        told["recipients"] = [message.to.removeprefix("+")]
    report = {"type": "delivery_report_sms", "batch_id": message.id, "total_message_count": 1, "statuses": [told]}
    return report | _reference(message)


def signed(secret: str, body: bytes, at: float) -> dict[str, str]:
    """The signature headers of a webhook."""
    nonce, sent_at = new_id(), str(int(at))
    proof = hmac.digest(secret.encode(), body + f".{nonce}.{sent_at}".encode(), hashlib.sha256)
    return {
        "x-sinch-webhook-signature": base64.b64encode(proof).decode(),
        "x-sinch-webhook-signature-nonce": nonce,
        "x-sinch-webhook-signature-timestamp": sent_at,
        "x-sinch-webhook-signature-algorithm": "HmacSHA256",
    }


def _reference(message: Message) -> dict[str, str]:
    reference = message.content.asked.get("client_reference")
    return {} if reference is None else {"client_reference": reference}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""MySMSGate's JSON as in tests/providers/payloads/mysmsgate/: what integrations read, and what an article shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word

STATUSES = {Word.SENT: "sent", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "failed"}


@dataclass(frozen=True, slots=True)
class Sms:
    device: str | None
    slot: int | None
    reference: str | None  # client_message_id


def sms_of(asked: Mapping[str, Any]) -> Sms:
    return Sms(asked.get("device_id"), asked.get("slot"), asked.get("client_message_id"))


def taken(message: Message) -> dict[str, Any]:
    return {"success": True, "sms_id": int(message.id), "status": message.status}


def single(message: Message) -> dict[str, Any]:
    return {"id": int(message.id), "status": message.status}


def entry(message: Message) -> dict[str, Any]:
    """A line of the history."""
    return {
        "id": int(message.id),
        "source": "api",
        "direction": "out",
        "phone_to": message.to,
        "status": message.status,
        "error_message": "The phone could not send it" if message.status == "failed" else None,
        "created_at": _time(message.taken_at),
    }


def report(message: Message, word: Word, at: float) -> dict[str, Any]:
    """A webhook: statuses in capitals, the id as text."""
    sms: Sms = message.content
    told = {
        "message_id": message.id,
        "status": STATUSES[word].upper(),
        "to": message.to,
        "text": message.text,
        "timestamp": _time(at),
    }
    return told if sms.reference is None else told | {"client_message_id": sms.reference}


def error(text: str) -> dict[str, Any]:
    return {"success": False, "error": text}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"

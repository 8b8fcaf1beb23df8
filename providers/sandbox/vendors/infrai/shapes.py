"""Infrai's JSON of an SMS, as in tests/providers/payloads/infrai/."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import segment_count

STATES = {Word.SENT: "sent", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "undelivered"}


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str | None
    vendor: str


def taken(message: Message) -> dict[str, Any]:
    """What the answer to a send tells, as the documentation has it."""
    sms: Sms = message.content
    return {
        "sms_id": message.id,
        "to": message.to,
        "state": "queued",
        "vendor": sms.vendor,
        "segments": segment_count(message.text),
        "created_at": datetime.fromtimestamp(message.taken_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def status(message: Message) -> dict[str, Any]:
    """What the answer to a status question tells, as samples have it: under other names."""
    return {"message_id": message.id, "status": message.status}


def history(message: Message) -> list[dict[str, Any]]:
    words = [STATES[word] for word, _ in message.reached]
    return [{"status": word} for word in ("queued", *words)]

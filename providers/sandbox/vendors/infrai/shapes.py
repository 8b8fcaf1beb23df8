"""Infrai's JSON, as in tests/providers/payloads/infrai/."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import segment_count

STATES = {Word.SENT: "sent", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "undelivered"}
PRICE = 0.0079


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str | None
    vendor: str


def envelope(data: Any, error: Any = None) -> dict[str, Any]:
    metadata = {
        "cost_usd": 0.0 if data is None else PRICE,
        "latency_ms": 1,
        "vendor": "sandbox",
        "cache_hit": False,
        "request_id": str(uuid.uuid4()),
    }
    return {"ok": error is None, "data": data, "error": error, "metadata": metadata}


def taken(message: Message) -> dict[str, Any]:
    """The answer to a send, as the documentation has it."""
    sms: Sms = message.content
    return envelope(
        {
            "sms_id": message.id,
            "to": message.to,
            "state": "queued",
            "vendor": sms.vendor,
            "segments": segment_count(message.text),
            "created_at": datetime.fromtimestamp(message.taken_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )


def status(message: Message) -> dict[str, Any]:
    """The answer to a status question, as samples have it: under other names."""
    return envelope({"message_id": message.id, "status": message.status})


def history(message: Message) -> dict[str, Any]:
    words = [STATES[word] for word, _ in message.reached]
    return envelope([{"status": word} for word in ("queued", *words)])


def error(code: str) -> dict[str, Any]:
    return envelope(None, {"code": code, "hint": "refused by the sandbox"})

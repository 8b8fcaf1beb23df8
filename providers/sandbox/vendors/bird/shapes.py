"""Bird's JSON, field by field as in its SDK's models (tests/providers/specs/bird-derived.json), and the signature of its webhooks."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import BASIC, EXTENDED, segment_count
from providers.sandbox.vendors.bird.rules import CODES, Objection

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
WORKSPACE = "ws_01krdgeqcxet5s7t44vh8rt9mg"
REDACTED = "**REDACTED**"
CARRIER = {"carrier": "T-Mobile", "mcc_mnc": "310260"}
NO_TEMPLATE = dict.fromkeys(
    ("requested_language", "resolved_language", "template_id", "template_version_id", "template_content_hash")
)


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str
    category: str
    metadata: Mapping[str, Any] | None
    tags: Sequence[Mapping[str, str]] | None


def new_id(prefix: str) -> str:
    return f"{prefix}_{''.join(secrets.choice(ALPHABET) for _ in range(26))}"


def status_of(message: Message, word: Word) -> str:
    """What a message becomes. One that is not wanted never reaches a carrier."""
    if word is Word.UNDELIVERABLE:
        return "rejected" if message.role.name == "opted out" else "failed"
    return {Word.SENT: "sent", Word.DELIVERED: "delivered"}[word]


def record(message: Message) -> dict[str, Any]:
    """A message as the answer to a send and look-ups show it."""
    sms: Sms = message.content
    reached = dict(message.reached)
    return {
        "id": message.id,
        "direction": "outbound",
        "status": message.status,
        "to": message.to,
        "from": sms.sender,
        "text": REDACTED if sms.category == "authentication" else message.text,
        "category": sms.category,
        **NO_TEMPLATE,
        "segments": _segments(message.text),
        "cost": None,
        "tags": sms.tags,
        "metadata": sms.metadata,
        "options": {"smart_encoding": False},
        "last_error": _error(message) if message.status in ("failed", "rejected") else None,
        "created_at": _time(message.taken_at),
        "sent_at": _time(reached[Word.SENT]) if Word.SENT in reached else None,
        "delivered_at": _time(reached[Word.DELIVERED]) if Word.DELIVERED in reached else None,
    }


def page_of(messages: Sequence[Message], *, more: bool) -> dict[str, Any]:
    return {"data": [record(message) for message in messages], "next_cursor": messages[-1].id if more else None}


def event(message: Message, word: Word, at: float) -> dict[str, Any]:
    """The report of what became of a message."""
    sms: Sms = message.content
    data: dict[str, Any] = {
        "sms_id": message.id,
        "workspace_id": WORKSPACE,
        "to": message.to,
        "from": sms.sender,
        "tags": sms.tags,
        "metadata": sms.metadata,
        "cost": None,
        **NO_TEMPLATE,
    }
    data |= {"error": _error(message)} if word is Word.UNDELIVERABLE else CARRIER
    return {"type": f"sms.{status_of(message, word)}", "timestamp": _time(at), "data": data}


def error(objection: Objection) -> dict[str, Any]:
    code, kind, _ = CODES[objection.name]
    told: dict[str, Any] = {
        "type": kind,
        "code": code,
        "name": objection.name,
        "message": objection.message,
        "doc_url": f"https://docs.bird.com/errors/{code}",
        "request_id": new_id("req"),
    }
    if objection.param is not None and objection.name == "ValidationError":
        told["details"] = [{"param": objection.param, "message": objection.message}]
    elif objection.param is not None:
        told["param"] = objection.param
    return {"error": told}


def signed(secret: bytes, call_id: str, body: bytes, at: float) -> dict[str, str]:
    """The headers of a report, as Standard Webhooks has them."""
    sent_at = str(int(at))
    proof = hmac.digest(secret, f"{call_id}.{sent_at}.".encode() + body, "sha256")
    return {
        "webhook-id": call_id,
        "webhook-timestamp": sent_at,
        "webhook-signature": f"v1,{base64.b64encode(proof).decode()}",
    }


def _error(message: Message) -> dict[str, Any]:
    """Why a message fails: its recipient wants none, or the carrier let this text not pass, which is no proof against the number."""
    code = "recipient_opted_out" if message.role.name == "opted out" else "blocked_by_carrier"
    return {
        "code": code,
        "description": "Decided by the sandbox.",
        "carrier_error_code": None,
        "occurred_at": _time(message.updated_at),
    }


def _segments(text: str) -> dict[str, Any]:
    is_basic = set(text) <= BASIC | EXTENDED
    return {"count": segment_count(text), "encoding": "GSM_7BIT" if is_basic else "UCS2", "characters": len(text)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"

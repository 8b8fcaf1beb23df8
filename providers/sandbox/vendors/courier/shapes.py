"""Courier's JSON, field by field as in tests/providers/payloads/courier/, and how it signs its webhooks."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word

STATUSES = {
    Word.SENT: "SENT",
    Word.DELIVERED: "DELIVERED",
    Word.HARD_BOUNCE: "UNDELIVERABLE",
    Word.SOFT_BOUNCE: "UNDELIVERABLE",
    Word.UNDELIVERABLE: "UNROUTABLE",  # an address that no vendor takes
    # Nothing is told of a complaint.
}
REASONS = {
    Word.HARD_BOUNCE: {"reason": "BOUNCED", "error": "550 5.1.1 user unknown"},
    Word.SOFT_BOUNCE: {"reason": "PROVIDER_ERROR", "error": "452 4.2.2 mailbox full"},
    Word.UNDELIVERABLE: {"reason": "NO_CHANNELS", "error": "no valid channel for the recipient"},
}
TIMES = {Word.SENT: "sent", Word.DELIVERED: "delivered"}
NOTIFICATION = "SANDBOX0NOTIFICATION0WITHOUT"


def listed(message: Message) -> dict[str, Any]:
    """A message as a search shows it."""
    return {name: value for name, value in details(message).items() if name not in ("providers", "recipientId")}


def details(message: Message) -> dict[str, Any]:
    """A message as it is shown alone, now."""
    return _record(message, message.reached)


def report(message: Message, word: Word) -> dict[str, Any]:
    """The report that a message has become `word`."""
    words = [reached for reached, _ in message.reached]
    until = words.index(word) + 1 if word in words else len(words)
    return {"data": _record(message, message.reached[:until]), "type": "message:updated"}


def page_of(records: Iterable[dict[str, Any]], cursor: str | None) -> dict[str, Any]:
    return {"paging": {"cursor": cursor, "more": cursor is not None}, "results": list(records)}


def error(text: str, kind: str) -> dict[str, str]:
    return {"message": text, "type": kind}


def signed(secret: str, body: bytes, at: float) -> dict[str, str]:
    """The header that proves a webhook."""
    sent_at = str(int(at * 1000))
    proof = hmac.digest(secret.encode(), f"{sent_at}.".encode() + body, "sha256").hex()
    return {"courier-signature": f"t={sent_at},signature={proof}"}


def _record(message: Message, reached: tuple[tuple[Word, float], ...]) -> dict[str, Any]:
    told = [(word, at) for word, at in reached if word in STATUSES]
    last = told[-1][0] if told else None
    status = STATUSES[last] if last else "ENQUEUED"
    times = {TIMES[word]: int(at * 1000) for word, at in told if word in TIMES}
    reason: Mapping[str, str] = REASONS.get(last, {}) if last else {}
    failed = {"error": reason["error"]} if reason else {}
    vendor = {
        "provider": message.content.get("provider", "sendgrid"),
        "status": status,
        **times,
        **failed,
        "channel": {"key": "email", "name": "email"},
        "reference": {"x-message-id": message.id[-22:]},
    }
    return {
        "id": message.id,
        "recipient": message.to,
        "recipientId": message.to,
        "event": NOTIFICATION,
        "notification": NOTIFICATION,
        "status": status,
        "enqueued": int(message.taken_at * 1000),
        **times,
        "providers": [vendor],
        **reason,
    }

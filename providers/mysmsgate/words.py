"""MySMSGate's words, and what they mean to us."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers import reading
from providers.errors import InsufficientBalance, ProviderError, RouteRejected, Unavailable
from providers.messages import EventKind

STATUSES = {
    "pending": EventKind.ACCEPTED,
    "sending": EventKind.ACCEPTED,  # an integration took this for success and was wrong for months
    "sent": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "failed": EventKind.FAILED,
    "error": EventKind.FAILED,
}

# Refusals have no codes. Where the status alone tells nothing, a word in their text does; the first one found counts.
WORDS: dict[str, type[ProviderError]] = {
    "balance": InsufficientBalance,
    "credit": InsufficientBalance,
    "quota": InsufficientBalance,
    "device": Unavailable,  # no phone is online
    "offline": Unavailable,
    "number": RouteRejected,  # perhaps the recipient's: too vague to blame it
}
BY_STATUS: dict[int, type[ProviderError]] = {402: InsufficientBalance}
TEXTS = ("error", "detail", "reason", "message")  # where a refusal has its text

IDS = ("message_id", "sms_id", "id")
NO_REPORTS = {"ping", "test", "incoming", "incomingmessage", "received"}  # words in `event` or `type`


def by_words(fields: Mapping[str, Any]) -> type[ProviderError] | None:
    text = next((text for name in TEXTS if isinstance(text := fields.get(name), str) and text), "").lower()
    return next((kind for word, kind in WORDS.items() if word in text), None)


def is_no_report(report: Mapping[str, Any]) -> bool:
    """Say whether a webhook is a ping or a text that came in."""
    named = " ".join(reading.word(report.get(name)) for name in ("event", "type")).lower()
    is_inbound = not status_of(report) and any(name in report for name in ("from", "phone_from"))
    return is_inbound or not NO_REPORTS.isdisjoint(re.findall("[a-z]+", named))


def id_of(fields: Mapping[str, Any]) -> str | None:
    """Read an id, which comes as a number in some answers and as text in others."""
    for name in IDS:
        value = fields.get(name)
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if (found := reading.identifier(text)) is not None:
            return found
    return None


def status_of(fields: Mapping[str, Any]) -> str:
    return reading.word(fields.get("status") or fields.get("state"))

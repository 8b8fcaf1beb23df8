"""What Courier tells of a message: in reports, alone and in lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from providers import reading
from providers.courier.codes import (
    BOUNCE,
    BOUNCED,
    DEAD,
    DEAD_CODES,
    ENHANCED,
    NOT_REACHED,
    NOTHING,
    REASONS,
    SOFT,
    STATUSES,
    TIMES,
    UNDELIVERABLE,
    Meaning,
)
from providers.messages import DeliveryEvent

KEPT = ("id", "status", "reason", *TIMES)  # of a record, what is neither text nor address


def is_readable(record: Mapping[str, Any]) -> bool:
    return reading.identifier(record.get("id")) is not None and bool(reading.word(record.get("status")))


def told(record: Mapping[str, Any], raw: bytes | None = None) -> DeliveryEvent:
    """Read a record as an event. Reports have no ids: a message is in a status once, however often and wherever that is told."""
    message_id, status = reading.identifier(record.get("id")), reading.word(record.get("status"))
    codes = _codes(record)
    kind, suppress = _meaning(record, codes)
    reason = reading.word(record.get("reason"), limit=40)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint("status", message_id, status.upper()),
        provider_message_id=message_id,
        provider_status=status,
        error_code="/".join([reason if re.fullmatch(r"[A-Za-z_]+", reason) else "", *codes[:1]]).strip("/")[:50],
        occurred_at=_time(record.get(status.lower())) if status.lower() in TIMES else None,
        suppress=suppress,
        raw=json.dumps({name: record.get(name) for name in KEPT}).encode() if raw is None else raw,
    )


def _meaning(record: Mapping[str, Any], codes: list[str]) -> Meaning:
    status = reading.word(record.get("status")).lower()
    meaning = STATUSES.get(status, NOTHING)
    reason = reading.word(record.get("reason")).lower()
    if status != UNDELIVERABLE:
        return meaning
    if reason != BOUNCE:
        return REASONS.get(reason, meaning)
    if DEAD_CODES.issuperset(codes) and codes:
        return DEAD
    return NOT_REACHED if codes and all(code.startswith(SOFT) for code in codes) else BOUNCED


def _codes(record: Mapping[str, Any]) -> list[str]:
    """The enhanced status codes in what servers said, each once."""
    if reading.word(record.get("status")).lower() != UNDELIVERABLE:
        return []
    return list(dict.fromkeys(code for text in _errors(record) for code in ENHANCED.findall(text)))


def _errors(record: Mapping[str, Any]) -> Iterator[str]:
    vendors = record.get("providers")
    for part in (record, *(vendors if isinstance(vendors, list) else ())):
        if isinstance(part, dict) and isinstance(part.get("error"), str):
            yield part["error"]


def _time(milliseconds: object) -> datetime | None:
    written = reading.word(milliseconds)
    return datetime.fromtimestamp(int(written) / 1000, UTC) if re.fullmatch("[0-9]{1,13}", written) else None

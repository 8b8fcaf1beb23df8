"""What Plivo tells of a message: in reports, in lists, when asked for one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from providers import reading
from providers.messages import DeliveryEvent, EventKind, SentMessage, StatusPage
from providers.plivo.codes import FAILURES, STATES, SUPPRESS

NUMBERS = ("from_number", "to_number")


def event(uuid: str, status: str, error_code: object, *, told_at: list[str], raw: bytes) -> DeliveryEvent:
    code = reading.number(error_code)
    kind = STATES.get(status.lower(), EventKind.UNKNOWN)
    if kind is EventKind.FAILED and code is not None:
        kind = FAILURES.get(code, kind)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(uuid, status, reading.word(error_code), *told_at),
        provider_message_id=uuid,
        provider_status=status,
        error_code="" if code == 0 else reading.word(error_code, limit=50),  # "000" is none
        suppress=SUPPRESS.get(code or 0) if kind is EventKind.FAILED else None,
        raw=raw,
    )


def polled(record: Mapping[str, Any]) -> list[DeliveryEvent]:
    """Read a message record. The same state gives the same event."""
    uuid, status = reading.identifier(record.get("message_uuid")), reading.word(record.get("message_state"))
    if uuid is None or not status:
        return []
    raw = json.dumps({name: value for name, value in record.items() if name not in NUMBERS}).encode()
    told = event(uuid, status, record.get("error_code"), told_at=["polled"], raw=raw)
    return [replace(told, occurred_at=reading.iso_time(record.get("message_updated_time")))]


def status_page(page: Mapping[str, Any]) -> StatusPage:
    objects, meta = page.get("objects"), page.get("meta")
    records = [record for record in objects if isinstance(record, dict)] if isinstance(objects, list) else []
    link = meta.get("next") if isinstance(meta, dict) else None
    return StatusPage(
        [told for record in records for told in polled(record)],
        link if isinstance(link, str) and link else None,
        reading.earliest(reading.iso_time(record.get("message_time")) for record in records),
    )


def certain(record: Any, sent: SentMessage) -> str | None:
    """The id of a record that lacks nothing we know it by."""
    if not isinstance(record, dict) or reading.iso_time(record.get("message_time")) is None:
        return None
    is_whole = bare(record.get("to_number")) == bare(sent.message.to)
    return reading.identifier(record.get("message_uuid")) if is_whole else None


def bare(address: object) -> str:
    """A number or a name as they compare it: letters and digits alone."""
    return re.sub("[^a-z0-9]", "", address.lower()) if isinstance(address, str) else ""

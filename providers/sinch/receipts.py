"""Reading Sinch's reports: about one recipient, or about a batch, which is one recipient as well where we sent it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from providers import reading
from providers.errors import MalformedWebhook
from providers.messages import DeliveryEvent, EventKind, InboundMessage, StatusPage
from providers.sinch.codes import ABORTS, PROGRESS, STATUSES

REPORT = re.compile("(recipient_)?delivery_report_[a-z]+")  # …_sms, …_mms
TEXT = "mo_text"
INBOUND = "mo_"  # the other kinds are binary and multimedia messages


def is_inbound(report: Mapping[str, Any]) -> bool:
    return _type(report).startswith(INBOUND)


def events(report: Mapping[str, Any], raw: bytes) -> list[DeliveryEvent]:
    """Translate a webhook. Raises MalformedWebhook."""
    if not _type(report):
        raise MalformedWebhook("the webhook has no type")
    if not (found := _events(report, raw, told_at=reading.word(report.get("at")))):
        raise MalformedWebhook("the webhook names no batch or no status")
    return found


def polled(report: Mapping[str, Any]) -> list[DeliveryEvent]:
    """Read the answer to a status question, without numbers. The same status gives the same event."""
    statuses = [_without_numbers(status) for status in _statuses(report)]
    known = {name: report.get(name) for name in ("type", "batch_id", "client_reference")} | {"statuses": statuses}
    return _events(report, json.dumps(known).encode(), told_at="polled")


def polled_page(page: Mapping[str, Any], size: int) -> StatusPage:
    """Read a page of reports, each about one recipient, as `polled` reads the one about its batch, which names none."""
    listed, count = page.get("delivery_reports"), reading.number(page.get("count"))
    reports = [report for report in listed if isinstance(report, dict)] if isinstance(listed, list) else []
    number = reading.number(page.get("page")) or 0
    goes_on = count is not None and bool(reports) and 0 <= number * size + len(reports) < count
    return StatusPage(
        [event for report in reports for event in polled(_without_numbers(report))],
        str(number + 1) if goes_on else None,
        reading.earliest(reading.iso_time(report.get("at")) for report in reports),
    )


def inbound(message: Mapping[str, Any], raw: bytes) -> list[InboundMessage]:
    """Read a text that came in. Raises MalformedWebhook."""
    if _type(message) != TEXT:
        return []
    message_id, text = reading.identifier(message.get("id")), message.get("body")
    if message_id is None or not isinstance(text, str):
        raise MalformedWebhook("the message has no id or no text")
    sender, recipient = (_with_plus(reading.word(message.get(name))) for name in ("from", "to"))
    received_at = reading.iso_time(message.get("received_at"))
    return [InboundMessage(message_id, sender, recipient, reading.clean(text), received_at, raw)]


def _events(report: Mapping[str, Any], raw: bytes, *, told_at: str) -> list[DeliveryEvent]:
    batch_id = reading.identifier(report.get("batch_id"))
    if batch_id is None:
        return []
    return [
        _event(report, batch_id, status, raw, told_at)
        for status in _statuses(report)
        if reading.word(status.get("status"))
    ]


def _event(
    report: Mapping[str, Any], batch_id: str, told: Mapping[str, Any], raw: bytes, told_at: str
) -> DeliveryEvent:
    status, code = reading.word(told.get("status")), reading.number(told.get("code"))
    recipient = reading.word(told.get("recipient"))
    return DeliveryEvent(
        kind=_kind(status, code) if REPORT.fullmatch(_type(report)) else EventKind.UNKNOWN,
        dedupe_key=reading.fingerprint(batch_id, recipient, status, reading.word(told.get("code")), told_at),
        attempt=reading.identifier(report.get("client_reference")),
        provider_message_id=batch_id,
        provider_status=status,
        error_code="" if code in PROGRESS else reading.word(told.get("code"), limit=50),
        occurred_at=reading.iso_time(report.get("at")),
        raw=raw,
    )


def _kind(status: str, code: int | None) -> EventKind:
    if status.lower() == "aborted" and code is not None:
        return ABORTS.get(code, EventKind.FAILED)
    return STATUSES.get(status.lower(), EventKind.UNKNOWN)


def _statuses(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is told of each status: a report about one recipient is its own."""
    statuses = report.get("statuses", [report])
    return [status for status in statuses if isinstance(status, dict)] if isinstance(statuses, list) else []


def _without_numbers(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in ("recipients", "recipient")}


def _type(report: Mapping[str, Any]) -> str:
    return reading.word(report.get("type")).lower()


def _with_plus(number: str) -> str:
    return f"+{number}" if re.fullmatch("[1-9][0-9]{6,14}", number) else number

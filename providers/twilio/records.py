"""What Twilio shows of a message: in reports, in lists, when asked for one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from providers import reading
from providers.messages import DeliveryEvent, EventKind, NextPage, NotThere, SentMessage, StatusPage
from providers.twilio.codes import FAILURES, STATUSES, SUPPRESS

EARLY_SECONDS = 2  # their clock, in whole seconds, against ours
LATE_SECONDS = 60


def event(sid: str, status: str, error_code: object, *, told_at: str, raw: bytes) -> DeliveryEvent:
    code = reading.number(error_code) or 0
    kind = STATUSES.get(status.lower(), EventKind.UNKNOWN)
    if status.lower() in ("failed", "undelivered"):
        kind = FAILURES.get(code, kind)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(sid, status, str(code), "", told_at),
        provider_message_id=sid,
        provider_status=status,
        error_code=str(code) if code else "",
        suppress=SUPPRESS.get(code) if kind is EventKind.FAILED else None,
        raw=raw,
    )


def polled(message: Mapping[str, Any]) -> DeliveryEvent:
    """Read a message record. The same status gives the same event, though their date moves with the price, too."""
    raw = json.dumps({name: value for name, value in message.items() if name != "body"}).encode()
    sid, status = reading.identifier(message.get("sid")) or "", reading.word(message.get("status"))
    told = event(sid, status, message.get("error_code"), told_at="polled", raw=raw)
    return replace(told, occurred_at=reading.mail_time(message.get("date_updated")))


def status_events(message: Mapping[str, Any]) -> list[DeliveryEvent]:
    is_known = reading.identifier(message.get("sid")) is not None and reading.word(message.get("status"))
    return [polled(message)] if is_known else []


def status_page(page: Mapping[str, Any]) -> StatusPage:
    messages, link = page.get("messages"), page.get("next_page_uri")
    records = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    events = [told for message in records for told in status_events(message)]
    oldest_at = reading.earliest(reading.mail_time(message.get("date_sent")) for message in records)
    return StatusPage(events, link if isinstance(link, str) and link else None, oldest_at)


def words(text: object) -> list[str]:
    return reading.clean(text).split() if isinstance(text, str) else []


def created_at(message: Mapping[str, Any]) -> datetime | None:
    return reading.mail_time(message.get("date_created"))


def window(sent: SentMessage) -> tuple[datetime, datetime]:
    """Say between which times they can have made the record."""
    return (
        sent.began_at - timedelta(seconds=EARLY_SECONDS),
        sent.began_at + timedelta(seconds=sent.deadline_seconds + LATE_SECONDS),
    )


def next_page(page: Mapping[str, Any], messages: Sequence[Any], sent: SentMessage) -> NextPage | NotThere:
    """Turn the page, unless this one (newest first) already reaches back to before the call."""
    link = page.get("next_page_uri")
    dates = [created_at(message) for message in messages if isinstance(message, dict)]
    reaches_back = any(date < window(sent)[0] for date in dates if date is not None)
    return NextPage(link) if isinstance(link, str) and link and not reaches_back else NotThere()

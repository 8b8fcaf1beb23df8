"""What MessageBird shows of a message: in the answer to a send, in lists, when asked for one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from providers import reading
from providers.messagebird.codes import FAILURES, REASONS, STATUSES, SUPPRESS
from providers.messages import (
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    NextPage,
    NotThere,
    SentMessage,
)

EARLY = timedelta(seconds=2)  # their clock, in whole seconds, against ours
LARGEST_OFFSET = 1_000_000_000


def recipients_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A message's recipients, each with a status of its own. We write to one at a time."""
    recipients = message.get("recipients")
    items = recipients.get("items") if isinstance(recipients, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def event(message_id: str, told: Mapping[str, Any], *, told_at: str, raw: bytes) -> DeliveryEvent:
    """What a report, or a recipient in a record, says."""
    status, code = reading.word(told.get("status")), reading.word(told.get("statusErrorCode"), limit=50)
    kind, suppress = _meaning(status.lower(), reading.number(code), reading.word(told.get("statusReason")).lower())
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(message_id, reading.word(told.get("recipient")), status, code, told_at),
        provider_message_id=message_id,
        provider_status=status,
        error_code="" if code == "0" else code,
        occurred_at=reading.iso_time(told.get("statusDatetime")),
        suppress=suppress,
        raw=raw,
    )


def polled(message: Mapping[str, Any]) -> list[DeliveryEvent]:
    """Read a record. The same status gives the same event, however often it is asked for."""
    message_id = reading.identifier(message.get("id"))
    if message_id is None:
        return []
    shown = ("status", "statusDatetime", "statusReason", "statusErrorCode")  # neither text nor number
    return [
        event(
            message_id,
            recipient,
            told_at="polled",
            raw=json.dumps({"id": message_id} | {name: recipient.get(name) for name in shown}).encode(),
        )
        for recipient in recipients_of(message)
        if reading.word(recipient.get("status"))
    ]


def find(page: Mapping[str, Any], messages: Sequence[Any], sent: SentMessage) -> FindResult:
    """Look for a message by its reference on a page of the list, which begins with the newest."""
    records = [message for message in messages if isinstance(message, dict) and message.get("direction") != "mo"]
    for message in records:
        message_id = reading.identifier(message.get("id"))
        if message_id is not None and message_id not in sent.owned_ids and _is_ours(message, sent):
            return Found(message_id, tuple(polled(message)))
    if any(_has_lost_its_reference(message, sent) for message in records):
        return CannotTell("a message to this number shows no reference")
    dates = [date for message in records if (date := _created_at(message)) is not None]
    if dates != sorted(dates, reverse=True):
        return CannotTell("the list does not begin with the newest")
    if dates and dates[-1] < sent.began_at - EARLY:
        return NotThere()
    return _next_page(page, len(messages))


def _next_page(page: Mapping[str, Any], count: int) -> FindResult:
    offset, total = reading.number(page.get("offset")), reading.number(page.get("totalCount"))
    if offset is None or total is None or not 0 <= offset <= LARGEST_OFFSET:
        return CannotTell("the answer does not tell how long the list is")
    if offset + count >= total:
        return NotThere()
    return NextPage(str(offset + count)) if count else CannotTell("an empty page of a longer list")


def _is_ours(message: Mapping[str, Any], sent: SentMessage) -> bool:
    reference = reading.identifier(message.get("reference")) or ""
    return reference == sent.attempt.id or (sent.any_attempt and reference.startswith(f"{sent.attempt.message}-"))


def _has_lost_its_reference(message: Mapping[str, Any], sent: SentMessage) -> bool:
    created_at = _created_at(message)
    numbers = {reading.word(recipient.get("recipient")) for recipient in recipients_of(message)}
    may_be_ours = created_at is None or created_at >= sent.began_at - EARLY
    return not message.get("reference") and sent.message.to.removeprefix("+") in numbers and may_be_ours


def _created_at(message: Mapping[str, Any]) -> datetime | None:
    return reading.iso_time(message.get("createdDatetime"))


def _meaning(status: str, code: int | None, reason: str) -> tuple[EventKind, str | None]:
    kind = STATUSES.get(status, EventKind.UNKNOWN)
    if status == "delivery_failed":
        kind = FAILURES.get(code, kind) if code else REASONS.get(reason, kind)
    return kind, SUPPRESS.get(code or 0) if kind is EventKind.FAILED else None

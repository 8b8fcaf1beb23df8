"""What a notification tells: what became of a message, or what somebody wrote to one of our numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from providers import reading
from providers.aws_sms.codes import EVENTS
from providers.errors import MalformedWebhook
from providers.messages import DeliveryEvent, EventKind, InboundMessage

ENDS = {EventKind.FAILED, EventKind.NOT_REACHED, EventKind.EXPIRED}


def is_inbound(record: Mapping[str, Any]) -> bool:
    """Whether a record holds a text that came in
    (https://docs.aws.amazon.com/sms-voice/latest/userguide/two-way-sms-payload.html)."""
    return "inboundMessageId" in record and "eventType" not in record


def receipt(record: Mapping[str, Any], raw: bytes) -> DeliveryEvent:
    """Read an event. Raises MalformedWebhook.

    An end that is not final ("isFinal": false) is none yet: they go on trying.
    """
    told = reading.word(record.get("eventType"))
    message_id = reading.identifier(record.get("messageId"))
    context = record.get("context")
    attempt = reading.identifier(context.get("attempt")) if isinstance(context, dict) else None
    if not told or (message_id is None and attempt is None and told.startswith("TEXT_")):
        raise MalformedWebhook("the event has no type or names no message")
    kind = EVENTS.get(told.upper(), EventKind.UNKNOWN)
    is_over = record.get("isFinal") is not False
    told_at = record.get("eventTimestamp")
    return DeliveryEvent(
        kind=EventKind.SENT if kind in ENDS and not is_over else kind,
        dedupe_key=reading.fingerprint(message_id, attempt, told, str(is_over), reading.word(told_at)),
        attempt=attempt,
        provider_message_id=message_id,
        provider_status=told,
        occurred_at=_time(told_at),
        raw=raw,
    )


def inbound(record: Mapping[str, Any], call: Mapping[str, Any], raw: bytes) -> InboundMessage:
    """Read a text that came in. Raises MalformedWebhook."""
    names = ("inboundMessageId", "originationNumber", "destinationNumber")
    message_id, sender, recipient = (reading.identifier(record.get(name)) for name in names)
    text = record.get("messageBody")
    if message_id is None or sender is None or recipient is None or not isinstance(text, str):
        raise MalformedWebhook("the text that came in lacks its id, its numbers or its words")
    return InboundMessage(
        dedupe_key=message_id,
        sender=sender,
        recipient=recipient,
        text=reading.clean(text),
        received_at=reading.iso_time(call.get("Timestamp")),
        raw=raw,
    )


def _time(milliseconds: object) -> datetime | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None

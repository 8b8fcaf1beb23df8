"""What an event of SES tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers import reading
from providers.errors import MalformedWebhook
from providers.messages import DeliveryEvent
from providers.ses.codes import (
    BOUNCES,
    EVENTS,
    NO_COMPLAINT,
    NOT_THE_ADDRESS,
    NOTHING,
    SUPPRESSED,
    SUPPRESSIONS,
    Meaning,
)

# By type of event: the part of the record about it, and what in that part says why.
PARTS = {
    "bounce": ("bounce", ("bounceType", "bounceSubType")),
    "complaint": ("complaint", ("complaintSubType", "complaintFeedbackType")),
    "delivery": ("delivery", ()),
    "deliverydelay": ("deliveryDelay", ("delayType",)),
    "reject": ("reject", ()),
    "rendering failure": ("failure", ()),
}


def receipt(record: Mapping[str, Any], call_id: str, raw: bytes) -> DeliveryEvent:
    """Read an event. SNS repeats it under the same `call_id`. Raises MalformedWebhook."""
    told = reading.word(record.get("eventType") or record.get("notificationType"))
    mail = _part(record, "mail")
    message_id, attempt = reading.identifier(mail.get("messageId")), _attempt(mail)
    if not told or (message_id is None and attempt is None):
        raise MalformedWebhook("the event has no type or names no message")
    name, reasons = PARTS.get(told.lower(), ("", ()))
    part = _part(record, name)
    kind, suppress = _meaning(told.lower(), part)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint("sns", call_id),
        attempt=attempt,
        provider_message_id=message_id,
        provider_status=told,
        error_code="/".join(filter(None, (reading.word(part.get(reason)) for reason in reasons)))[:50],
        occurred_at=reading.iso_time(part.get("timestamp") or mail.get("timestamp")),
        suppress=suppress,
        raw=raw,
    )


def _meaning(told: str, part: Mapping[str, Any]) -> Meaning:
    if SUPPRESSED in (_word(part, "bounceSubType"), _word(part, "complaintSubType")):
        return SUPPRESSIONS.get(told, NOTHING)
    if told == "complaint" and _word(part, "complaintFeedbackType") == NO_COMPLAINT:
        return NOTHING
    if told != "bounce":
        return EVENTS.get(told, NOTHING)
    kind, suppress = BOUNCES.get(_word(part, "bounceType"), NOTHING)
    return kind, None if _is_policy(part) else suppress


def _is_policy(bounce: Mapping[str, Any]) -> bool:
    recipients = bounce.get("bouncedRecipients")
    statuses = (
        [_word(each, "status") for each in recipients if isinstance(each, dict)] if isinstance(recipients, list) else []
    )
    return any(status.startswith(NOT_THE_ADDRESS) for status in statuses)


def _attempt(mail: Mapping[str, Any]) -> str | None:
    """Our attempt's id: each tag comes back as a list of values."""
    values = _part(mail, "tags").get("attempt")
    return reading.identifier(values[0]) if isinstance(values, list) and values else None


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}


def _word(part: Mapping[str, Any], name: str) -> str:
    return reading.word(part.get(name)).lower()

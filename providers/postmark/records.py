"""What Postmark tells of a message: in webhooks, in lists, when asked for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from providers import reading
from providers.errors import MalformedWebhook
from providers.messages import DeliveryEvent
from providers.postmark.codes import BOUNCES, BY_HAND, MESSAGE_EVENTS, NOTHING, RECORDS, STATUSES, SUPPRESSIONS, Meaning

TIMES = ("DeliveredAt", "BouncedAt", "ChangedAt", "ReceivedAt")


def reported(report: Mapping[str, Any], raw: bytes, stream: str) -> DeliveryEvent:
    """Read a webhook. Raises MalformedWebhook.

    A server has several message streams, and suppresses an address that somebody unsubscribed in one of them only.
    """
    message_id, attempt = reading.identifier(report.get("MessageID")), attempt_of(report)
    if message_id is None and attempt is None and report["RecordType"] != "SubscriptionChange":
        raise MalformedWebhook("the webhook names no message")
    kind, suppress = NOTHING if _is_about_another_stream(report, stream) else _meaning(report)
    told_at = _told_at(report)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=_report_key(report, told_at or raw.hex()),
        attempt=attempt,
        provider_message_id=message_id,
        provider_status=reading.word(report.get("Type") or report["RecordType"]),
        error_code=reading.word(report.get("TypeCode") or report.get("SuppressionReason"), limit=50),
        occurred_at=reading.iso_time(told_at),
        suppress=suppress,
        raw=raw,
    )


def status_events(message: Mapping[str, Any]) -> list[DeliveryEvent]:
    """Read a message record: its status, and the events that `details` add."""
    status, reports = reading.word(message.get("Status")), message.get("MessageEvents")
    known = {name: message.get(name) for name in ("MessageID", "Status", "ReceivedAt")}  # without text and addresses
    events = [_status_event(message, STATUSES.get(status.lower(), NOTHING), status, "", known)] if status else []
    for report in reports if isinstance(reports, list) else []:
        if isinstance(report, dict):
            word, details = reading.word(report.get("Type")), report.get("Details")
            meaning = MESSAGE_EVENTS.get(word.lower(), NOTHING)
            if word.lower() == "subscriptionchanged" and isinstance(details, dict):
                meaning = _suppression(details)
            events.append(_status_event(message, meaning, word, _told_at(report), report))
    return events


def _status_event(
    message: Mapping[str, Any], meaning: Meaning, word: str, told_at: str, source: object
) -> DeliveryEvent:
    message_id = reading.identifier(message.get("MessageID"))
    kind, suppress = meaning
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint("polled", message_id, word, told_at),
        attempt=attempt_of(message),
        provider_message_id=message_id,
        provider_status=word,
        occurred_at=reading.iso_time(told_at),
        suppress=suppress,
        raw=json.dumps(source).encode(),
    )


def attempt_of(record: Mapping[str, Any]) -> str | None:
    return reading.identifier(metadata_of(record).get("attempt"))


def metadata_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = record.get("Metadata")
    return metadata if isinstance(metadata, dict) else {}


def _meaning(report: Mapping[str, Any]) -> Meaning:
    record = reading.word(report["RecordType"]).lower()
    if record == "bounce":
        return BOUNCES.get(reading.word(report.get("Type")).lower(), NOTHING)
    if record == "subscriptionchange":
        return _suppression(report)
    return RECORDS.get(record, NOTHING)


def _is_about_another_stream(report: Mapping[str, Any], stream: str) -> bool:
    """Whether an address was suppressed by hand elsewhere. That it bounced or complained there is true of ours as well."""
    reason, of = (reading.word(report.get(name)) for name in ("SuppressionReason", "MessageStream"))
    return reason.lower() == BY_HAND and of not in ("", stream)


def _suppression(change: Mapping[str, Any]) -> Meaning:
    if str(change.get("SuppressSending")).lower() != "true":
        return NOTHING
    return SUPPRESSIONS.get(reading.word(change.get("SuppressionReason")).lower(), NOTHING)


def _told_at(report: Mapping[str, Any]) -> str:
    return next((time for name in TIMES if (time := reading.word(report.get(name)))), "")


def _report_key(report: Mapping[str, Any], told_at: str) -> str:
    """Tell reports apart, which have no id of their own but bounces."""
    record_id = report.get("ID") or report.get("MessageID")
    recipient = report.get("Recipient") or report.get("Email")
    return reading.fingerprint(*(reading.word(part) for part in (report["RecordType"], record_id, recipient)), told_at)

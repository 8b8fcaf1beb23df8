"""What SendGrid tells of a mail: in webhooks, and in the Email Logs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from providers import reading
from providers.messages import DeliveryEvent, EventKind
from providers.sendgrid.codes import (
    BOUNCES,
    DEAD_CLASSIFICATION,
    DEAD_STATUSES,
    DROPPED,
    DROPS,
    EVENTS,
    FAILED,
    NOT_THE_ADDRESS,
    NOTHING,
    Meaning,
)

# A webhook mixes our arguments with its own fields, and "attempt" is one of those.
ATTEMPT = "landfall_attempt"
# What the logs tell of an event, without text and addresses.
KEPT = ("event", "timestamp", "sg_event_id", "sg_message_id", "type", "status", "bounce_classification")
# Where an event says why, if not in its status.
CODES = {**dict.fromkeys(DROPPED, ("reason",)), "account_status_change": ("type",)}

_ID = re.compile(r"(?P<received>.+?)\.(?:recvd-|filter).*")


def received_id(sg_message_id: object) -> str | None:
    """The id that a send was answered with, out of the longer one that events have.

    The answer's id is all before ".recvd-…" or ".filter…", as a whole: one that only begins alike is another mail's.
    """
    full = reading.identifier(sg_message_id)
    if full is None:
        return None
    match = _ID.fullmatch(full)
    return match["received"] if match else full.partition(".")[0] or None


def reported(report: Mapping[str, Any]) -> DeliveryEvent:
    """Read one event of a webhook. A late bounce may come without the mail's id: our own argument is there all the same."""
    return _event(report, reading.identifier(report.get(ATTEMPT)), report)


def unreadable(member: object) -> DeliveryEvent:
    """Keep what stands in a list of events and is none."""
    raw = json.dumps(member)
    return DeliveryEvent(EventKind.UNKNOWN, dedupe_key=reading.fingerprint("unreadable", raw), raw=raw.encode())


def logged(mail: Mapping[str, Any]) -> tuple[DeliveryEvent, ...]:
    """Read the events of a mail in the logs. They have the ids that they have in webhooks."""
    told = mail.get("events")
    events = [event for event in told if isinstance(event, dict)] if isinstance(told, list) else []
    return tuple(_event(event, attempt_of(mail), {name: event.get(name) for name in KEPT}) for event in events)


def attempt_of(mail: Mapping[str, Any]) -> str | None:
    """Our attempt's id in a mail of the logs, where arguments are an object of their own."""
    arguments = mail.get("custom_args")
    return reading.identifier(arguments.get(ATTEMPT)) if isinstance(arguments, dict) else None


def _event(report: Mapping[str, Any], attempt: str | None, kept: Mapping[str, Any]) -> DeliveryEvent:
    told = reading.word(report.get("event"))
    kind, suppress = _meaning(told.lower(), report)
    raw = json.dumps(kept)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.identifier(report.get("sg_event_id")) or reading.fingerprint("event", raw),
        attempt=attempt,
        provider_message_id=received_id(report.get("sg_message_id")),
        provider_status=told,
        error_code=_code(told.lower(), report),
        occurred_at=_time(report.get("timestamp")),
        suppress=suppress,
        raw=raw.encode(),
    )


def _meaning(told: str, report: Mapping[str, Any]) -> Meaning:
    if told in DROPPED:
        return DROPS.get(_word(report, "reason"), FAILED)
    if told == "bounce":
        return _bounce(report)
    return EVENTS.get(told, NOTHING)


def _bounce(report: Mapping[str, Any]) -> Meaning:
    kind = BOUNCES.get(_word(report, "type"))
    if kind is None:
        return NOTHING
    is_final = kind is BOUNCES["bounce"]
    return kind, "hard_bounce" if is_final and _is_dead(report) else None


def _is_dead(bounce: Mapping[str, Any]) -> bool:
    why = _word(bounce, "bounce_classification")
    return why == DEAD_CLASSIFICATION or (_word(bounce, "status") in DEAD_STATUSES and why not in NOT_THE_ADDRESS)


def _code(told: str, report: Mapping[str, Any]) -> str:
    """Why, in their own words: a status, a classification or the reason of a drop. What a server answered is left out."""
    words = (reading.word(report.get(name)) for name in CODES.get(told, ("status", "bounce_classification")))
    return next((word for word in words if re.fullmatch(r"[\w ./-]{1,50}", word, re.ASCII)), "")


def _word(report: Mapping[str, Any], name: str) -> str:
    return reading.word(report.get(name)).lower()


def _time(seconds: object) -> datetime | None:
    """Read seconds since 1970, which may come as a text."""
    written = reading.word(seconds)
    return datetime.fromtimestamp(int(written), UTC) if re.fullmatch("[0-9]{1,10}", written) else None

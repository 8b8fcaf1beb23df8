"""What Sinch does not take, and its words for it. Limits and names: developers.sinch.com/docs/sms (read 2026-11).

The text about a number is theirs, the others are the sandbox's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from providers.sandbox import roles

NUMBER = re.compile(r"\+?[1-9]\d{6,14}", re.ASCII)
SENDER = re.compile(r"\+?[1-9]\d{2,14}|[A-Za-z0-9 ]{1,11}", re.ASCII)
PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
REPORTS = ("none", "summary", "full", "per_recipient", "per_recipient_final")
BODY_LIMIT, REFERENCE_LIMIT, URL_LIMIT = 1600, 128, 2048
LONGEST = timedelta(days=3)
NAMES = (
    "syntax_invalid_json",
    "syntax_invalid_parameter_format",
    "syntax_constraint_violation",
    "unknown_group",
    "unknown_campaign",
    "missing_callback_url",
)


class Objection(NamedTuple):
    status: int
    code: str
    text: str


def read(body: bytes, now: datetime, default_url: str | None) -> Mapping[str, Any] | Objection:
    """The batch that is asked for, or the first thing wrong with it."""
    try:
        batch = json.loads(body)
    except ValueError:
        batch = None
    if not isinstance(batch, dict):
        return Objection(400, "syntax_invalid_json", "The body is no JSON object.")
    return _missing(batch) or _formats(batch) or _times(batch, now) or _reports(batch, default_url) or batch


def filled_in(body: str, parameters: Mapping[str, Mapping[str, str]], number: str) -> str | None:
    """The text for one recipient; None where a parameter has no value."""
    values = {
        name: by_number.get(number, by_number.get(f"+{number}", by_number.get("default")))
        for name, by_number in parameters.items()
    }
    if not all(values.get(name) is not None for name in PLACEHOLDER.findall(body)):
        return None
    return PLACEHOLDER.sub(lambda found: str(values[found[1]]), body)


def time_of(written: str) -> datetime:
    """Read an ISO 8601 time, UTC where it has no zone. Raises ValueError."""
    time = datetime.fromisoformat(written)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _missing(batch: Mapping[str, Any]) -> Objection | None:
    to, body = batch.get("to"), batch.get("body")
    if not isinstance(to, list) or not to:
        return _constraint("to: 1 to 1000 numbers are required")
    if len(to) > 1:
        return _constraint("to: the sandbox takes one number a batch")
    if not isinstance(body, str) or not body:
        return _constraint("body is required")
    if len(body) > BODY_LIMIT:
        return _constraint("body is too long")
    return None


def _formats(batch: Mapping[str, Any]) -> Objection | None:
    [number], sender = batch["to"], batch.get("from")
    if not isinstance(number, str) or not NUMBER.fullmatch(number) or roles.of_number(number).refusal == "invalid":
        return _format("to[0]", f"value '{number}' is not a valid MSISDN or group ID.")
    if sender is not None and not (isinstance(sender, str) and SENDER.fullmatch(sender)):
        return _format("from", "it is neither a number nor a name.")
    if batch.get("type", "mt_text") != "mt_text":
        return _format("type", "the sandbox takes texts only.")
    reference, parameters = batch.get("client_reference", ""), batch.get("parameters", {})
    if not isinstance(reference, str) or len(reference) > REFERENCE_LIMIT:
        return _constraint("client_reference is too long")
    if not isinstance(parameters, dict) or not all(isinstance(values, dict) for values in parameters.values()):
        return _format("parameters", "it is no object of objects.")
    return None


def _times(batch: Mapping[str, Any], now: datetime) -> Objection | None:
    try:
        send_at = max(time_of(batch["send_at"]), now) if "send_at" in batch else now
        expire_at = time_of(batch["expire_at"]) if "expire_at" in batch else send_at + LONGEST
    except (TypeError, ValueError):
        return _format("expire_at", "it is no time.")
    if not send_at < expire_at <= send_at + LONGEST:
        return _constraint("expire_at must be after send_at, by 3 days at most")
    return None


def _reports(batch: Mapping[str, Any], default_url: str | None) -> Objection | None:
    kind, url = batch.get("delivery_report", "none"), batch.get("callback_url", default_url)
    if kind not in REPORTS:
        return _format("delivery_report", f"it is none of {', '.join(REPORTS)}.")
    if url is not None and not (isinstance(url, str) and len(url) <= URL_LIMIT and _is_url(url)):
        return _format("callback_url", "it is no URL.")
    if kind != "none" and url is None:
        return Objection(403, "missing_callback_url", "Requesting delivery report without any callback URL.")
    return None


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _format(parameter: str, why: str) -> Objection:
    return Objection(400, "syntax_invalid_parameter_format", f"The format of parameter '{parameter}' is invalid; {why}")


def _constraint(why: str) -> Objection:
    return Objection(400, "syntax_constraint_violation", why)

"""How SendGrid says no: a status, and a list of errors that each name a field."""

from __future__ import annotations

import re

from providers import reading, retry_after
from providers.base import error_for_status
from providers.errors import ProviderError, RateLimited, SenderNotAllowed
from providers.messages import HttpResponse
from providers.sendgrid.codes import BY_STATUS, FIELDS, NAMING_STATUSES


def refusal(answer: HttpResponse) -> ProviderError:
    """Read an answer that is no success."""
    fields = _fields_at_fault(answer)
    kind = _refusal_kind(answer.status, fields)
    code = next((field for field in fields or () if field), "")
    return kind(
        f"HTTP {answer.status}, {code}" if code else f"HTTP {answer.status}",
        code=code,
        http_status=answer.status,
        retry_after_seconds=_wait_seconds(answer, kind),
    )


def _refusal_kind(status: int, fields: list[str] | None) -> type[ProviderError]:
    if fields is None or status not in BY_STATUS:
        return error_for_status(status)
    named = {_at_fault(field) for field in fields} if status in NAMING_STATUSES else set()
    if SenderNotAllowed in named:
        return SenderNotAllowed
    return named.pop() or BY_STATUS[status] if len(named) == 1 else BY_STATUS[status]


def _at_fault(field: str) -> type[ProviderError] | None:
    return next((kind for pattern, kind in FIELDS if pattern.fullmatch(field)), None)


def _fields_at_fault(answer: HttpResponse) -> list[str] | None:
    """Which fields an answer names, "" for an error that names none; None where it is no list of errors of theirs."""
    errors = (reading.json_object(answer.body) or {}).get("errors")
    if not isinstance(errors, list) or not errors or not all(isinstance(error, dict) for error in errors):
        return None
    return [_field_name(error.get("field")) for error in errors]


def _field_name(value: object) -> str:
    """Read a field's name; what cannot be one may be an address, and is dropped."""
    written = reading.word(value)
    return written if re.fullmatch("[a-z_0-9.]{1,50}", written) and written != "null" else ""


def _wait_seconds(answer: HttpResponse, kind: type[ProviderError]) -> float | None:
    """How long they ask us to wait. Of a limit they tell when it ends, which is measured against the answer's own Date."""
    asked = retry_after.from_headers(answer.headers)
    date = retry_after.http_date(answer.headers.get("Date", ""), None)
    ends_at = answer.headers.get("X-RateLimit-Reset", "")
    if asked is not None or kind is not RateLimited or date is None or not re.fullmatch("[0-9]{1,10}", ends_at):
        return asked
    wait = int(ends_at) - date.timestamp()
    return retry_after.seconds(str(max(int(wait), 0)), None)

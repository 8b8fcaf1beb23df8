"""Reading what vendors write. Nothing here raises: what cannot be read is None, or empty."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

ID_LIMIT = 200

# Valid in JSON, refused by UTF-8 (half of a surrogate pair) or by PostgreSQL (NUL).
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace what neither UTF-8 nor PostgreSQL can hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def word(value: object, limit: int = 100) -> str:
    """Read a status or a code: a short text or a whole number, ready to be stored."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return clean(str(value))[:limit]


def identifier(value: object) -> str | None:
    """Read an id: text from end to end, exactly as it came. None for anything that cannot be kept so."""
    if not isinstance(value, str) or not 0 < len(value) <= ID_LIMIT or _UNSTORABLE.search(value):
        return None
    return value


def number(value: object) -> int | None:
    """Read an error code, which may come as a number or as a text of ASCII digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        return int(value)
    return None


def json_object(body: bytes) -> dict[str, Any] | None:
    value = _json(body)
    return value if isinstance(value, dict) else None


def json_list(body: bytes) -> list[Any] | None:
    value = _json(body)
    return value if isinstance(value, list) else None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def iso_time(value: object) -> datetime | None:
    return _aware(datetime.fromisoformat, value)


def mail_time(value: object) -> datetime | None:
    """Read a time as in mail headers (RFC 2822)."""
    return _aware(parsedate_to_datetime, value)


def earliest(times: Iterable[datetime | None]) -> datetime | None:
    """Choose the first of some times, leaving out what could not be read."""
    return min((time for time in times if time is not None), default=None)


def _aware(parse: Any, value: object) -> datetime | None:
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        time: datetime = parse(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def fingerprint(*parts: str | None) -> str:
    """Make one key of several parts, equal only when all of them are."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

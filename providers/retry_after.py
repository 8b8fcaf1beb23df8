"""How long a vendor asks us to wait: the Retry-After header (RFC 9110, 10.2.3), in seconds or as one of three forms of date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil

LONGEST_SECONDS = 30 * 24 * 60 * 60  # what is beyond is a mistake, e.g. milliseconds

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Not int(), which reads full-width digits and refuses more than 4,300 of them.
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
# Not email.utils, which reads the asctime form without zone. The weekday is not looked at: a wrong one is ignored.
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DATES = (
    re.compile(rf"[A-Za-z]{{3}}, (?P<day>[0-9]{{2}}) (?P<month>[A-Za-z]{{3}}) (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(rf"[A-Za-z]{{6,9}}, (?P<day>[0-9]{{2}})-(?P<month>[A-Za-z]{{3}})-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(rf"[A-Za-z]{{3}} (?P<month>[A-Za-z]{{3}}) (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)


def seconds(value: str | None, now: datetime | None) -> float | None:
    """Say how many seconds to wait, 0 for a date that has passed, None where the value is missing or makes no sense.

    Fractions are rounded up. `now` is only needed for a date; where it is None a date makes no sense.
    """
    text = (value or "").strip(" \t")
    if _SECONDS.fullmatch(text):
        wait = float(ceil(float(text)))
    elif now is not None and (until := http_date(text, now)) is not None:
        wait = max((until - now).total_seconds(), 0.0)
    else:
        return None
    return wait if wait <= LONGEST_SECONDS else None


def from_headers(headers: Mapping[str, str]) -> float | None:
    """Say how many seconds an answer asks us to wait.

    A date is measured against the answer's own Date header, so that neither a clock of ours nor the difference between
    two clocks comes in. An answer without a readable Date states its wait in seconds or not at all.
    """
    return seconds(headers.get("Retry-After"), http_date(headers.get("Date", ""), None))


def http_date(text: str, now: datetime | None) -> datetime | None:
    """Read an HTTP date in any of the three forms of RFC 9110, 5.6.7.

    `now` decides the century of a two-digit year; without it such a date is not read.
    """
    for form in _DATES:
        if match := form.fullmatch(text):
            return _date(match.groupdict(), now)
    return None


def _date(parts: Mapping[str, str], now: datetime | None) -> datetime | None:
    try:
        return datetime(
            _year(parts["year"], now),
            _MONTHS.index(parts["month"].lower()) + 1,
            int(parts["day"]),
            int(parts["hour"]),
            int(parts["minute"]),
            min(int(parts["second"]), 59),  # 60 is a leap second
            tzinfo=UTC,
        )
    except ValueError:
        return None


def _year(digits: str, now: datetime | None) -> int:
    """Two digits are the last two of a year in this century, or in the one before if that is over 50 years ahead."""
    if len(digits) == 4:
        return int(digits)
    if now is None:
        raise ValueError("two digits and no century")
    year = now.year - now.year % 100 + int(digits)
    return year - 100 if year > now.year + 50 else year

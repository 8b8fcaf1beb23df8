"""Accounts opened after a fault of ours, breakers where a provider fails, and the one probe at a time that closes them."""

from __future__ import annotations

from notifications.sql.rows import execute

OPEN = """
UPDATE provider_account SET opened_at = coalesce(opened_at, clock_timestamp()), opened_reason = %(reason)s,
    opened_until = clock_timestamp() + %(rest)s * interval '1 second'
WHERE id = %(id)s"""

TAKE_PROBE = """
UPDATE provider_account SET opened_until = clock_timestamp() + %(rest)s * interval '1 second'
WHERE id = %(id)s AND opened_at IS NOT NULL AND opened_until <= clock_timestamp() RETURNING id"""

CLOSE = """
UPDATE provider_account SET opened_at = NULL, opened_until = NULL, opened_reason = '' WHERE id = %(id)s"""

OPEN_BREAKER = """
INSERT INTO breaker (account_id, country, opened_until)
VALUES (%(id)s, %(country)s, clock_timestamp() + %(rest)s * interval '1 second')
ON CONFLICT (account_id, country) DO UPDATE SET opened_until = excluded.opened_until"""

TAKE_BREAKER_PROBE = """
UPDATE breaker SET opened_until = clock_timestamp() + %(rest)s * interval '1 second'
WHERE account_id = %(id)s AND country = %(country)s AND opened_until <= clock_timestamp() RETURNING id"""

CLOSE_BREAKER = "DELETE FROM breaker WHERE account_id = %(id)s AND country = %(country)s"


def open_account(account_id: int, reason: str, rest_seconds: float) -> None:
    """Send nothing through an account for `rest_seconds`; then one probe at a time."""
    execute(OPEN, {"id": account_id, "reason": reason, "rest": rest_seconds})


def take_probe(account_id: int, rest_seconds: float) -> bool:
    """Win the right to try an opened account with one message; the next probe waits `rest_seconds`."""
    return bool(execute(TAKE_PROBE, {"id": account_id, "rest": rest_seconds}))


def close_account(account_id: int) -> None:
    """Send through an account again."""
    execute(CLOSE, {"id": account_id})


def open_breaker(account_id: int, country: str, rest_seconds: float) -> None:
    """Send nothing to a country through an account for `rest_seconds`; then one probe at a time."""
    execute(OPEN_BREAKER, {"id": account_id, "country": country, "rest": rest_seconds})


def take_breaker_probe(account_id: int, country: str, rest_seconds: float) -> bool:
    """Win the right to try a country again with one message; the next probe waits `rest_seconds`."""
    return bool(execute(TAKE_BREAKER_PROBE, {"id": account_id, "country": country, "rest": rest_seconds}))


def close_breaker(account_id: int, country: str) -> None:
    """Send to a country through an account again."""
    execute(CLOSE_BREAKER, {"id": account_id, "country": country})

"""Accounts opened after a fault of ours, and the one probe at a time that closes them."""

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


def open_account(account_id: int, reason: str, rest_seconds: float) -> None:
    """Send nothing through an account for `rest_seconds`; then one probe at a time."""
    execute(OPEN, {"id": account_id, "reason": reason, "rest": rest_seconds})


def take_probe(account_id: int, rest_seconds: float) -> bool:
    """Win the right to try an opened account with one message; the next probe waits `rest_seconds`."""
    return bool(execute(TAKE_PROBE, {"id": account_id, "rest": rest_seconds}))


def close_account(account_id: int) -> None:
    """Send through an account again."""
    execute(CLOSE, {"id": account_id})

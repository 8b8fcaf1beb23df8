"""Endpoints: how long one has been failing, and the events that wait for one."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from notifications.sql.rows import execute

FAILS = """
UPDATE webhook_endpoint SET failing_since = clock_timestamp() WHERE account_id = %(account)s AND failing_since IS NULL"""

WORKS = """
UPDATE webhook_endpoint SET failing_since = NULL, warned_at = NULL
WHERE account_id = %(account)s AND failing_since IS NOT NULL"""

WARNED = """
UPDATE webhook_endpoint SET warned_at = clock_timestamp()
WHERE account_id = %(account)s AND failing_since IS NOT NULL AND warned_at IS NULL RETURNING account_id"""

# Asked once before a warning, and once before it is switched off: it may look at all events that there are for it.
HAS_WORKED = """
SELECT EXISTS (
    SELECT FROM message m JOIN attempt a ON a.message_id = m.id
    WHERE m.address_hash = %(hash)s AND m.channel = 'webhook' AND a.outcome = 'taken' AND a.ended_at > %(since)s
)"""

SWITCH_OFF = """
WITH off AS (
    UPDATE provider_account SET is_on = false WHERE id = %(account)s AND is_on RETURNING id
)
UPDATE webhook_endpoint SET off_reason = %(reason)s FROM off WHERE account_id = off.id RETURNING account_id"""

SWITCH_ON = """
WITH shut AS (
    DELETE FROM breaker WHERE account_id = %(account)s
), is_on AS (
    UPDATE provider_account SET is_on = true, opened_at = NULL, opened_until = NULL, opened_reason = ''
    WHERE id = %(account)s
)
UPDATE webhook_endpoint SET off_reason = '', failing_since = NULL, warned_at = NULL WHERE account_id = %(account)s"""

# Locked in order, as everywhere; what somebody holds is his. The oldest are due first.
BRING_FORWARD = """
WITH waiting AS MATERIALIZED (
    SELECT o.message_id FROM message m JOIN outbox o ON o.message_id = m.id
    WHERE m.address_hash = %(hash)s AND m.channel = 'webhook' AND m.state = 'queued'
        AND o.claim IS NULL AND o.began_at IS NULL AND o.due_at > clock_timestamp() + %(wait)s * interval '1 second'
    ORDER BY o.message_id LIMIT %(limit)s FOR NO KEY UPDATE OF o SKIP LOCKED
), in_turn AS (
    SELECT message_id, row_number() OVER (ORDER BY message_id) AS place, clock_timestamp() AS now FROM waiting
)
UPDATE outbox SET due_at = now + %(wait)s * interval '1 second' + place * interval '1 microsecond' FROM in_turn
WHERE outbox.message_id = in_turn.message_id RETURNING outbox.message_id"""

LETTERS_OF = """
SELECT d.id FROM dead_letter d JOIN message m ON m.id = d.message_id JOIN notification n ON n.id = m.notification_id
WHERE m.address_hash = %(hash)s AND m.channel = 'webhook' AND d.kind = 'message' AND d.resolved_at IS NULL
    AND n.accepted_at >= %(since)s AND n.accepted_at < %(until)s AND d.id > %(after)s
ORDER BY d.id LIMIT %(limit)s"""

EXPIRED_OF = """
SELECT n.id FROM message m JOIN notification n ON n.id = m.notification_id
WHERE m.address_hash = %(hash)s AND m.channel = 'webhook' AND m.state = 'expired' AND n.redacted_at IS NULL
    AND n.client_id = %(client)s AND n.accepted_at >= %(since)s AND n.accepted_at < %(until)s AND n.id > %(after)s
ORDER BY n.id LIMIT %(limit)s"""


def note_failing(account_id: int) -> None:
    """Note when it began to fail, unless it fails already."""
    execute(FAILS, {"account": account_id})


def note_working(account_id: int) -> None:
    """Note that it takes events."""
    execute(WORKS, {"account": account_id})


def note_warned(account_id: int) -> bool:
    """Note that its owner is told; False where that has been noted, or it works by now."""
    return bool(execute(WARNED, {"account": account_id}))


def has_worked(address_hash: str, since: datetime) -> bool:
    """Whether it has taken an event since then."""
    return bool(execute(HAS_WORKED, {"hash": address_hash, "since": since})[0][0])


def switch_off(account_id: int, reason: str) -> bool:
    """Send it nothing more. Returns whether it was on."""
    return bool(execute(SWITCH_OFF, {"account": account_id, "reason": reason}))


def switch_on(account_id: int) -> None:
    """Send to it again, with all that was held against it forgotten."""
    execute(SWITCH_ON, {"account": account_id})


def bring_forward(address_hash: str, *, wait_seconds: float, limit: int) -> int:
    """Make events that wait for an endpoint due after `wait_seconds`, so many at most. Returns how many there were."""
    return len(execute(BRING_FORWARD, {"hash": address_hash, "wait": wait_seconds, "limit": limit}))


def dead_letters_of(address_hash: str, since: datetime, until: datetime, *, after: int, limit: int) -> list[int]:
    """A page of an endpoint's open dead letters whose events were accepted in this time, oldest first."""
    page = {"hash": address_hash, "since": since, "until": until, "after": after, "limit": limit}
    return [letter_id for (letter_id,) in execute(LETTERS_OF, page)]


def expired_of(
    address_hash: str, since: datetime, until: datetime, *, client_id: int, after: UUID, limit: int
) -> list[UUID]:
    """A page of an endpoint's expired events, told by this client, that were accepted in this time, oldest first."""
    page = {"hash": address_hash, "since": since, "until": until, "client": client_id, "after": after, "limit": limit}
    return [notification_id for (notification_id,) in execute(EXPIRED_OF, page)]

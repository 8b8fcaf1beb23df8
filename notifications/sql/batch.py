"""Batches: many notifications stored at once, counted, parked and woken.

COPY into temporary tables, and from there one INSERT..SELECT per table: what all rows share is said once, as parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any
from uuid import UUID

from django.db import connection

from notifications.sql.accept import IdempotencyConflict
from notifications.sql.rows import execute

CHUNK = 256 * 1024  # characters of a spool in memory at once
LAST = UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to store, and what all its notifications share. None of `send_at` and `expires_at` as in NewRow."""

    id: UUID
    client_id: int
    idempotency_key: str | None
    fingerprint: str
    reference: str
    route: str
    steps: str  # JSON
    priority: str
    category: str
    incident_id: int | None
    on_unclear: str
    send_at: datetime | None
    expires_at: datetime | None
    expiry_seconds: float
    lane: str
    accepted_count: int
    skipped_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """What stands under an idempotency key."""

    id: UUID
    fingerprint: str
    accepted_at: datetime
    accepted_count: int
    skipped_count: int


INSERT_BATCH = """
INSERT INTO batch (id, client_id, idempotency_key, fingerprint, reference, route, priority, state, accepted_count,
    skipped_count, created_at, accepted_at)
VALUES (%(id)s, %(client_id)s, %(idempotency_key)s, %(fingerprint)s, %(reference)s, %(route)s, %(priority)s, 'accepted',
    %(accepted_count)s, %(skipped_count)s, %(created_at)s, now())
ON CONFLICT (client_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING accepted_at"""

STORED = """
SELECT id, fingerprint, accepted_at, accepted_count, skipped_count FROM batch
WHERE client_id = %(client)s AND idempotency_key = %(key)s"""

TAKE_TIME = "SELECT set_config('statement_timeout', %(limit)s, true)"

INCOMING = (
    """
CREATE TEMPORARY TABLE incoming (id uuid, recipient jsonb, content jsonb, reference text) ON COMMIT DROP""",
    """
CREATE TEMPORARY TABLE incoming_message (id uuid, notification_id uuid, step int2, part int2, channel text, address text,
    address_hash text, country text, state text, reason text, window_seconds float8) ON COMMIT DROP""",
)
MESSAGE_COLUMNS = (
    "id", "notification_id", "step", "part", "channel", "address", "address_hash", "country", "state", "reason",
    "window_seconds",
)  # fmt: skip
COPY = {
    "incoming": "COPY incoming FROM STDIN",
    "incoming_message": "COPY incoming_message FROM STDIN",
    "skipped_row": "COPY skipped_row (batch_id, line, field, reason, accepted) FROM STDIN",
}

_DUE_AT = "greatest(%(send_at)s::timestamptz, now())"
STORE = (
    f"""
INSERT INTO notification (id, client_id, batch_id, fingerprint, category, priority, incident_id, reference, recipient,
    content, metadata, route, steps, on_unclear, accepted_at, send_at, expires_at)
SELECT id, %(client_id)s, %(id)s, '', %(category)s, %(priority)s, %(incident_id)s, reference, recipient,
    content, '{{}}', %(route)s, %(steps)s::jsonb, %(on_unclear)s, now(), {_DUE_AT},
    coalesce(%(expires_at)s::timestamptz, {_DUE_AT} + %(expiry_seconds)s * interval '1 second')
FROM incoming""",
    f"""
INSERT INTO message (id, notification_id, step, part, channel, address, address_hash, country, state, reason, escalate_at)
SELECT id, notification_id, step, part, channel, address, address_hash, country, state, reason,
    {_DUE_AT} + window_seconds * interval '1 second'
FROM incoming_message""",
    f"""
INSERT INTO outbox (message_id, client_id, lane, due_at)
SELECT id, %(client_id)s, %(lane)s, {_DUE_AT} FROM incoming_message WHERE state = 'queued'""",
)

COUNTS = """
SELECT coalesce("end", 'open'), count(*) FROM notification WHERE batch_id = %(batch)s GROUP BY 1"""

# Whoever works on a window holds the state still; from the newest id down, so as to meet those who send from the oldest up.
STATE = "SELECT state FROM batch WHERE id = %(batch)s FOR SHARE"
WINDOW = """
SELECT id FROM notification WHERE batch_id = %(batch)s AND id < %(before)s ORDER BY id DESC LIMIT %(limit)s"""

CHANGE_STATE = """
UPDATE batch SET state = %(state)s,
    paused_at = CASE WHEN %(state)s = 'paused' AND state <> 'paused' THEN clock_timestamp() ELSE paused_at END,
    cancelled_at = CASE WHEN %(state)s = 'cancelled' THEN coalesce(cancelled_at, clock_timestamp()) END
WHERE id = %(batch)s AND (state <> 'cancelled' OR %(state)s = 'cancelled')"""

# Locked in statements of their own and read after that: one that does both reads the states from before its wait. The ids
# are named for the outbox alone: named for all, they are looked through for each row (a window took 250 ms, not 20).
MESSAGES = "SELECT id FROM message WHERE notification_id = ANY (%(ids)s) ORDER BY id"
LOCK_ENTRIES = """
SELECT message_id FROM outbox WHERE message_id = ANY (%(messages)s) ORDER BY message_id FOR NO KEY UPDATE"""
LOCK_MESSAGES = "SELECT id FROM message WHERE id = ANY (%(messages)s) ORDER BY id FOR NO KEY UPDATE"

# Parked: due when it expires, and not before. Taken from a holder that has not begun, without its strike.
PARK = """
UPDATE outbox SET claim = NULL, due_at = n.expires_at,
    strikes = CASE WHEN outbox.claim IS NULL THEN strikes ELSE greatest(strikes - 1, 0) END
FROM message m JOIN notification n ON n.id = m.notification_id
WHERE outbox.message_id = ANY (%(messages)s)
    AND outbox.message_id = m.id AND m.state = 'queued' AND outbox.began_at IS NULL
    AND (outbox.claim IS NOT NULL OR outbox.due_at < n.expires_at)
RETURNING outbox.message_id"""

# What would have gone out meanwhile gets the time back that its step had lost by the pause.
WAKE = """
WITH woken AS (
    UPDATE outbox SET due_at = greatest(n.send_at, clock_timestamp())
    FROM message m JOIN notification n ON n.id = m.notification_id JOIN batch b ON b.id = n.batch_id
    WHERE outbox.message_id = ANY (%(messages)s)
        AND outbox.message_id = m.id AND m.state = 'queued' AND outbox.claim IS NULL AND outbox.began_at IS NULL
        AND outbox.due_at = n.expires_at
    RETURNING outbox.message_id, greatest(clock_timestamp() - greatest(b.paused_at, n.send_at), '0') AS lost
), shifted AS (
    UPDATE message SET escalate_at = escalate_at + woken.lost FROM woken
    WHERE message.id = woken.message_id AND message.escalate_at IS NOT NULL
)
SELECT message_id FROM woken"""


def insert(batch: NewBatch, *, statement_seconds: float) -> datetime | None:
    """Store the batch's own row. Returns when it was accepted, or None if its key is taken.

    Waits for a transaction that is using the same key. Only inside a transaction, whose statements may then take longer.
    """
    execute(TAKE_TIME, {"limit": f"{int(statement_seconds * 1000)}ms"})
    rows = execute(INSERT_BATCH, _parameters(batch))
    return rows[0][0] if rows else None


def store(batch: NewBatch, notifications: IO[str], messages: IO[str], skipped: IO[str]) -> None:
    """Store a batch's notifications, messages, entries and skipped rows, from files of lines for COPY."""
    for statement in INCOMING:
        execute(statement, {})
    for table, file in (("incoming", notifications), ("incoming_message", messages), ("skipped_row", skipped)):
        _copy(COPY[table], file)
    for statement in STORE:
        execute(statement, _parameters(batch))


def stored(client_id: int, idempotency_key: str) -> StoredBatch | None:
    """What the first batch with this key stored; None where there is none."""
    rows = execute(STORED, {"client": client_id, "key": idempotency_key})
    return StoredBatch(*rows[0]) if rows else None


def stored_by_another(client_id: int, idempotency_key: str) -> StoredBatch:
    """What stands under a key that is taken. Raises IdempotencyConflict where the transaction cannot see it."""
    if (batch := stored(client_id, idempotency_key)) is None:
        raise IdempotencyConflict
    return batch


def counts(batch_id: UUID) -> dict[str, int]:
    """How many of a batch's notifications ended how, or are open. What has been deleted is in none."""
    return dict(execute(COUNTS, {"batch": batch_id}))


def change_state(batch_id: UUID, state: str) -> bool:
    """Note what a batch is to be, once nobody works on it. False where it is cancelled, for good."""
    with connection.cursor() as cursor:
        cursor.execute(CHANGE_STATE, {"batch": batch_id, "state": state})
        return bool(cursor.rowcount)


def hold_state(batch_id: UUID) -> str:
    """The state of a batch, unchanged until the transaction ends."""
    return str(execute(STATE, {"batch": batch_id})[0][0])


def window(batch_id: UUID, before: UUID, limit: int) -> list[UUID]:
    """The newest notifications of a batch before an id, in descending order."""
    return [id for (id,) in execute(WINDOW, {"batch": batch_id, "before": before, "limit": limit})]


def park(ids: Sequence[UUID]) -> int:
    """Let what is queued wait until it expires, unless its call has begun. Returns how many were not parked before."""
    return _locked(PARK, ids)


def wake(ids: Sequence[UUID]) -> int:
    """Make due what is parked. Returns how many."""
    return _locked(WAKE, ids)


def _locked(statement: str, ids: Sequence[UUID]) -> int:
    messages = [id for (id,) in execute(MESSAGES, {"ids": ids})]
    for lock in (LOCK_ENTRIES, LOCK_MESSAGES):
        execute(lock, {"messages": messages})
    return len(execute(statement, {"messages": messages}))


def _copy(statement: str, file: IO[str]) -> None:
    file.seek(0)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        while chunk := file.read(CHUNK):
            copy.write(chunk)


def _parameters(batch: NewBatch) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in NewBatch.__slots__}


_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def copied_line(*values: Any) -> str:
    r"""One line for COPY in its text format; None is NULL."""
    return "\t".join([_cell(value) for value in values]) + "\n"


def _cell(value: Any) -> str:
    if value.__class__ is UUID:
        return value.hex
    if value is None:
        return r"\N"
    text = str(value)
    return text.translate(_ESCAPES) if _SPECIAL.search(text) else text

"""Begin: the intent and the account go on file. The last look before the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from notifications.sql.rows import Table, execute, unique
from notifications.sql.suppressions import counts


@dataclass(frozen=True, slots=True)
class Intent:
    """A call about to be made."""

    message_id: UUID
    number: int
    account_id: int
    provider_key: str | None
    request_hash: str
    useful_seconds: int | None


INTENTS = Table(
    "w",
    {
        "message_id": "uuid",
        "number": "int2",
        "account_id": "bigint",
        "provider_key": "text",
        "request_hash": "text",
        "useful_seconds": "int4",
    },
)

_WANTED = f"""
n.stopped_at IS NULL AND n.expires_at > clock_timestamp() AND (i.ended_at IS NULL OR i.ended_at > clock_timestamp())
    AND NOT EXISTS (
        SELECT FROM suppression s WHERE s.channel = m.channel AND s.address_hash = m.address_hash
        AND {counts("s", "n", now="clock_timestamp()")}
    )"""

# Intents on entries that are still ours, which are locked in order: unsorted batches deadlocked 80 times of 100. Led by
# the intents, for which the planner looks the entries up; the other way about it compares each with each.
MINE = f"""mine AS MATERIALIZED (
    SELECT w.* FROM {INTENTS.sql} JOIN outbox ON outbox.message_id = w.message_id
    WHERE outbox.claim = %(claim)s ORDER BY w.message_id FOR NO KEY UPDATE OF outbox
)"""

BEGIN = f"""
WITH {MINE}
UPDATE outbox SET attempt = mine.number, account_id = mine.account_id, provider_key = mine.provider_key,
    request_hash = mine.request_hash, useful_seconds = mine.useful_seconds, began_at = clock_timestamp()
FROM mine
JOIN message m ON m.id = mine.message_id
JOIN notification n ON n.id = m.notification_id
LEFT JOIN incident i ON i.id = n.incident_id
WHERE outbox.message_id = mine.message_id AND outbox.claim = %(claim)s AND outbox.began_at IS NULL
    AND outbox.due_at > clock_timestamp() + %(call)s * interval '1 second'
    AND m.state = 'queued' AND {_WANTED}
RETURNING outbox.message_id"""

# A strike is for a worker that died. Here none has: the lease was too short, for whatever reason this took so long. What
# is not wanted any more keeps its strike, and is ended by whoever claims it next.
GIVE_BACK = """
WITH mine AS MATERIALIZED (
    SELECT message_id FROM outbox WHERE message_id = ANY (%(ids)s) AND claim = %(claim)s AND began_at IS NULL
    ORDER BY message_id FOR NO KEY UPDATE
)
UPDATE outbox SET claim = NULL, due_at = clock_timestamp(),
    strikes = CASE WHEN due_at > clock_timestamp() + %(call)s * interval '1 second' THEN strikes
        ELSE greatest(strikes - 1, 0) END
FROM mine WHERE outbox.message_id = mine.message_id"""

TAKE_BACK = f"""
WITH mine AS MATERIALIZED (
    SELECT message_id FROM outbox WHERE message_id = ANY (%(ids)s) AND claim = %(claim)s
    ORDER BY message_id FOR NO KEY UPDATE
)
UPDATE outbox SET attempt = NULL, account_id = NULL, provider_key = NULL, request_hash = NULL, useful_seconds = NULL,
    began_at = NULL, claim = NULL, strikes = 0, due_at = clock_timestamp()
FROM mine
JOIN message m ON m.id = mine.message_id
JOIN notification n ON n.id = m.notification_id
LEFT JOIN incident i ON i.id = n.incident_id
WHERE outbox.message_id = mine.message_id AND NOT ({_WANTED})
RETURNING outbox.message_id"""


def begin(intents: Sequence[Intent], *, claim: UUID, call_seconds: float) -> set[UUID]:
    """Put intents on file. Returns the messages that may be called now; the others are given back, if they are ours still.

    `call_seconds` is what a call may take and the margin after it: an entry whose lease is shorter is not begun.
    """
    held = {"claim": claim, "call": call_seconds}
    begun = {message_id for (message_id,) in execute(BEGIN, {**held, **INTENTS.parameters(intents)})}
    if refused := unique(intent.message_id for intent in intents if intent.message_id not in begun):
        execute(GIVE_BACK, {"ids": refused, **held})
    return begun


def take_back_unwanted(message_ids: Iterable[UUID], *, claim: UUID) -> set[UUID]:
    """Look once more at messages that have begun and were not called yet. Returns those that must not be called after all.

    A statement that waited for a lock has seen notifications, incidents and suppressions as they were before its wait.
    """
    rows = execute(TAKE_BACK, {"ids": unique(message_ids), "claim": claim})
    return {message_id for (message_id,) in rows}

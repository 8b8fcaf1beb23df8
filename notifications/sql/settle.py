"""Settle: ends of notifications and the messages of their next steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from notifications.sql.accept import ADD_MESSAGES, MESSAGES, NewMessage
from notifications.sql.rows import execute, fetch, unique
from notifications.states import End

END = """
WITH ended AS (
    UPDATE notification SET "end" = e."end", ended_at = CASE WHEN e."end" IS NULL THEN NULL ELSE clock_timestamp() END,
        end_count = end_count + (e."end" IS NOT NULL)::int
    FROM unnest(%(ids)s::uuid[], %(ends)s::text[]) AS e(id, "end")
    WHERE notification.id = e.id AND notification."end" IS DISTINCT FROM e."end"
    RETURNING notification.id, notification.client_id, e."end", ended_at, end_count, reference, metadata
)
SELECT * FROM ended WHERE client_id = ANY (%(heard)s) AND "end" IS NOT NULL ORDER BY id"""


@dataclass(frozen=True, slots=True)
class Ended:
    """An end that was written now. `end_count` tells it from the ends that it corrects."""

    id: UUID
    client_id: int
    end: str
    ended_at: datetime
    end_count: int
    reference: str
    metadata: str  # JSON


NEXT_STEPS = f"""
WITH owner AS (
    UPDATE notification SET fallback_sent_at = coalesce(fallback_sent_at, clock_timestamp())
    WHERE id = ANY (%(ids)s) RETURNING id, client_id, clock_timestamp() AS due_at
), {ADD_MESSAGES}
SELECT id FROM added"""

ANSWER_LETTERS = """
UPDATE dead_letter SET resolved_at = clock_timestamp(), resolution = 'answered'
WHERE message_id = ANY (%(ids)s) AND kind = 'message' AND resolved_at IS NULL"""

STOP = "UPDATE notification SET stopped_at = clock_timestamp() WHERE id = ANY (%(ids)s) AND stopped_at IS NULL"

# So that a begin which waits for these locks finds its claim gone: of the notification it sees what was before its wait.
TAKE_CLAIMS = """
UPDATE outbox SET claim = NULL, due_at = clock_timestamp() FROM message m
WHERE m.notification_id = ANY (%(ids)s) AND outbox.message_id = m.id AND claim IS NOT NULL AND began_at IS NULL"""


def write_ends(ends: Mapping[UUID, End | None], *, heard_by: Collection[int] = ()) -> list[Ended]:
    """Write how locked notifications ended; None opens one again. Returns the new ends that these clients want to hear of."""
    ids = unique(ends)
    return fetch(Ended, END, {"ids": ids, "ends": [ends[id] for id in ids], "heard": [*heard_by]})


def add_next_steps(messages: Sequence[NewMessage]) -> set[UUID]:
    """Add the messages of next steps to locked notifications. A step that exists already is left alone."""
    ids = unique(message.notification_id for message in messages)
    return {id for (id,) in execute(NEXT_STEPS, {"ids": ids, **MESSAGES.parameters(messages)})}


def answer_letters(message_ids: Sequence[UUID]) -> None:
    """Resolve the dead letters of messages that are needless by now."""
    execute(ANSWER_LETTERS, {"ids": message_ids})


def stop(notification_ids: Sequence[UUID]) -> None:
    """Mark locked notifications as stopped by their client, and take them from whoever is about to begin."""
    for statement in (STOP, TAKE_CLAIMS):
        execute(statement, {"ids": notification_ids})

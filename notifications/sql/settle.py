"""Settle: ends of notifications and the messages of their next steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from notifications.sql.accept import ADD_MESSAGES, MESSAGES, NewMessage
from notifications.sql.rows import execute, unique
from notifications.states import End

END = """
UPDATE notification SET "end" = e."end", ended_at = CASE WHEN e."end" IS NULL THEN NULL ELSE clock_timestamp() END
FROM unnest(%(ids)s::uuid[], %(ends)s::text[]) AS e(id, "end")
WHERE notification.id = e.id AND notification."end" IS DISTINCT FROM e."end" """

NEXT_STEPS = f"""
WITH owner AS (
    UPDATE notification SET fallback_sent_at = coalesce(fallback_sent_at, clock_timestamp())
    WHERE id = ANY (%(ids)s) RETURNING id, client_id, clock_timestamp() AS due_at
), {ADD_MESSAGES}
SELECT id FROM added"""

STOP = "UPDATE notification SET stopped_at = clock_timestamp() WHERE id = ANY (%(ids)s) AND stopped_at IS NULL"

# So that a begin which waits for these locks finds its claim gone: of the notification it sees what was before its wait.
TAKE_CLAIMS = """
UPDATE outbox SET claim = NULL, due_at = clock_timestamp() FROM message m
WHERE m.notification_id = ANY (%(ids)s) AND outbox.message_id = m.id AND claim IS NOT NULL AND began_at IS NULL"""


def write_ends(ends: Mapping[UUID, End | None]) -> None:
    """Write how locked notifications ended; None opens one again."""
    ids = unique(ends)
    execute(END, {"ids": ids, "ends": [ends[id] for id in ids]})


def add_next_steps(messages: Sequence[NewMessage]) -> set[UUID]:
    """Add the messages of next steps to locked notifications. A step that exists already is left alone."""
    ids = unique(message.notification_id for message in messages)
    return {id for (id,) in execute(NEXT_STEPS, {"ids": ids, **MESSAGES.parameters(messages)})}


def stop(notification_ids: Sequence[UUID]) -> None:
    """Mark locked notifications as stopped by their client, and take them from whoever is about to begin."""
    for statement in (STOP, TAKE_CLAIMS):
        execute(statement, {"ids": notification_ids})

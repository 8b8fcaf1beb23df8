"""Redact and clean: what ended long ago loses its texts and addresses, and later its rows.

The notifications are locked first, passing over what others hold, and what belongs to them is read after that: a receipt
that came before is seen, and one that comes later waits for the batch. Nothing that is open is locked, so sending never
meets these statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from notifications.sql.rows import execute

# Both walk the primary key and need no index of their own, since ids ascend with time: a window of 1,000 is locked within
# 1 ms, in the middle of 100,000 rows as at their beginning.
LOCK_UNREDACTED = """
SELECT id FROM notification
WHERE id > %(after)s AND id <= %(until)s AND ended_at < %(before)s AND redacted_at IS NULL
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"""
LOCK_ENDED = """
SELECT id FROM notification WHERE id > %(after)s AND id <= %(until)s AND ended_at < %(before)s
ORDER BY id FOR UPDATE SKIP LOCKED"""

# Needed: open though its notification has ended (another step delivered), or a person or a report has yet to be heard.
# Without OFFSET 0 the planner hashes the whole outbox for each batch (5 of 8 ms with 20,000 open entries).
MESSAGES = """
SELECT m.id, m.notification_id, m.state IN ('queued', 'uncertain', 'sent')
    OR EXISTS (SELECT FROM outbox WHERE message_id = m.id OFFSET 0)
    OR EXISTS (SELECT FROM dead_letter WHERE message_id = m.id AND resolved_at IS NULL OFFSET 0)
    OR EXISTS (SELECT FROM delivery_event WHERE message_id = m.id AND applied_at IS NULL OFFSET 0)
FROM message m WHERE m.notification_id = ANY (%(ids)s)"""

REDACT = (
    """
UPDATE notification SET recipient = '{}', content = '{}', metadata = '{}', redacted_at = clock_timestamp()
WHERE id = ANY (%(ids)s)""",
    "UPDATE message SET address = '' WHERE id = ANY (%(messages)s) AND address <> ''",
    """
UPDATE attempt SET answer = '', late_answer = ''
WHERE message_id = ANY (%(messages)s) AND (answer <> '' OR late_answer <> '')""",
    "UPDATE delivery_event SET raw = '' WHERE message_id = ANY (%(messages)s) AND applied_at IS NOT NULL AND raw <> ''",
)

# Reports are read in pages of their ids as well. They are applied within minutes, or match nothing.
REPORTS_END = """
SELECT max(id) FROM (
    SELECT id FROM delivery_event WHERE id > %(after)s AND received_at < %(before)s ORDER BY id LIMIT %(limit)s
) AS ids"""
NEWEST_REPORT = "SELECT coalesce(max(id), 0) FROM delivery_event WHERE received_at < %(before)s"
REDACT_REPORTS = """
UPDATE delivery_event e SET raw = '' FROM message m JOIN notification n ON n.id = m.notification_id
WHERE e.id > %(after)s AND e.id <= %(until)s AND e.applied_at IS NOT NULL AND e.raw <> ''
    AND m.id = e.message_id AND n.redacted_at IS NOT NULL"""

# A report that is waiting stays even so, and is let go: whoever applies it holds it while it waits for the notification.
DELETE = (
    "DELETE FROM delivery_event WHERE message_id = ANY (%(messages)s) AND applied_at IS NOT NULL",
    "DELETE FROM attempt WHERE message_id = ANY (%(messages)s)",
    "DELETE FROM dead_letter WHERE message_id = ANY (%(messages)s)",
    "DELETE FROM message WHERE id = ANY (%(messages)s)",
    """
WITH gone AS (DELETE FROM notification WHERE id = ANY (%(ids)s) RETURNING "end", ended_at)
INSERT INTO tally (day, "end", count)
SELECT (ended_at AT TIME ZONE 'UTC')::date, "end", count(*) FROM gone GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (day, "end") DO UPDATE SET count = tally.count + excluded.count""",
)

DELETE_UNMATCHED = """
DELETE FROM delivery_event WHERE id = ANY (ARRAY(
    SELECT id FROM delivery_event WHERE applied_at IS NULL AND message_id IS NULL AND received_at < %(before)s
    ORDER BY received_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)) RETURNING id"""

# The files that notifications came in by, once the last of these is gone.
DELETE_BATCHES = """
WITH gone AS (
    DELETE FROM batch WHERE id = ANY (ARRAY(
        SELECT id FROM batch WHERE id < %(until)s AND NOT EXISTS (SELECT FROM notification WHERE batch_id = batch.id)
        ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )) RETURNING id
), skipped AS (
    DELETE FROM skipped_row USING gone WHERE batch_id = gone.id
)
SELECT id FROM gone"""

LET_GO = """
UPDATE delivery_event SET message_id = NULL, attempt_number = NULL WHERE id = ANY (ARRAY(
    SELECT id FROM delivery_event e WHERE applied_at IS NULL AND message_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM message WHERE id = e.message_id)
    FOR UPDATE SKIP LOCKED
)) RETURNING id"""


def lock_unredacted(after: UUID, until: UUID, *, before: datetime) -> list[UUID]:
    """Lock the notifications of a window that ended before a moment and hold texts and addresses still."""
    return _ids(LOCK_UNREDACTED, {"after": after, "until": until, "before": before})


def lock_ended(after: UUID, until: UUID, *, before: datetime) -> list[UUID]:
    """Lock the notifications of a window that ended before a moment."""
    return _ids(LOCK_ENDED, {"after": after, "until": until, "before": before})


def messages_of(ids: Sequence[UUID]) -> list[tuple[UUID, UUID, bool]]:
    """The messages of locked notifications: id, notification, and whether it is needed as it is."""
    return [(id, owner, is_needed) for id, owner, is_needed in execute(MESSAGES, {"ids": ids})]


def redact(ids: Sequence[UUID], messages: Sequence[UUID]) -> None:
    """Empty locked notifications, and what belongs to them, of all that says what was sent to whom."""
    _each(REDACT, ids, messages)


def delete(ids: Sequence[UUID], messages: Sequence[UUID]) -> None:
    """Delete locked notifications and all that belongs to them, children first, and count their ends."""
    _each(DELETE, ids, messages)


def reports_end(after: int, limit: int, *, before: datetime) -> int | None:
    """The last of a page of reports after an id, received before a moment; None where there is none."""
    end: int | None = execute(REPORTS_END, {"after": after, "limit": limit, "before": before})[0][0]
    return end


def newest_report(*, before: datetime) -> int:
    """The last report that was received before a moment; 0 where there is none."""
    return int(execute(NEWEST_REPORT, {"before": before})[0][0])


def redact_reports(after: int, until: int) -> None:
    """Empty the reports of a page that belong to redacted notifications."""
    execute(REDACT_REPORTS, {"after": after, "until": until})


def delete_unmatched(limit: int, *, before: datetime) -> int:
    """Delete reports that were received before a moment and match no message, oldest first. Returns how many."""
    return len(_ids(DELETE_UNMATCHED, {"limit": limit, "before": before}))


def delete_batches(until: UUID, limit: int) -> int:
    """Delete batches before an id of which no notification is left, and what they say of skipped rows. Returns how many."""
    return len(_ids(DELETE_BATCHES, {"until": until, "limit": limit}))


def let_go() -> int:
    """Have reports that wait for a message that is gone wait as if they had matched none. Returns how many."""
    return len(_ids(LET_GO, {}))


def _ids(statement: str, parameters: dict[str, object]) -> list[UUID]:
    return [id for (id,) in execute(statement, parameters)]


def _each(statements: Sequence[str], ids: Sequence[UUID], messages: Sequence[UUID]) -> None:
    for statement in statements:
        execute(statement, {"ids": ids, "messages": messages})

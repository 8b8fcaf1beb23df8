"""Reconcile: what should never happen, found by windows of ids and put right."""

from __future__ import annotations

from uuid import UUID

from notifications.sql.claim import QUEUES
from notifications.sql.rows import execute

OVERDUE = f"""
WITH RECURSIVE {QUEUES}
SELECT lane, sum(overdue.count)::bigint FROM queues CROSS JOIN LATERAL (
    SELECT count(*) FROM outbox WHERE outbox.lane = queues.lane AND outbox.client_id = queues.client_id
        AND due_at < now() - 2 * %(lease)s * interval '1 second'
) AS overdue WHERE overdue.count > 0 GROUP BY lane"""

WINDOW_END = """
SELECT id FROM (SELECT id FROM notification WHERE id > %(after)s ORDER BY id LIMIT %(limit)s) AS ids
ORDER BY id DESC LIMIT 1"""

ADD_MISSING_ENTRIES = """
INSERT INTO outbox (message_id, client_id, lane, due_at)
SELECT m.id, n.client_id, CASE WHEN m.state = 'queued' THEN n.priority ELSE 'upkeep' END, clock_timestamp()
FROM notification n JOIN message m ON m.notification_id = n.id
WHERE n.id > %(after)s AND n.id <= %(until)s AND m.state IN ('queued', 'uncertain', 'sent')
    AND NOT EXISTS (SELECT FROM outbox WHERE message_id = m.id)
ON CONFLICT (message_id) DO NOTHING RETURNING message_id"""

WITHOUT_END = """
SELECT n.id FROM notification n
WHERE n.id > %(after)s AND n.id <= %(until)s AND n."end" IS NULL
    AND EXISTS (SELECT FROM message WHERE notification_id = n.id)
    AND NOT EXISTS (
        SELECT FROM message m WHERE m.notification_id = n.id AND m.state IN ('queued', 'uncertain', 'sent')
    )"""

UNMATCHED = """
SELECT count(*) FROM delivery_event
WHERE applied_at IS NULL AND received_at < now() - %(age)s * interval '1 second'"""

POSITION = "SELECT last_id FROM scan_position WHERE name = %(name)s"
SAVE_POSITION = """
INSERT INTO scan_position (name, last_id) VALUES (%(name)s, %(last)s)
ON CONFLICT (name) DO UPDATE SET last_id = excluded.last_id"""

BEAT = """
INSERT INTO heartbeat (process, beat_at) VALUES (%(process)s, clock_timestamp())
ON CONFLICT (process) DO UPDATE SET beat_at = excluded.beat_at"""


def overdue(lease_seconds: float) -> dict[str, int]:
    """Entries that nobody took for two leases, per lane."""
    return dict(execute(OVERDUE, {"lease": lease_seconds}))


def window_end(after: UUID, limit: int) -> UUID | None:
    """The last notification of a window of `limit` after an id; None where there is none."""
    rows = execute(WINDOW_END, {"after": after, "limit": limit})
    return rows[0][0] if rows else None


def add_missing_entries(after: UUID, until: UUID) -> list[UUID]:
    """Promise again what open messages without an entry are owed. Returns those messages."""
    return [id for (id,) in execute(ADD_MISSING_ENTRIES, {"after": after, "until": until})]


def without_end(after: UUID, until: UUID) -> list[UUID]:
    """Notifications that have no end, though nothing of them is open. One without any message is the audit's to name."""
    return [id for (id,) in execute(WITHOUT_END, {"after": after, "until": until})]


def unmatched_events(age_seconds: float) -> int:
    """Reports that found no message for so long."""
    return int(execute(UNMATCHED, {"age": age_seconds})[0][0])


def position(name: str) -> UUID | None:
    """How far a scan has come."""
    rows = execute(POSITION, {"name": name})
    return rows[0][0] if rows else None


def save_position(name: str, last_id: UUID) -> None:
    """Keep how far a scan has come."""
    execute(SAVE_POSITION, {"name": name, "last": last_id})


def beat(process: str) -> None:
    """Note that a kind of process does its work."""
    execute(BEAT, {"process": process})

"""Claim: due entries become ours for the length of a lease, with all that is needed to work on them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from notifications.lanes import Lane
from notifications.sql.rows import execute, fetch, unique
from notifications.states import State


@dataclass(slots=True)
class Claimed:
    """An entry we hold until its lease ends, its message and its notification, as they were when it was claimed."""

    now: datetime  # the database's clock at the claim
    message_id: UUID
    strikes: int  # this claim included
    # the open attempt of a holder that never recorded it
    attempt: int | None
    open_account_id: int | None
    began_at: datetime | None
    # the message
    notification_id: UUID
    step: int
    channel: str
    address: str
    address_hash: str
    country: str
    state: State
    reason: str
    account_id: int | None
    tried: list[int]
    rerouted: bool
    attempt_count: int
    tries: int
    checks: int
    not_there: int
    perhaps_sent: bool
    escalate_at: datetime | None
    escalated_at: datetime | None
    receipt_deadline: datetime | None
    # the notification
    category: str
    priority: str
    recipient: Any  # address by channel
    content: Any  # by channel
    steps: Any
    on_unclear: str
    expires_at: datetime
    is_stopped: bool
    is_incident_over: bool
    restored_at: datetime | None
    suppressed: str | None  # reason
    # the newest finished attempt
    last_began_at: datetime | None
    last_provider_message_id: str | None
    last_provider_key: str | None
    last_request_hash: str | None
    last_useful_seconds: int | None

    def __post_init__(self) -> None:
        self.state = State(self.state)
        self.recipient, self.content, self.steps = map(json.loads, (self.recipient, self.content, self.steps))

    def is_older_than_restore(self, began_at: datetime) -> bool:
        """Whether an attempt began in a time that a restored database may have forgotten."""
        return self.restored_at is not None and began_at < self.restored_at


# now() in the condition, because a volatile bound is no index bound; by ctid, because joined by key the planner scans
# the whole outbox. clock_timestamp() where a lease is written.
CLAIM = """
WITH due AS MATERIALIZED (
    SELECT array(
        SELECT ctid FROM outbox WHERE lane = %(lane)s AND due_at <= now()
        ORDER BY due_at, message_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS ids
), mine AS (
    UPDATE outbox SET claim = %(claim)s, due_at = clock_timestamp() + %(lease)s * interval '1 second',
        strikes = strikes + 1
    WHERE ctid = ANY ((SELECT ids FROM due)::tid[]) RETURNING *
)
SELECT clock_timestamp(), mine.message_id, mine.strikes, mine.attempt, mine.account_id, mine.began_at,
    m.notification_id, m.step, m.channel, m.address, m.address_hash, m.country, m.state, m.reason, m.account_id, m.tried,
    m.rerouted, m.attempt_count, m.tries, m.checks, m.not_there, m.perhaps_sent, m.escalate_at, m.escalated_at,
    m.receipt_deadline,
    n.category, n.priority, n.recipient, n.content, n.steps, n.on_unclear, n.expires_at,
    n.stopped_at IS NOT NULL, coalesce(i.ended_at <= now(), false), n.restored_at, s.reason,
    last.began_at, last.provider_message_id, last.provider_key, last.request_hash, last.useful_seconds
FROM mine
JOIN message m ON m.id = mine.message_id
JOIN notification n ON n.id = m.notification_id
LEFT JOIN incident i ON i.id = n.incident_id
LEFT JOIN suppression s ON s.channel = m.channel AND s.address_hash = m.address_hash
    AND (s.until IS NULL OR s.until > now())
LEFT JOIN attempt last ON (m.state <> 'queued' OR m.perhaps_sent) AND last.message_id = m.id AND last.number = m.attempt_count
ORDER BY mine.message_id"""

RELEASE = """
WITH mine AS MATERIALIZED (
    SELECT message_id FROM outbox WHERE message_id = ANY (%(ids)s) AND claim = %(claim)s
    ORDER BY message_id FOR NO KEY UPDATE
)
UPDATE outbox SET claim = NULL, due_at = clock_timestamp(), strikes = greatest(strikes - 1, 0)
FROM mine WHERE outbox.message_id = mine.message_id AND began_at IS NULL"""

DUE_LANES = """
SELECT lane FROM unnest(%(lanes)s::text[]) AS lane
WHERE EXISTS (SELECT FROM outbox WHERE outbox.lane = lane.lane AND due_at <= now())"""


BRING_FORWARD = """
UPDATE outbox SET due_at = least(due_at, clock_timestamp())
FROM message m WHERE m.id = %(message)s AND outbox.message_id = m.id AND m.state = 'queued'
    AND claim IS NULL AND began_at IS NULL
RETURNING lane"""


def claim(lane: Lane, limit: int, *, claim: UUID, lease_seconds: float) -> list[Claimed]:
    """Claim up to `limit` due entries of a lane. What others are claiming is passed over, never waited for."""
    parameters = {"lane": lane.value, "limit": limit, "claim": claim, "lease": lease_seconds}
    return fetch(Claimed, CLAIM, parameters)


def release(message_ids: Iterable[UUID], *, claim: UUID) -> None:
    """Give back entries that were not begun, as if they had never been claimed."""
    execute(RELEASE, {"ids": unique(message_ids), "claim": claim})


def bring_forward(message_id: UUID) -> Lane | None:
    """Make a queued, unclaimed entry due now. Returns its lane, or None where it is not one."""
    rows = execute(BRING_FORWARD, {"message": message_id})
    return Lane(rows[0][0]) if rows else None


def due_lanes() -> list[Lane]:
    """The lanes in which something is due."""
    return [Lane(name) for (name,) in execute(DUE_LANES, {"lanes": Lane.values})]

"""Claim: due entries become ours for the length of a lease, with all that is needed to work on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from notifications.devices import reach
from notifications.lanes import Lane
from notifications.sql.rows import execute, fetch, unique
from notifications.sql.suppressions import counts
from notifications.states import State

_steps = lru_cache(1000)(json.loads)  # there are as many as routes, and nobody changes them


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
    # when its turn is, and the account that keeps a place for it then
    turn_at: datetime | None
    turn_account: int | None
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
    recipient_json: str  # address by channel
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
        self.content, self.steps = json.loads(self.content), _steps(self.steps)

    @property
    def reach(self) -> str:
        """What its address says about who can send there; "" where it says nothing."""
        return reach(self.channel, self.address)

    @property
    def recipient(self) -> Any:
        """Address by channel. Few outcomes ask for it."""
        return json.loads(self.recipient_json)

    def is_older_than_restore(self, began_at: datetime) -> bool:
        """Whether an attempt began in a time that a restored database may have forgotten."""
        return self.restored_at is not None and began_at < self.restored_at


# The clients that have entries in a lane, by looking for the next smaller one: a look at the index for each, from the end
# where fewer dead rows lie.
CLIENTS = """clients AS (
    (SELECT client_id FROM outbox WHERE lane = %(lane)s ORDER BY client_id DESC, due_at DESC LIMIT 1)
    UNION ALL
    SELECT next.client_id FROM clients CROSS JOIN LATERAL (
        SELECT client_id FROM outbox WHERE lane = %(lane)s AND outbox.client_id < clients.client_id
        ORDER BY client_id DESC, due_at DESC LIMIT 1
    ) AS next
)"""

# Each client gets the same share of a batch; what a client leaves of his, the others have. now() in the conditions,
# because a volatile bound is no index bound; by ctid, because joined by key the planner scans the whole outbox.
# clock_timestamp() where a lease is written. Not flushed to disk at once: a claim that a crash of the database forgets is
# one that nobody has begun, and whatever begins is flushed, its claim with it.
CLAIM = f"""
WITH RECURSIVE {CLIENTS}, unflushed AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
), busy AS MATERIALIZED (
    SELECT client_id FROM clients WHERE (
        SELECT true FROM outbox WHERE lane = %(lane)s AND outbox.client_id = clients.client_id AND due_at <= now()
        ORDER BY due_at DESC LIMIT 1
    )
), wanted AS (
    SELECT (
        SELECT count(*) FROM (
            SELECT FROM outbox WHERE lane = %(lane)s AND outbox.client_id = busy.client_id AND due_at <= now()
            LIMIT %(limit)s
        ) AS _
    ) AS count, ceil(%(limit)s::float8 / (SELECT count(*) FROM busy)) AS even FROM busy
), share AS MATERIALIZED (
    SELECT CASE WHEN (SELECT count(*) FROM busy) < 2 THEN %(limit)s ELSE (
        SELECT max(even)
            + ceil(greatest(%(limit)s - sum(least(count, even)), 0) / greatest(count(*) FILTER (WHERE count > even), 1))
        FROM wanted
    ) END::bigint AS size
), due AS MATERIALIZED (
    SELECT array(
        SELECT entry.ctid FROM busy CROSS JOIN LATERAL (
            SELECT ctid, due_at, message_id FROM outbox
            WHERE lane = %(lane)s AND outbox.client_id = busy.client_id AND due_at <= now()
            ORDER BY due_at, message_id LIMIT (SELECT size FROM share) FOR UPDATE SKIP LOCKED
        ) AS entry ORDER BY entry.due_at, entry.message_id LIMIT %(limit)s
    ) AS ids
), mine AS (
    UPDATE outbox SET claim = %(claim)s, due_at = clock_timestamp() + %(lease)s * interval '1 second',
        strikes = strikes + 1
    WHERE ctid = ANY ((SELECT ids FROM due)::tid[]) RETURNING *
)
SELECT clock_timestamp(), mine.message_id, mine.strikes, mine.attempt, mine.account_id, mine.began_at,
    mine.turn_at, mine.turn_account,
    m.notification_id, m.step, m.channel, m.address, m.address_hash, m.country, m.state, m.reason, m.account_id, m.tried,
    m.rerouted, m.attempt_count, m.tries, m.checks, m.not_there, m.perhaps_sent, m.escalate_at, m.escalated_at,
    m.receipt_deadline,
    n.category, n.priority, n.recipient, n.content, n.steps, n.on_unclear, n.expires_at,
    n.stopped_at IS NOT NULL, coalesce(i.ended_at <= now(), false), n.restored_at, s.reason,
    last.began_at, last.provider_message_id, last.provider_key, last.request_hash, last.useful_seconds
FROM mine CROSS JOIN unflushed
JOIN message m ON m.id = mine.message_id
JOIN notification n ON n.id = m.notification_id
LEFT JOIN incident i ON i.id = n.incident_id
LEFT JOIN suppression s ON s.channel = m.channel AND s.address_hash = m.address_hash
    AND {counts("s", "n", now="now()")}
LEFT JOIN attempt last ON (m.state <> 'queued' OR m.perhaps_sent) AND last.message_id = m.id AND last.number = m.attempt_count
ORDER BY mine.message_id"""

RELEASE = """
WITH mine AS MATERIALIZED (
    SELECT message_id FROM outbox WHERE message_id = ANY (%(ids)s) AND claim = %(claim)s
    ORDER BY message_id FOR NO KEY UPDATE
)
UPDATE outbox SET claim = NULL, due_at = clock_timestamp(), strikes = greatest(strikes - 1, 0)
FROM mine WHERE outbox.message_id = mine.message_id AND began_at IS NULL"""

# The clients of all lanes at once, as above.
QUEUES = """queues AS (
    (SELECT lane, client_id FROM outbox ORDER BY lane DESC, client_id DESC, due_at DESC LIMIT 1)
    UNION ALL
    SELECT next.lane, next.client_id FROM queues CROSS JOIN LATERAL (
        SELECT lane, client_id FROM outbox WHERE (outbox.lane, outbox.client_id) < (queues.lane, queues.client_id)
        ORDER BY lane DESC, client_id DESC, due_at DESC LIMIT 1
    ) AS next
)"""

DUE_LANES = f"""
WITH RECURSIVE {QUEUES}
SELECT DISTINCT lane FROM queues WHERE EXISTS (
    SELECT FROM outbox WHERE outbox.lane = queues.lane AND outbox.client_id = queues.client_id AND due_at <= now()
)"""

BRING_FORWARD = """
UPDATE outbox SET due_at = least(due_at, clock_timestamp())
FROM message m WHERE m.id = %(message)s AND outbox.message_id = m.id AND m.state = 'queued'
    AND claim IS NULL AND began_at IS NULL
RETURNING lane"""

HURRY_CHECKS = """
UPDATE outbox SET due_at = least(due_at, clock_timestamp())
FROM attempt a JOIN message m ON m.id = a.message_id
WHERE a.account_id = %(account)s AND a.provider_message_id = ANY (%(ids)s) AND outbox.message_id = a.message_id
    AND m.state = 'sent' AND claim IS NULL AND outbox.began_at IS NULL
RETURNING lane"""


def claim(lane: Lane, limit: int, *, claim: UUID, lease_seconds: float) -> list[Claimed]:
    """Claim up to `limit` due entries of a lane, of each client the same share while more than one has any.

    What others are claiming is passed over, never waited for.
    """
    parameters = {"lane": lane.value, "limit": limit, "claim": claim, "lease": lease_seconds}
    return fetch(Claimed, CLAIM, parameters)


def release(message_ids: Iterable[UUID], *, claim: UUID) -> None:
    """Give back entries that were not begun, as if they had never been claimed."""
    execute(RELEASE, {"ids": unique(message_ids), "claim": claim})


def bring_forward(message_id: UUID) -> Lane | None:
    """Make a queued, unclaimed entry due now. Returns its lane, or None where it is not one."""
    rows = execute(BRING_FORWARD, {"message": message_id})
    return Lane(rows[0][0]) if rows else None


def hurry_checks(account_id: int, provider_message_ids: Sequence[str]) -> set[Lane]:
    """Have the statuses of sent messages asked for now. Returns the lanes that do."""
    if not provider_message_ids:
        return set()
    rows = execute(HURRY_CHECKS, {"account": account_id, "ids": list(provider_message_ids)})
    return {Lane(name) for (name,) in rows}


def due_lanes() -> list[Lane]:
    """The lanes in which something is due."""
    due = {name for (name,) in execute(DUE_LANES, {})}
    return [lane for lane in Lane if lane.value in due]

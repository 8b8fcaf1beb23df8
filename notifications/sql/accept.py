"""Accept: a notification, its first message and the promise to deliver it, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import OperationalError
from psycopg.errors import SerializationFailure

from notifications.lanes import Lane
from notifications.sql.rows import Table, execute
from notifications.states import State


class IdempotencyConflict(Exception):
    """Somebody else used this key a moment ago, and this transaction cannot see what for. Begin a new one and send again."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """A notification to store. `send_at` None means now; `expires_at` None means `expiry_seconds` after `send_at`."""

    id: UUID
    client_id: int
    idempotency_key: str | None
    fingerprint: str
    category: str
    priority: str
    incident_id: int | None
    reference: str
    recipient: dict[str, Any]
    content: dict[str, Any]
    metadata: dict[str, Any]
    route: str
    steps: list[dict[str, Any]]
    on_unclear: str
    send_at: datetime | None
    expires_at: datetime | None
    expiry_seconds: float


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to store: queued, or ended already where its step has no address. `window_seconds` None: no time limit."""

    id: UUID
    notification_id: UUID
    step: int
    part: int
    channel: str
    address: str
    address_hash: str
    country: str
    state: State
    reason: str
    window_seconds: float | None
    lane: Lane


@dataclass(frozen=True, slots=True)
class Stored:
    """What stands under an idempotency key."""

    id: UUID
    fingerprint: str
    accepted_at: datetime


NOTIFICATIONS = Table(
    "n",
    {
        "id": "uuid",
        "client_id": "bigint",
        "idempotency_key": "text",
        "fingerprint": "text",
        "category": "text",
        "priority": "text",
        "incident_id": "bigint",
        "reference": "text",
        "recipient": "jsonb",
        "content": "jsonb",
        "metadata": "jsonb",
        "route": "text",
        "steps": "jsonb",
        "on_unclear": "text",
        "send_at": "timestamptz",
        "expires_at": "timestamptz",
        "expiry_seconds": "float8",
    },
)
MESSAGES = Table(
    "m",
    {
        "id": "uuid",
        "notification_id": "uuid",
        "step": "int2",
        "part": "int2",
        "channel": "text",
        "address": "text",
        "address_hash": "text",
        "country": "text",
        "state": "text",
        "reason": "text",
        "window_seconds": "float8",
        "lane": "text",
    },
)

# The tail that accept and settle share: messages of `owner(id, client_id, due_at)`, and an entry for each that is queued.
ADD_MESSAGES = f"""
added AS (
    INSERT INTO message (id, notification_id, step, part, channel, address, address_hash, country, state, reason,
        escalate_at)
    SELECT m.id, m.notification_id, m.step, m.part, m.channel, m.address, m.address_hash, m.country, m.state, m.reason,
           owner.due_at + m.window_seconds * interval '1 second'
    FROM {MESSAGES.sql} JOIN owner ON owner.id = m.notification_id
    ON CONFLICT DO NOTHING
    RETURNING id, state
), promised AS (
    INSERT INTO outbox (message_id, client_id, lane, due_at)
    SELECT m.id, owner.client_id, m.lane, owner.due_at
    FROM {MESSAGES.sql} JOIN owner ON owner.id = m.notification_id JOIN added ON added.id = m.id
    WHERE added.state = 'queued'
)"""

ACCEPT = f"""
WITH owner AS (
    INSERT INTO notification (id, client_id, idempotency_key, fingerprint, category, priority, incident_id, reference,
        recipient, content, metadata, route, steps, on_unclear, accepted_at, send_at, expires_at)
    SELECT id, client_id, idempotency_key, fingerprint, category, priority, incident_id, reference,
        recipient, content, metadata, route, steps, on_unclear, now(), greatest(send_at, now()),
        coalesce(expires_at, greatest(send_at, now()) + expiry_seconds * interval '1 second')
    FROM {NOTIFICATIONS.sql}
    ON CONFLICT (client_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id, client_id, send_at AS due_at, accepted_at
), {ADD_MESSAGES}
SELECT accepted_at FROM owner"""

WAIT = "SELECT set_config('lock_timeout', %(wait)s, true)"

STORED = """
SELECT id, fingerprint, accepted_at FROM notification WHERE client_id = %(client)s AND idempotency_key = %(key)s"""


def accept(row: NewRow, messages: Sequence[NewMessage]) -> datetime | None:
    """Store all of it or nothing. Returns when it was accepted, or None if the key is taken.

    Waits for a transaction that is using the same key. Raises IdempotencyConflict above READ COMMITTED.
    """
    try:
        rows = accept_all([row], messages)
    except OperationalError as error:
        if isinstance(error.__cause__, SerializationFailure):
            raise IdempotencyConflict from error
        raise
    return rows[0] if rows else None


def accept_all(rows: Sequence[NewRow], messages: Sequence[NewMessage]) -> list[datetime]:
    """Store those whose key is not taken, each with its messages. Returns when each of them was accepted."""
    accepted = execute(ACCEPT, {**NOTIFICATIONS.parameters(rows), **MESSAGES.parameters(messages)})
    return [accepted_at for (accepted_at,) in accepted]


def wait_at_most(seconds: float) -> None:
    """Bound every wait for a lock in this transaction."""
    execute(WAIT, {"wait": f"{int(seconds * 1000)}ms"})


def stored(client_id: int, idempotency_key: str) -> Stored:
    """What the first request with this key stored. Raises IdempotencyConflict where the transaction cannot see it."""
    rows = execute(STORED, {"client": client_id, "key": idempotency_key})
    if not rows:
        raise IdempotencyConflict
    return Stored(*rows[0])

"""Lock: whole notifications, so that several messages of one can be judged together. Only inside a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from notifications.sql.rows import execute, fetch, unique
from notifications.states import End, State


@dataclass(slots=True)
class LockedMessage:
    """A message and its entry, if it has one."""

    id: UUID
    notification_id: UUID
    step: int
    part: int
    channel: str
    address: str
    address_hash: str
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
    has_entry: bool
    claim: UUID | None
    lane: str | None
    due_at: datetime | None
    open_attempt: int | None
    open_account_id: int | None

    def __post_init__(self) -> None:
        self.state = State(self.state)


@dataclass(slots=True)
class LockedNotification:
    """A notification as it is, with its messages in the order of their steps. `now` is the database's clock."""

    now: datetime
    id: UUID
    client_id: int
    category: str
    priority: str
    recipient: Any
    steps: Any
    expires_at: datetime
    stopped_at: datetime | None
    is_incident_over: bool
    is_restored: bool  # from a backup: what of it seems unsent may have gone out before
    end: End | None
    messages: list[LockedMessage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.recipient, self.steps = json.loads(self.recipient), json.loads(self.steps)
        self.end = End(self.end) if self.end else None

    @property
    def is_useful(self) -> bool:
        """Whether anything may still be sent for it."""
        return self.stopped_at is None and not self.is_incident_over and self.now < self.expires_at


LOCK_NOTIFICATIONS = """
SELECT id FROM notification WHERE id = ANY (%(ids)s) ORDER BY id FOR NO KEY UPDATE"""
LOCK_ENTRIES = """
SELECT message_id FROM outbox WHERE message_id IN (SELECT id FROM message WHERE notification_id = ANY (%(ids)s))
ORDER BY message_id FOR NO KEY UPDATE"""
LOCK_MESSAGES = """
SELECT id FROM message WHERE notification_id = ANY (%(ids)s) ORDER BY id FOR NO KEY UPDATE"""

NOTIFICATIONS = """
SELECT clock_timestamp(), n.id, n.client_id, n.category, n.priority, n.recipient, n.steps, n.expires_at, n.stopped_at,
    coalesce(i.ended_at <= clock_timestamp(), false), n.restored_at IS NOT NULL, n."end"
FROM notification n LEFT JOIN incident i ON i.id = n.incident_id WHERE n.id = ANY (%(ids)s) ORDER BY n.id"""
MESSAGES = """
SELECT m.id, m.notification_id, m.step, m.part, m.channel, m.address, m.address_hash, m.state, m.reason, m.account_id,
    m.tried, m.rerouted, m.attempt_count, m.tries, m.checks, m.not_there, m.perhaps_sent, m.escalate_at, m.escalated_at,
    m.receipt_deadline, o.message_id IS NOT NULL, o.claim, o.lane, o.due_at, o.attempt, o.account_id
FROM message m LEFT JOIN outbox o ON o.message_id = m.id
WHERE m.notification_id = ANY (%(ids)s) ORDER BY m.notification_id, m.step, m.part"""

NOTIFICATIONS_OF = "SELECT DISTINCT notification_id FROM message WHERE id = ANY (%(ids)s)"


def lock_notifications(ids: Iterable[UUID]) -> None:
    """Lock the notification rows alone: enough where entries are held by a claim."""
    execute(LOCK_NOTIFICATIONS, {"ids": unique(ids)})


def lock(ids: Iterable[UUID]) -> list[LockedNotification]:
    """Lock notifications with all that belongs to them, **then** read them.

    One statement that did both would read the siblings from before the wait.
    """
    parameters = {"ids": unique(ids)}
    for statement in (LOCK_NOTIFICATIONS, LOCK_ENTRIES, LOCK_MESSAGES):
        execute(statement, parameters)
    return read(parameters["ids"])


def read(ids: Iterable[UUID]) -> list[LockedNotification]:
    """Read notifications that are locked already."""
    parameters = {"ids": unique(ids)}
    by_id = {row.id: row for row in fetch(LockedNotification, NOTIFICATIONS, parameters)}
    for message in fetch(LockedMessage, MESSAGES, parameters):
        by_id[message.notification_id].messages.append(message)
    return list(by_id.values())


def notifications_of(message_ids: Iterable[UUID]) -> list[UUID]:
    """The notifications that messages belong to."""
    return [id for (id,) in execute(NOTIFICATIONS_OF, {"ids": unique(message_ids)})]

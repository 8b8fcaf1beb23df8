"""How a verdict on a message is put together: what it keeps, and when its entry is due next."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from notifications.lanes import CHECKING, SENDING, Lane, Priority
from notifications.numbers import numbers
from notifications.outbox import due_at
from notifications.sql.claim import Claimed
from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.sql.record import Verdict
from notifications.states import ENDED, State


class Progress(Protocol):
    """What a message carries from one verdict to the next."""

    state: State
    reason: str
    account_id: int | None
    tried: list[int]
    rerouted: bool
    tries: int
    checks: int
    not_there: int
    perhaps_sent: bool
    escalate_at: datetime | None
    receipt_deadline: datetime | None


def on_claimed(row: Claimed, to: State, *, now: datetime, **changes: Any) -> Verdict:
    """A holder's verdict. `next_at` is when it should be looked at again; other changes are fields of Verdict."""
    return _verdict(row.message_id, row, to, now, Priority(row.priority), row.expires_at, changes)


def on_locked(message: LockedMessage, notification: LockedNotification, to: State, **changes: Any) -> Verdict:
    """A verdict of a transaction that holds the locks."""
    priority = Priority(notification.priority)
    return _verdict(message.id, message, to, notification.now, priority, notification.expires_at, changes)


def lane_of(state: State, priority: Priority) -> Lane:
    """Who works on a message in this state."""
    return (SENDING if state is State.QUEUED else CHECKING)[priority]


def _verdict(
    message_id: UUID,
    message: Progress,
    to: State,
    now: datetime,
    priority: Priority,
    expires_at: datetime,
    changes: dict[str, Any],
) -> Verdict:
    next_at = changes.pop("next_at", None)
    stays = to is message.state
    values: dict[str, Any] = {
        "reason": message.reason if stays else "",
        "account_id": message.account_id,
        "tried": message.tried,
        "rerouted": message.rerouted,
        "tries": message.tries,
        "checks": message.checks if stays else 0,
        "not_there": message.not_there if stays else 0,
        "perhaps_sent": to is State.UNCERTAIN or (message.perhaps_sent and to is not State.SENT),
        "escalate_at": None if to in ENDED else message.escalate_at,
        "receipt_deadline": _receipt_deadline(message, to, now),
        **changes,
    }
    if to not in ENDED:
        values["due_at"] = due_at(
            to,
            next_at=next_at,
            escalate_at=values["escalate_at"],
            expires_at=expires_at,
            receipt_deadline=values["receipt_deadline"],
        )
    return Verdict(message_id=message_id, leaving=message.state, state=to, lane=lane_of(to, priority).value, **values)


def _receipt_deadline(message: Progress, to: State, now: datetime) -> datetime | None:
    if to is State.QUEUED:
        return None
    if to in ENDED or message.receipt_deadline is not None:
        return message.receipt_deadline
    return now + timedelta(seconds=numbers().receipt_deadline_seconds)

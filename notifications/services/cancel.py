"""Cancel: stop what has not left, and say honestly what has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db import transaction

import notifications.sql.lock as locks
from notifications.reasons import Reason
from notifications.services.settle import settle
from notifications.services.verdicts import on_locked
from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.sql.record import record
from notifications.sql.settle import stop
from notifications.states import ENDED, State


class UnknownNotification(LookupError):
    """No notification has this id."""


class CancelResult(StrEnum):
    STOPPED = "stopped"  # it was not sent and never will be
    ALREADY_AT_THE_PROVIDER = "already_at_the_provider"
    UNKNOWN = "unknown"  # a call is being made, or its outcome is not known, or whether there was one
    ENDED = "ended"  # it had ended before


@dataclass(frozen=True, slots=True)
class CancelledMessage:
    id: UUID
    result: CancelResult


def cancel(notification_id: UUID) -> list[CancelledMessage]:
    """Stop a notification: nothing of it begins after this commits. Returns what became of each message.

    Raises UnknownNotification. Safe to repeat.
    """
    with transaction.atomic():
        locked = locks.lock([notification_id])
        if not locked:
            raise UnknownNotification(str(notification_id))
        return _stop(locked)


def cancel_all(notification_ids: Sequence[UUID]) -> list[CancelledMessage]:
    """Stop many notifications as `cancel` stops one, in one transaction. Ids that do not exist are passed over."""
    with transaction.atomic():
        return _stop(locks.lock(notification_ids))


def _stop(locked: Sequence[LockedNotification]) -> list[CancelledMessage]:
    ids = [notification.id for notification in locked]
    stop(ids)  # ended or not: evidence or an operator may open it again
    results, verdicts = [], []
    for notification in locked:
        for message in notification.messages:
            result = _result(message, notification)
            results.append(CancelledMessage(message.id, result))
            if result is CancelResult.STOPPED:
                verdicts.append(on_locked(message, notification, State.CANCELLED, reason=Reason.STOPPED))
    if verdicts:
        record(verdicts, claim=None)
    settle(ids)
    return results


def _result(message: LockedMessage, notification: LockedNotification) -> CancelResult:
    if message.state in ENDED:
        return CancelResult.ENDED
    if message.state is State.SENT:
        return CancelResult.ALREADY_AT_THE_PROVIDER
    is_in_doubt = message.perhaps_sent or message.open_attempt is not None or notification.is_restored
    if message.state is State.UNCERTAIN or is_in_doubt:
        return CancelResult.UNKNOWN
    return CancelResult.STOPPED

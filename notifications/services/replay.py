"""Dead letters: filed when a task fails for good, replayed or discarded by a person."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

import notifications.sql.lock as locks
from notifications.addresses import redact
from notifications.hints import hints
from notifications.lanes import Priority
from notifications.models import DeadLetter, Message
from notifications.reasons import Reason
from notifications.services.settle import settle
from notifications.services.steps import is_delivered
from notifications.services.verdicts import lane_of, on_locked
from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.sql.record import Verdict, record
from notifications.sql.replay import add_entry
from notifications.states import State


class CannotReplay(ValueError):
    """Why a dead letter cannot be replayed or discarded."""


def file_task(name: str, error: BaseException) -> None:
    """Keep a task that failed for good for a person to see. The error's class only: its text may hold an address."""
    DeadLetter.objects.create(
        kind=DeadLetter.Kind.TASK, task=name, reason="task_failed", last_error=redact(type(error).__name__)
    )


def replay(dead_letter_id: int, *, by: str) -> None:
    """Give a dead-lettered message a new entry and new tries. One that may have gone out is looked up first.

    A held one is sent again, through the account that may have it: it may arrive twice.

    Raises CannotReplay.
    """
    with transaction.atomic():
        notification_id = _notification_of(dead_letter_id)
        (notification,) = locks.lock([notification_id])
        letter = _open_letter(dead_letter_id)  # locked after the notification, as `record` does
        message = next(message for message in notification.messages if message.id == letter.message_id)
        is_held = letter.kind == DeadLetter.Kind.HELD and message.state is State.UNCERTAIN
        _must_be_wanted(message, notification, is_held=is_held)
        verdict = _verdict(message, notification, again=is_held)
        _resolve(letter, DeadLetter.Resolution.REPLAYED, by)
        record([verdict], claim=None)
        add_entry(verdict, client_id=notification.client_id)
        settle([notification_id])
        hints.drain_after_commit(lane_of(verdict.state, Priority(notification.priority)))


def discard(dead_letter_id: int, *, by: str) -> None:
    """Note that a dead letter needs nothing more. Raises CannotReplay."""
    with transaction.atomic():
        _resolve(_open_letter(dead_letter_id), DeadLetter.Resolution.DISCARDED, by)


def _notification_of(dead_letter_id: int) -> UUID:
    message = Message.objects.filter(dead_letters=dead_letter_id)
    found: UUID | None = message.values_list("notification_id", flat=True).first()
    if found is None:
        raise CannotReplay("a task runs again by itself; discard its letter once the cause is mended")
    return found


def _open_letter(dead_letter_id: int) -> DeadLetter:
    letter = DeadLetter.objects.select_for_update().get(id=dead_letter_id)
    if letter.resolved_at is not None:
        raise CannotReplay(f"it was {letter.resolution} already")
    return letter


def _must_be_wanted(message: LockedMessage, notification: LockedNotification, *, is_held: bool) -> None:
    """Raises CannotReplay for what is on its way, has ended otherwise, or would come beside its own next step."""
    if not is_held and message.state is not State.DEAD_LETTERED:
        raise CannotReplay(f"the message is {message.state.label.lower()} by now")
    if message.address_hash and not message.address:
        raise CannotReplay("its text and address have been redacted, so there is nothing left to send")
    if is_delivered(notification.steps, notification.messages):
        raise CannotReplay("another message of the notification has been delivered")
    if not notification.is_useful:
        raise CannotReplay("the notification was cancelled, has expired, or its incident has ended")
    if message.escalated_at is not None:
        raise CannotReplay("its time ran out and the next step began")


def _verdict(message: LockedMessage, notification: LockedNotification, *, again: bool) -> Verdict:
    """`again`: a person has decided that twice is better than not at all."""
    return on_locked(
        message,
        notification,
        State.UNCERTAIN if message.perhaps_sent and not again else State.QUEUED,
        reason=Reason.REPLAYED,
        tries=0,
        tried=[],
        rerouted=False,
        next_at=notification.now,
    )


def _resolve(letter: DeadLetter, resolution: str, by: str) -> None:
    letter.resolved_at = timezone.now()
    letter.resolution = resolution
    letter.resolved_by = by
    letter.save(update_fields=["resolved_at", "resolution", "resolved_by"])

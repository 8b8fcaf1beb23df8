"""How a notification goes on: its next step, or its end. The only writer of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

import notifications.sql.lock as locks
import notifications.sql.record as records
import notifications.sql.settle as sql
from notifications import selectors
from notifications.hints import hints
from notifications.lanes import SENDING, Priority
from notifications.models import Category
from notifications.reasons import Reason
from notifications.services.events import tell_of_ends
from notifications.services.steps import (
    first_messages,
    is_delivered,
    is_satisfied,
    may_be_delivered,
    waits_for_acceptance,
)
from notifications.services.verdicts import on_locked
from notifications.sql.accept import NewMessage
from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.states import ENDED, OPEN, End, State

# Steps that were needless say nothing about the end.
_NEEDLESS = {Reason.NO_ADDRESS, Reason.DELIVERED_BY_ANOTHER_STEP}

# Ends after which no further step may begin, whatever the route says.
_FINAL = {State.CANCELLED, State.DEAD_LETTERED}

# Of several messages of one step, how the worst has ended is how the step has: first what a person must decide on.
_WORST_FIRST = [
    State.DEAD_LETTERED,
    State.CANCELLED,
    State.FAILED,
    State.EXPIRED,
    State.SUPPRESSED,
    State.UNCONFIRMED,
]


def settle(notification_ids: Iterable[UUID]) -> None:
    """Give locked notifications what they are owed: the next step at once, or their end. Safe to repeat."""
    ends: dict[UUID, End | None] = {}
    owed: list[NewMessage] = []
    notifications = locks.read(notification_ids)
    _call_off([notification.id for notification in notifications if _needless(notification)])
    _answer_letters(notifications)
    for notification in notifications:
        messages = next_messages(notification)
        owed += messages
        ends[notification.id] = None if messages else end_of(notification)
    if owed:
        sql.add_next_steps(owed)
        for lane in {message.lane for message in owed}:
            hints.drain_after_commit(lane)
    if ends:
        tell_of_ends(sql.write_ends(ends, heard_by=selectors.endpoints.get()))


def next_messages(notification: LockedNotification) -> list[NewMessage]:
    """The messages of the next step, if it is owed now."""
    if not notification.is_useful or is_delivered(notification.steps, notification.messages):
        return []
    newest = [message for message in notification.messages if message.step == notification.messages[-1].step]
    if is_satisfied(notification.steps[newest[-1].step], newest):
        return []
    if not all(_gives_way(message, notification) for message in newest):
        return []
    return first_messages(
        notification.id,
        notification.steps,
        notification.recipient,
        lane=SENDING[Priority(notification.priority)],
        after=newest[-1].step,
    )


def _gives_way(message: LockedMessage, notification: LockedNotification) -> bool:
    """Whether the step after this message's may begin, as far as this one is concerned."""
    if message.state in _FINAL and message.reason not in _NEEDLESS:
        return False
    if message.reason == Reason.OPTED_OUT and notification.category != Category.TRANSACTIONAL:
        return False  # whoever wants no more of these by one channel has not agreed to another
    has_done_its_part = message.state is State.SENT and waits_for_acceptance(notification.steps[message.step])
    return message.state in ENDED or message.escalated_at is not None or has_done_its_part


def end_of(notification: LockedNotification) -> End | None:
    """How a notification ended: a function of its messages. None while one of them is open."""
    if is_delivered(notification.steps, notification.messages):
        return End.DELIVERED
    if any(message.state in OPEN for message in notification.messages):
        return None
    if may_be_delivered(notification.steps, notification.messages):
        return End.UNCONFIRMED
    lacking = [message for message in notification.messages if message.state is not State.DELIVERED]
    tried = [message for message in lacking if message.reason not in _NEEDLESS] or lacking
    last = [message.state for message in tried if message.step == tried[-1].step]
    return End(min(last, key=_WORST_FIRST.index).value)


def _needless(notification: LockedNotification) -> list[LockedMessage]:
    """What has not begun and need not, since a delivery of another message is enough."""
    waiting = [
        message for message in notification.messages if message.state is State.QUEUED and message.open_attempt is None
    ]
    return waiting if waiting and is_delivered(notification.steps, notification.messages) else []


def _call_off(notification_ids: Sequence[UUID]) -> None:
    """End what a delivery has made needless, before it begins.

    Whoever delivered it by a call holds its own entries only. The others are locked here, behind its messages: two that
    meet in this are a deadlock, which is tried again.
    """
    if not notification_ids:
        return
    verdicts = [
        on_locked(message, notification, State.UNCERTAIN, reason=Reason.NOT_SENT_AGAIN)
        if message.perhaps_sent
        else on_locked(message, notification, State.CANCELLED, reason=Reason.DELIVERED_BY_ANOTHER_STEP)
        for notification in locks.lock(notification_ids)
        for message in _needless(notification)
    ]
    if verdicts:
        records.record(verdicts, claim=None)


def _answer_letters(notifications: Sequence[LockedNotification]) -> None:
    """Nobody need decide on a message any more when another one has been delivered."""
    answered = [
        message.id
        for notification in notifications
        for message in notification.messages
        if message.state is State.DEAD_LETTERED and is_delivered(notification.steps, notification.messages)
    ]
    if answered:
        sql.answer_letters(answered)

"""How a notification goes on: its next step, or its end. The only writer of both."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import notifications.sql.lock as locks
import notifications.sql.settle as sql
from notifications.hints import hints
from notifications.lanes import SENDING, Priority
from notifications.models import Category
from notifications.reasons import Reason
from notifications.services.steps import first_messages, has_next_step
from notifications.sql.accept import NewMessage
from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.states import ENDED, OPEN, End, State

# Steps that were needless say nothing about the end.
_NEEDLESS = {Reason.NO_ADDRESS, Reason.DELIVERED_BY_ANOTHER_STEP}

# Ends after which no further step may begin, whatever the route says.
_FINAL = {State.DELIVERED, State.CANCELLED, State.DEAD_LETTERED}


def settle(notification_ids: Iterable[UUID]) -> None:
    """Give locked notifications what they are owed: the next step at once, or their end. Safe to repeat."""
    ends: dict[UUID, End | None] = {}
    owed: list[NewMessage] = []
    for notification in locks.read(notification_ids):
        messages = next_messages(notification)
        owed += messages
        ends[notification.id] = None if messages else end_of(notification)
    if owed:
        sql.add_next_steps(owed)
        for lane in {message.lane for message in owed}:
            hints.drain_after_commit(lane)
    if ends:
        sql.write_ends(ends)


def next_messages(notification: LockedNotification) -> list[NewMessage]:
    """The messages of the next step, if it is owed now."""
    if not notification.is_useful or any(message.state is State.DELIVERED for message in notification.messages):
        return []
    newest = [message for message in notification.messages if message.step == notification.messages[-1].step]
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
    """Whether the step after this message's may begin."""
    if not has_next_step(notification.steps, notification.recipient, message.step) or message.state in _FINAL:
        return False
    if message.reason == Reason.OPTED_OUT and notification.category != Category.TRANSACTIONAL:
        return False  # whoever wants no more of these by one channel has not agreed to another
    if message.state is State.UNCONFIRMED and notification.steps[message.step].get("wait_for") == "accepted":
        return False
    return message.state in ENDED or message.escalated_at is not None


def end_of(notification: LockedNotification) -> End | None:
    """How a notification ended: a function of its messages. None while one of them is open."""
    states = [message.state for message in notification.messages]
    if State.DELIVERED in states:
        return End.DELIVERED
    if not OPEN.isdisjoint(states):
        return None
    if State.UNCONFIRMED in states:
        return End.UNCONFIRMED
    tried = [message for message in notification.messages if message.reason not in _NEEDLESS]
    return End((tried or notification.messages)[-1].state.value)

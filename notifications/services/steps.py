"""The frozen steps of a notification, and the messages they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from notifications import addresses
from notifications.ids import step_id
from notifications.lanes import Lane
from notifications.reasons import Reason
from notifications.sql.accept import NewMessage
from notifications.states import State

Steps = Sequence[Mapping[str, Any]]


def has_next_step(steps: Steps, recipient: Mapping[str, str], step: int) -> bool:
    """Whether a step after `step` has an address to go to."""
    return any(later["channel"] in recipient for later in steps[step + 1 :])


def first_messages(
    notification_id: UUID,
    steps: Steps,
    recipient: Mapping[str, str],
    *,
    lane: Lane,
    after: int = -1,
) -> list[NewMessage]:
    """The message of the first step after `after` that has an address, and an ended one for each step without before it.

    Empty where no such step is left.
    """
    if not has_next_step(steps, recipient, after):
        return []
    messages = []
    for number in range(after + 1, len(steps)):
        step = steps[number]
        address = recipient.get(step["channel"], "")
        window = step.get("window_seconds") if has_next_step(steps, recipient, number) else None
        messages.append(
            NewMessage(
                id=step_id(notification_id, number),
                notification_id=notification_id,
                step=number,
                channel=step["channel"],
                address=address,
                address_hash=addresses.address_hash(step["channel"], address) if address else "",
                country=addresses.country(step["channel"], address) if address else "",
                state=State.QUEUED if address else State.SUPPRESSED,
                reason="" if address else Reason.NO_ADDRESS,
                window_seconds=window,
                lane=lane,
            )
        )
        if address:
            break
    return messages

"""The frozen steps of a notification, and the messages they become."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from notifications import addresses
from notifications.ids import step_id
from notifications.lanes import Lane
from notifications.reasons import Reason
from notifications.sql.accept import NewMessage
from notifications.states import State

Step = Mapping[str, Any]
Steps = Sequence[Step]

_ARRIVED = {State.DELIVERED}
_PERHAPS_ARRIVED = {State.DELIVERED, State.UNCONFIRMED}
_ACCEPTED = {State.DELIVERED, State.UNCONFIRMED, State.SENT}


class Part(Protocol):
    """A message, as far as its step asks."""

    @property
    def step(self) -> int: ...
    @property
    def channel(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def reason(self) -> str: ...


def channels_of(step: Step) -> list[str]:
    """The channels of a step, which it takes at once."""
    return step["channels"] if "channels" in step else [step["channel"]]


def has_next_step(steps: Steps, recipient: Mapping[str, Any], step: int) -> bool:
    """Whether a step after `step` has an address to go to."""
    return any(channel in recipient for later in steps[step + 1 :] for channel in channels_of(later))


def is_delivered(steps: Steps, messages: Sequence[Part]) -> bool:
    """Whether any step is: one of its messages has arrived or, where it needs all, one by each channel that has an address."""
    return _any_step_has(_ARRIVED, steps, messages)


def may_be_delivered(steps: Steps, messages: Sequence[Part]) -> bool:
    """Whether any step is delivered or, for all that anybody knows, may be."""
    return _any_step_has(_PERHAPS_ARRIVED, steps, messages)


def is_satisfied(step: Step, parts: Sequence[Part]) -> bool:
    """Whether a step has what it waits for, as its messages are now: then the next one is not owed."""
    return _has(_ACCEPTED if waits_for_acceptance(step) else _ARRIVED, step, parts)


def waits_for_acceptance(step: Step) -> bool:
    """Whether a step is content once providers have its messages, delivered or not."""
    return step.get("wait_for") == "accepted"


def _any_step_has(enough: Collection[State], steps: Steps, messages: Sequence[Part]) -> bool:
    hopeful = {message.step for message in messages if message.state in enough}
    return any(_has(enough, steps[step], [part for part in messages if part.step == step]) for step in hopeful)


def _has(enough: Collection[State], step: Step, parts: Sequence[Part]) -> bool:
    there = {part.channel for part in parts if part.state in enough}
    if step.get("need") != "all":
        return bool(there)
    return bool(there) and there >= {part.channel for part in parts if part.reason != Reason.NO_ADDRESS}


def first_messages(
    notification_id: UUID,
    steps: Steps,
    recipient: Mapping[str, Any],
    *,
    lane: Lane,
    after: int = -1,
) -> list[NewMessage]:
    """The messages of the first step after `after` that has an address, and ended ones for the steps without before it.

    Empty where no such step is left.
    """
    if not has_next_step(steps, recipient, after):
        return []
    messages = []
    for number in range(after + 1, len(steps)):
        step = steps[number]
        window = step.get("window_seconds") if has_next_step(steps, recipient, number) else None
        parts = parts_of(step, recipient)
        for part, (channel, address) in enumerate(parts):
            messages.append(
                NewMessage(
                    id=step_id(notification_id, number, part),
                    notification_id=notification_id,
                    step=number,
                    part=part,
                    channel=channel,
                    address=address,
                    address_hash=addresses.address_hash(channel, address) if address else "",
                    country=addresses.country(channel, address) if address else "",
                    state=State.QUEUED if address else State.SUPPRESSED,
                    reason="" if address else Reason.NO_ADDRESS,
                    window_seconds=window,
                    lane=lane,
                )
            )
        if any(address for _, address in parts):
            break
    return messages


def parts_of(step: Step, recipient: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The parts of a step, each a channel and an address: one for each device; an empty address where there is none."""
    return [(channel, address) for channel in channels_of(step) for address in _addresses(recipient.get(channel, ""))]


def _addresses(given: Any) -> list[str]:
    return given if isinstance(given, list) else [given]

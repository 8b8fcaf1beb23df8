"""One sentence that says where a notification is, and why."""

from __future__ import annotations

from datetime import UTC, datetime

from notifications.accounts import accounts
from notifications.addresses import mask
from notifications.models import DeadLetter, Message, Notification
from notifications.reasons import SENTENCES, Reason
from notifications.states import OPEN, State

CHANNELS = {"sms": "SMS", "email": "e-mail", "push": "push", "webhook": "webhook"}

_STATES = {
    State.QUEUED: "is queued",
    State.UNCERTAIN: "may or may not have gone out",
    State.SENT: "was sent and waits for proof of delivery",
    State.DELIVERED: "was delivered",
    State.FAILED: "failed",
    State.EXPIRED: "was not sent",
    State.SUPPRESSED: "was suppressed",
    State.CANCELLED: "was cancelled",
    State.UNCONFIRMED: "was never confirmed",
    State.DEAD_LETTERED: "waits for an operator",
}


def explain(notification: Notification) -> str:
    """Where a notification is, step by step. Reads `messages`, so prefetch them for many."""
    messages = sorted(notification.messages.all(), key=lambda message: (message.step, message.part))
    steps = "; ".join(explain_message(message) for message in messages)
    return f"{shown_state(notification)}: {steps}."


def explain_message(message: Message) -> str:
    """Where one message is, and why."""
    channel = CHANNELS.get(message.channel, message.channel)
    because = f", because {SENTENCES[Reason(message.reason)]}" if message.reason in set(Reason) else ""
    turn = f", and {waits[1]}" if (waits := turn_of(message)) else ""
    return f"the {channel} {_STATES[State(message.state)]}{because}{turn}"


def turn_of(message: Message) -> tuple[datetime, str] | None:
    """When a queued message that a rate keeps waiting has its turn, and where. Reads its entry."""
    entry = None if message.state != State.QUEUED or message._state.adding else getattr(message, "entry", None)
    if entry is None or entry.turn_at is None:
        return None
    keeper = accounts.get(entry.turn_account)
    at = f"{entry.turn_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    where = f"waits for its turn at {keeper.slug}, until {at}" if keeper else f"waits for a turn, expected at {at}"
    return entry.turn_at, where


def explain_letter(letter: DeadLetter) -> str:
    """What a dead letter is about."""
    if letter.kind == DeadLetter.Kind.HELD:
        return "held: nobody can say whether it went out"
    known = letter.reason in set(Reason)
    return f"{letter.kind}: {SENTENCES[Reason(letter.reason)] if known else letter.reason.replace('_', ' ')}"


def shown_address(message: Message) -> str:
    """A message's address as people may see it: masked, or that it was redacted. Empty where there never was one."""
    return "redacted" if message.address_hash and not message.address else mask(message.address)


def shown_state(notification: Notification) -> str:
    """What people are shown: its end, or while it is open whether anything has happened yet."""
    if notification.end is not None:
        return notification.get_end_display()
    return "Accepted" if is_untouched(notification) else "In progress"


def is_untouched(notification: Notification) -> bool:
    """Whether no call to a provider has ended yet. Reads `messages`."""
    return all(message.state in OPEN and message.attempt_count == 0 for message in notification.messages.all())

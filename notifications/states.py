"""The states of a message, the moves between them, and the ends of a notification."""

from __future__ import annotations

from django.db.models import TextChoices


class State(TextChoices):
    """Where a message is. That a call is being made right now is not a state: it is an outbox entry that has begun."""

    QUEUED = "queued"  # stored; nobody is calling, or an attempt is open and its end not yet on file
    UNCERTAIN = "uncertain"  # the provider may or may not have it; it is being asked
    SENT = "sent"  # the provider has it; the recipient may not have it yet
    DELIVERED = "delivered"  # the provider says the recipient has it
    FAILED = "failed"  # refused, or not delivered, for good
    EXPIRED = "expired"  # its useful time, or its step's, ended before it was sent
    SUPPRESSED = "suppressed"  # not sent: the address is suppressed, opted out or missing
    CANCELLED = "cancelled"  # not sent: stopped by the client, an incident's end or an earlier step's delivery
    UNCONFIRMED = "unconfirmed"  # sent, or perhaps sent, and no proof came in time
    DEAD_LETTERED = "dead_lettered"  # a person must decide


# From each state, where the engine, an operator or evidence may move a message. Ended states are left by evidence only:
# "delivered" corrects every one of them, a hard bounce that undoes the delivery makes it "failed" whichever of the two
# reports came first, and "unconfirmed" may still turn out failed.
# A dead letter's replay is the one move out of an end that a person makes.
MOVES: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset(State) - {State.QUEUED},  # "unconfirmed" at once where an account proves nothing
    State.UNCERTAIN: frozenset(
        {State.QUEUED, State.SENT, State.DELIVERED, State.FAILED, State.UNCONFIRMED, State.DEAD_LETTERED}
    ),
    State.SENT: frozenset({State.QUEUED, State.DELIVERED, State.FAILED, State.UNCONFIRMED}),
    State.DELIVERED: frozenset({State.FAILED}),
    State.FAILED: frozenset({State.DELIVERED}),
    State.EXPIRED: frozenset({State.DELIVERED, State.FAILED}),
    State.SUPPRESSED: frozenset({State.DELIVERED, State.FAILED}),
    State.CANCELLED: frozenset({State.DELIVERED, State.FAILED}),
    State.UNCONFIRMED: frozenset({State.DELIVERED, State.FAILED}),
    State.DEAD_LETTERED: frozenset({State.DELIVERED, State.FAILED, State.QUEUED, State.UNCERTAIN}),
}

OPEN = frozenset({State.QUEUED, State.UNCERTAIN, State.SENT})
ENDED = frozenset(State) - OPEN


class End(TextChoices):
    """How a notification ended: a function of its messages."""

    DELIVERED = "delivered"
    UNCONFIRMED = "unconfirmed"
    FAILED = "failed"
    EXPIRED = "expired"
    SUPPRESSED = "suppressed"
    CANCELLED = "cancelled"
    DEAD_LETTERED = "dead_lettered"


class InvalidMove(ValueError):
    """A move that is not in the table: a fault in our code, never in the data."""


def check_move(leaving: State, to: State) -> None:
    """Raises InvalidMove unless a message may go from `leaving` to `to`. Staying is always allowed."""
    if leaving is not to and to not in MOVES[leaving]:
        raise InvalidMove(f"{leaving} -> {to}")

"""What reports about a message's attempts add up to: pure, and the same for every order and repetition of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from notifications.reasons import Reason
from notifications.states import ENDED, State
from providers.messages import EventKind

# By kind of event, never by arrival. A kind that is not here says nothing about the state.
RANKS = {
    EventKind.ACCEPTED: 1,
    EventKind.SENT: 2,
    EventKind.NOT_REACHED: 3,
    EventKind.EXPIRED: 4,
    EventKind.FAILED: 5,
    EventKind.DELIVERED: 6,
    EventKind.BOUNCED: 7,
}

TAKEN = frozenset({EventKind.ACCEPTED, EventKind.SENT})  # the provider has it, and nothing more is known

_FOR_GOOD = {
    EventKind.EXPIRED: Reason.EXPIRED_AT_PROVIDER,
    EventKind.FAILED: Reason.NOT_DELIVERED,
    EventKind.BOUNCED: Reason.BOUNCED,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The message that is judged. `newest_attempt` counts an open one; `may_send_again`: no next step, and still useful."""

    state: State
    newest_attempt: int
    may_send_again: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    state: State
    reason: str


def fold(reports: Iterable[tuple[int, EventKind]]) -> dict[int, EventKind]:
    """The highest-ranking kind of each attempt."""
    folded: dict[int, EventKind] = {}
    for attempt, kind in reports:
        if kind in RANKS and (attempt not in folded or RANKS[kind] > RANKS[folded[attempt]]):
            folded[attempt] = kind
    return folded


def judge(subject: Subject, reports: Iterable[tuple[int, EventKind]]) -> Judgement | None:
    """Where the message belongs by all that is known, or None where that is where it is, or nothing follows.

    Any attempt folded to delivered delivers it; else any delivery, since a bounce has undone it, fails it; else the newest
    attempt's fold counts.
    """
    reports = list(reports)
    folded = fold(reports)
    if EventKind.DELIVERED in folded.values():
        return _unless_there(subject, Judgement(State.DELIVERED, ""))
    if any(kind is EventKind.DELIVERED for _, kind in reports):
        return _unless_there(subject, Judgement(State.FAILED, Reason.BOUNCED))
    newest = folded.get(subject.newest_attempt)
    if newest is None:
        return None
    if subject.state in ENDED:
        return _correct(subject, newest)
    if newest is EventKind.NOT_REACHED:
        return _unless_there(subject, _not_reached(subject, folded))
    if newest in _FOR_GOOD:
        return Judgement(State.FAILED, _FOR_GOOD[newest])
    return _unless_there(subject, Judgement(State.SENT, ""))


def _not_reached(subject: Subject, folded: dict[int, EventKind]) -> Judgement:
    """Once more, where nothing else can be done for the recipient; then failed.

    Attempts that failed for good count as well: one that was not reached may turn out so, and the sum must only grow.
    """
    times = sum(RANKS[kind] >= RANKS[EventKind.NOT_REACHED] for kind in folded.values())
    if times == 1 and subject.may_send_again:
        return Judgement(State.QUEUED, Reason.NOT_REACHED)
    return Judgement(State.FAILED, Reason.NOT_REACHED)


def _correct(subject: Subject, newest: EventKind) -> Judgement | None:
    """What an ended message's evidence may still change, short of a delivery."""
    if subject.state is State.UNCONFIRMED and newest is EventKind.NOT_REACHED:
        return Judgement(State.FAILED, Reason.NOT_REACHED)
    if subject.state is State.UNCONFIRMED and newest in _FOR_GOOD:
        return Judgement(State.FAILED, _FOR_GOOD[newest])
    if subject.state is State.DELIVERED and newest is EventKind.BOUNCED:
        return Judgement(State.FAILED, Reason.BOUNCED)
    return None


def _unless_there(subject: Subject, judgement: Judgement) -> Judgement | None:
    return None if judgement.state is subject.state else judgement

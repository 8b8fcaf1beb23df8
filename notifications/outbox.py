"""The outbox: claims with their leases, waves, and the one function that says when an entry is due."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID, uuid4

import notifications.sql.claim as claims
from notifications.lanes import Lane, Priority
from notifications.numbers import numbers
from notifications.sql.claim import Claimed
from notifications.states import State
from notifications.tempo import learned

Item = TypeVar("Item")


@dataclass(slots=True)
class Batch:
    """Entries that are ours until the lease ends."""

    claim: UUID
    lane: Lane
    rows: list[Claimed]
    claimed_at: float  # monotonic, once the claim was in
    monotonic: Callable[[], float]

    def now(self) -> datetime:
        """The database's clock, carried forward from the claim by our own monotonic one.

        Never ahead of it: what is due at once must be due for the next claim, too.
        """
        return self.rows[0].now + timedelta(seconds=self.monotonic() - self.claimed_at)


def claim(lane: Lane, limit: int, monotonic: Callable[[], float]) -> Batch:
    """Claim up to `limit` due entries of a lane."""
    token = uuid4()
    rows = claims.claim(lane, limit, claim=token, lease_seconds=numbers().lease_seconds)
    return Batch(token, lane, rows, claimed_at=monotonic(), monotonic=monotonic)


def due_at(
    state: State,
    *,
    next_at: datetime | None,
    escalate_at: datetime | None,
    expires_at: datetime,
    receipt_deadline: datetime | None,
) -> datetime:
    """When an open message is due: the earliest of what applies to its state. Nothing else computes this."""
    last = expires_at if state is State.QUEUED else receipt_deadline
    moments = [moment for moment in (next_at, escalate_at, last) if moment is not None]
    return min(moments)


def call_seconds(priority: str) -> float:
    """The deadline of one call to a provider."""
    if priority == Priority.CRITICAL:
        return numbers().critical_send_deadline_seconds
    return numbers().send_deadline_seconds


class WaveSize:
    """How many calls to begin at once: what K connections can start within a second, learned from the last calls."""

    def __init__(self, connections: Callable[[], int] | None = None, seconds: float = 0.05) -> None:
        self._connections = connections or (lambda: numbers().send_concurrency)  # that are free for a wave
        self._seconds = seconds

    def __call__(self) -> int:
        k = self._connections()
        return max(k, min(numbers().wave_size, math.floor(k * numbers().late_start_seconds / self._seconds)))

    @property
    def is_quick(self) -> bool:
        """Whether connections that are busy now will have come free before it is too late to begin on them."""
        return self._seconds < numbers().late_start_seconds / 4

    def learn(self, seconds: float) -> None:
        """Note how long a call took; a slow one counts at once, fast ones bring the estimate down slowly."""
        self._seconds = learned(self._seconds, seconds)


def waves(items: Sequence[Item], size: Callable[[], int]) -> Iterator[Sequence[Item]]:
    """Cut items into waves, each as large as is asked for when its turn comes."""
    position = 0
    while position < len(items):
        wave = items[position : position + size()]
        position += len(wave)
        yield wave


def release(rows: Iterable[Claimed], claim: UUID) -> None:
    """Give back what was not begun."""
    claims.release((row.message_id for row in rows), claim=claim)

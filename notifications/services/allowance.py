"""How much a job may take that nobody waits for: a time for all of it, and a share of one core meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from uuid import UUID

from notifications.numbers import numbers
from notifications.sql.reconcile import window_end


class Allowance:
    """What one run may take. After each turn it pauses for as long as its share demands.

    A turn is wall time, and works in this process or in the database, never in both at once: so the share is an upper
    bound for the two together.
    """

    def __init__(
        self,
        *,
        stopping: Callable[[], bool] = lambda: False,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._stopping = stopping
        self._monotonic = monotonic
        self._sleep = sleep
        self._ends_at = monotonic() + numbers().clean_seconds
        self.is_used_up = False  # the time is; what was told to stop may have time left
        self._pause_per_second = max(0.0, 1 / numbers().clean_share - 1)

    def turns(self) -> Iterator[None]:
        """One turn after another until the time is up or the process is told to stop; one at least."""
        while True:
            began_at = self._monotonic()
            yield
            now = self._monotonic()
            pause = (now - began_at) * self._pause_per_second
            self.is_used_up = now + pause >= self._ends_at
            if self.is_used_up or self._stopping():
                return
            self._sleep(pause)


def windows(allowance: Allowance, after: UUID, bound: UUID, size: int) -> Iterator[tuple[UUID, UUID]]:
    """Windows of `size` notifications after an id, one in each turn. The last one ends at `bound`, if time allows."""
    for _ in allowance.turns():
        end = window_end(after, size)
        until = bound if end is None or end > bound else end
        yield after, until
        if until == bound:
            return
        after = until

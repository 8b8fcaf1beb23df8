"""When to start a process again: a pure rule."""

from __future__ import annotations

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 30.0
STEADY_SECONDS = 10.0  # one that lived so long is not failing to start


class Restarts:
    """Waits a second, and twice as long each time while a process keeps dying young."""

    def __init__(self) -> None:
        self._wait_seconds = 0.0

    def wait_seconds(self, *, lived_seconds: float) -> float:
        """How long to wait now that the process ended, having lived so long."""
        if lived_seconds >= STEADY_SECONDS or not self._wait_seconds:
            self._wait_seconds = FIRST_WAIT_SECONDS
        else:
            self._wait_seconds = min(2 * self._wait_seconds, LONGEST_WAIT_SECONDS)
        return self._wait_seconds

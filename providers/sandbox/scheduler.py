"""What is due later: one thread, one heap."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Scheduler:
    """Runs actions at their time, and knows how much is still to come.

    Whoever passes work on to another thread holds a place meanwhile (`hold`, `release`), so that `wait_idle` sees it.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._pending = 0
        self._stopping = False

    @property
    def pending(self) -> int:
        return self._pending

    def start(self) -> None:
        threading.Thread(target=self._run, name="sandbox-scheduler", daemon=True).start()

    def stop(self) -> None:
        """Stop. What is still `pending` never has its turn."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def at(self, due: float, action: Callable[[], None]) -> None:
        """Run `action` at monotonic time `due`."""
        with self._changed:
            self._pending += 1
            heapq.heappush(self._heap, (due, next(self._numbers), action))
            if self._heap[0][0] == due:
                self._changed.notify_all()

    def hold(self) -> None:
        with self._changed:
            self._pending += 1

    def release(self) -> None:
        with self._changed:
            self._pending -= 1
            if not self._pending:
                self._changed.notify_all()

    def forget(self) -> None:
        """Drop what is waiting."""
        with self._changed:
            self._pending -= len(self._heap)
            self._heap.clear()
            self._changed.notify_all()

    def wait_idle(self, timeout_seconds: float) -> bool:
        """Wait until nothing is left to do. Returns whether that came true in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending, timeout_seconds)

    def _run(self) -> None:
        while (action := self._next()) is not None:
            try:
                action()
            except Exception:
                logger.exception("a scheduled action failed")
            finally:
                self.release()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                if self._heap and self._heap[0][0] <= now:
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(self._heap[0][0] - now if self._heap else None)
            return None

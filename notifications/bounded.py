"""Looks that take no longer than they may, whatever hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Look(Generic[Value]):
    """Calls `work` in a thread of its own, one call at a time: whoever asks meanwhile is told what that one finds.

    So a look that hangs for an hour is one thread, not one per question.
    """

    def __init__(self, work: Callable[[], Value]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._going_on: Future[Value] | None = None

    def begin(self) -> Future[Value]:
        """What is going to be found: ask its `result`, with a time limit. It raises what `work` raises."""
        with self._lock:
            if self._going_on is None or self._going_on.done():
                self._going_on = Future()
                threading.Thread(target=self._work_for, args=[self._going_on], daemon=True).start()
            return self._going_on

    def _work_for(self, going_on: Future[Value]) -> None:
        try:
            going_on.set_result(self._work())
        except BaseException as error:  # raised where it is waited for
            going_on.set_exception(error)

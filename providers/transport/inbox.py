"""Where answers come in, whichever transport makes the calls and whenever they were begun."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

from providers.transport.base import Answer, Call, Transport


class Inbox:
    """The answers to all calls that were sent into it. One reads, any number of threads add."""

    def __init__(self) -> None:
        self.missing = 0  # answers that have not been handed over
        self.is_abandoned = False  # nobody reads any more: what has not begun is not begun
        self._answers: deque[Answer] = deque()
        self._wanted = 1
        self._changed = threading.Condition()

    def expect(self, count: int) -> None:
        """Wait for so many more, which have been sent already: what fails to be sent is never answered."""
        self.missing += count

    def add(self, answer: Answer) -> None:
        """Take in an answer, from any thread."""
        with self._changed:
            self._answers.append(answer)
            if len(self._answers) >= self._wanted:  # the reader sleeps until there are enough
                self._changed.notify()

    def collect(self, *, seconds: float, count: int, wait_seconds: float | None = None) -> list[Answer]:
        """Wait for an answer, then gather more until `seconds` have passed, `count` are there or none is missing.

        Empty where none comes within `wait_seconds`, or none is missing; None waits for as long as it takes.
        """
        with self._changed:
            if self.missing and self._wait(1, wait_seconds):
                self._wait(min(count, self.missing), seconds)
            gathered = [self._answers.popleft() for _ in range(min(count, len(self._answers)))]
        self.missing -= len(gathered)
        return gathered

    def all_answers(self, *, seconds: float, count: int) -> Iterator[list[Answer]]:
        """Collect until none is missing."""
        try:
            while self.missing:
                yield self.collect(seconds=seconds, count=count)
        finally:
            self.is_abandoned = True

    def _wait(self, count: int, seconds: float | None) -> bool:
        self._wanted = count
        ends_at = None if seconds is None else time.monotonic() + seconds
        while len(self._answers) < count:
            left = None if ends_at is None else ends_at - time.monotonic()
            if left is not None and left <= 0:
                return False
            self._changed.wait(left)
        return True


def send_many(
    transport: Transport,
    calls: Sequence[Call],
    *,
    flush_seconds: float = 0.1,
    flush_count: int = 200,
    inbox: Inbox | None = None,
) -> Iterator[list[Answer]]:
    """Make all calls, from now on; hand over answers as they come, at least every `flush_seconds` or `flush_count`.

    Lists are never empty. `inbox` must be empty.
    """
    inbox = inbox or Inbox()
    transport.send(calls, inbox)
    inbox.expect(len(calls))
    return inbox.all_answers(seconds=flush_seconds, count=flush_count)

"""Rows that change rarely, read again only when a few seconds old."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from notifications.numbers import numbers

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """What `read` returned, at most `cache_seconds` ago."""

    def __init__(self, read: Callable[[], Value], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._monotonic = monotonic
        self._kept: tuple[float, Value] | None = None

    def get(self) -> Value:
        now = self._monotonic()
        if self._kept is None or now - self._kept[0] > numbers().cache_seconds:
            self._kept = (now, self._read())
        return self._kept[1]

    def forget(self) -> None:
        """Read afresh next time."""
        self._kept = None

"""Being asked to end, by Ctrl-C, a supervisor or a closed terminal."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TOGETHER_SECONDS = 1.0


class Asked:
    """How often we were asked. Signals that come together are one: a group's may reach us twice, by the launcher too."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.times = 0
        self._monotonic = monotonic
        self._last_at = -TOGETHER_SECONDS

    def listen(self) -> None:
        """From now on these signals end nothing by themselves; they are noted here."""
        for number in ENDING:
            signal.signal(number, self.note)

    def note(self, *_: Any) -> None:
        now = self._monotonic()
        if now - self._last_at >= TOGETHER_SECONDS:
            self.times += 1
            self._last_at = now

"""Wait for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE_SECONDS = 0.05


def wait_until(is_so: Callable[[], object], *, seconds: float, what: str) -> None:
    """Return as soon as `is_so`. Raises AssertionError, naming `what`, when it is not within `seconds`."""
    ends_at = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends_at, f"not within {seconds} s: {what}"
        time.sleep(PAUSE_SECONDS)

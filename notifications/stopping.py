"""One flag for a worker and all its pool processes: told to stop, nothing more may begin."""

from __future__ import annotations

from multiprocessing import RawValue

_told_to_stop = RawValue("b", 0)  # in memory that is shared since before the pool forks


def stop() -> None:
    """Tell this process and its children."""
    _told_to_stop.value = 1


def is_stopping() -> bool:
    """Whether this process, or its parent, was told to stop."""
    return bool(_told_to_stop.value)

"""Ids that ascend, so that new rows land next to each other."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

_SEQUENCE_BITS = 12
_STEP_BITS = 4


class AscendingIds:
    """Makes UUIDv7 (RFC 9562, section 5.7) that ascend within the process: a counter fills the 12 bits after the clock.

    A counter that overflows, or a clock that steps back, moves the embedded milliseconds ahead of the clock.
    """

    def __init__(
        self,
        milliseconds: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._milliseconds = milliseconds
        self._random_bytes = random_bytes
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> UUID:
        with self._lock:
            self._last = max(self._last + 1, self._milliseconds() << _SEQUENCE_BITS)
            stamp = self._last
        return _assemble(stamp >> _SEQUENCE_BITS, stamp & 0xFFF, int.from_bytes(self._random_bytes(8)))


def _assemble(milliseconds: int, sequence: int, random: int) -> UUID:
    return UUID(int=milliseconds << 80 | 0x7 << 76 | sequence << 64 | 0b10 << 62 | random & ((1 << 62) - 1))


def first_id_at(moment: datetime) -> UUID:
    """The smallest id that could have been made at `moment`: a bound for windows of ids."""
    return _assemble(int(moment.timestamp() * 1000), 0, 0)


_ascending = AscendingIds()


def step_id(notification_id: UUID, step: int, part: int = 0) -> UUID:
    """The id of a step's message: the same whenever that step begins, were it once more after a restore from a backup.

    It lies beside its notification's: time and sequence are kept, and step (up to 15), part and a hash take the place of
    the random bits.
    """
    place = part << _STEP_BITS | step
    digest = blake2b(notification_id.bytes + place.to_bytes(2), digest_size=8).digest()
    hashed = int.from_bytes(digest) >> 16  # 48 bits
    return UUID(int=notification_id.int >> 62 << 62 | (place & 0x3FFF) << 48 | hashed)


def new_id() -> UUID:
    """A fresh id, above all that this process made before."""
    return _ascending()

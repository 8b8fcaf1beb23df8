"""Refusals of an address that may be our own fault as well: when they are believed. Pure; one account, one process."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from notifications.numbers import numbers

Consequence = TypeVar("Consequence")


@dataclass(slots=True)
class Doubts(Generic[Consequence]):
    """An address is given up if others took messages shortly before and shortly after it refused one, and few refused between.

    Both, since a fault of ours begins after the last yes and is mended before the next: whatever refused meanwhile is no
    worse than it was. Times are in seconds of any one clock.
    """

    _yes: dict[Hashable, float] = field(default_factory=dict)  # of the two addresses that took something last
    _pending: list[tuple[Hashable, float, Consequence]] = field(default_factory=list)
    _in_a_row: set[Hashable] = field(default_factory=set)  # addresses that refused since the last yes

    def taken(self, address: Hashable, at: float) -> list[Consequence]:
        """Note a yes. Returns what follows from refusals that are believed now."""
        believed = [
            consequence
            for refused, since, consequence in self._pending
            if refused != address and at - since <= numbers().doubt_seconds
        ]
        self._pending.clear()
        self._in_a_row.clear()
        self._yes.pop(address, None)
        self._yes[address] = at
        if len(self._yes) > 2:
            del self._yes[next(iter(self._yes))]
        return believed

    def refused(self, address: Hashable, consequence: Consequence, at: float) -> bool:
        """Note a no. Returns whether it is our own fault, as far as one can tell: so many others were refused, and none took any."""
        self._in_a_row.add(address)
        if len(self._in_a_row) >= numbers().doubts_in_a_row:
            self._pending.clear()
            return True
        if self._works_for_another_than(address, at):
            self._pending.append((address, at, consequence))
        return False

    def _works_for_another_than(self, address: Hashable, at: float) -> bool:
        return any(other != address and at - since <= numbers().doubt_seconds for other, since in self._yes.items())

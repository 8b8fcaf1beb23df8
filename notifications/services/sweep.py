"""Sweep: hint lanes in which something is due, for the hints that were lost."""

from __future__ import annotations

from notifications.hints import Hints
from notifications.lanes import CHECKING, Lane
from notifications.sql.claim import due_lanes


def sweep(hints: Hints) -> int:
    """Hint every lane that has due entries. Returns how many."""
    lanes = due_lanes()
    for lane in lanes:
        hints.drain(lane)
    return len(lanes)


def poll_statuses(hints: Hints) -> int:
    """Hint the lanes in which status checks are due, for drains to ask in batches: one by one or by list. Returns how many."""
    lanes = set(due_lanes()) & set(CHECKING.values())
    for lane in sorted(lanes, key=list(Lane).index):
        hints.drain(lane)
    return len(lanes)

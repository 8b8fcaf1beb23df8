"""Reconcile: find stuck and contradictory rows, put them right, and say so."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

import notifications.sql.clean as cleaning
import notifications.sql.lock as locks
import notifications.sql.reconcile as sql
from notifications.hints import Hints
from notifications.ids import first_id_at
from notifications.lanes import Lane
from notifications.numbers import numbers
from notifications.services.apply import apply_waiting
from notifications.services.settle import settle
from notifications.sql.health import oldest_due_seconds, oldest_transaction

log = structlog.get_logger(__name__)

RECENT = timedelta(hours=2)
OLDER_AT_ONCE = 50_000
SETTLED_AT_ONCE = 500
POSITION = "reconcile"
FIRST = UUID(int=0)


def reconcile(hints: Hints, *, now: datetime) -> int:
    """Look over recent notifications and a window of older ones. Returns how many faults were put right.

    Every fault is an alarm: a log record at level error. So is what it cannot put right: lanes that are behind, and a
    transaction that somebody left open.
    """
    _say_what_is_slow()
    recent = first_id_at(now - RECENT)
    faults = _reconcile_overdue(hints)
    faults += _reconcile_window(recent, UUID(int=2**128 - 1))
    faults += _reconcile_older(recent)
    if let_go := cleaning.let_go():
        log.error("reports belonged to no message", count=let_go)
    apply_waiting()
    if waiting := sql.unmatched_events(numbers().unmatched_alarm_seconds):
        log.error("reports match no message", count=waiting)
    return faults


def _say_what_is_slow() -> None:
    for lane, seconds in oldest_due_seconds().items():
        if seconds > numbers().due_limit_seconds(lane):
            log.error("lane is behind", lane=lane.value, oldest_due_seconds=round(seconds))
    if oldest := oldest_transaction(over_seconds=numbers().transaction_alarm_seconds):
        log.error("transaction open for long", seconds=round(oldest.seconds), process_id=oldest.process_id)


def _reconcile_overdue(hints: Hints) -> int:
    overdue = sql.overdue(numbers().lease_seconds)
    for lane, count in overdue.items():
        log.error("entries overdue", lane=lane, count=count)
        hints.drain(Lane(lane))
    return sum(overdue.values())


def _reconcile_older(recent: UUID) -> int:
    """One window before the recent ones; begins again from the first when it has come so far."""
    after = sql.position(POSITION) or FIRST
    until = sql.window_end(after, OLDER_AT_ONCE)
    if until is None or until >= recent:
        faults = _reconcile_window(after, recent)
        sql.save_position(POSITION, FIRST)
        return faults
    sql.save_position(POSITION, until)
    return _reconcile_window(after, until)


def _reconcile_window(after: UUID, until: UUID) -> int:
    promised = sql.add_missing_entries(after, until)
    if promised:
        log.error("open messages had no entry", message_ids=[str(id) for id in promised[:20]])
    stuck = sql.without_end(after, until)
    if stuck:
        log.error("notifications had no end", notification_ids=[str(id) for id in stuck[:20]])
    for first in range(0, len(stuck), SETTLED_AT_ONCE):
        with transaction.atomic():
            some = stuck[first : first + SETTLED_AT_ONCE]
            locks.lock(some)
            settle(some)
    return len(promised) + len(stuck)

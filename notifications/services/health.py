"""Health: whether what this service needs is there, and whether its work is being done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

import structlog
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from notifications.bounded import Look
from notifications.hints import reach_broker
from notifications.lanes import Lane
from notifications.numbers import numbers
from notifications.sql.health import heartbeat_seconds, oldest_due_seconds

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 2.0  # what takes longer does not answer
BEAT, CONTROL = "beat", Lane.CONTROL.value  # the two that beat over and over
URGENT = frozenset({Lane.CRITICAL, Lane.HIGH, Lane.CONTROL})

Found = TypeVar("Found")


@dataclass(frozen=True)
class Check:
    """One thing that must be so, and the numbers it was judged by."""

    name: str
    is_ok: bool
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    """Ready if every check is. Warnings are of what costs time, but no message. Neither holds an address or a secret."""

    checks: list[Check]
    warnings: list[str]

    @property
    def is_ready(self) -> bool:
        return all(check.is_ok for check in self.checks)


def look() -> Health:
    """Look at the database, the outbox, the heartbeats and the broker. Takes `ANSWER_SECONDS` at most, whatever hangs."""
    ends_at = monotonic() + ANSWER_SECONDS
    broker, rows = _broker.begin(), _rows.begin()
    health = _found("database", rows, ends_at) or Health([Check("database", is_ok=False)], [])
    if not _found("broker", broker, ends_at):
        health.warnings.append("broker does not answer")
    return health


def _found(name: str, going_on: Future[Found], ends_at: float) -> Found | None:
    try:
        return going_on.result(max(0.0, ends_at - monotonic()))
    except Exception as error:  # whatever drivers raise: the answer is no
        log.warning("no answer", of=name, error=type(error).__name__)
        return None


def _look_at_broker() -> bool:
    reach_broker()
    return True


def _look_at_rows() -> Health:
    try:
        pending = _pending_migrations()
        checks = [Check("database", is_ok=True), Check("migrations", not pending, {"pending": pending})]
        if pending:  # the tables below may not be there
            return Health(checks, [])
        return Health([*checks, *_outbox()], list(_silent()))
    finally:
        connection.close()


def _pending_migrations() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _outbox() -> list[Check]:
    due = oldest_due_seconds()
    return [
        _in_time("outbox_urgent", [due.get(lane, 0.0) for lane in URGENT], numbers().urgent_overdue_seconds),
        _in_time("outbox_other", [due.get(lane, 0.0) for lane in set(Lane) - URGENT], numbers().overdue_seconds),
    ]


def _in_time(name: str, due_seconds: Iterable[float], limit_seconds: float) -> Check:
    oldest = max(due_seconds)
    facts = {"oldest_due_seconds": round(oldest, 1), "limit_seconds": limit_seconds}
    return Check(name, oldest <= limit_seconds, facts)


def _silent() -> Iterable[str]:
    intervals = {BEAT: numbers().heartbeat_seconds, CONTROL: numbers().sweep_seconds}
    ages = heartbeat_seconds(list(intervals))
    for process, interval in intervals.items():
        age = ages.get(process)
        if age is None:
            yield f"{process} has never shown a sign of life"
        elif age > numbers().heartbeats_missed * interval:
            yield f"{process} has shown no sign of life for {age:.0f} s"


_rows = Look(_look_at_rows)
_broker = Look(_look_at_broker)

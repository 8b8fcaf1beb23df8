"""Health: whether what this service needs is there, and whether its work is being done."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

import structlog
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from notifications.bounded import Look
from notifications.hints import reach_broker
from notifications.lanes import URGENT, Lane
from notifications.numbers import numbers
from notifications.services import heartbeat
from notifications.sql.health import oldest_due_seconds, oldest_transaction

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 2.0  # what takes longer does not answer

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
        ages = heartbeat.ages()
        return Health([*checks, *_outbox()], [*_silent(ages), *_unconsumed(ages), *_held_up()])
    finally:
        connection.close()


def _pending_migrations() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _outbox() -> list[Check]:
    due = oldest_due_seconds()
    return [_in_time("outbox_urgent", URGENT, due), _in_time("outbox_other", set(Lane) - URGENT, due)]


def _in_time(name: str, lanes: Collection[Lane], due: Mapping[Lane, float]) -> Check:
    oldest = max(due.get(lane, 0.0) for lane in lanes)
    limit = min(numbers().due_limit_seconds(lane) for lane in lanes)
    return Check(name, oldest <= limit, {"oldest_due_seconds": round(oldest, 1), "limit_seconds": limit})


def _silent(ages: heartbeat.Ages) -> Iterator[str]:
    limits = {heartbeat.BEAT: numbers().beat_limit_seconds, heartbeat.SWEEPER: numbers().sweeper_limit_seconds}
    for process, limit in limits.items():
        if process not in ages:
            yield f"{process} has never shown a sign of life"
        elif ages[process] > limit:
            yield f"{process} has shown no sign of life for {ages[process]:.0f} s"


def _unconsumed(ages: heartbeat.Ages) -> Iterator[str]:
    for lane, age in heartbeat.unconsumed(ages).items():
        yield f"lane {lane} is not consumed: no canary for {age:.0f} s"


def _held_up() -> Iterator[str]:
    if oldest := oldest_transaction(over_seconds=numbers().transaction_alarm_seconds):
        yield f"a transaction has been open for {oldest.seconds:.0f} s: claims become slower"


_rows = Look(_look_at_rows)
_broker = Look(_look_at_broker)

"""Put on file what became of messages, and settle the notifications of those that ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import structlog
from django.db import connection, transaction

import notifications.sql.apply as reports
import notifications.sql.lock as locks
import notifications.sql.record as sql
from notifications.numbers import numbers
from notifications.runtime import Runtime
from notifications.services.settle import settle
from notifications.sql.apply import SuppressedAddress
from notifications.sql.record import Verdict
from notifications.sql.rows import DATABASE_AWAY
from notifications.states import ENDED

log = structlog.get_logger(__name__)
Result = TypeVar("Result")


def record(
    verdicts: Sequence[Verdict],
    *,
    claim: UUID,
    notification_ids: Mapping[UUID, UUID],
    runtime: Runtime,
    suppress: Sequence[SuppressedAddress] = (),
) -> set[UUID]:
    """Put a holder's verdicts on file, and settle notifications whose messages ended. Returns the messages still held.

    `notification_ids` maps messages to notifications. Keeps trying while the database is away, until told to stop.
    """
    if not verdicts:
        return set()
    ending = {notification_ids[verdict.message_id] for verdict in verdicts if _ends(verdict)}

    def once() -> set[UUID]:
        if not ending and not suppress:
            return sql.record(verdicts, claim=claim)
        with transaction.atomic():
            locks.lock_notifications(ending)
            held = sql.record(verdicts, claim=claim)
            if suppress:
                reports.suppress(suppress)
            settle(ending)
            return held

    return insist(once, runtime)


def _ends(verdict: Verdict) -> bool:
    return verdict.state in ENDED or verdict.escalated or verdict.settles


def insist(work: Callable[[], Result], runtime: Runtime) -> Result:
    """Do database work that must not be lost: again after a deadlock or while the database is away, until told to stop."""
    while True:
        try:
            return work()
        except DATABASE_AWAY as error:
            if runtime.stopping() or connection.in_atomic_block:
                raise
            log.warning("database away, trying again", error=type(error.__cause__ or error).__name__)
            connection.close()
            runtime.sleep(numbers().database_retry_seconds)

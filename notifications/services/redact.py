"""Redact: a while after its end, what was sent to whom is forgotten; that it was, and what came of it, stays."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

import notifications.sql.clean as sql
import notifications.sql.inbound as inbound
from notifications.ids import first_id_at
from notifications.numbers import numbers
from notifications.services.allowance import Allowance, windows
from notifications.services.clean import AT_ONCE, LOCK_SECONDS, unneeded
from notifications.sql.accept import wait_at_most
from notifications.sql.reconcile import position, save_position

log = structlog.get_logger(__name__)

POSITION = "redact"
REPORTS_POSITION = "redact_reports"
REPORTS_AT_ONCE = 10_000
SETTLED = timedelta(minutes=10)  # by then a report is applied, or matches nothing
FIRST = UUID(int=0)


def redact(allowance: Allowance, *, now: datetime) -> int:
    """Empty notifications that ended long enough ago. Returns how many. Safe to run twice at once.

    Goes round by id from a stored position, since some end late. What is open, and what a person has yet to decide on,
    is left alone. Texts that came in are emptied as well.
    """
    _redact_late_reports(allowance, before=now - SETTLED)
    before = now - timedelta(days=numbers().redact_after_days)
    inbound.forget(before=before)
    bound = first_id_at(before)  # what was accepted later has not ended before
    count, seen, until = 0, 0, FIRST
    for after, until in windows(allowance, _start(bound), bound, AT_ONCE):
        redacted = _redact_window(after, until, before)
        count, seen = count + redacted, seen + AT_ONCE
        if redacted:
            save_position(POSITION, until)
    save_position(POSITION, FIRST if until == bound else until)
    if until != bound and allowance.is_used_up and count > seen / 2:  # it was work, and not looking for work
        log.warning("redacting is behind", redacted=count)
    return count


def _start(bound: UUID) -> UUID:
    after = position(POSITION) or FIRST
    return after if after < bound else FIRST


@transaction.atomic
def _redact_window(after: UUID, until: UUID, before: datetime) -> int:
    wait_at_most(LOCK_SECONDS)
    ids, messages = unneeded(sql.lock_unredacted(after, until, before=before))
    if ids:
        sql.redact(ids, messages)
    return len(ids)


def _redact_late_reports(allowance: Allowance, *, before: datetime) -> None:
    """Those that came when their notification was redacted already: none before the first run."""
    start = position(REPORTS_POSITION)
    if start is None:
        save_position(REPORTS_POSITION, UUID(int=sql.newest_report(before=before)))
        return
    after = start.int
    for _ in allowance.turns():
        until = sql.reports_end(after, REPORTS_AT_ONCE, before=before)
        if until is None:
            return
        sql.redact_reports(after, until)
        save_position(REPORTS_POSITION, UUID(int=until))
        after = until

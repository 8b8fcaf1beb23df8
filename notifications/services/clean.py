"""Clean: long after its end, a notification is deleted with all that belongs to it; only its end is still counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

import notifications.sql.arrivals as arrivals
import notifications.sql.clean as sql
import notifications.sql.inbound as inbound
import notifications.sql.sms_count as sms_count
from notifications.ids import first_id_at
from notifications.numbers import numbers
from notifications.services.allowance import Allowance, windows
from notifications.sql.accept import wait_at_most

log = structlog.get_logger(__name__)

AT_ONCE = 1000  # notifications in one transaction
LOCK_SECONDS = 0.5  # what others hold is passed over; this bounds what little is left to wait for
FIRST = UUID(int=0)
SMS_COUNTS_KEPT = timedelta(days=2)  # for whoever asks why something was refused yesterday


def clean(allowance: Allowance, *, now: datetime) -> int:
    """Delete notifications that ended long enough ago. Returns how many. Safe to run twice at once.

    Reports that match no message go as well, sooner, texts that came in, counts of SMS, and batches of which nothing is
    left. What is open, and what a person has yet to decide on, is left alone.
    """
    _delete_unmatched(allowance, before=now - timedelta(days=numbers().unmatched_keep_days))
    before = now - timedelta(days=numbers().delete_after_days)
    bound = first_id_at(before)  # what was accepted later has not ended before
    count, until = 0, FIRST
    for after, until in windows(allowance, FIRST, bound, AT_ONCE):
        count += _delete_window(after, until, before)
    if until != bound and allowance.is_used_up:
        log.warning("cleaning is behind", deleted=count)
    sql.let_go()
    inbound.delete(before=before)
    arrivals.delete(before=now - timedelta(days=numbers().arrivals_keep_days))
    sms_count.delete(before=now - SMS_COUNTS_KEPT)
    _delete_batches(allowance, bound)
    return count


@transaction.atomic
def _delete_window(after: UUID, until: UUID, before: datetime) -> int:
    wait_at_most(LOCK_SECONDS)
    ids, messages = unneeded(sql.lock_ended(after, until, before=before))
    if ids:
        sql.delete(ids, messages)
    return len(ids)


def unneeded(locked: Sequence[UUID]) -> tuple[list[UUID], list[UUID]]:
    """Those of locked notifications that nobody will need as they are, and their messages."""
    if not locked:
        return [], []
    messages = sql.messages_of(locked)
    needed = {owner for _, owner, is_needed in messages if is_needed}
    return (
        [id for id in locked if id not in needed],
        [id for id, owner, _ in messages if owner not in needed],
    )


def _delete_batches(allowance: Allowance, bound: UUID) -> None:
    for _ in allowance.turns():
        if sql.delete_batches(bound, AT_ONCE) < AT_ONCE:
            return


def _delete_unmatched(allowance: Allowance, *, before: datetime) -> None:
    for _ in allowance.turns():
        if sql.delete_unmatched(AT_ONCE, before=before) < AT_ONCE:
            return

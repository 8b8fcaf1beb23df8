"""Whose messages arrive: an account that takes what does not arrive in a country comes last there, until one does."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import structlog

import notifications.sql.arrivals as sql
from notifications.accounts import accounts
from notifications.models import Cause
from notifications.numbers import numbers
from notifications.sql.apply import Waiting
from notifications.sql.arrivals import Shares
from notifications.sql.reconcile import position, save_position
from providers.messages import Ability, EventKind

log = structlog.get_logger(__name__)

POSITION = "judge_arrivals"
AT_ONCE = 50_000  # attempts in one run: 1,600 a second
LATE = timedelta(minutes=2)  # what is older than it should be by more is left out: more of it has arrived


def judge_arrivals(*, now: datetime) -> int:
    """Count what has arrived, and judge whose counts have changed. Returns how many that is. Safe to run twice at once.

    Only accounts whose provider reports by itself: where we ask, it depends on the priority when we do.
    """
    age = timedelta(seconds=numbers().arrival_age_seconds)
    changed = _count(before=now - age)
    if not changed:
        return 0
    recent = (now - timedelta(seconds=numbers().judged_seconds)).replace(second=0, microsecond=0)
    usual = recent - timedelta(seconds=numbers().arrivals_usual_seconds)
    for share in sql.shares(changed, recent=recent, usual=usual):
        account = accounts.get(share.account_id)
        if account is not None and is_dead(share):
            accounts.open_silent(account, share.country, told(share))
    return len(changed)


def _count(*, before: datetime) -> list[tuple[int, str]]:
    """Count the next window of attempts. One that is far behind is passed over: counts are a sample."""
    start = position(POSITION)
    if start is None:
        save_position(POSITION, UUID(int=sql.newest()))
        return []
    window = sql.window(start.int, AT_ONCE, before=before)
    if window is None:
        return []
    since = before - LATE
    if window.count == AT_ONCE and window.ended_at < since:
        save_position(POSITION, UUID(int=sql.newest()))
        log.warning("counting arrivals is behind", behind_seconds=round((before - window.ended_at).total_seconds()))
        return []
    reporting = [account.id for account in accounts.all() if account.can(Ability.RECEIPTS)]
    return sql.count(POSITION, start.int, window.until, reporting, since=since, before=before)


def is_dead(share: Shares) -> bool:
    """Whether far less arrives than usually, as far as there is enough to compare."""
    if share.taken < numbers().arrivals_least or share.usually_taken < numbers().arrivals_usual_least:
        return False
    usually = share.usually_delivered / share.usually_taken
    return (
        usually >= numbers().arrivals_usual_share
        and share.delivered < numbers().arrivals_dead_share * usually * share.taken
    )


def told(share: Shares) -> str:
    """What was seen, in words."""
    usually = round(100 * share.usually_delivered / share.usually_taken)
    seconds = numbers().arrival_age_seconds
    within = f"{seconds / 60:g} minutes" if seconds > 60 else f"{seconds:g} seconds"
    return f"{share.delivered} of {share.taken} arrived within {within}, usually {usually} %"


def note_delivered(reports: Iterable[Waiting]) -> None:
    """Have what applied reports say of arrivals end the silence of the accounts that sent it.

    Not in the transaction that applies them, for all to see at once; one that is lost with its worker is made up for by the
    next arrival.
    """
    arrived = [
        report.message_id
        for report in reports
        if report.kind == EventKind.DELIVERED and _is_silent_somewhere(report.account_id)
    ]
    if arrived:
        accounts.note_arrivals(arrived)


def _is_silent_somewhere(account_id: int) -> bool:
    account = accounts.get(account_id)
    return account is not None and any(rest.cause is Cause.RECEIPTS for rest in account.breakers.values())

"""Quarantine: after a restore from a backup, ask the providers about what seems unsent before it is sent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import notifications.sql.quarantine as sql
from notifications.accounts import Accounts, ConnectedAccount
from notifications.routing import serves
from notifications.services.calls import suppose_call
from notifications.sql.begin import Intent
from notifications.sql.claim import Claimed
from providers.messages import Ability


def quarantine(before: datetime) -> int:
    """Have every open notification accepted before a moment asked about, before anything more of it is sent.

    Returns how many. Run it after a restore and before the workers start; safe to repeat.
    """
    return sql.mark(before)


def supposition(row: Claimed, accounts: Accounts) -> Intent | None:
    """The call that may have been made of a restored message and that nobody has asked about yet.

    None where all have been, or where it has been sent since. One account after the other is supposed: those that can
    be asked first, those that must be sent to under the old key after them, and the ones that know nothing last.
    """
    if row.restored_at is None:
        return None
    asked, is_sent_since = sql.asked_since(row.message_id, row.restored_at)
    candidates = [] if is_sent_since else [account for account in _able(row, accounts) if account.id not in asked]
    if not candidates:
        return None
    account = min(candidates, key=lambda account: (_rank(account), account.priority, account.id))
    return suppose_call(row, account, asked=len(asked))


def _able(row: Claimed, accounts: Accounts) -> Iterable[ConnectedAccount]:
    """On or off: it was on, perhaps, when the message went out."""
    return (account for account in accounts.all() if row.channel in account.channels and serves(account, row.country))


def _rank(account: ConnectedAccount) -> int:
    if account.can(Ability.FIND_BY_REFERENCE, Ability.FIND_BY_RECIPIENT):
        return 0
    return 1 if account.can(Ability.KEYS) else 2

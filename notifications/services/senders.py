"""Senders that may not be used in a country, as reports tell: nothing more is sent there with them."""

from __future__ import annotations

from collections.abc import Iterable

from notifications.accounts import ConnectedAccount, accounts
from notifications.models import Cause, Message
from notifications.sql.apply import Waiting
from providers.messages import EventKind


def open_senders(reports: Iterable[Waiting]) -> None:
    """Open the senders that applied reports complain of, each in its country.

    Not in the transaction that applies them: what it opens is for all to see at once, and a sender whose opening is lost
    with its worker is opened by the next report.
    """
    faults = {report.message_id: fault for report in reports if (fault := _fault(report))}
    if not faults:
        return
    countries = Message.objects.filter(id__in=list(faults)).values_list("id", "country")
    opened = {(faults[message_id][0].id, country): faults[message_id] for message_id, country in countries}
    for (_, country), (account, advice) in opened.items():
        accounts.open_sender(account, country, advice, Cause.RECEIPTS)


def _fault(report: Waiting) -> tuple[ConnectedAccount, str] | None:
    if report.kind != EventKind.FAILED or not report.error_code:
        return None
    account = accounts.get(report.account_id)
    advice = account.provider.sender_faults.get(report.error_code) if account else None
    return (account, advice) if account and advice else None

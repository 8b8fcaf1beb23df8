"""How many SMS a message is, and what that costs through the account that took it."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from notifications.accounts import ConnectedAccount, accounts
from notifications.models import Message
from notifications.sms.segments import MOST_SEGMENTS, count
from notifications.sql.record import Verdict
from notifications.states import State
from providers.messages import Channel

TAKEN = frozenset({State.SENT, State.DELIVERED, State.FAILED, State.QUEUED})  # by what reports say of an attempt


def cost_of(
    account: ConnectedAccount, channel: str, country: str, content: Any, *, told: int | None = None
) -> tuple[int | None, Decimal | None]:
    """How many SMS, None of anything else, and what they cost, None where the price is not known.

    `told` is how many the provider says it made; without it they are as many as the text makes.
    """
    segments = None
    if channel == Channel.SMS:
        is_told = told is not None and 0 < told <= MOST_SEGMENTS
        segments = told if is_told else count(content[channel].get("text", ""))
    price = account.price(country)
    return segments, None if price is None else price * (segments or 1)


def add_costs(verdicts: Iterable[Verdict]) -> None:
    """Say what messages cost whose provider's yes became known by a report alone: the answer to their call was lost."""
    news = {
        verdict.message_id: verdict
        for verdict in verdicts
        if verdict.leaving is not State.SENT and verdict.state in TAKEN
    }
    if not news:
        return
    unknown = Message.objects.filter(id__in=list(news), segments=None, cost=None)
    for id, channel, country, content in unknown.values_list("id", "channel", "country", "notification__content"):
        account = accounts.get(news[id].account_id)
        if account is not None and channel in content:  # else it is redacted
            news[id].segments, news[id].cost = cost_of(account, channel, country, content)

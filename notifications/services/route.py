"""Explain, without sending anything, which account would send to an address, and why the others would not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from notifications.accounts import ConnectedAccount
from notifications.addresses import country, normalise
from notifications.devices import reach
from notifications.models import Cause
from notifications.routing import preferred, serves
from providers.messages import Channel

RESTS = {
    Cause.CALLS: "resting: its provider failed",
    Cause.REGISTRATION: "resting: its sender may not be used",
    Cause.RECEIPTS: "resting: what it takes does not arrive",
    Cause.OPERATOR: "resting: a person stopped it",
}


@dataclass(frozen=True, slots=True)
class Consideration:
    """An account, and in words whether it would send: `rank` 1 is asked first, None is never asked now."""

    slug: str
    provider: str
    rank: int | None
    reason: str
    price: Decimal | None = None  # of a message, or of each SMS of one, where it is known


@dataclass(frozen=True, slots=True)
class Explained:
    address: str  # as it would be stored
    country: str  # ISO 3166-1 alpha-2, "" for an e-mail address
    accounts: list[Consideration]


def explain(
    address: str, accounts: Iterable[ConnectedAccount], *, region: str | None, channel: Channel | None = None
) -> Explained:
    """Consider every account for one address, by its looks if no channel is named. Raises InvalidAddress."""
    channel = channel or _channel_of(address)
    address = normalise(channel, address, region=region)
    land, reached_by = country(channel, address), reach(channel, address)
    considered = [
        (account, _obstacle(account, channel, land))
        for account in accounts
        if account.reach == reached_by or channel not in account.channels
    ]
    free = [account for account, obstacle in considered if obstacle is None]
    ranks = _ranks([account for account in free if land not in account.breakers], land)
    ranks |= _ranks(
        [account for account in free if land in account.breakers], land, after=max(ranks.values(), default=0)
    )
    rows = [_row(account, obstacle, ranks, land) for account, obstacle in considered]
    return Explained(address, land, sorted(rows, key=lambda row: (row.rank is None, row.rank or 0, row.slug)))


def _channel_of(address: str) -> Channel:
    """By its looks: only devices have a colon, only mailboxes an @."""
    if ":" in address:
        return Channel.PUSH
    return Channel.EMAIL if "@" in address else Channel.SMS


def _obstacle(account: ConnectedAccount, channel: Channel, land: str) -> str | None:
    if not account.is_on:
        return "switched off"
    if channel not in account.channels:
        return f"does not send {channel}"
    if not serves(account, land):
        return (
            f"not for {land}"
            if land in account.denied_countries
            else f"only for {', '.join(sorted(account.countries))}"
        )
    if account.opened_at is not None:
        return f"opened: {account.opened_reason}"
    if (rest := account.breakers.get(land)) is not None and not rest.is_last_resort:
        seen = RESTS[rest.cause] + (" there" if land else "")
        return f"{seen}: {rest.detail}" if rest.detail else seen
    return None


def _ranks(free: Sequence[ConnectedAccount], land: str, *, after: int = 0) -> dict[int, int]:
    """In whose turn each is asked, by its id."""
    ranks: dict[int, int] = {}
    while left := [account for account in free if account.id not in ranks]:
        turn = max(ranks.values(), default=after) + 1
        ranks |= {account.id: turn for account in preferred(left, land)}
    return ranks


def _row(account: ConnectedAccount, obstacle: str | None, ranks: Mapping[int, int], land: str) -> Consideration:
    name = account.provider.name
    if obstacle is not None:
        return Consideration(account.slug, name, None, obstacle)
    sender = account.provider.sender_for(land)
    price = account.price(land)
    facts = {
        "priority": account.priority,
        "weight": account.weight,
        "price": price,
        "from": sender or None,
        "rate": account.rates,
    }
    said = ", ".join(f"{fact} {value}" for fact, value in facts.items() if value is not None)
    if (rest := account.breakers.get(land)) is not None:
        said = f"as a last resort: {rest.detail}; {said}"
    return Consideration(account.slug, name, ranks[account.id], said, price)

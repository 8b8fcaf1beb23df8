"""Explain, without sending anything, which account would send to an address, and why the others would not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from notifications.accounts import ConnectedAccount
from notifications.addresses import country, normalise
from notifications.routing import serves
from providers.messages import Channel


@dataclass(frozen=True, slots=True)
class Consideration:
    """An account, and in words whether it would send: `rank` 1 is asked first, None is never asked now."""

    slug: str
    provider: str
    rank: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Explained:
    address: str  # as it would be stored
    country: str  # ISO 3166-1 alpha-2, "" for an e-mail address
    accounts: list[Consideration]


def explain(address: str, accounts: Iterable[ConnectedAccount], *, region: str | None) -> Explained:
    """Consider every account for one address. Raises InvalidAddress."""
    channel = Channel.EMAIL if "@" in address else Channel.SMS
    address = normalise(channel, address, region=region)
    land = country(channel, address)
    considered = [(account, _obstacle(account, channel, land)) for account in accounts]
    free = sorted({account.priority for account, obstacle in considered if obstacle is None})
    rows = [_row(account, obstacle, free, land) for account, obstacle in considered]
    return Explained(address, land, sorted(rows, key=lambda row: (row.rank is None, row.rank or 0, row.slug)))


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
    if land in account.breakers:
        return "resting: its provider failed there" if land else "resting: its provider failed"
    return None


def _row(account: ConnectedAccount, obstacle: str | None, free: list[int], land: str) -> Consideration:
    name = account.provider.name
    if obstacle is not None:
        return Consideration(account.slug, name, None, obstacle)
    sender = account.provider.sender_for(land)
    said = f"priority {account.priority}, weight {account.weight}" + (f", from {sender}" if sender else "")
    return Consideration(account.slug, name, free.index(account.priority) + 1, said)

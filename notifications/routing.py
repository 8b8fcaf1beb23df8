"""Which provider account for this message, and which next: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from random import Random
from typing import Protocol, TypeVar


class Candidate(Protocol):
    """What routing looks at."""

    @property
    def id(self) -> int: ...
    @property
    def channels(self) -> Collection[str]: ...
    @property
    def reach(self) -> str: ...
    @property
    def countries(self) -> Collection[str]: ...
    @property
    def denied_countries(self) -> Collection[str]: ...
    @property
    def priority(self) -> int: ...
    @property
    def weight(self) -> int: ...
    def price(self, country: str) -> Decimal | None: ...


AnyCandidate = TypeVar("AnyCandidate", bound=Candidate)


def serves(account: Candidate, country: str) -> bool:
    """Whether an account may send to a country; what is denied stays denied."""
    return country not in account.denied_countries and (not account.countries or country in account.countries)


def preferred(accounts: Sequence[AnyCandidate], country: str) -> Sequence[AnyCandidate]:
    """Those that are asked first: of the lowest priority number, and the cheapest of them where the price of each is known."""
    first = min(account.priority for account in accounts)
    best = [account for account in accounts if account.priority == first]
    prices = [price for account in best if (price := account.price(country)) is not None]
    if len(best) < 2 or len(prices) < len(best):
        return best
    return [account for account, price in zip(best, prices, strict=True) if price == min(prices)]


def choose(
    accounts: Iterable[AnyCandidate],
    *,
    channel: str,
    country: str,
    reach: str = "",
    tried: Collection[int],
    random: Random,
) -> AnyCandidate | None:
    """The account to send through, or None: never one just tried, lowest priority number first, then by price and weight."""
    eligible = [
        account
        for account in accounts
        if channel in account.channels
        and account.reach == reach
        and account.id not in tried
        and serves(account, country)
    ]
    if len(eligible) < 2:
        return eligible[0] if eligible else None
    best = preferred(eligible, country)
    if len(best) == 1:
        return best[0]
    return random.choices(best, weights=[max(account.weight, 1) for account in best])[0]

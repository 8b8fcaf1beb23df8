"""Which provider account for this message, and which next: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random
from typing import Protocol, TypeVar


class Candidate(Protocol):
    """What routing looks at."""

    @property
    def id(self) -> int: ...
    @property
    def channels(self) -> Collection[str]: ...
    @property
    def countries(self) -> Collection[str]: ...
    @property
    def denied_countries(self) -> Collection[str]: ...
    @property
    def priority(self) -> int: ...
    @property
    def weight(self) -> int: ...


AnyCandidate = TypeVar("AnyCandidate", bound=Candidate)


def serves(account: Candidate, country: str) -> bool:
    """Whether an account may send to a country; what is denied stays denied."""
    return country not in account.denied_countries and (not account.countries or country in account.countries)


def choose(
    accounts: Iterable[AnyCandidate], *, channel: str, country: str, tried: Collection[int], random: Random
) -> AnyCandidate | None:
    """The account to send through, or None: lowest priority number first, among equals by weight, never one just tried."""
    eligible = [
        account
        for account in accounts
        if channel in account.channels and account.id not in tried and serves(account, country)
    ]
    if len(eligible) < 2:
        return eligible[0] if eligible else None
    first = min(account.priority for account in eligible)
    best = [account for account in eligible if account.priority == first]
    if len(best) == 1:
        return best[0]
    return random.choices(best, weights=[max(account.weight, 1) for account in best])[0]

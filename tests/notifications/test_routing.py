"""Which account is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from notifications.prices import price_in
from notifications.routing import choose


@dataclass(frozen=True)
class Candidate:
    id: int
    channels: tuple[str, ...] = ("sms",)
    reach: str = ""
    countries: tuple[str, ...] = ()
    denied_countries: tuple[str, ...] = ()
    priority: int = 10
    weight: int = 1
    prices: Mapping[str, Decimal] = field(default_factory=dict)

    def price(self, country: str) -> Decimal | None:
        return price_in(self.prices, country)


def priced(id: int, amount: str, **fields: Any) -> Candidate:
    return Candidate(id, prices={"DE": Decimal(amount)}, **fields)


def chosen(*accounts: Candidate, channel: str = "sms", country: str = "DE", tried: tuple[int, ...] = ()) -> int | None:
    account = choose(accounts, channel=channel, country=country, tried=tried, random=Random(1))
    return account.id if account else None


def shares(*accounts: Candidate, draws: int = 4000) -> dict[int, float]:
    """What part of many messages each account gets."""
    chance = Random(1)
    counts = Counter(
        account.id
        for _ in range(draws)
        if (account := choose(accounts, channel="sms", country="DE", tried=(), random=chance))
    )
    return {id: count / draws for id, count in counts.items()}


class TestChoose:
    @pytest.mark.parametrize(
        ("accounts", "expected"),
        [
            pytest.param([], None, id="nobody, of none"),
            pytest.param([Candidate(1)], 1, id="the only one"),
            pytest.param([Candidate(1, channels=("email",))], None, id="nobody, for another channel"),
            pytest.param([Candidate(1, channels=("email", "sms"))], 1, id="one of several channels"),
            pytest.param([Candidate(1, countries=("DE", "AT"))], 1, id="one for this country"),
            pytest.param([Candidate(1, countries=("FR",))], None, id="nobody, for another country"),
            pytest.param([Candidate(1, denied_countries=("DE",))], None, id="nobody, for a country that is denied"),
            pytest.param(
                [Candidate(1, countries=("DE",), denied_countries=("DE",))],
                None,
                id="nobody, for one denied and allowed",
            ),
            pytest.param([Candidate(1, priority=20), Candidate(2, priority=10)], 2, id="the lowest priority number"),
            pytest.param(
                [Candidate(1, priority=20, weight=1000), Candidate(2, priority=10)], 2, id="priority before weight"
            ),
            pytest.param(
                [Candidate(1, priority=1, countries=("FR",)), Candidate(2, priority=99)],
                2,
                id="the first that may, not the first",
            ),
        ],
    )
    def test_takes(self, accounts, expected):
        assert chosen(*accounts) == expected

    @pytest.mark.parametrize(
        ("tried", "expected"), [((), 1), ((1,), 2), ((1, 2), 3), ((2,), 1), ((1, 2, 3), None), ((99,), 1)]
    )
    def test_never_takes_one_that_was_just_tried(self, tried, expected):
        accounts = [Candidate(1, priority=1), Candidate(2, priority=2), Candidate(3, priority=3)]

        assert chosen(*accounts, tried=tried) == expected

    def test_gives_a_message_without_a_country_only_to_accounts_for_all(self):
        everywhere, germany = Candidate(1, priority=20), Candidate(2, countries=("DE",), priority=10)

        assert chosen(everywhere, germany, country="") == 1
        assert chosen(germany, country="") is None

    def test_shares_messages_among_equals_by_weight(self):
        result = shares(Candidate(1, weight=3), Candidate(2, weight=1))

        assert result[1] == pytest.approx(0.75, abs=0.03)

    def test_gives_an_account_of_no_weight_a_share_all_the_same(self):
        result = shares(Candidate(1, weight=0), Candidate(2, weight=1))

        assert result[1] == pytest.approx(0.5, abs=0.03)

    def test_takes_the_cheapest_of_equals(self):
        accounts = [priced(1, "0.08", weight=1000), priced(2, "0.0750"), priced(3, "0.09", priority=1)]

        assert shares(*accounts[:2]) == {2: 1.0}
        assert shares(*accounts) == {3: 1.0}

    def test_shares_messages_by_weight_among_the_cheapest(self):
        result = shares(priced(1, "0.075", weight=3), priced(2, "0.0750"), priced(3, "0.08", weight=1000))

        assert result.keys() == {1, 2}
        assert result[1] == pytest.approx(0.75, abs=0.03)

    def test_compares_no_prices_where_one_is_not_known(self):
        elsewhere = Candidate(2, prices={"FR": Decimal("0.01")})

        assert shares(priced(1, "0.075"), elsewhere).keys() == {1, 2}
        assert shares(priced(1, "0.075"), priced(2, "0.08"), Candidate(3, weight=0, priority=99)) == {1: 1.0}

    def test_takes_its_chance_from_the_one_it_is_given(self):
        accounts = [Candidate(id) for id in range(50)]

        assert chosen(*accounts) == chosen(*accounts)

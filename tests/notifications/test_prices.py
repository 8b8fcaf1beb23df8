"""Prices as operators write them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from notifications.prices import InvalidPrices, price_in, read_prices


def test_are_exact_amounts_by_country():
    prices = read_prices({"DE": "0.075", "FR": "0", "*": "0.05"})

    assert price_in(prices, "DE") == Decimal("0.075")
    assert price_in(prices, "FR") == 0
    assert price_in(prices, "US") == price_in(prices, "") == Decimal("0.05")


def test_are_not_known_where_none_is_named():
    assert price_in(read_prices({"DE": "0.075"}), "US") is None
    assert price_in(read_prices({}), "DE") is None


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ([], "by country"),
        (None, "by country"),
        ({"de": "0.075"}, '"de" is no country'),
        ({"DEU": "0.075"}, '"DEU" is no country'),
        ({"": "0.075"}, '"" is no country'),
        *(
            ({"DE": amount}, 'The price for "DE"')
            for amount in (0.075, 1, None, "", "-1", "1000", "0,075", "1e3", "NaN", "0.0000001", "\u0663", "1\n")
        ),
    ],
)
def test_that_make_no_sense_are_refused(written, words):
    with pytest.raises(InvalidPrices, match=words):
        read_prices(written)

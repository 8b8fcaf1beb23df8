"""What a message costs through an account, by country: exact amounts, in the currency that the provider bills in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

ELSEWHERE = "*"  # every country that has no price of its own
_COUNTRY = re.compile("[A-Z]{2}")
_AMOUNT = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?")  # with 255 SMS it still fits into the column


class InvalidPrices(ValueError):
    """The text says what is wrong, and what would be right."""


def read_prices(written: Any) -> dict[str, Decimal]:
    """Prices as an operator wrote them: amounts as text, by country or "*". Raises InvalidPrices."""
    if not isinstance(written, dict):
        raise InvalidPrices('Give prices by country: {"DE": "0.075", "*": "0.05"}.')
    for country, amount in written.items():
        if country != ELSEWHERE and not _COUNTRY.fullmatch(country):
            raise InvalidPrices(f'"{country}" is no country; give two capital letters, or "*" for every other one.')
        if not isinstance(amount, str) or not _AMOUNT.fullmatch(amount):
            raise InvalidPrices(
                f'The price for "{country}" is no amount as text, like "0.075": below 1000, with 6 decimal places at most.'
            )
    return {country: Decimal(amount) for country, amount in written.items()}


def price_in(prices: Mapping[str, Decimal], country: str) -> Decimal | None:
    """The price for a country, or None where it is not known."""
    return prices.get(country, prices.get(ELSEWHERE)) if prices else None

"""How many SMS an hour may go to a country: limits by ISO 3166 code, and under "*" that of each country not named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phonenumbers import SUPPORTED_REGIONS

EACH_OTHER = "*"
MOST = 1_000_000_000  # two of them still fit into the column that counts


def limit_of(limits: Mapping[str, int], country: str) -> int | None:
    """The limit of a country, or of numbers in none (""); None where there is none."""
    return limits.get(country, limits.get(EACH_OTHER))


def unknown_countries(codes: Iterable[str]) -> str:
    """What is wrong with codes that no phone number has; empty if they all are countries."""
    unknown = sorted(set(codes) - SUPPORTED_REGIONS)
    return f"no such countries: {', '.join(unknown)} (accepted: ISO 3166 codes such as DE)" if unknown else ""


def limit_faults(limits: Any) -> Iterator[str]:
    """What is wrong with limits as somebody has written them."""
    if not isinstance(limits, dict):
        yield 'not an object (accepted: limits by country, e.g. {"DE": 5000, "*": 100})'
        return
    if fault := unknown_countries(code for code in limits if code != EACH_OTHER):
        yield fault
    for code, limit in limits.items():
        if type(limit) is not int or not 1 <= limit <= MOST:
            yield f"{code}: not a positive whole number (accepted: 1 to {MOST:,})"

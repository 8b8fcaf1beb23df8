"""Limits of SMS an hour, as somebody writes them."""

from __future__ import annotations

import pytest

from notifications.sms.limits import MOST, limit_faults, limit_of


@pytest.mark.parametrize(("country", "limit"), [("DE", 5000), ("FR", 100), ("", 100)])
def test_of_a_country_is_its_own_or_that_of_each_other(country, limit):
    assert limit_of({"DE": 5000, "*": 100}, country) == limit


@pytest.mark.parametrize("country", ["FR", ""])
def test_of_a_country_that_nothing_is_said_of_is_none(country):
    assert limit_of({"DE": 5000}, country) is None


@pytest.mark.parametrize("limits", [{}, {"DE": 1}, {"DE": MOST, "*": 100}])
def test_that_can_be_kept_have_no_faults(limits):
    assert [*limit_faults(limits)] == []


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([], "not an object"),
        ("DE", "not an object"),
        ({"de": 1}, "no such countries: de"),
        ({"XX": 1, "UK": 1}, "no such countries: UK, XX"),
        ({"": 1}, "no such countries"),
        ({"DE": 0}, "DE: not a positive whole number"),
        ({"*": -1}, r"\*: not a positive whole number"),
        ({"DE": 1.5}, "DE: not"),
        ({"DE": "5"}, "DE: not"),
        ({"DE": True}, "DE: not"),
        ({"DE": None}, "DE: not"),
        ({"DE": MOST + 1}, "DE: not"),
    ],
)
def test_that_cannot_be_kept_are_named(limits, words):
    [fault] = limit_faults(limits)

    with pytest.raises(ValueError, match=words):
        raise ValueError(fault)

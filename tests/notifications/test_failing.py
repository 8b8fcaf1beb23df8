"""A provider in trouble is told by failures in a row, or by their share of its latest calls."""

from __future__ import annotations

import pytest

from notifications.failing import Failing

# By default: five in a row, or half of at least 20 calls within 60 seconds.


def calls(failing: Failing, pattern: str, *, start: float = 1000.0, seconds: float = 1.0) -> list[int]:
    """Make calls, one every so many seconds: F fails, anything else is answered. Returns which of them told of trouble."""
    told = []
    for number, call in enumerate(pattern):
        at = start + number * seconds
        if call != "F":
            failing.answered(at)
        elif failing.failed(at):
            told.append(number)
    return told


@pytest.mark.parametrize(
    ("pattern", "trouble"),
    [
        ("FFFF", []),
        ("FFFFF", [4]),
        ("FFFF.FFFF", []),
        (".FFFFF", [5]),
        ("FFFFFFFFFF", [4, 9]),  # counting begins anew
        (".F" * 9, []),  # half, but not yet of twenty
        (".F" * 10, [19]),
        ("F.." * 20, []),
        ("F." * 9 + "..", []),
        ("." * 20 + "FFFF." * 8, [51]),
        (".F" * 20, [19, 39]),
    ],
)
def test_trouble_is_told_once_it_is_seen(pattern, trouble):
    assert calls(Failing(), pattern) == trouble


def test_calls_of_a_minute_ago_do_not_count():
    failing = Failing()
    calls(failing, ".F" * 9)

    assert calls(failing, ".F" * 9, start=1000.0 + 61.0 + 18.0) == []


def test_the_window_moves_with_each_sixth_of_it():
    failing = Failing()
    calls(failing, "." * 20, seconds=0.1)

    told = calls(failing, ".F" * 20, start=1040.0)

    assert told == [21], "a minute after them, the twenty good calls do not weigh any more"


def test_few_calls_over_a_long_time_are_never_enough():
    assert calls(Failing(), ".F" * 200, seconds=10.0) == []


def test_numbers_may_be_others(numbers_are):
    numbers_are(failures_in_a_row=3, failing_calls=4, failing_share=0.75, failing_seconds=6.0)

    assert calls(Failing(), "FF.F") == [3]
    assert calls(Failing(), "FFF") == [2]
    assert calls(Failing(), "F.F.F.F.", seconds=0.1) == []

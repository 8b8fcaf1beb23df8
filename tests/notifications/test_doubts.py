"""A refusal that may be our own fault is believed between two yeses, and blamed on us with enough of its kind."""

from __future__ import annotations

import pytest

from notifications.doubts import Doubts

# By default: five addresses in a row are our fault; a yes counts for ten minutes.


def play(story: str, doubts: Doubts[str] | None = None, *, seconds: float = 1.0) -> tuple[set[str], list[int]]:
    """One answer every so many seconds: a letter in upper case is an address that refuses, in lower case one that takes.

    Returns which refusals are believed in the end, and which of all answers told of a fault of ours.
    """
    doubts = doubts or Doubts()
    believed: set[str] = set()
    ours = []
    for number, letter in enumerate(story):
        at = 1000.0 + number * seconds
        if letter.islower():
            believed.update(doubts.taken(letter, at))
        elif doubts.refused(letter.lower(), letter, at):
            ours.append(number)
    return believed, ours


@pytest.mark.parametrize(
    ("story", "believed", "ours"),
    [
        ("aBc", {"B"}, []),
        ("aB", set(), []),  # whatever began may go on
        ("Bc", set(), []),  # whatever was may be mended
        ("aBb", set(), []),  # it works after all
        ("bBb", set(), []),
        ("bBc", set(), []),  # it worked for itself alone
        ("abBa", {"B"}, []),  # an older yes was another's
        ("aBCDEf", {"B", "C", "D", "E"}, []),
        ("aBCDEFg", set(), [5]),
        ("aBCDEFGHg", set(), [5, 6, 7]),
        ("aBBBBBBc", {"B"}, []),  # one dead device, however often
        ("aBCDEFaXb", {"X"}, [5]),
        ("aXbBCDEFc", {"X"}, [7]),
    ],
)
def test_believes_what_lies_between_two_others(story: str, believed: set[str], ours: list[int]) -> None:
    assert play(story) == (believed, ours)


@pytest.mark.parametrize(("seconds", "believed"), [(599.0, {"B"}), (601.0, set())])
def test_a_yes_counts_for_some_minutes(seconds: float, believed: set[str]) -> None:
    assert play("aBc", seconds=seconds)[0] == believed


def test_keeps_no_more_than_it_needs() -> None:
    doubts: Doubts[str] = Doubts()

    play("abcdefgh" * 50 + "IJKLMNOPQRS", doubts)

    assert (len(doubts._yes), doubts._pending) == (2, [])

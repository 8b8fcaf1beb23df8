"""When to try again, and when to ask again."""

from __future__ import annotations

from random import Random

import pytest

from notifications.lanes import Priority
from notifications.numbers import numbers
from notifications.retries import CHECKS_SECONDS, check_in_seconds, retry_in_seconds

HOUR = 3600
TOTAL_SECONDS = {
    Priority.CRITICAL: 600,
    Priority.HIGH: 900,
    Priority.NORMAL: 1800,
    Priority.BULK: 6 * HOUR,
}

# After this many failed tries, the longest wait in seconds.
LONGEST_SECONDS = [
    (Priority.CRITICAL, 1, 600 / 127),
    (Priority.CRITICAL, 2, 1200 / 127),
    (Priority.CRITICAL, 7, 38_400 / 127),
    (Priority.HIGH, 1, 900 / 127),
    (Priority.HIGH, 7, 57_600 / 127),
    (Priority.NORMAL, 1, 1800 / 127),
    (Priority.NORMAL, 4, 14_400 / 127),
    (Priority.NORMAL, 7, 115_200 / 127),
    (Priority.BULK, 1, 21_600 / 127),
    (Priority.BULK, 7, 1_382_400 / 127),
]


class Dice(Random):
    """Chance that always falls at the same fraction of the range."""

    def __init__(self, fraction: float) -> None:
        super().__init__()
        self.fraction = fraction

    def random(self) -> float:
        return self.fraction


def wait(priority: Priority, tries: int, *, fraction: float = 1.0, asked: float | None = None) -> float:
    return retry_in_seconds(priority, tries=tries, retry_after_seconds=asked, random=Dice(fraction))


class TestRetryInSeconds:
    @pytest.mark.parametrize(("priority", "tries", "longest"), LONGEST_SECONDS)
    def test_waits_at_most_twice_as_long_after_each_try(self, priority, tries, longest):
        assert wait(priority, tries) == pytest.approx(longest)

    @pytest.mark.parametrize(("priority", "tries", "longest"), LONGEST_SECONDS)
    def test_jitters_over_the_whole_range(self, priority, tries, longest):
        assert wait(priority, tries, fraction=0.0) == 0.0
        assert wait(priority, tries, fraction=0.25) == pytest.approx(longest / 4)

    def test_takes_its_chance_from_the_one_it_is_given(self):
        waits = [
            retry_in_seconds(Priority.NORMAL, tries=3, retry_after_seconds=None, random=Random(7)) for _ in range(2)
        ]

        assert waits[0] == waits[1]

    @pytest.mark.parametrize("priority", Priority)
    def test_adds_up_to_the_time_of_its_priority(self, priority):
        waits = [wait(priority, tries) for tries in range(1, numbers().tries)]

        assert sum(waits) == pytest.approx(TOTAL_SECONDS[priority])

    @pytest.mark.parametrize("tries", [1, 2, 3, 8])
    def test_adds_up_for_any_number_of_tries(self, numbers_are, tries):
        numbers_are(tries=tries)

        waits = [wait(Priority.CRITICAL, number) for number in range(1, max(tries, 2))]

        assert sum(waits) == pytest.approx(600)

    @pytest.mark.parametrize("priority", Priority)
    def test_counts_no_spent_try_as_one(self, priority):
        assert wait(priority, 0) == wait(priority, 1)

    @pytest.mark.parametrize(("tries", "like"), [(9, 8), (100, 8)])
    def test_grows_no_further_than_the_last_try(self, tries, like):
        assert wait(Priority.NORMAL, tries) == wait(Priority.NORMAL, like)

    @pytest.mark.parametrize(
        ("asked", "fraction", "expected"),
        [
            (None, 0.0, 0.0),
            (0.0, 0.0, 0.0),
            (30.0, 0.0, 30.0),  # chance says now, the provider does not
            (3.0, 1.0, 600 / 127),  # the provider is content with less than chance says
            (7200.0, 1.0, 7200.0),  # more than all our tries together
        ],
    )
    def test_waits_at_least_as_long_as_the_provider_asked(self, asked, fraction, expected):
        assert wait(Priority.CRITICAL, 1, fraction=fraction, asked=asked) == pytest.approx(expected)


class TestCheckInSeconds:
    @pytest.mark.parametrize(
        ("priority", "schedule"),
        [
            (Priority.CRITICAL, [10, 30, 120, 600, HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR]),
            (Priority.HIGH, [10, 30, 120, 600, HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR]),
            (Priority.NORMAL, [120, 600, HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR]),
            (Priority.BULK, [1800, HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR]),
        ],
    )
    def test_asks_ever_more_rarely_and_one_step_later_where_receipts_come(self, priority, schedule):
        without = [check_in_seconds(priority, checks=number, has_receipts=False) for number in range(8)]
        with_receipts = [check_in_seconds(priority, checks=number, has_receipts=True) for number in range(7)]

        assert without == schedule
        assert with_receipts == schedule[1:]

    def test_has_a_schedule_for_every_priority(self):
        assert set(CHECKS_SECONDS) == set(Priority)

    def test_keeps_the_pace_of_the_settings(self, numbers_are):
        numbers_are(check_pace=0.5)

        assert check_in_seconds(Priority.CRITICAL, checks=0, has_receipts=False) == 5
        assert check_in_seconds(Priority.BULK, checks=9, has_receipts=True) == 3 * HOUR

"""When to try again, and when to ask again: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from notifications.lanes import Priority
from notifications.numbers import numbers

# Seconds before each status check, the last one for ever after.
CHECKS_SECONDS = {
    Priority.CRITICAL: (10, 30, 120, 600, 3600, 21_600),
    Priority.HIGH: (10, 30, 120, 600, 3600, 21_600),
    Priority.NORMAL: (120, 600, 3600, 21_600),
    Priority.BULK: (1800, 3600, 21_600),
}


def retry_in_seconds(
    priority: Priority,
    *,
    tries: int,
    retry_after_seconds: float | None,
    random: Random,
    schedule: Sequence[float] = (),
) -> float:
    """How long to wait after `tries` failed tries (0 counts as 1): exponential with full jitter, at least what was asked.

    The longest possible waits of all tries add up to the priority's `…_retry_seconds`. Where the field has agreed on a
    schedule, its waits count, each up to a tenth longer.
    """
    if schedule:
        wait = schedule[min(max(tries, 1), len(schedule)) - 1] * random.uniform(1.0, 1.1)
    else:
        wait = random.uniform(0, longest_retry_seconds(priority, tries=tries))
    return max(wait, retry_after_seconds or 0.0)


def most_tries(schedule: Sequence[float] = ()) -> int:
    """How many calls may fail before a message is given up."""
    return len(schedule) + 1 if schedule else numbers().tries


def longest_retry_seconds(priority: Priority, *, tries: int) -> float:
    """The most that `retry_in_seconds` waits without being asked to."""
    total: float = getattr(numbers(), f"{priority.value}_retry_seconds")
    exponent = min(max(tries, 1), numbers().tries) - 1
    return total * 2.0**exponent / max(2.0 ** (numbers().tries - 1) - 1, 1)


def check_in_seconds(priority: Priority, *, checks: int, has_receipts: bool) -> float:
    """How long until status check number `checks` + 1; one step later where receipts come by themselves."""
    waits = CHECKS_SECONDS[priority]
    return waits[min(checks + has_receipts, len(waits) - 1)] * numbers().check_pace

"""What was found about one goal, and what may be said of several runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

GOALS = {
    "P1": "full path over curl: at least 4 R",
    "P2": "full path over `requests`: at least 1.3 R",
    "P3": "over curl, at least 60 times the naive design, 8 times django-post_office, 35 times procrastinate",
    "P4": "at most 0.02 SQL statements a bulk message; for one urgent message 1 to accept and 3 to deliver",
    "P5": "CPU of all components at most 0.3 of what bare `requests` costs",
    "P6": "idle, 20 a second: accept to provider call p50 at most 6 ms, p99 at most 25 ms",
    "P7": "urgent p99 at most 75 ms while a broadcast drains at 3 R or more on the same cores",
    "P8": "1,000,000 recipients: accepted within 10 s, first send 0.5 s later, all on file within 90 s, workers within 350 MiB",
    "P9": "with 10,000,000 stored a message costs at most 1.15 of what it costs with 10,000",
    "P10": "20 workers killed in a broadcast: none lost, repeats bounded by what was in flight, each marked",
    "P11": "a provider that takes 50 ms: at least 0.8 of what K calls a process allow",
    "P12": "of 20 endpoints 3 misbehave: the others have each event, p95 at most 1.05 of that without those; theirs come later",
}


@dataclass
class Finding:
    """One row of the table. `is_met` None: not measured, and `measured` says why."""

    goal: str
    measured: str
    is_met: bool | None = None
    ratio: str = ""

    @property
    def verdict(self) -> str:
        return {True: "met", False: "not met", None: "not measured"}[self.is_met]


@dataclass
class Findings:
    """All rows, the contenders' own table, and what was thrown away and why."""

    rows: list[Finding] = field(default_factory=list)
    contenders: list[list[str]] = field(default_factory=list)
    thrown_away: list[str] = field(default_factory=list)

    def add(self, goal: str, measured: str, *, is_met: bool | None = None, ratio: str = "") -> None:
        self.rows.append(Finding(goal, measured, is_met, ratio))


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Median and range, for people."""
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), median(values), max(values)))
    return f"{middle} [{low}..{high}]" if len(values) > 1 else middle


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]

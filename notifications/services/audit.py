"""Audit: does every accepted notification count in exactly one place, and does every row agree with its neighbours?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection, transaction

import notifications.sql.audit as sql
from notifications.sql.reconcile import window_end
from notifications.states import End

WINDOW = 50_000
FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Fault:
    """A row that contradicts another: what kind of contradiction, which row, and what is wrong in words."""

    kind: str
    id: UUID
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.id} {self.sentence}"


@dataclass(slots=True)
class Report:
    """What an audit found. `counts` by end, and open; what has been deleted is among them, and in `cleaned` alone."""

    accepted: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    cleaned: Counter[str] = field(default_factory=Counter)
    possible_duplicates: int = 0
    faults: list[Fault] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        return not self.faults

    def faults_of(self, kind: str) -> int:
        return sum(fault.kind == kind for fault in self.faults)

    def lines(self) -> list[str]:
        """The report for people: one line per end, the identity, what is cleaned, the entries, the possible duplicates, the faults."""
        places = [*End.values, "open"]
        identity = " + ".join(f"{place} {self.counts[place]}" for place in places)
        cleaned = " + ".join(f"{end} {self.cleaned[end]}" for end in End.values if self.cleaned[end])
        return [
            *(f"{place:<15}{self.counts[place]:>10}" for place in places),
            f"accepted {self.accepted} = {identity}   {'OK' if self.is_sound else 'BROKEN'}",
            *([f"cleaned {self.cleaned.total()} of these: {cleaned}"] if cleaned else []),
            f"entries: {self.faults_of(sql.MISSING_ENTRY)} missing, {self.faults_of(sql.SURPLUS_ENTRY)} surplus",
            f"possible duplicates: {self.possible_duplicates}",
            *map(str, self.faults),
        ]


def audit(window: int = WINDOW) -> Report:
    """Check every row against the promises, in one snapshot of the database, by windows of ids. Changes nothing."""
    report = Report()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        report.cleaned.update(sql.cleaned())
        report.counts.update(report.cleaned)
        report.accepted += report.cleaned.total()
        after = FIRST
        while (until := window_end(after, window)) is not None:
            report.accepted += sql.accepted(after, until)
            report.counts.update(sql.ends(after, until))
            report.possible_duplicates += sql.possible_duplicates(after, until)
            report.faults += [Fault(*row) for row in sql.contradictions(after, until)]
            after = until
        report.faults += [Fault(*row) for row in sql.orphans()]
    return report

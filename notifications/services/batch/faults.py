"""What is wrong with a file, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from notifications.services.request import FieldError, Refused

SHOWN = 100  # faults that an answer names; the others are counted


@dataclass(frozen=True, slots=True)
class LineError(FieldError):
    """Why a line was refused. Lines count from 1, as an editor shows them; of a row with several, its first."""

    line: int

    def __str__(self) -> str:
        return f"line {self.line}, {self.field}: {self.reason} (accepted: {self.accepted})"


def at_line(line: int, errors: Iterable[FieldError]) -> list[LineError]:
    """Faults of fields, with the line that they are in."""
    return [LineError(error.field, error.reason, error.accepted, line) for error in errors]


class BadRows(Refused):
    """Rows are at fault and may not be skipped, or none is left. Holds the first faults, and how many rows have any."""

    def __init__(self, errors: list[LineError], *, bad_count: int, row_count: int) -> None:
        super().__init__([*errors])
        self.bad_count = bad_count
        self.row_count = row_count


class BadFile(Refused):
    """The file cannot be cut into rows from some line on, so that no row can be skipped alone."""

    def __init__(self, line: int, reason: str, accepted: str, *, field: str = "row") -> None:
        super().__init__([LineError(field, reason, accepted, line)])

"""What a check finds, and how bad it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    OK = 0
    NOTE = 1  # worth knowing
    WARNING = 2  # works, and may not for long or not as meant
    ERROR = 3  # does not work


_SEVERITIES = {"": Severity.OK, "N": Severity.NOTE, "W": Severity.WARNING, "E": Severity.ERROR}
_EXIT_CODES = {Severity.OK: 0, Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about the configuration. Never holds a secret or an address.

    `code` never changes once given: `E` an error, `W` a warning, `N` a note, and a number; empty when all is well.
    `fact` is a sentence that says what is so, `remedy` one or two that say what to do.
    """

    code: str
    fact: str
    remedy: str = ""

    @property
    def severity(self) -> Severity:
        return _SEVERITIES[self.code[:1]]

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.severity.name.lower():<8} {self.fact} {self.remedy}".rstrip()


def exit_code(findings: Iterable[Finding]) -> int:
    """0 for nothing worse than a note, 1 for warnings, 2 for errors."""
    return _EXIT_CODES[max((finding.severity for finding in findings), default=Severity.OK)]


def spoken(seconds: float) -> str:
    """A time as people say it: 90 s, 5 min, 3 h, 2 days."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def listed(words: Iterable[str]) -> str:
    """Words with commas and an "and", as a sentence wants them."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last

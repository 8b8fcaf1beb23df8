"""What the bench found, as a page for people."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from config.processes import ROOT
from tests.bench.findings import GOALS, Findings
from tests.bench.house import CORES, House

DOCUMENT = ROOT / "docs" / "benchmarks.md"
PACKAGES = ("celery", "django", "psycopg", "pycurl", "requests")
CONTENDER_COLUMNS = (
    "Design",
    "Messages",
    "A second",
    "× R",
    "CPU, us a message",
    "Workers",
    "PostgreSQL",
    "Valkey",
    "Stub",
)

METHOD = """\
R is what two processes of bare `requests.Session.post` reach against the same stub, with nothing else running: machines
differ, so goals are ratios to it, taken in the same run. (With another number of cores, one process per core.) The designs
take turns; figures are medians, with the lowest and the highest. PostgreSQL syncs every commit to disk. Messages are
accepted before the clock starts; it runs from the first hint to the last row on file. The product's workers are those of
the Procfile, bulk at `nice` with one process per core. CPU is that of all processes, servers and the stub.

A run counts only if posts at the stub, unique attempts there, and attempts on file are all N, and the product's own audit
finds no fault."""


@dataclass(frozen=True)
class Made:
    """When, where and with what a page was made."""

    date: str
    commit: str
    versions: str
    stub: str
    repeats: int

    @property
    def sentence(self) -> str:
        return (
            f"Made by `make bench` on {self.date} at commit `{self.commit}`, {CORES} cores, {self.repeats} repeats. "
            f"{self.versions}. Stub: {self.stub}."
        )

    @classmethod
    def now(cls, house: House, *, repeats: int) -> Made:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        server = str(house.rows("SHOW server_version")[0][0]).split()[0]
        packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
        versions = f"Python {platform.python_version()}, PostgreSQL {server}, {packages}"
        return cls(
            f"{datetime.now(UTC):%Y-%m-%d}", commit.stdout.strip() or "unknown", versions, house.stub.kind, repeats
        )


def markdown(findings: Findings, made: Made) -> str:
    """The whole page."""
    rows = []
    for goal, sentence in GOALS.items():
        found = [row for row in findings.rows if row.goal == goal]
        for number, row in enumerate(found):
            rows.append([goal, "" if number else sentence, row.measured, row.ratio, row.verdict])
        if not found:
            rows.append([goal, sentence, "", "", "not measured in this run"])
    return "\n".join(
        [
            "# Benchmarks",
            "",
            made.sentence,
            "",
            *_table(["", "Goal", "Measured", "Ratio", "Verdict"], rows),
            "",
            METHOD,
            "",
            *_table(CONTENDER_COLUMNS, findings.contenders),
            "",
            *([f"Thrown away: {len(findings.thrown_away)}."] if not findings.thrown_away else []),
            *(f"- Thrown away: {line}" for line in findings.thrown_away),
            "",
        ]
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]

"""`make faults`: break everything, and say what became of the promises. Exits 1 if one did not hold."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults import table
from tests.faults.judge import Verdict
from tests.faults.rows import broker, clocks, database, defaults, outputs, races, vendors, workers
from tests.faults.stage import Row

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "faults.md"
GROUPS = {
    "Providers slow, silent, down, or telling too much": vendors,
    "Clients that race": races,
    "Broker down, frozen, emptied, full, demoted, half-open": broker,
    "Database down, read-only, full, losing sessions, restored": database,
    "Clocks an hour off": clocks,
    "Workers, beat and web killed, frozen, poisoned, deployed": workers,
    "What all processes have said meanwhile": outputs,
    "All Celery settings at their defaults": defaults,
}
ROWS: list[Row] = [replace(row, group=group) for group, module in GROUPS.items() for row in module.ROWS]
SHORT_SIZE = 0.2
SHORT_PATIENCE = 6.0  # it runs beside other tests


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    chosen = [row for row in ROWS if _is_chosen(row, options)]
    if not chosen:
        sys.exit(f"no row is called like {options.row}; there are:\n" + "\n".join(f"  {row.name}" for row in ROWS))
    if options.house is not None:
        _play_in(options.house, chosen, options)
        return 0
    began_at = time.monotonic()
    verdicts = _in_all_houses(chosen, options)
    _conclude(verdicts, options, time.monotonic() - began_at, is_whole=len(chosen) == len(ROWS) and not options.short)
    return int(any(verdict.broken for verdict in verdicts) or len(verdicts) < len(chosen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few rows, a fifth of the size: under three minutes")
    parser.add_argument("--row", action="append", help="only rows whose name contains this; may be repeated")
    parser.add_argument("--size", type=float, help="how often each fault is repeated: 1 is the full set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--house", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, help=argparse.SUPPRESS)
    return parser


def _is_chosen(row: Row, options: argparse.Namespace) -> bool:
    return (
        (options.row is None or any(part.lower() in row.name.lower() for part in options.row))
        and (row.is_short or not options.short)
        and options.house in (None, row.house)
    )


def _in_all_houses(rows: Sequence[Row], options: argparse.Namespace) -> list[Verdict]:
    """One process per house, since Django knows one database; a house that falls down breaks its rows, not the others."""
    verdicts = []
    with TemporaryDirectory(prefix="landfall-faults-") as folder:
        for house in dict.fromkeys(row.house for row in rows):
            results = Path(folder) / f"{house}.jsonl"
            command = [sys.executable, "-m", "tests.faults", *sys.argv[1:], "--house", house, "--results", str(results)]
            subprocess.run(command, cwd=ROOT, check=False)
            if results.exists():
                verdicts += [Verdict(**json.loads(text)) for text in results.read_text().splitlines()]
    return verdicts


def _play_in(kind: str, rows: Sequence[Row], options: argparse.Namespace) -> None:
    from tests.faults.house import open_house
    from tests.faults.stage import Numbers, play

    size = options.size or (SHORT_SIZE if options.short else 1.0)
    numbers = Numbers()
    with open_house(kind) as house, options.results.open("a") as results:
        for row in rows:
            patience = SHORT_PATIENCE if options.short else 1.0
            verdict = play(row, house, seed=options.seed, size=size, patience=patience, numbers=numbers)
            results.write(json.dumps(verdict.as_json()) + "\n")
            results.flush()
            print(table.line(verdict), flush=True)
            for text in verdict.broken:
                print(f"    {text}", flush=True)


def _conclude(verdicts: Sequence[Verdict], options: argparse.Namespace, seconds: float, *, is_whole: bool) -> None:
    for name, count in table.totals(verdicts).items():
        print(f"{name:40}{count:8,}")
    print(f"{seconds:.0f} s, seed {options.seed}")
    if is_whole:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        text = table.markdown(
            verdicts,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            commit=commit.stdout.strip() or "unknown",
            seed=options.seed,
            seconds=seconds,
        )
        DOCUMENT.write_text(text)
        print(f"written to {DOCUMENT.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

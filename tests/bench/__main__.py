"""`make bench`: what the product does in a second, and what it costs, against ceilings taken in the same minutes."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.bench import broadcast, events, scale, steady, table, urgent
from tests.bench.findings import GOALS, Findings
from tests.bench.house import House, open_house
from tests.bench.programs import run_bare
from tests.bench.runs import Run

QUICK_GOALS = ("P1", "P2", "P4", "P5", "P6")
STEADY_GOALS = ("P1", "P2", "P3", "P4", "P5")


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    chosen = options.only.upper().split(",") if options.only else list(QUICK_GOALS if options.quick else GOALS)
    if unknown := set(chosen) - GOALS.keys():
        sys.exit(f"no such goal: {', '.join(sorted(unknown))}; there are {', '.join(GOALS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    findings = Findings()
    with open_house() as house:
        print(f"stub: {house.stub.kind}", flush=True)
        _measure(house, findings, chosen, options)
        made = table.Made.now(house, repeats=options.repeats or (3 if options.quick else 5))
    for row in findings.rows:
        if row.goal in chosen:
            print(f"{row.goal:4} {row.verdict:12} {row.ratio:>6}  {row.measured}")
    for line in findings.thrown_away:
        print(f"thrown away: {line}")
    is_whole = not (options.quick or options.only or options.size != 1)
    if page := options.page or (table.DOCUMENT if is_whole else None):
        page.write_text(table.markdown(findings, made))
        print(f"written to {page}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="P1, P2, P4, P5, P6: under three minutes")
    parser.add_argument("--only", help="some goals, e.g. P1,P6")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--size", type=float, default=1, help="a share of all message counts, to try the bench itself")
    parser.add_argument("--page", type=Path, help="where to write the page; a whole run writes docs/benchmarks.md")
    return parser


def _measure(house: House, findings: Findings, chosen: Sequence[str], options: argparse.Namespace) -> None:
    repeats = options.repeats or (3 if options.quick else 5)

    def sized(count: int) -> int:
        return max(int(count * options.size), min(count, 100))

    def say(line: str) -> None:
        print(line, flush=True)

    runs: dict[str, list[Run]] = {}
    if set(chosen) & set(STEADY_GOALS):
        runs = steady.measure(house, findings, repeats=repeats, sizes=_sizes(chosen, options, sized), say=say)
    needs_base = set(chosen) & {"P7", "P11"}
    base_rate = (
        steady.base_rate(runs) if runs else run_bare(house, "requests", sized(20_000)).rate if needs_base else 0.0
    )
    p1_rate = median(run.rate for run in runs[steady.CURL]) if runs.get(steady.CURL) else None
    steps: dict[str, Callable[[], None]] = {
        "P6": lambda: urgent.measure_idle(house, findings, count=sized(100 if options.quick else 300)),
        "P7": lambda: urgent.measure_beside_broadcast(house, findings, base_rate=base_rate, broadcast=sized(150_000)),
        "P8": lambda: broadcast.measure_broadcast(house, findings, count=sized(1_000_000)),
        "P9": lambda: scale.measure_stored(
            house, findings, stored=sized(10_000_000), count=sized(50_000), repeats=min(repeats, 3), say=say
        ),
        "P10": lambda: broadcast.measure_kills(house, findings, count=sized(200_000), kills=20),
        "P11": lambda: scale.measure_slow_provider(house, findings, p1_rate=p1_rate, concurrencies=[16, 64]),
        "P12": lambda: events.measure(house, findings, count=sized(10_000), repeats=min(repeats, 3)),
    }
    for goal, measure in steps.items():
        if goal in chosen or (goal == "P6" and "P4" in chosen):
            try:
                measure()
            except (TimeoutError, RuntimeError) as error:
                findings.thrown_away.append(f"{goal}: {str(error).splitlines()[0]}")
                findings.add(goal, "the run came to no end")
                say(str(error))


def _sizes(chosen: Sequence[str], options: argparse.Namespace, sized: Callable[[int], int]) -> steady.Sizes:
    """How many messages each design gets; the other designs none unless P3 is asked for."""
    whole, others = steady.QUICK if options.quick else steady.Sizes(), ("naive", "rivals")
    return steady.Sizes(
        **{name: sized(count) if "P3" in chosen or name not in others else 0 for name, count in vars(whole).items()}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

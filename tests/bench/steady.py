"""P1 to P5: the product, bare HTTP and other designs at the same work, one after the other, several times over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tests.bench.findings import Findings, spread
from tests.bench.house import Crew, House
from tests.bench.programs import EXTRA, HAS_EXTRA, run_bare, run_other
from tests.bench.runs import Run, run_product

BASE = "bare: requests"
CURL, REQUESTS = "product: curl", "product: requests"
RIVALS = {"naive": 60, "post_office": 8, "procrastinate": 35}  # how many times faster the product is to be


@dataclass(frozen=True)
class Sizes:
    bare: int = 20_000
    bare_curl: int = 100_000
    product: int = 50_000
    naive: int = 1_000
    rivals: int = 3_000


QUICK = Sizes(bare=8_000, bare_curl=40_000, product=20_000, naive=0, rivals=0)


def measure(
    house: House, findings: Findings, *, repeats: int, sizes: Sizes, say: Callable[[str], None]
) -> dict[str, list[Run]]:
    """Fill in P1 to P5 but for the urgent message of P4. Returns the runs that count, by design."""
    designs: dict[str, Callable[[], Run]] = {
        BASE: lambda: run_bare(house, "requests", sizes.bare),
        REQUESTS: lambda: run_product(house, Crew("requests"), sizes.product),
        CURL: lambda: run_product(house, Crew("curl"), sizes.product),
        "bare: curl": lambda: run_bare(house, "curl", sizes.bare_curl),
    }
    if sizes.naive:
        designs["naive"] = lambda: run_other(house, "naive", sizes.naive)
    if sizes.rivals and HAS_EXTRA:
        for name in ("post_office", "procrastinate"):
            designs[name] = lambda name=name: run_other(house, name, sizes.rivals, python=EXTRA)
    runs: dict[str, list[Run]] = defaultdict(list)
    for repeat in range(repeats):
        for design, play in designs.items():
            try:
                run = play()
            except (TimeoutError, RuntimeError) as error:
                findings.thrown_away.append(f"{design}, repeat {repeat + 1}: {str(error).splitlines()[0]}")
                say(f"{design}: {error}")
                continue
            if run.wrong:
                findings.thrown_away.append(f"{design}, repeat {repeat + 1}: {'; '.join(run.wrong)}")
            else:
                runs[design].append(run)
            say(f"{design:20} {run.rate:10,.0f}/s {run.cpu_per_message:8,.0f} us {'; '.join(run.wrong)}")
    _judge(runs, findings, sizes)
    findings.contenders += [_row(design, runs[design], base_rate(runs)) for design in designs if runs[design]]
    return runs


def base_rate(runs: dict[str, list[Run]]) -> float:
    """R."""
    return median(run.rate for run in runs[BASE]) if runs[BASE] else float("nan")


def _judge(runs: dict[str, list[Run]], findings: Findings, sizes: Sizes) -> None:
    for goal, design, least in (("P1", CURL, 4.0), ("P2", REQUESTS, 1.3)):
        if not (runs[design] and runs[BASE]):
            findings.add(goal, "every run was thrown away")
            continue
        ratio = _rate(runs, design) / base_rate(runs)
        rates = spread([run.rate for run in runs[design]])
        findings.add(goal, f"{rates} a second", is_met=ratio >= least, ratio=f"{ratio:.2f}")
    _judge_rivals(runs, findings, sizes)
    if not (runs[CURL] and runs[BASE]):
        findings.add("P5", "every run was thrown away")
        return
    counted = [run.statements / run.count for run in runs[CURL] if run.statements is not None]
    if counted:
        findings.add("P4", f"bulk: {spread(counted, 4)}", is_met=median(counted) <= 0.02)
    else:
        findings.add("P4", "bulk: this PostgreSQL brings no pg_stat_statements")
    ours, bare = (median(run.cpu_per_message for run in runs[design]) for design in (CURL, BASE))
    measured = f"{spread([run.cpu_per_message for run in runs[CURL]])} us a message, bare `requests` {bare:,.0f}"
    findings.add("P5", measured, is_met=ours <= 0.3 * bare, ratio=f"{ours / bare:.2f}")


def _judge_rivals(runs: dict[str, list[Run]], findings: Findings, sizes: Sizes) -> None:
    if not (sizes.naive and runs[CURL]):
        findings.add("P3", "only in a full run")
        return
    times = {name: _rate(runs, CURL) / _rate(runs, name) for name in RIVALS if runs[name]}
    missing = [name for name in RIVALS if name not in times]
    said = ", ".join(f"{name} {factor:.1f} times" for name, factor in times.items())
    if missing:
        said += f"; {' and '.join(missing)} did not run here"
    findings.add("P3", said, is_met=all(times[name] >= RIVALS[name] for name in times) if not missing else None)


def _rate(runs: dict[str, list[Run]], design: str) -> float:
    return median(run.rate for run in runs[design])


def _row(design: str, runs: list[Run], base: float) -> list[str]:
    def share(*names: str) -> str:
        if not any(name in run.cpu for run in runs for name in names):
            return "–"
        return f"{median(sum(run.cpu.get(name, 0) for name in names) / run.count * 1e6 for run in runs):,.0f}"

    rate = median(run.rate for run in runs)
    return [
        design,
        f"{runs[0].count:,}",
        spread([run.rate for run in runs]),
        f"{rate / base:.2f}",
        f"{median(run.cpu_per_message for run in runs):,.0f}",
        share("workers"),
        share("PostgreSQL"),
        share("Valkey"),
        share("stub"),
    ]

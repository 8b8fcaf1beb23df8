"""P4, P6 and P7: one urgent message at a time, alone and beside a broadcast."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.bench import load
from tests.bench.findings import Findings, percentile
from tests.bench.house import CORES, Crew, House, wait_for
from tests.bench.runs import settle_down, warm_up

# By what only that statement says.
STATEMENTS = {
    "accept": "INSERT INTO notification",
    "claim": "due AS MATERIALIZED",
    "begin": "request_hash = mine.request_hash",
    "record": "filed AS",
}
BEGIN_WITH = 20  # messages that nobody measures
CREW = Crew(urgent=True)  # each lane over the transport that the product chooses


@dataclass(frozen=True)
class Latency:
    """Milliseconds from before the accepting transaction to the provider's clock."""

    p50: float
    p99: float
    longest: float
    count: int
    missing: int

    def __str__(self) -> str:
        lost = f", {self.missing} never came" if self.missing else ""
        return (
            f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, longest {self.longest:.1f} ms, {self.count} messages{lost}"
        )


def measure_idle(house: House, findings: Findings, *, count: int) -> None:
    """P6, and the urgent message's part of P4."""
    house.empty()
    with house.workers(CREW):
        _send(house, BEGIN_WITH, per_second=20, first=0)
        house.stub.reset()
        latency = _latency(house, _send(house, count, per_second=20, first=1000))
        is_met = latency.p50 <= 6 and latency.p99 <= 25 and not latency.missing
        findings.add("P6", str(latency), is_met=is_met)
        if house.counts_statements:
            _count_statements(house, findings)


def _count_statements(house: House, findings: Findings, count: int = 20) -> None:
    house.forget_statements()
    _send(house, count, per_second=5, first=2000)
    time.sleep(0.5)
    left, told = house.statements(), {}
    for name, mark in STATEMENTS.items():
        ours = [query for query in left if mark in query]
        told[name] = sum(left.pop(query) for query in ours) / count
    others = sum(left.values()) / count
    deliver = told["claim"] - 1 + told["begin"] + told["record"]  # without the claim that finds nothing more
    parts = ", ".join(f"{name} {times:.1f}" for name, times in told.items())
    names = ", ".join(f"{' '.join(query.split())[:30].strip()} … {times / count:.1f}" for query, times in left.items())
    said = f"urgent: {parts}, one of the claims finding nothing more"
    if names:
        said += f"; by the clock, not by message: {others:.1f} ({names})"
    findings.add("P4", said, is_met=told["accept"] <= 1 and deliver <= 3 and others < 0.5)


def measure_beside_broadcast(house: House, findings: Findings, *, base_rate: float, broadcast: int) -> None:
    """P7. Only what was accepted while the bulk lane was full counts."""
    house.empty()
    with house.workers(CREW) as processes:
        warm_up(house, processes)
        _send(house, BEGIN_WITH, per_second=20, first=0)
        load.accept(broadcast)
        settle_down(house)
        house.stub.reset()
        began_at = time.time()
        load.hint(CORES)
        sent = _send(house, 10_000, per_second=25, first=3000, until_posts=int(0.9 * broadcast))
        ended_at = time.time()
        bulk = (house.stub.counts().posts - len(sent)) / (ended_at - began_at)
        latency = _latency(house, sent)
        wait_for(
            lambda: not house.rows("SELECT 1 FROM outbox WHERE lane IN ('bulk', 'high') LIMIT 1"),
            120,
            lambda: processes.log("bulk")[-1000:],
        )
        seen, on_file = house.stub.counts(), house.number("SELECT count(*) FROM attempt WHERE began_at >= to_timestamp(%s)", began_at)  # fmt: skip
    total = broadcast + len(sent)
    if not seen.posts == seen.unique == on_file == total:
        findings.thrown_away.append(f"P7: {seen.posts} posts, {seen.unique} unique, {on_file} on file, not {total}")
        findings.add("P7", "the run was thrown away")
        return
    ratio = bulk / base_rate
    is_met = latency.p99 <= 75 and ratio >= 3 and not latency.missing
    findings.add("P7", f"{latency}, beside {bulk:,.0f} bulk messages a second", is_met=is_met, ratio=f"{ratio:.2f}")


def _send(
    house: House, count: int, *, per_second: float, first: int, until_posts: int | None = None
) -> dict[str, float]:
    """Accept at a steady pace. Returns when each attempt's accepting began."""
    sent, began_at = {}, time.monotonic()
    for number in range(count):
        time.sleep(max(began_at + number / per_second - time.monotonic(), 0))
        attempt, at = load.accept_one("high", first + number)
        sent[attempt] = at
        if until_posts is not None and number % 5 == 0 and house.stub.counts().posts >= until_posts:
            break
    time.sleep(0.3)
    return sent


def _latency(house: House, sent: dict[str, float]) -> Latency:
    deadline = time.monotonic() + 10
    while not sent.keys() <= (came := house.stub.arrivals()).keys() and time.monotonic() < deadline:
        time.sleep(0.2)
    waits = [(came[attempt] - at) * 1000 for attempt, at in sent.items() if attempt in came]
    if not waits:
        return Latency(float("inf"), float("inf"), float("inf"), 0, len(sent))
    return Latency(
        percentile(waits, 0.5), percentile(waits, 0.99), max(waits), len(waits), len(sent.keys() - came.keys())
    )

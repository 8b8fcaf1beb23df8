"""One run: N messages through one design, measured and checked. A run whose books differ does not count."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from config.processes import Processes
from tests.bench import load
from tests.bench.house import CORES, Crew, House
from tests.bench.stub import Stub

PATIENCE_SECONDS = 30.0  # without any progress
WARM = 1200


@dataclass
class Run:
    """What one run showed. `wrong` says in words what did not add up; then it does not count."""

    design: str
    count: int
    seconds: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    statements: int | None = None
    wrong: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def cpu_per_message(self) -> float:
        """Microseconds, of all components."""
        return sum(self.cpu.values()) / self.count * 1e6


def run_product(house: House, crew: Crew, count: int, *, delay_milliseconds: float = 0, keep: bool = False) -> Run:
    """The product: real Celery workers, from the first hint until the last row is on file.

    Messages are accepted before the clock starts. With `keep` what is stored already stays.
    """
    run = Run(f"product: {crew.transport}", count)
    if not keep:
        house.empty()
    house.rows("DELETE FROM heartbeat")
    with house.workers(crew) as processes:
        warm_up(house, processes)
        filed = house.number("SELECT count(*) FROM attempt") if not keep else None
        load.accept(count)
        settle_down(house)
        house.stub.reset(delay_milliseconds)
        if house.counts_statements:
            house.forget_statements()
        used = house.cpu(processes)
        began_at = time.time()
        load.hint(CORES)
        wait_until_recorded(house, count, processes)
        run.seconds = time.time() - began_at
        run.cpu = {name: after - used[name] for name, after in house.cpu(processes).items()}
        if house.counts_statements:
            run.statements = sum(house.statements().values())
    house.stub.delay(0)
    since = began_at if keep else None
    check_books(run, house, filed=filed, since=since)
    return run


def warm_up(house: House, processes: Processes) -> None:
    """Let every worker process connect to everything once."""
    for _ in range(2):
        load.accept(WARM)
        load.hint(CORES)
        wait_until_recorded(house, 0, processes)


def settle_down(house: House) -> None:
    """Statistics as autovacuum keeps them, and no checkpoint owed for what was accepted."""
    house.rows("ANALYZE notification, message, outbox, attempt")
    house.rows("CHECKPOINT")


def wait_until_recorded(house: House, count: int, processes: Processes) -> None:
    """Wait until the stub has seen so many posts and the bulk lane is empty: then all answers are on file."""
    seen, changed_at = -1, time.monotonic()
    while (posts := house.stub.counts().posts) < count or house.rows(
        "SELECT 1 FROM outbox WHERE lane = 'bulk' LIMIT 1"
    ):
        if posts > seen:
            seen, changed_at = posts, time.monotonic()
        elif time.monotonic() - changed_at > PATIENCE_SECONDS:
            left = house.number("SELECT count(*) FROM outbox WHERE lane = 'bulk'")
            said = processes.log("bulk")[-2000:]
            raise TimeoutError(f"{left} left in the bulk lane, {posts} posts, and nothing moves\n{said}")
        time.sleep(0.05 if posts < count else 0.01)


def check_books(run: Run, house: House, *, filed: int | None = 0, since: float | None = None) -> None:
    """Posts at the stub = unique attempts = attempts on file = N, each taken; and the product's audit finds no fault."""
    from notifications.services.audit import audit

    if since is not None:
        on_file = house.number(
            "SELECT count(*) FROM attempt WHERE outcome = 'taken' AND ended_at >= to_timestamp(%s)", since
        )
    else:
        on_file = house.number("SELECT count(*) FROM attempt WHERE outcome = 'taken'") - (filed or 0)
        run.wrong += [str(fault) for fault in audit().faults[:3]]
    compare(run, house.stub, {"attempts on file": on_file})


def compare(run: Run, stub: Stub, others: dict[str, int]) -> None:
    """Note every count that is not N."""
    seen = stub.counts()
    for name, number in {"posts": seen.posts, "unique attempts": seen.unique, **others}.items():
        if number != run.count:
            run.wrong.append(f"{number} {name}, not {run.count}")

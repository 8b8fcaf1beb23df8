"""P8 and P10: a broadcast to very many, and one in which workers keep being killed."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from random import Random

from tests.bench import load
from tests.bench.cpu import family
from tests.bench.findings import Findings
from tests.bench.house import CORES, Crew, House, wait_for
from tests.bench.runs import Run, check_books, warm_up

WAVE = 400  # what one process may have begun and not recorded: the next wave begins while one is under way
SHORT_TIMES = {
    "LEASE_SECONDS": "3",
    "SEND_DEADLINE_SECONDS": "1",
    "CRITICAL_SEND_DEADLINE_SECONDS": "1",
    "MARGIN_SECONDS": "0.5",
    "LATE_START_SECONDS": "0.5",
    "LOOK_UP_AGAIN_SECONDS": "1",
    "CHECK_PACE": "0.02",
    "SWEEP_SECONDS": "1",
}
AGAIN = """
SELECT DISTINCT replace(a.message_id::text, '-', '') FROM attempt a WHERE a.outcome = 'unclear' AND EXISTS (
    SELECT FROM attempt later WHERE later.message_id = a.message_id AND later.number > a.number)"""


def measure_broadcast(house: House, findings: Findings, *, count: int) -> None:
    """P8. The clock runs from the call that accepts."""
    house.empty()
    with house.workers(Crew("curl")) as processes:
        warm_up(house, processes)
        filed = house.number("SELECT count(*) FROM attempt")
        house.stub.reset()
        file = load.broadcast_file(count)
        began_at = time.time()
        load.accept_broadcast(file)
        accepted_at = time.time()
        load.hint(CORES)
        memory: list[float] = []

        def is_done() -> bool:
            memory.append(house.memory(processes))
            return house.stub.counts().posts >= count and not house.rows(
                "SELECT 1 FROM outbox WHERE lane = 'bulk' LIMIT 1"
            )

        wait_for(is_done, 1200, lambda: processes.log("bulk")[-2000:], every=0.25)
        done_at = time.time()
        once = house.memory(processes, shared_once=True)
        first_at = house.stub.counts().first_at
    run = Run("broadcast", count)
    check_books(run, house, filed=filed)
    if run.wrong:
        findings.thrown_away.append(f"P8: {'; '.join(run.wrong)}")
        findings.add("P8", "the run was thrown away")
        return
    accepted, first, total = accepted_at - began_at, first_at - accepted_at, done_at - began_at
    quarter = memory[len(memory) // 4]
    said = (
        f"{count:,} recipients: accepted in {accepted:.1f} s from a CSV file, first send "
        f"{first:.2f} s later, all on file after {total:.1f} s; workers at most {max(memory):.0f} MiB, "
        f"{quarter:.0f} after a quarter and {memory[-1]:.0f} at the end, {once:.0f} with what they share counted once"
    )
    is_met = accepted <= 10 and first <= 0.5 and total <= 90 and max(memory) <= 350
    findings.add("P8", said, is_met=is_met if count >= 1_000_000 else None)


def measure_kills(house: House, findings: Findings, *, count: int, kills: int) -> None:
    """P10. The provider can be asked nothing, and clients prefer a second copy to none: every doubt is sent again."""
    from notifications.models import ProviderAccount
    from notifications.services.audit import audit

    account = ProviderAccount.objects.get(slug="stub")
    account.settings["may_read"] = False
    account.save()
    house.empty()
    with house.workers(Crew("curl", upkeep=True, environment=tuple(SHORT_TIMES.items()))) as processes:
        warm_up(house, processes)
        warm = house.number("SELECT count(*) FROM message")
        house.stub.reset()  # before anything is accepted: a sweep may be quicker than our hint
        load.accept(count, on_unclear="send_again")
        load.hint(CORES)
        killed = _kill(house, processes.process_id("bulk"), kills, count)
        wait_for(
            lambda: not house.rows("SELECT 1 FROM message WHERE state <> 'sent' LIMIT 1"),
            300,
            lambda: f"{house.rows('SELECT state, reason, count(*) FROM message GROUP BY 1, 2')}",
            every=0.5,
        )
    account.settings.pop("may_read")
    account.save()
    seen = Counter(attempt.rpartition("-")[0] for attempt in house.stub.arrivals())
    again = {str(id) for (id,) in house.rows(AGAIN)}
    repeated = {id for id, times in seen.items() if times > 1}
    lost = house.number("SELECT count(*) FROM message") - warm - len(seen)
    repeats, unmarked, faults = seen.total() - len(seen), repeated - again, audit().faults
    said = (
        f"{killed} workers killed among {count:,} messages: {lost} lost, {repeats} sent twice, {len(unmarked)} of them "
        f"unmarked; {killed * WAVE:,} may be"
    )
    is_met = not lost and not unmarked and not faults and repeats <= killed * WAVE
    findings.add("P10", said, is_met=is_met if killed >= kills else None)


def _kill(house: House, worker: int, kills: int, count: int) -> int:
    """Kill pool processes while there is work left. Returns how many."""
    random, killed = Random(1), 0
    while killed < kills and house.stub.counts().unique < 0.95 * count:
        time.sleep(random.uniform(0.3, 1.0))
        pool = family(worker)[1:]
        if pool:
            with suppress(ProcessLookupError):
                os.kill(random.choice(pool), signal.SIGKILL)
                killed += 1
    return killed

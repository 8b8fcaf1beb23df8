"""P9 and P11: a database that is full, and a provider that is slow."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from statistics import median

import psycopg

from tests.bench.findings import Findings, spread
from tests.bench.house import CORES, Crew, House
from tests.bench.runs import Run, run_product
from tests.seed import FILL

CHUNK = 250_000
DELAY_SECONDS = 0.05
FEW = 10_000
BYTES_A_NOTIFICATION = 1200  # with all that belongs to it


def measure_stored(
    house: House, findings: Findings, *, stored: int, count: int, repeats: int, say: Callable[[str], None]
) -> None:
    """P9: two databases of the same server, in turn. One in five stored notifications is open."""
    needed = stored * BYTES_A_NOTIFICATION * 3 // 2
    if shutil.disk_usage(house.server.folder).free < needed:
        findings.add("P9", f"needs {needed / 1e9:.0f} GB of disk")
        return
    before = house.database
    runs: dict[str, list[Run]] = {"few": [], "many": []}
    for database, rows in (("few", FEW), ("many", stored)):
        house.move_to(database)
        house.empty()
        fill(house, rows)
    for _ in range(repeats):
        for database, done in runs.items():
            house.move_to(database)
            run = run_product(house, Crew("curl"), count, keep=True)
            say(f"P9 {database:5} {run.rate:10,.0f}/s {run.cpu_per_message:8,.0f} us {'; '.join(run.wrong)}")
            if run.wrong:
                findings.thrown_away.append(f"P9, {database}: {'; '.join(run.wrong)}")
            else:
                done.append(run)
    house.move_to(before)
    for database in runs:
        house.drop(database)
    if not all(runs.values()):
        findings.add("P9", "every run was thrown away")
        return
    few, many = ([run.cpu_per_message for run in runs[name]] for name in runs)
    ratio = median(many) / median(few)
    said = (
        f"{spread(many)} us a message with {stored:,} stored, {stored // 5:,} of them open; "
        f"{spread(few)} with {FEW:,}: {ratio:.2f} times"
    )
    findings.add("P9", said, is_met=ratio <= 1.15 if stored >= 10_000_000 else None)


def fill(house: House, count: int) -> None:
    """Store notifications with all that belongs to them, in chunks that a transaction log can hold."""
    from notifications.models import Client, ProviderAccount

    client = Client.objects.get(name="internal")
    account, _ = ProviderAccount.objects.get_or_create(
        slug="seeded", defaults={"provider": "twilio", "channels": ["sms"], "is_on": False}
    )
    with psycopg.connect(house.url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        for begun in range(0, count, CHUNK):
            parameters = {"count": min(CHUNK, count - begun), "client": client.id, "account": account.id}
            connection.execute(FILL, parameters)
        connection.execute("VACUUM ANALYZE")


def measure_slow_provider(house: House, findings: Findings, *, p1_rate: float | None, concurrencies: list[int]) -> None:
    """P11: judged at the product's own K, the first one."""
    told, is_met = [], None
    for k in concurrencies:
        possible = k * CORES / DELAY_SECONDS
        crew = Crew("curl", environment=(("SEND_CONCURRENCY", str(k)),))
        run = run_product(house, crew, int(possible * 8), delay_milliseconds=DELAY_SECONDS * 1000)
        if run.wrong:
            findings.thrown_away.append(f"P11, K {k}: {'; '.join(run.wrong)}")
            continue
        told.append(f"K {k}: {run.rate:,.0f} a second, {run.rate / possible:.2f} of {possible:,.0f}")
        if k == concurrencies[0]:
            is_met = run.rate >= min(0.8 * possible, p1_rate or possible)
    findings.add("P11", "; ".join(told) or "every run was thrown away", is_met=is_met)

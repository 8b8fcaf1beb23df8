"""P12: events to many endpoints, some of which refuse, fail or say nothing; and a worker that dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from urllib.request import urlopen

from config.launcher import start_process, stop_process
from config.processes import ROOT, Processes, worker
from tests.bench.broadcast import SHORT_TIMES
from tests.bench.cpu import family
from tests.bench.findings import Findings, percentile
from tests.bench.house import CORES, READY_SECONDS, House, wait_for

ENDPOINTS = 20
MISBEHAVING = {"refuses": "http://127.0.0.1:{closed}/late", "hangs": "{url}/hang", "fails": "{url}/fail"}
HEALTHY = ENDPOINTS - len(MISBEHAVING)
PATIENCE_SECONDS = 300.0
MOVES_WITHIN = float(SHORT_TIMES["LEASE_SECONDS"]) + 2
LEFT = """
SELECT count(*) FROM outbox o JOIN message m ON m.id = o.message_id WHERE m.channel = 'webhook' AND m.address = ANY (%s)"""
CLAIMS = "SELECT message_id, claim FROM outbox WHERE claim IS NOT NULL"
SECRET = "whsec_" + "c2VjcmV0" * 4


@dataclass(frozen=True)
class Receivers:
    """The program that takes events."""

    url: str
    closed: int  # the port where nobody listens yet

    @property
    def ports(self) -> str:
        return f"{self.url.rpartition(':')[2]},{self.closed}"

    def ask(self, path: str) -> bytes:
        with urlopen(self.url + path, timeout=30) as answer:
            return bytes(answer.read())

    def arrivals(self) -> dict[str, dict[str, float]]:
        """When each event came first, by endpoint and id."""
        came: dict[str, dict[str, float]] = {}
        for line in self.ask("/_arrivals").decode().splitlines():
            path, id, at = line.split(" ")
            came.setdefault(path.rpartition("/")[2], {}).setdefault(id, float(at))
        return came


@contextmanager
def open_receivers() -> Iterator[Receivers]:
    program = start_process([sys.executable, "-m", "tests.bench.receivers"], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert program.stdout is not None
        port, closed = program.stdout.readline().split()
        yield Receivers(f"http://127.0.0.1:{int(port)}", int(closed))
    finally:
        stop_process(program, 0)


def measure(house: House, findings: Findings, *, count: int, repeats: int) -> None:
    """P12. The two kinds of run take turns; the last of those with misbehaving endpoints goes on until those have all."""
    alone, beside, faults = [], [], []
    for _ in range(repeats):
        alone.append(_run(house, count, misbehave=False, faults=faults))
        beside.append(_run(house, count, misbehave=True, faults=faults))
    ratio = median(beside) / median(alone)
    said = (
        f"{count:,} events, {ENDPOINTS} endpoints of which {len(MISBEHAVING)} misbehave: p95 of the others "
        f"{median(beside):.2f} s, {median(alone):.2f} s without them"
    )
    findings.add("P12", said, is_met=ratio <= 1.05 and not faults, ratio=f"{ratio:.2f}")
    moved = _kill(house, count, faults)
    findings.add("P12", f"work of a killed worker moved after {moved:.1f} s, a lease is {SHORT_TIMES['LEASE_SECONDS']} s",
                 is_met=moved <= MOVES_WITHIN and not faults)  # fmt: skip
    for fault in faults:
        findings.thrown_away.append(f"P12: {fault}")


def _run(house: House, count: int, *, misbehave: bool, faults: list[str]) -> float:
    """Returns the 95th percentile of seconds until a healthy endpoint had its event, all having been told at once."""
    house.empty()
    with open_receivers() as receivers:
        healthy, others = _furnish(house, receivers, misbehave=misbehave)
        with _workers(house, receivers) as processes:
            began_at = _tell(count, len(healthy) + len(others))
            _wait_until_empty(house, healthy, processes)
            came = receivers.arrivals()
            waits = [at - began_at for name in healthy for at in came.get(name, {}).values()]
            expected = count // ENDPOINTS * len(healthy)
            if len(waits) != expected:
                faults.append(f"{len(waits)} of {expected} events came to healthy endpoints")
            if others:
                _recover(house, receivers, others, processes, faults, count // ENDPOINTS)
    faults += _audit()
    return percentile(waits, 0.95)


def _kill(house: House, count: int, faults: list[str]) -> float:
    """Kill a pool process while much is claimed and little else is due, or what it held would wait behind that.

    Returns after how many seconds all that was claimed had moved.
    """
    house.empty()
    with open_receivers() as receivers:
        healthy, others = _furnish(house, receivers, misbehave=True)
        with _workers(house, receivers, **SHORT_TIMES) as processes:
            _tell(count, ENDPOINTS)
            most = count // ENDPOINTS * len(healthy) * 9 // 10
            wait_for(
                lambda: sum(map(len, receivers.arrivals().values())) >= most,
                60,
                lambda: "too few events came",
                every=0.2,
            )
            claims = dict(house.rows(CLAIMS))
            os.kill(family(processes.process_id("normal"))[1], signal.SIGKILL)
            killed_at = time.monotonic()

            def have_moved() -> bool:
                now = dict(house.rows(CLAIMS))
                return all(now.get(message) != claim for message, claim in claims.items())

            wait_for(have_moved, 60, lambda: "claims of a killed worker have not moved", every=0.05)
            moved = time.monotonic() - killed_at
            _wait_until_empty(house, healthy, processes)
            came = receivers.arrivals()
            _recover(house, receivers, others, processes, faults, count // ENDPOINTS)
    if missing := sum(count // ENDPOINTS - len(came.get(name, {})) for name in healthy):
        faults.append(f"{missing} events never came after a kill")
    faults += _audit()
    return moved


def _recover(
    house: House, receivers: Receivers, names: list[str], processes: Processes, faults: list[str], each: int
) -> None:
    """Mend the misbehaving, switch them on as an operator does, and see that nothing is missing."""
    from notifications.models import WebhookEndpoint
    from notifications.services.endpoints import switch_on

    receivers.ask("/_mend")

    def have_all() -> bool:
        for endpoint in WebhookEndpoint.objects.select_related("account").filter(account__slug__in=names):
            switch_on(endpoint)
        time.sleep(2)
        return house.number(LEFT, names) == 0

    wait_for(have_all, PATIENCE_SECONDS, lambda: _left(house, processes))
    came = receivers.arrivals()
    paths = {name: address.rpartition("/")[2] for name, address in MISBEHAVING.items()}
    faults += [
        f"{name} has {len(came.get(paths[name], {}))} of {each}"
        for name in names
        if len(came.get(paths[name], {})) != each
    ]


def _furnish(house: House, receivers: Receivers, *, misbehave: bool) -> tuple[list[str], list[str]]:
    from notifications import selectors
    from notifications.accounts import accounts
    from notifications.models import Client, ProviderAccount, WebhookEndpoint
    from notifications.models.client import INTERNAL

    house.rows("TRUNCATE webhook_endpoint, breaker")
    house.rows("UPDATE provider_account SET is_on = false WHERE provider = 'webhook'")
    urls = {f"well-{number}": f"{receivers.url}/ok/well-{number}" for number in range(HEALTHY)}
    others = MISBEHAVING if misbehave else {}
    urls |= {name: url.format(url=receivers.url, closed=receivers.closed) for name, url in others.items()}
    client = Client.objects.get(name=INTERNAL)
    for name, url in urls.items():
        values = {"credentials": {"url": url, "secret": SECRET}, "is_on": True, "opened_at": None}
        account, _ = ProviderAccount.objects.update_or_create(
            slug=name, defaults={"provider": "webhook", "channels": ["webhook"], **values}
        )
        WebhookEndpoint.objects.create(client=client, account=account)
    for kept in (accounts, selectors.endpoints):
        kept.forget()
    return [name for name in urls if name not in others], list(others)


@contextmanager
def _workers(house: House, receivers: Receivers, **environment: str) -> Iterator[Processes]:
    allowed = {"WEBHOOK_NETWORKS": "127.0.0.0/8", "WEBHOOK_HTTP": "1", "WEBHOOK_PORTS": receivers.ports}
    house.rows("DELETE FROM heartbeat")
    with Processes({"DATABASE_URL": house.url, **allowed, **environment}, house.folder) as processes:
        processes.start("normal", worker("normal", ["normal"], concurrency=CORES))
        processes.start("upkeep", worker("upkeep", ["control", "upkeep"]))
        lanes = ["normal", "control", "upkeep"]
        served = "SELECT count(*) FROM heartbeat WHERE process = ANY (%s)"
        wait_for(
            lambda: house.number(served, lanes) == len(lanes), READY_SECONDS, lambda: processes.log("normal")[-2000:]
        )
        yield processes


def _tell(count: int, endpoints: int) -> float:
    """Tell all endpoints of so many events that `ENDPOINTS` would make `count`, in one transaction. Returns when it ended."""
    from datetime import UTC, datetime

    from django.db import transaction

    from notifications.models import Client
    from notifications.models.client import INTERNAL
    from notifications.services.events import Event, tell

    client, now = Client.objects.get(name=INTERNAL), datetime.now(UTC)
    data = {"state": "delivered", "sequence": 1, "reference": "order-17", "metadata": {}}
    numbers = range(count // ENDPOINTS)
    with transaction.atomic():
        for start in range(0, len(numbers), 100):
            tell([
                Event(client.id, "notification.delivered", now, f"{now.timestamp()}:{number}", "", {"id": number, **data})
                for number in numbers[start : start + 100]
            ])  # fmt: skip
    return time.time()


def _wait_until_empty(house: House, names: list[str], processes: Processes) -> None:
    wait_for(lambda: house.number(LEFT, names) == 0, PATIENCE_SECONDS, lambda: _left(house, processes), every=0.1)


def _left(house: House, processes: Processes) -> str:
    states = "SELECT address, state, reason, count(*) FROM message WHERE state <> 'delivered' GROUP BY 1, 2, 3"
    return f"{house.rows(states)}\n{processes.log('normal')[-1500:]}"


def _audit() -> list[str]:
    from notifications.services.audit import audit

    return [str(fault) for fault in audit().faults[:3]]

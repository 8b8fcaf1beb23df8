"""Runs of contenders: programs of their own, on a database and a broker that are empty."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis

from config.launcher import start_process, stop_process
from config.processes import ROOT
from tests.bench.cpu import cpu_seconds
from tests.bench.house import CORES, House
from tests.bench.runs import Run, compare

MESSAGES_PATH = "/2010-04-01/Accounts/AC00000000000000000000000000000000/Messages.json"
EXTRA = ROOT / ".venv-bench" / "bin" / "python"  # with what the product does not need
HAS_EXTRA = (ROOT / ".venv-bench" / ".installed").exists()


def run_bare(house: House, kind: str, count: int) -> Run:
    """Posts of one process per core, and nothing else: R, with `requests`."""
    share = count // CORES
    commands = [["bare", kind, _target(house), f"p{number}", str(share)] for number in range(CORES)]
    return _run(house, f"bare: {kind}", commands, share * CORES, with_servers=False)


def run_other(house: House, name: str, count: int, python: str | Path = sys.executable) -> Run:
    """Another design, on the same servers."""
    with psycopg.connect(house.server.url, autocommit=True) as server:
        server.execute("DROP DATABASE IF EXISTS contender WITH (FORCE)")
        server.execute("CREATE DATABASE contender")
    with redis.Redis.from_url(house.broker.url) as client:
        client.flushall()
    return _run(house, name, [[name, _target(house), str(count)]], count, python=python)


def _target(house: House) -> str:
    return house.stub.url + MESSAGES_PATH


def _run(
    house: House,
    design: str,
    commands: Sequence[list[str]],
    count: int,
    *,
    python: str | Path = sys.executable,
    with_servers: bool = True,
) -> Run:
    run = Run(design, count)
    with _programs(house, commands, python) as programs:
        house.stub.reset()
        used = _cpu(house, programs, with_servers=with_servers)
        began_at = time.time()
        for program in programs:
            _say(program)
        on_file = sum(int(_heard(program) or 0) for program in programs)
        run.seconds = time.time() - began_at
        run.cpu = {name: after - used[name] for name, after in _cpu(house, programs, with_servers=with_servers).items()}
    compare(run, house.stub, {"on file": on_file})
    return run


@contextmanager
def _programs(
    house: House, commands: Sequence[list[str]], python: str | Path
) -> Iterator[list[subprocess.Popen[bytes]]]:
    address = urlsplit(house.server.url)._replace(path="/contender").geturl()
    environment = {**os.environ, "DATABASE_URL": address, "CELERY_BROKER_URL": house.broker.url}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    with (house.folder / "contenders.log").open("ab") as log:
        programs = [
            start_process(
                [python, "-m", f"tests.bench.contenders.{module}", *arguments],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
            )
            for module, *arguments in commands
        ]
    try:
        for program in programs:
            if _heard(program) != "ready":
                raise RuntimeError(f"{commands[0][0]} is not ready\n{_log(house)}")
        yield programs
        for program in programs:
            _say(program)
            program.wait(30)
    finally:
        for program in programs:
            stop_process(program, 0)


def _log(house: House) -> str:
    return (house.folder / "contenders.log").read_text(errors="replace")[-2000:]


def _say(program: subprocess.Popen[bytes]) -> None:
    assert program.stdin is not None
    program.stdin.write(b"go\n")
    program.stdin.flush()


def _heard(program: subprocess.Popen[bytes]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().decode().strip()


def _cpu(house: House, programs: Sequence[subprocess.Popen[bytes]], *, with_servers: bool) -> dict[str, float]:
    used = {
        "stub": cpu_seconds(house.stub.process_id),
        "workers": sum(cpu_seconds(program.pid) for program in programs),
    }
    if with_servers:
        used["PostgreSQL"] = cpu_seconds(house.server.process_id)
        used["Valkey"] = cpu_seconds(house.broker.process_id)
    return used

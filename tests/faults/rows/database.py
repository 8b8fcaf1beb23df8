"""A database that goes away, says no, is read-only or full of connections, or comes back from a backup."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg

from config.processes import manage
from tests.faults.house import WORKERS, House
from tests.faults.stage import Row, Stage

WITHIN = 15.0
CONNECTIONS = 100  # max_connections of the launcher's server


def restart(stage: Stage) -> None:
    for _ in range(stage.times(3)):
        stage.pause_about(2)
        stage.house.postgres.stop()
        stage.house.postgres.start()
    stage.recovered(stage.house.recovery(), within=WITHIN, what="after the last restart")


def down(stage: Stage) -> None:
    stage.house.postgres.stop()
    stage.pause(60 * stage.size)
    stage.house.postgres.start()
    stage.recovered(stage.house.recovery(), within=2 * WITHIN, what="after the database's return")


def read_only(stage: Stage) -> None:
    """A failover that left us on a standby."""
    _read_only(stage.house, on=True)
    stage.pause(10 * stage.size)
    _read_only(stage.house, on=False)
    stage.recovered(stage.house.recovery(), within=WITHIN, what="once it could be written to")


def _read_only(house: House, *, on: bool) -> None:
    with psycopg.connect(house.postgres.url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER DATABASE postgres SET default_transaction_read_only = {'on' if on else 'off'}")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def lose_connections(stage: Stage) -> None:
    """Sessions end at random moments, in the middle of a COMMIT as well."""
    for _ in range(stage.times(80)):
        stage.pause_about(0.15)
        stage.house.run(
            "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND state <> 'idle' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2) AS victims"
        )
    stage.recovered(stage.house.recovery(), within=WITHIN, what="after the last lost session")


def exhausted(stage: Stage) -> None:
    with ExitStack() as connections:
        ends_at = time.monotonic() + 10 * stage.size
        while time.monotonic() < ends_at:
            with suppress(psycopg.Error):
                while True:
                    connections.enter_context(psycopg.connect(stage.house.postgres.url, connect_timeout=2))
            stage.pause(0.3)
    stage.recovered(stage.house.recovery(), within=WITHIN, what="once there were connections again")


def old_snapshot(stage: Stage) -> None:
    """A transaction somebody left open, beside many finished rows: claims stay fast, and somebody is told."""
    house = stage.house
    with psycopg.connect(house.postgres.url) as forgotten:
        forgotten.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        forgotten.execute("SET idle_in_transaction_session_timeout = 0")
        forgotten.execute("SELECT count(*) FROM outbox")
        slowest = 0.0
        for _ in range(stage.times(8)):
            stage.pause(1)
            began_at = time.monotonic()
            house.rows(
                "SELECT ctid FROM outbox WHERE lane = 'normal' AND due_at <= now() ORDER BY due_at, message_id LIMIT 500"
            )
            slowest = max(slowest, time.monotonic() - began_at)
        stage.note(f"slowest look at the lane's due entries {1000 * slowest:.0f} ms")
        stage.demand(slowest < 1.0, f"a claim's look took {slowest:.2f} s")
        told = house.wait(lambda: _has_alarmed(house), seconds=45)
        stage.demand(told is not None, "nobody was told of the open transaction")


def _has_alarmed(house: House) -> bool:
    return any("transaction open for long" in house.processes.log(name) for name in WORKERS)


def restored(stage: Stage) -> None:
    """The machine dies, and the newest backup is seconds old. Quarantine asks about what seems unsent."""
    house = stage.house
    stage.pause(3)
    backup = house.folder / "backup"
    _halt(house)
    shutil.copytree(house.postgres.folder / "data", backup, copy_function=shutil.copy2)
    taken_at = time.monotonic()
    _go_on(house)
    stage.pause(6)
    stage.load.stop()  # a client that asks again later would be accepted anew
    stage.pause(4)
    _halt(house)
    stage.forgotten = frozenset(id for id, at in stage.load.told.accepted.items() if at > taken_at)
    stage.restored_at = time.time()
    _put_back(house, backup)
    house.postgres.start()
    _quarantine(house)
    for name in (*WORKERS, "web", "beat"):
        house.start(name)
    stage.note(f"{len(stage.forgotten)} accepted after the backup are gone with it; the rest is restored")
    stage.recovered(house.recovery(), within=60, what="after the restore")


def _halt(house: House) -> None:
    for name in ("web", "beat", *WORKERS):
        house.expected_down.add(name)
        house.processes.kill(name)
    house.postgres.stop()


def _go_on(house: House) -> None:
    house.postgres.start()
    for name in ("web", "beat", *WORKERS):
        house.start(name)


def _put_back(house: House, backup: Path) -> None:
    data = house.postgres.folder / "data"
    owner = data.stat()
    shutil.rmtree(data)
    shutil.copytree(backup, data, copy_function=shutil.copy2)
    shutil.rmtree(backup)
    _own(data, owner.st_uid, owner.st_gid)


def _own(folder: Path, user: int, group: int) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, user, group)


def _quarantine(house: House) -> None:
    subprocess.run(manage("quarantine", "--before", "now"), env=house.processes.environment, check=True)


ROWS = [
    Row("database restarted while sending", restart, is_short=True),
    Row("database down for 60 s", down, per_second=12),
    Row("database read-only after a failover", read_only),
    Row("sessions lost at random, also inside COMMIT", lose_connections),
    Row("database out of connections", exhausted),
    Row("a transaction left open", old_snapshot),
    Row("database restored from a backup, with quarantine", restored),
]

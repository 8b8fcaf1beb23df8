"""Servers to measure on: PostgreSQL as durable as in production, Valkey, the stub; this process's Django works there too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psycopg

from config.launcher import Postgres, Valkey, postgres
from config.launcher.__main__ import fresh_secrets
from config.processes import Processes, worker
from tests.bench.cpu import cpu_seconds, memory_mib
from tests.bench.stub import Stub, open_stub

CORES = len(os.sched_getaffinity(0))
READY_SECONDS = 90.0
STATEMENTS = "pg_stat_statements"
DURABLE = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
}
OURS = "/* bench */"


@dataclass(frozen=True)
class Crew:
    """Workers of one kind: one process per core for a lane, as in the Procfile."""

    transport: str = "auto"
    urgent: bool = False  # critical and high, too
    upkeep: bool = False  # control and upkeep, too
    environment: tuple[tuple[str, str], ...] = ()


class House:
    """One database at a time, and whoever works on it."""

    def __init__(self, server: Postgres, broker: Valkey, stub: Stub, folder: Path, *, counts_statements: bool) -> None:
        self.server = server
        self.broker = broker
        self.stub = stub
        self.folder = folder
        self.counts_statements = counts_statements
        self.database = urlsplit(server.url).path.strip("/")
        self._connections: dict[str, psycopg.Connection[tuple[object, ...]]] = {}

    @property
    def url(self) -> str:
        return urlsplit(self.server.url)._replace(path=f"/{self.database}").geturl()

    def rows(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        """Ask the database on a connection of our own, which is not counted."""
        if self.database not in self._connections:
            self._connections[self.database] = psycopg.connect(self.url, autocommit=True)
        cursor = self._connections[self.database].execute(f"{statement} {OURS}", parameters)
        return cursor.fetchall() if cursor.description else []

    def number(self, statement: str, *parameters: object) -> int:
        return int(str(self.rows(statement, *parameters)[0][0]))

    def move_to(self, database: str) -> None:
        """Work on another database of the same server, made and migrated if it is new."""
        from django.core.management import call_command
        from django.db import connection

        from notifications import selectors
        from notifications.accounts import accounts

        if not self.rows("SELECT 1 FROM pg_database WHERE datname = %s", database):
            self.rows(f"CREATE DATABASE {database}")
        self.database = database
        connection.close()
        connection.settings_dict["NAME"] = database
        for kept in (accounts, selectors.routes, selectors.clients, selectors.endpoints):
            kept.forget()
        call_command("migrate", verbosity=0)
        self._open_account()
        if self.counts_statements:
            self.rows(f"CREATE EXTENSION IF NOT EXISTS {STATEMENTS}")

    def drop(self, database: str) -> None:
        """Remove another database than the one we work on."""
        self._connections.pop(database).close()
        self.rows(f"DROP DATABASE {database} WITH (FORCE)")

    def _open_account(self) -> None:
        from notifications.models import ProviderAccount

        ProviderAccount.objects.get_or_create(
            slug="stub",
            defaults={
                "provider": "twilio",
                "channels": ["sms"],
                "credentials": {"account_sid": "AC" + "0" * 32, "auth_token": "t" * 32},
                "settings": {"from": "+15005550006"},
                "base_url": self.stub.url,
            },
        )

    def empty(self) -> None:
        """Fresh tables, and an empty broker."""
        import redis

        self.rows("TRUNCATE notification, message, outbox, attempt, delivery_event, dead_letter, heartbeat")
        with redis.Redis.from_url(self.broker.url) as client:
            client.flushall()

    def statements(self) -> dict[str, int]:
        """How often each statement has run since `forget_statements`, ours not counted."""
        listed = self.rows(
            f"SELECT query, calls FROM {STATEMENTS} s JOIN pg_database d ON d.oid = s.dbid"
            f" WHERE d.datname = current_database() AND query NOT LIKE '%%{OURS}%%'"
        )
        return {str(query): int(str(calls)) for query, calls in listed}

    def forget_statements(self) -> None:
        self.rows(f"SELECT {STATEMENTS}_reset()")

    @contextmanager
    def workers(self, crew: Crew) -> Iterator[Processes]:
        """Start a crew, and wait until its lanes are served."""
        environment = {
            "DATABASE_URL": self.url,
            "SEND_TRANSPORT": crew.transport,
            **dict(crew.environment),
        }
        lanes = [
            "bulk",
            *(["critical", "high"] if crew.urgent else []),
            *(["control", "upkeep"] if crew.upkeep else []),
        ]
        with Processes(environment, self.folder) as processes:
            processes.start("bulk", ["nice", *worker("bulk", ["bulk"], concurrency=CORES)])
            if crew.urgent:
                for lane in ("critical", "high"):
                    processes.start(lane, worker(lane, [lane]))
            if crew.upkeep:
                processes.start("upkeep", worker("upkeep", ["control", "upkeep"]))
            wait_for(
                lambda: self.number("SELECT count(*) FROM heartbeat WHERE process = ANY (%s)", lanes) == len(lanes),
                READY_SECONDS,
                lambda: "".join(processes.log(name)[-1500:] for name in ["bulk", *processes.died()]),
            )
            yield processes

    def cpu(self, processes: Processes | None, names: tuple[str, ...] = ("bulk",)) -> dict[str, float]:
        """CPU seconds so far, by component."""
        used = {"stub": cpu_seconds(self.stub.process_id)}
        if processes is not None:
            used["workers"] = sum(cpu_seconds(processes.process_id(name)) for name in names)
            used["PostgreSQL"] = cpu_seconds(self.server.process_id)
            used["Valkey"] = cpu_seconds(self.broker.process_id)
        return used

    def memory(self, processes: Processes, *, shared_once: bool = False) -> float:
        """Resident MiB of the bulk workers."""
        return memory_mib(processes.process_id("bulk"), shared_once=shared_once)


def wait_for(is_so: Callable[[], object], seconds: float, otherwise: Callable[[], str], every: float = 0.02) -> None:
    """Return as soon as it is so. Raises TimeoutError, saying what is so otherwise."""
    ends_at = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > ends_at:
            raise TimeoutError(otherwise())
        time.sleep(every)


@contextmanager
def open_house() -> Iterator[House]:
    """Servers of our own, with nothing in them."""
    postgres.SETTINGS.update(DURABLE)
    with TemporaryDirectory(prefix="landfall-bench-") as name, Valkey() as broker, open_stub(Path(name)) as stub:
        server = Postgres()
        counts = _can_count_statements(server)
        if counts:
            postgres.SETTINGS["shared_preload_libraries"] = STATEMENTS
        with server:
            house = House(server, broker, stub, Path(name), counts_statements=counts)
            _become_part_of_it(house)
            house.move_to("bench")
            yield house


def _can_count_statements(server: Postgres) -> bool:
    programs = server._programs.folder
    return any(programs.parent.glob(f"share/**/{STATEMENTS}.control"))


def _become_part_of_it(house: House) -> None:
    """This process accepts by the product's own code, in the same database."""
    import django

    os.environ.update(
        {
            **fresh_secrets(),
            "DATABASE_URL": house.url,
            "CELERY_BROKER_URL": house.broker.url,
            "PUBLIC_URL": "http://127.0.0.1:9",
            "LOG_LEVEL": "WARNING",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
    )
    django.setup()

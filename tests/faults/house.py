"""A house to break: servers, processes, sandbox and clients of its own, with times so short that much fits into minutes."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import redis
import requests

from config.launcher import Postgres, Valkey
from config.processes import OTHER, URGENT, Processes, beat, free_port, web, worker
from providers.sandbox import Pace, Sandbox, SandboxAccount
from tests.faults.points import slug
from tests.faults.proxy import Proxy

LEASE_SECONDS = 3.0
READY_SECONDS = 90.0
TIMES = {
    "LEASE_SECONDS": f"{LEASE_SECONDS:g}",
    "SEND_DEADLINE_SECONDS": "1",
    "CRITICAL_SEND_DEADLINE_SECONDS": "1",
    "MARGIN_SECONDS": "0.5",
    "LATE_START_SECONDS": "0.5",
    "DRAIN_SECONDS": "0.6",  # as in production, a drain is over long before a lease is too short to begin
    "CHECK_PACE": "0.02",
    "LOOK_UP_AGAIN_SECONDS": "1",
    "CRITICAL_RETRY_SECONDS": "90",
    "HIGH_RETRY_SECONDS": "90",
    "NORMAL_RETRY_SECONDS": "90",
    "BULK_RETRY_SECONDS": "90",
    "RECEIPT_DEADLINE_SECONDS": "5",
    "ACCOUNT_OPEN_SECONDS": "2",
    "TROUBLE_SECONDS": "2",
    "TRANSACTION_ALARM_SECONDS": "10",
    "SWEEP_SECONDS": "1",
    "HINT_CIRCUIT_SECONDS": "1",
    "CACHE_SECONDS": "1",
    "LOG_LEVEL": "WARNING",
}
PACE = Pace(
    sent_after=0.05,
    delivered_after=0.15,
    late_after=6.0,
    slow_answer=0.4,
    hang=3.0,
    look_up_lag=0.3,
    unanswered_after=2.5,
    webhook_retries=(0.5, 2.0, 5.0),
)
WORKERS = ("urgent-1", "urgent-2", "other-1", "other-2")
FALLBACK = "fast-fallback"  # the route sms-then-email with a window of seconds
WINDOW_SECONDS = 4

# Two accounts a channel, so that each kind of provider carries a share of every row's messages: one that can be searched
# by recipient and time, one that can be asked nothing; one that can be searched by our name, one that knows keys.
ACCOUNTS = {
    "twilio-found": ("twilio", "sms", {}),
    "twilio-blind": ("twilio", "sms", {"may_read": False}),
    "postmark-main": ("postmark", "email", {}),
    "resend-main": ("resend", "email", {}),
}
KINDS = {"twilio-found": "recipient", "twilio-blind": "nothing", "postmark-main": "reference", "resend-main": "keys"}


@dataclass
class House:
    """What a fault may do to the house, and what it may see of it."""

    postgres: Postgres
    broker: Valkey
    sandbox: Sandbox
    processes: Processes
    web_url: str
    web_port: int
    api_key: str
    tokens: Path
    folder: Path
    proxy: Proxy  # between everybody and the broker, where the house has one
    commands: dict[str, list[str]] = field(default_factory=dict)
    expected_down: set[str] = field(default_factory=set)  # what a fault stopped, and starts again itself
    restarts: int = 0

    def start(self, name: str, command: list[str] | None = None) -> None:
        """Start a process, or start it again."""
        self.commands[name] = command or self.commands[name]
        self.expected_down.discard(name)
        self.processes.start(name, self.commands[name])

    def stop(self, name: str, grace_seconds: float = 15.0) -> None:
        """Ask a process to end; it stays down until `start`."""
        self.expected_down.add(name)
        self.processes.stop(name, grace_seconds)

    def kill(self, name: str) -> None:
        """SIGKILL a process with all its children; the supervisor starts it again."""
        self.processes.kill(name)
        self.start(name)

    def tend(self) -> None:
        """What a supervisor does: start again what has ended."""
        for name in self.processes.died():
            self.processes.kill(name)  # what it left running
            self.start(name)
            self.restarts += 1

    def wait(self, is_so: Callable[[], object], *, seconds: float, every: float = 0.1) -> float | None:
        """Tend the house until something is so. Returns after how many seconds, or None if it never was."""
        began_at = time.monotonic()
        while time.monotonic() - began_at < seconds:
            if _safely(is_so):
                return time.monotonic() - began_at
            self.tend()
            time.sleep(every)
        return None

    def pause(self, seconds: float) -> None:
        """Tend the house for a while."""
        self.wait(lambda: False, seconds=seconds)

    def children(self, name: str) -> list[int]:
        """The pool processes of a worker."""
        process = self.processes.process_id(name)
        listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [int(child) for child in listed]

    def rows(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        """Ask the database on a connection of our own."""
        with psycopg.connect(self.postgres.url, autocommit=True, connect_timeout=2) as connection:
            return connection.execute(statement, parameters).fetchall()

    def run(self, statement: str) -> None:
        with psycopg.connect(self.postgres.url, autocommit=True, connect_timeout=2) as connection:
            connection.execute(statement)

    @contextmanager
    def broker_client(self) -> Iterator[redis.Redis]:
        with redis.Redis.from_url(self.broker.url, socket_timeout=5) as client:
            yield client

    # ------------------------------------------------------------------------------------------------- deaths at points

    def put_token(self, point: str, who: str = "child") -> bool:
        """Have the next process that comes by a point die there. False if a token waits there already."""
        token = self.tokens / slug(point)
        if token.exists():
            return False
        draft = self.tokens / f"draft.{slug(point)}"
        draft.write_text(who)
        draft.rename(token)
        return True

    def take_tokens_back(self) -> None:
        for token in self.tokens.iterdir():
            if not token.name.startswith("taken."):
                token.unlink(missing_ok=True)

    def deaths(self, point: str) -> int:
        """How many processes have died at a point."""
        return len(list(self.tokens.glob(f"taken.{slug(point)}.*")))

    # ------------------------------------------------------------------------------------------------ how the house is

    def overdue(self, by_seconds: float = 1.0) -> int:
        """Entries that have been due for longer than that."""
        found = self.rows(f"SELECT count(*) FROM outbox WHERE due_at < now() - interval '{by_seconds} seconds'")
        return int(str(found[0][0]))

    def recovery(self, *, seconds: float = 60.0) -> float | None:
        """Wait until nothing is overdue any more. Returns how long that took."""
        return self.wait(lambda: self.overdue() == 0, seconds=seconds)

    def claims(self) -> dict[object, object]:
        """Which entries are claimed under which claim now."""
        return dict(self.rows("SELECT message_id, claim FROM outbox WHERE claim IS NOT NULL"))  # type: ignore[arg-type]

    def until_moved(self, claims: dict[object, object], *, seconds: float = 30.0) -> float | None:
        """Wait until everything claimed then has moved on: another claim, or none. Returns how long that took."""

        def moved() -> bool:
            now = self.claims()
            return all(now.get(message) != claim for message, claim in claims.items())

        return self.wait(moved, seconds=seconds, every=0.05)


def _safely(is_so: Callable[[], object]) -> object:
    """While servers are away, nothing can be said to be so."""
    try:
        return is_so()
    except (psycopg.Error, redis.RedisError, requests.RequestException, OSError):
        return False


@contextmanager
def open_house(kind: str = "usual") -> Iterator[House]:
    """A house with a database and broker of its own, migrated and ready to work. Django of this process works on it too.

    "proxied": the broker is reached through a proxy. "defaults": all of Celery's settings are its own.
    """
    with (
        TemporaryDirectory(prefix="landfall-faults-") as folder,
        Postgres() as postgres,
        Valkey() as broker,
    ):
        proxy, port = Proxy(broker.port), free_port()
        url = f"http://127.0.0.1:{port}"
        tokens, logs = Path(folder) / "tokens", Path(folder) / "logs"
        tokens.mkdir()
        logs.mkdir()
        completed = {
            **TIMES,
            "DATABASE_URL": postgres.url,
            "CELERY_BROKER_URL": broker.url.replace(f":{broker.port}/", f":{proxy.port}/")
            if kind == "proxied"
            else broker.url,
            "PUBLIC_URL": url,
            "FAULT_TOKENS": str(tokens),
            "DJANGO_SETTINGS_MODULE": "tests.faults.default_settings"
            if kind == "defaults"
            else "tests.faults.settings",
        }
        _become_part_of_it(completed)
        sandbox, key = _furnish(url)
        with sandbox, Processes(completed, logs) as processes:
            house = House(postgres, broker, sandbox, processes, url, port, key, tokens, Path(folder), proxy)
            _move_in(house)
            yield house


def _become_part_of_it(environment: dict[str, str]) -> None:
    """This process asks the same database by the same code, at points where it does not die."""
    import django
    from django.core.management import call_command

    os.environ.update({name: value for name, value in environment.items() if name != "FAULT_TOKENS"})
    django.setup()
    call_command("migrate", verbosity=0)


def _furnish(url: str) -> tuple[Sandbox, str]:
    """Accounts, the vendors behind them, a route and a client with its key."""
    from notifications.models import Client, ProviderAccount, Route
    from notifications.services.keys import Scope, make_key

    host = url.removeprefix("http://")
    accounts = {slug: _credentials(provider) for slug, (provider, _, _) in ACCOUNTS.items()}
    sandbox = Sandbox(
        [
            SandboxAccount(slug, ACCOUNTS[slug][0], credentials, _webhook_url(host, slug, credentials))
            for slug, credentials in accounts.items()
        ],
        pace=PACE,
    )
    for slug_, (provider, channel, settings) in ACCOUNTS.items():
        sender = "+15005550006" if channel == "sms" else "no-reply@example.org"
        ProviderAccount.objects.create(
            slug=slug_,
            provider=provider,
            channels=[channel],
            priority=1,
            credentials=accounts[slug_],
            settings={"from": sender, "look_up_delay_seconds": 0.5, **settings},
            base_url=sandbox.base_url(slug_),
        )
    steps = [{"channel": "sms", "wait_for": "delivered", "window_seconds": WINDOW_SECONDS}, {"channel": "email"}]
    Route.objects.get_or_create(name=FALLBACK, defaults={"steps": steps})
    return sandbox, make_key(Client.objects.get_or_create(name="faults")[0], list(Scope))


def _credentials(provider: str) -> dict[str, str]:
    if provider == "twilio":
        return {"account_sid": f"AC{secrets.token_hex(16)}", "auth_token": secrets.token_hex(16)}
    if provider == "resend":
        return {
            "api_key": f"re_{secrets.token_hex(12)}",
            "webhook_secret": "whsec_" + b64encode(secrets.token_bytes(24)).decode(),
        }
    return {"server_token": secrets.token_hex(8), "webhook_user": "u", "webhook_password": secrets.token_hex(8)}


def _webhook_url(host: str, slug: str, credentials: dict[str, str]) -> str:
    login = f"u:{credentials['webhook_password']}@" if "webhook_password" in credentials else ""
    return f"http://{login}{host}/webhooks/{slug}/"


def _move_in(house: House) -> None:
    house.start("web", web(house.web_port))
    house.start("beat", beat())
    for name in WORKERS:
        lanes, transport = (URGENT, "requests") if name.startswith("urgent") else (OTHER, "curl")
        command = worker(name, lanes, concurrency=len(lanes))  # or a lane waits for the drain of another
        house.start(name, ["env", f"SEND_TRANSPORT={transport}", *command])
    lanes = [*URGENT, *OTHER]

    def ready() -> bool:
        served = house.rows("SELECT count(*) FROM heartbeat WHERE process = ANY (%s)", lanes)
        return served[0][0] == len(lanes) and requests.get(f"{house.web_url}/healthz", timeout=2).ok

    if house.wait(ready, seconds=READY_SECONDS) is None:
        sys.exit("the house is not ready:\n" + "\n".join(house.processes.log(name)[-800:] for name in house.commands))


def stop_for_a_while(process_ids: Sequence[int], *, then: Callable[[], None]) -> None:
    """Freeze processes, do something, and let them go on."""
    for process_id in process_ids:
        os.kill(process_id, signal.SIGSTOP)
    try:
        then()
    finally:
        for process_id in process_ids:
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGCONT)

"""The engine with real vendors on the loopback, and second connections for races."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from random import Random
from typing import Any, LiteralString

import psycopg
import pytest
from celery import current_app
from django.core.management.commands import flush
from django.db import connection
from django.db.backends.postgresql.operations import DatabaseOperations
from psycopg import sql

from notifications import outbox
from notifications.accounts import accounts
from notifications.hints import hints
from notifications.lanes import Lane
from notifications.logins import Logins
from notifications.models import ProviderAccount
from notifications.numbers import numbers
from notifications.outbox import Batch
from notifications.runtime import Runtime
from notifications.services.apply import apply_waiting
from notifications.services.deliver import Drain
from notifications.tempo import Tempo
from providers.sandbox import Pace, Sandbox, SandboxAccount
from providers.transport.base import Answer, Call, Transport
from providers.transport.choice import make_transport
from providers.transport.foreign import ForeignRules
from providers.transport.inbox import Inbox
from tests import factories
from tests.notifications.racing import PATIENCE_SECONDS, and_close

SPARE = {"account_sid": "AC" + "2" * 32, "auth_token": "s" * 32}
PACE = Pace(
    sent_after=0.005,
    delivered_after=0.01,
    late_after=0.05,
    slow_answer=0.2,
    hang=2.0,
    look_up_lag=0.0,
    unanswered_after=0.01,
    webhook_retries=(0.02, 0.05),
)


KEPT = {"django_content_type", "auth_permission"}  # made anew after each flush otherwise, by a signal


@pytest.fixture(scope="session", autouse=True)
def emptied_by_deletion() -> Iterator[None]:
    """Tables hold a few rows after a test: deleting those is 0.1 s faster than truncating all tables."""

    def delete(self: DatabaseOperations, style: Any, tables: Sequence[str], **_: Any) -> list[str]:
        return [f"DELETE FROM {self.quote_name(table)}" for table in tables if table not in KEPT]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", delete)
        patch.setattr(flush, "emit_post_migrate_signal", lambda *_, **__: None)
        yield


@pytest.fixture
def numbers_are(settings: Any) -> Callable[..., None]:
    """Change some of the engine's numbers for one test."""

    def change(**changes: Any) -> None:
        settings.LANDFALL = {**settings.LANDFALL, **changes}
        numbers.cache_clear()

    return change


class Watched(Inbox):
    """An inbox that a test looks into whenever answers are taken out of it."""

    def __init__(self, look: Callable[[Sequence[Answer]], Any]) -> None:
        super().__init__()
        self._look = look

    def collect(self, **options: Any) -> list[Answer]:
        if answers := super().collect(**options):
            self._look(answers)
        return answers


class Between:
    """A transport, and what a test does around its calls."""

    def __init__(
        self,
        transport: Transport,
        *,
        before: Callable[[Sequence[Call]], Any],
        after: Callable[[Sequence[Answer]], Any],
    ) -> None:
        self.concurrency = transport.concurrency
        self._transport = transport
        self._before = before
        self._after = after

    def send(self, calls: Sequence[Call], inbox: Inbox) -> None:
        self._before(calls)
        self._transport.send(calls, inbox)

    def open_inbox(self) -> Inbox:
        return Watched(self._after)

    def close(self) -> None:
        """The transport belongs to the world."""


@dataclass
class World:
    """The engine between its database and its vendors. Nothing runs by itself: each drain is called by the test.

    Vendors report nothing until `listen`; what becomes of their messages they know all the same.
    """

    sandbox: Sandbox
    runtime: Runtime
    slugs: dict[str, str] = field(default_factory=dict)

    def account(self, slug: str, **fields: Any) -> ProviderAccount:
        """The row of an account that the sandbox plays."""
        defaults = {"base_url": self.sandbox.base_url(slug), "provider": "twilio"}
        if slug == "twilio-spare":
            defaults |= {"credentials": SPARE, "priority": 20}
        if slug == "postmark":
            defaults["provider"] = "postmark"
        row = factories.account(slug, **{**defaults, **fields})
        accounts.forget()
        return row

    def listen(self) -> None:
        """From now on, vendors report by webhook."""
        for account in self.sandbox.accounts():
            self.sandbox.set_faults(account["slug"], silent=None)

    def between(
        self,
        before: Callable[[Sequence[Call]], Any] = lambda calls: None,
        after: Callable[[Sequence[Answer]], Any] = lambda answers: None,
    ) -> Between:
        """The world's transport with something done before calls are made and after answers are in."""
        return Between(self.runtime.transport, before=before, after=after)

    def drain(self, *lanes: Lane, **runtime: Any) -> int:
        """One drain of each lane, of all of them by default. Returns how many entries were claimed."""
        return sum(self._drain(lane, runtime).run() for lane in lanes or tuple(Lane))

    def claim(self, lane: Lane) -> Batch:
        """The first half of a drain: all that is due is ours."""
        return outbox.claim(lane, 500, self.runtime.monotonic)

    def deliver(self, batch: Batch, **runtime: Any) -> None:
        """The second half: prepare in memory, begin, call, record."""
        self._drain(batch.lane, runtime).deliver_batch(batch)

    def _drain(self, lane: Lane, runtime: dict[str, Any]) -> Drain:
        if isinstance(between := runtime.get("transport"), Between):
            runtime["open_inbox"] = between.open_inbox
        return Drain(lane, accounts=accounts, hints=hints, runtime=replace(self.runtime, **runtime))

    def hear(self) -> int:
        """Wait until all that vendors have to report has been reported, and apply it."""
        assert self.sandbox.wait_idle(PATIENCE_SECONDS)
        return apply_waiting()

    def on_the_wire(self, account: str | None = None, to: str | None = None) -> int:
        """How many messages vendors took."""
        return len(self.sandbox.messages(account=account, to=to))

    def requests(self, account: str, kind: str = "send") -> int:
        """How many requests of a kind a vendor had: send, find, status."""
        return self.sandbox.counts().accounts[account].requests.get(kind, 0)


@pytest.fixture
def pace() -> Pace:
    """How fast vendors work; a test may want another one."""
    return PACE


@pytest.fixture
def more_vendors(live_server: Any) -> list[SandboxAccount]:
    """Accounts that the sandbox plays besides the usual ones; a test may want some."""
    return []


@pytest.fixture
def world(
    seeded: None, live_server: Any, settings: Any, pace: Pace, more_vendors: list[SandboxAccount]
) -> Iterator[World]:
    """An SMS and an e-mail account at vendors that answer at once; a spare SMS account that has no row yet."""
    settings.PUBLIC_URL = live_server.url
    host = live_server.url.removeprefix("http://")
    credentials = factories.CREDENTIALS
    postmark = credentials["postmark"]
    webhook = f"http://{postmark['webhook_user']}:{postmark['webhook_password']}@{host}/webhooks/postmark/"
    sandbox = Sandbox(
        [
            SandboxAccount("twilio", "twilio", credentials["twilio"]),
            SandboxAccount("twilio-spare", "twilio", SPARE),
            SandboxAccount("postmark", "postmark", postmark, webhook),
            *more_vendors,
        ],
        pace=pace,
    )
    port = frozenset({int(sandbox.url.rpartition(":")[2])})
    settings.WEBHOOKS = ForeignRules([ip_network("127.0.0.1")], allows_http=True, ports=port)
    transport = make_transport("requests", 4, settings.WEBHOOKS)
    with sandbox:
        for account in sandbox.accounts():
            sandbox.set_faults(account["slug"], silent=True)
        accounts.tempo, accounts.logins = Tempo(), Logins()
        world = World(sandbox, Runtime(transport, random=Random(1)))
        world.account("twilio")
        world.account("postmark")
        yield world
    transport.close()


@pytest.fixture
def queues() -> Iterator[Callable[[], dict[str, int]]]:
    """Looks into the broker: how many hints wait in each lane that has any. Emptied before and after."""
    with current_app.connection_for_write() as broker:
        channel = broker.default_channel

        def waiting() -> dict[str, int]:
            sizes = {lane.value: channel.queue_declare(lane.value).message_count for lane in Lane}
            return {lane: size for lane, size in sizes.items() if size}

        for lane in Lane:
            channel.queue_purge(lane.value)
        yield waiting
        for lane in Lane:
            channel.queue_purge(lane.value)


@pytest.fixture
def second_connection(seeded: None) -> Iterator[Any]:
    """A cursor of another connection to the same database; each statement commits."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            yield cursor
    finally:
        other.close()


class Outage:
    """While it lasts, the database has ended all connections, and accepts none or only reads."""

    def __init__(self, maintenance: psycopg.Connection[Any], database: str) -> None:
        self._maintenance = maintenance
        self._database = database

    def begin(self) -> None:
        self._alter("ALLOW_CONNECTIONS false")
        self._end_connections()

    def begin_read_only(self) -> None:
        """As after a fail-over, when the old primary has become a replica."""
        self._alter("SET default_transaction_read_only = on")
        self._end_connections()

    def end(self) -> None:
        self._alter("ALLOW_CONNECTIONS true")
        self._alter("RESET default_transaction_read_only")

    def _end_connections(self) -> None:
        ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        self._maintenance.execute(ending, [self._database])

    def _alter(self, change: LiteralString) -> None:
        statement = sql.SQL("ALTER DATABASE {} {}")
        self._maintenance.execute(statement.format(sql.Identifier(self._database), sql.SQL(change)))


@pytest.fixture
def outage(seeded: None) -> Iterator[Outage]:
    """The database can be away; it is back when the test is over."""
    connection.ensure_connection()
    info = connection.connection.info
    with psycopg.connect(
        host=info.host, port=info.port, user=info.user, password=info.password, dbname="postgres", autocommit=True
    ) as maintenance:
        outage = Outage(maintenance, info.dbname)
        yield outage
        outage.end()
    connection.close()


@pytest.fixture
def aside(seeded: None) -> Iterator[Callable[..., Future[Any]]]:
    """Runs work in another thread, on a connection of its own. Returns its Future."""
    with ThreadPoolExecutor(max_workers=60) as pool:

        def run(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
            return pool.submit(and_close, work, args, kwargs)

        yield run

"""The database: it answers, is new enough, keeps what it is told, and agrees about the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, NotSupportedError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from notifications.addresses import redact
from notifications.numbers import numbers
from notifications.services.doctor.findings import Finding, listed, spoken
from notifications.sql.health import OpenTransaction, oldest_transaction
from notifications.sql.rows import execute

OLDEST_VERSION = 15
CLOCK_WARNING_SECONDS = 2.0
CLOCK_ERROR_SECONDS = 30.0
MIGRATIONS_SHOWN = 3
CLOSED = {"E030", "E031"}  # unreachable, too old

# Settings whose "off" makes a promise smaller than it says, and what the promise then is.
DURABILITY = {
    "synchronous_commit": "a crash of the database may lose what was accepted in its last second",
    "fsync": "a crash of the machine may lose the whole database",
    "full_page_writes": "a crash of the machine may damage the database",
}

FACTS = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('transaction_isolation'),
    extract(epoch FROM clock_timestamp())::float8, current_setting('autovacuum') = 'on',
    array(SELECT name FROM unnest(%(durability)s::text[]) AS name WHERE current_setting(name) = 'off'),
    array(SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
          AND reloptions && ARRAY['autovacuum_enabled=off', 'autovacuum_enabled=false'] ORDER BY relname)"""


@dataclass(frozen=True)
class Facts:
    """What a server says of itself. `ahead_seconds` is its clock against ours."""

    version: int
    isolation: str
    ahead_seconds: float
    has_autovacuum: bool
    is_off: list[str]  # names in DURABILITY
    not_vacuumed: list[str]  # tables
    long_transaction: OpenTransaction | None


def findings(clock: Callable[[], float] = time.time) -> Iterator[Finding]:
    """What is wrong with the server behind DATABASE_URL. `clock` is this machine's, in seconds since 1970.

    After one whose code is in CLOSED there is nothing more to ask.
    """
    try:
        facts = read(clock)
    except NotSupportedError:  # Django refuses what is older still
        yield _too_old("older than it can be")
    except (DatabaseError, InterfaceError) as error:
        yield _unreachable(error)
    else:
        yield Finding("", f"PostgreSQL {facts.version} answers at {where()}.")
        for judge in (_version, _isolation, _clocks, _durability, _vacuum, _transactions):
            yield from judge(facts)


def where() -> str:
    """Host, port and name of the database, never user and password."""
    values = connection.settings_dict
    return f"{values['HOST'] or 'the local socket'}:{values['PORT'] or 5432}/{values['NAME']}"


def read(clock: Callable[[], float]) -> Facts:
    """Ask the server. In a transaction, as the engine works in."""
    with transaction.atomic():
        before = clock()
        (facts,) = execute(FACTS, {"durability": list(DURABILITY)})
        ours = (before + clock()) / 2
        oldest = oldest_transaction(over_seconds=numbers().transaction_alarm_seconds)
    version, isolation, theirs, has_autovacuum, is_off, not_vacuumed = facts
    return Facts(version, isolation, theirs - ours, has_autovacuum, is_off, not_vacuumed, oldest)


def migrations() -> Iterator[Finding]:
    """Migrations that were not applied."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    names = [f"{migration.app_label}.{migration.name}" for migration, _ in plan]
    if names:
        more = [f"{len(names) - MIGRATIONS_SHOWN} more"] if len(names) > MIGRATIONS_SHOWN else []
        shown = listed(names[:MIGRATIONS_SHOWN] + more)
        yield Finding("E032", f"Migrations are not applied: {shown}.", "Run `manage.py migrate`.")


def _unreachable(error: Exception) -> Finding:
    first_line, *_ = str(error).splitlines() or [""]
    said = first_line.split(" failed: ")[-1].rstrip(".") or type(error).__name__
    return Finding(
        "E030",
        f"The database does not answer at {where()}: {redact(said, connection.settings_dict['PASSWORD'] or '')}.",
        "Start PostgreSQL there, or correct DATABASE_URL.",
    )


def _too_old(version: str) -> Finding:
    return Finding("E031", f"PostgreSQL at {where()} is {version}.", f"Upgrade it to {OLDEST_VERSION} or newer.")


def _version(facts: Facts) -> Iterator[Finding]:
    if facts.version < OLDEST_VERSION:
        yield _too_old(f"version {facts.version}")


def _isolation(facts: Facts) -> Iterator[Finding]:
    if facts.isolation != "read committed":
        yield Finding(
            "E034",
            f"Transactions run at {facts.isolation.upper()}: claims and repeated requests fail under load.",
            f"ALTER DATABASE {connection.settings_dict['NAME']} SET default_transaction_isolation TO 'read committed',"
            " and look for another value at the role and in DATABASE_URL.",
        )


def _clocks(facts: Facts) -> Iterator[Finding]:
    apart = abs(facts.ahead_seconds)
    if apart > CLOCK_WARNING_SECONDS:
        yield Finding(
            "E033" if apart > CLOCK_ERROR_SECONDS else "W033",
            f"The database's clock is {apart:.1f} s {'ahead of' if facts.ahead_seconds > 0 else 'behind'} this machine's.",
            "Have both follow one time server (NTP).",
        )


def _durability(facts: Facts) -> Iterator[Finding]:
    for name in facts.is_off:
        yield Finding("N035", f"{name} is off: {DURABILITY[name]}.", "Turn it on where notifications must not be lost.")


def _vacuum(facts: Facts) -> Iterator[Finding]:
    if not facts.has_autovacuum:
        yield Finding("W036", "autovacuum is off: claims become slower with every message.", "Turn it on.")
    elif facts.not_vacuumed:
        tables = facts.not_vacuumed
        yield Finding(
            "W036",
            f"autovacuum is off for {listed(tables)}.",
            " ".join(f"ALTER TABLE {table} RESET (autovacuum_enabled);" for table in tables),
        )


def _transactions(facts: Facts) -> Iterator[Finding]:
    if oldest := facts.long_transaction:
        yield Finding(
            "W037",
            f"A transaction has been open for {spoken(oldest.seconds)}: while its snapshot lasts, vacuum cleans up nothing"
            " that became dead since, and every claim gets slower.",
            f"See what it is WHERE pid = {oldest.process_id} in pg_stat_activity, and end it."
            if oldest.process_id
            else "It is in pg_prepared_xacts: commit it or roll it back.",
        )

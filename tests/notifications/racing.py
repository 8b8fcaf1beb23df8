"""Several connections at once: started together, watched while one waits for another, counted statement by statement."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

from django.db import connection, transaction

PATIENCE_SECONDS = 10.0


def together(aside: Callable[..., Future[Any]], *works: Callable[[], Any]) -> list[Any]:
    """Start all works at the same moment, each on its own connection. Returns what they return."""
    barrier = threading.Barrier(len(works))

    def start(work: Callable[[], Any]) -> Any:
        connection.ensure_connection()
        barrier.wait(PATIENCE_SECONDS)
        return work()

    return [future.result(PATIENCE_SECONDS * 2) for future in [aside(start, work) for work in works]]


def until(condition: Callable[[], Any], what: str = "it") -> Any:
    """Wait for something that another thread does. Returns what the condition became."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not (value := condition()):
        assert time.monotonic() < ends_at, f"waited in vain for {what}"
        time.sleep(0.005)
    return value


WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND wait_event_type = 'Lock'"""


def until_waiting(count: int = 1) -> None:
    """Wait until so many connections wait for a lock that another one holds."""

    def is_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction the first answer would stand
            cursor.execute(WAITING)
            return cursor.fetchone()[0] >= count

    until(is_waiting, "a connection to wait for a lock")


# Two ways to read a table, and so two orders in which rows come: by key, or as they lie there.
BY_KEY = ("enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin")
AS_THEY_LIE = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")


@contextmanager
def planned(without: tuple[str, ...]) -> Iterator[None]:
    """A transaction in which the planner has to do without some of its ways."""
    with transaction.atomic(), connection.cursor() as cursor:
        for way in without:
            cursor.execute(f"SET LOCAL {way} = off")
        yield


def against_each_other(
    aside: Callable[..., Future[Any]],
    table: str,
    id: UUID,
    work: Callable[[], Any],
    other: Callable[[], Any] | None = None,
) -> list[Any]:
    """Do work, or two works, on two connections that find the same rows in different orders.

    A row in their middle is locked until both wait for it, or for each other: if each locked rows as it finds them, one
    would have locked those before and the other those behind it, and both would go on into each other's half.
    """

    def run(work: Callable[[], Any], without: tuple[str, ...]) -> Any:
        with planned(without):
            return work()

    key = "message_id" if table == "outbox" else "id"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT FROM {table} WHERE {key} = %s FOR UPDATE", [id])
        runs = [aside(run, work, BY_KEY), aside(run, other or work, AS_THEY_LIE)]
        until_waiting(2)
    return [future.result(PATIENCE_SECONDS) for future in runs]


class _ChangedItsMind(Exception):
    pass


@contextmanager
def rolled_back() -> Iterator[None]:
    """A transaction, or within one a savepoint, that comes to nothing."""
    with suppress(_ChangedItsMind), transaction.atomic():
        yield
        raise _ChangedItsMind


@contextmanager
def updates_in_place(table: str) -> Iterator[Counter[str]]:
    """How many rows this connection updates meanwhile, and how many of them without touching an index."""
    counts: Counter[str] = Counter()
    before = _updates(table)
    yield counts
    after = _updates(table)
    counts.update(all=after[0] - before[0], in_place=after[1] - before[1])


def _updates(table: str) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_stat_get_xact_tuples_updated(%(table)s::regclass),"
            " pg_stat_get_xact_tuples_hot_updated(%(table)s::regclass)",
            {"table": table},
        )
        all_, in_place = cursor.fetchone()
    return all_, in_place


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that this connection runs meanwhile."""
    statements: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


def and_close(work: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run work, and close the connection that this thread opened for it."""
    try:
        return work(*args, **kwargs)
    finally:
        connection.close()

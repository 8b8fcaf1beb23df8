"""Procrastinate: one of its jobs per message, on PostgreSQL, with one worker process per core.

`python -m tests.bench.contenders.procrastinate URL COUNT`, in .venv-bench
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import threading
from multiprocessing.synchronize import Event

import procrastinate
import psycopg
import requests

from tests.bench.contenders.manners import TEXT, TO, form, play

CORES = len(os.sched_getaffinity(0))
ADDRESS = os.environ["DATABASE_URL"]
TABLE = """
CREATE TABLE message (id bigint PRIMARY KEY, recipient text, text text, state text DEFAULT 'queued', provider_id text)"""
FILL = "INSERT INTO message (id, recipient, text) SELECT i, %s, %s FROM generate_series(1, %s) AS i"

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=ADDRESS))
_of_thread = threading.local()


@app.task(name="send")
def send(message_id: int, url: str) -> None:
    if not hasattr(_of_thread, "session"):
        _of_thread.session = requests.Session()
        _of_thread.database = psycopg.connect(ADDRESS, autocommit=True)
    row = _of_thread.database.execute("SELECT recipient, text, state FROM message WHERE id = %s", [message_id])
    if row.fetchone()[2] != "queued":
        return
    answer = _of_thread.session.post(url, data=form(f"job{message_id}-1"), auth=("AC0", "t"), timeout=10)
    changes = "UPDATE message SET state = 'sent', provider_id = %s WHERE id = %s"
    _of_thread.database.execute(changes, [answer.json()["sid"], message_id])


def work(told: Event) -> None:
    told.wait()
    asyncio.run(_work())


async def _work() -> None:
    async with app.open_async():
        await app.run_worker_async(
            wait=False, concurrency=4, install_signal_handlers=False, listen_notify=False, delete_jobs="never"
        )


def main(url: str, count: int) -> None:
    context = multiprocessing.get_context("spawn")
    told = context.Event()
    workers = [context.Process(target=work, args=(told,)) for _ in range(CORES)]
    with app.replace_connector(procrastinate.SyncPsycopgConnector(conninfo=ADDRESS)) as starter, starter.open():
        starter.schema_manager.apply_schema()
        with psycopg.connect(ADDRESS, autocommit=True) as database:
            database.execute(TABLE)
            database.execute(FILL, [TO, TEXT, count])
        for first in range(1, count + 1, 500):
            jobs = [{"message_id": id, "url": url} for id in range(first, min(first + 500, count + 1))]
            send.batch_defer(*jobs)
    for worker in workers:
        worker.start()
    play(lambda: _finish(told, workers))


def _finish(told: Event, workers: list[multiprocessing.process.BaseProcess]) -> int:
    told.set()
    for worker in workers:
        worker.join()
    with psycopg.connect(ADDRESS) as database:
        return int(database.execute("SELECT count(*) FROM message WHERE state = 'sent'").fetchone()[0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

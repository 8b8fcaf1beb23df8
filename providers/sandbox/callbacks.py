"""Reports on their way to the product: a few sender threads with kept-alive connections, retries as each vendor documents.

Reports about one message go through one sender, so they leave in the order in which they were posted.
"""

from __future__ import annotations

import base64
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote, urlsplit, urlunsplit

from providers.sandbox.poster import Outcome, Poster
from providers.sandbox.scheduler import Scheduler

SENDERS = 4
STOP_SECONDS = 1.0  # how long stop() waits for a call under way

logger = logging.getLogger(__name__)


def _nobody(outcome: Outcome) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Callback:
    """One call. `waits` are the seconds before each further try; `again` says which outcomes deserve one.

    Callbacks with the same `key` leave in the order in which they were posted. `told` hears the outcome of every try.
    """

    key: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    again: Callable[[Outcome], bool]
    waits: tuple[float, ...] = ()
    told: Callable[[Outcome], None] = _nobody
    method: str = "POST"


class Senders:
    """Posts callbacks until stopped; what is waiting then is not sent."""

    def __init__(self, scheduler: Scheduler, count: int = SENDERS) -> None:
        self._scheduler = scheduler
        self._queues: list[queue.SimpleQueue[Callback | None]] = [queue.SimpleQueue() for _ in range(count)]
        self._threads = [
            threading.Thread(target=self._run, args=(waiting,), name="sandbox-sender", daemon=True)
            for waiting in self._queues
        ]
        self._stopping = False

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping = True
        for waiting in self._queues:
            waiting.put(None)
        for thread in filter(threading.Thread.is_alive, self._threads):
            thread.join(STOP_SECONDS)

    def post(self, callback: Callback) -> None:
        self._scheduler.hold()
        self._queues[hash(callback.key) % len(self._queues)].put(callback)

    def _run(self, waiting: queue.SimpleQueue[Callback | None]) -> None:
        poster = Poster()
        while (callback := waiting.get()) is not None and not self._stopping:
            try:
                self._send(poster, callback)
            except Exception:
                logger.exception("a callback could not be sent")
            finally:
                self._scheduler.release()
        poster.close()

    def _send(self, poster: Poster, callback: Callback) -> None:
        outcome = poster.post(callback.url, callback.headers, callback.body, callback.method)
        callback.told(outcome)
        if callback.waits and callback.again(outcome):
            wait, *rest = callback.waits
            later = replace(callback, waits=tuple(rest))
            self._scheduler.at(time.monotonic() + wait, partial(self.post, later))


def webhook_place(url: str | None) -> tuple[str, dict[str, str]] | None:
    """The address to call and the header that its credentials become."""
    if url is None:
        return None
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    place = urlunsplit(parts._replace(netloc=host))
    if not at:
        return place, {}
    return place, {"Authorization": "Basic " + base64.b64encode(unquote(user).encode()).decode()}

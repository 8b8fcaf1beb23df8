"""The transport over requests: a few threads, each making one call at a time on kept-alive connections."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from requests import PreparedRequest
from requests.structures import CaseInsensitiveDict

from providers.errors import NotStarted, OutcomeUnknown, Unavailable
from providers.messages import Headers, HttpRequest, HttpResponse
from providers.transport.base import ANSWER_LIMIT_BYTES, Answer, Call
from providers.transport.connections import Adapter, board
from providers.transport.flights import BadAnswer, Flight, Watchdog

# urllib3 logs whole URLs, and a search by recipient has the address in its URL.
logging.getLogger("urllib3").setLevel(logging.ERROR)


class RequestsTransport:
    """Fulfils `Transport`. Each process has threads and connections of its own from its first call on: forks are safe.

    `ca_file` names the certificate authorities to trust, None means certifi's.
    """

    def __init__(
        self, concurrency: int = 16, monotonic: Callable[[], float] = time.monotonic, ca_file: str | None = None
    ) -> None:
        self.concurrency = concurrency
        self._monotonic = monotonic
        self._ca_file = ca_file
        self._crews: dict[int, _Crew] = {}  # by process id: a child has its parent's crew, but not its threads

    def send_many(
        self, calls: Sequence[Call], *, flush_seconds: float = 0.1, flush_count: int = 200
    ) -> Iterator[list[Answer]]:
        batch = _Batch(len(calls))
        if calls:
            self._crew().take(calls, batch)
        return batch.all_answers(flush_seconds, flush_count)

    def close(self) -> None:
        if crew := self._crews.pop(os.getpid(), None):
            crew.stop()

    def _crew(self) -> _Crew:
        pid = os.getpid()
        crew = self._crews.get(pid)
        if crew is None:
            crew = self._crews.setdefault(pid, _Crew(self.concurrency, self._monotonic, self._ca_file))
            crew.start()
        return crew


@dataclass
class _Batch:
    """The calls of one `send_many` and the answers that are in."""

    missing: int
    answers: queue.SimpleQueue[Answer] = field(default_factory=queue.SimpleQueue)
    is_abandoned: bool = False

    def all_answers(self, seconds: float, count: int) -> Iterator[list[Answer]]:
        """Collect until none is missing. What has not begun when nobody listens any more is not begun."""
        try:
            while self.missing:
                yield self.collect(seconds, count)
        finally:
            self.is_abandoned = True

    def collect(self, seconds: float, count: int) -> list[Answer]:
        """Wait for an answer, then gather more until `seconds` have passed, `count` are there or none is missing."""
        gathered = [self.answers.get()]
        ends_at = time.monotonic() + seconds
        while len(gathered) < min(count, self.missing):
            try:
                gathered.append(self.answers.get(timeout=max(ends_at - time.monotonic(), 0)))
            except queue.Empty:
                break
        self.missing -= len(gathered)
        return gathered


class _Crew:
    """One process's threads and connections."""

    def __init__(self, size: int, monotonic: Callable[[], float], ca_file: str | None) -> None:
        self._size = size
        self._monotonic = monotonic
        self._adapter = Adapter(size, ca_file)
        self._watchdog = Watchdog(monotonic)
        self._waiting: queue.SimpleQueue[tuple[Call, _Batch] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_started = False
        self._is_stopped = False

    def start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started = True
                self._watchdog.start()
                for number in range(self._size):
                    threading.Thread(target=self._work, name=f"transport-{number}", daemon=True).start()

    def stop(self) -> None:
        """Begin nothing more; calls under way come to their end."""
        with self._lock:
            self._is_stopped = True
            for _ in range(self._size):
                self._waiting.put(None)
        self._watchdog.stop()
        self._adapter.close()

    def take(self, calls: Sequence[Call], batch: _Batch) -> None:
        with self._lock:
            for call in calls:
                if self._is_stopped:  # nobody waits any more
                    batch.answers.put(self._answer(call))
                else:
                    self._waiting.put((call, batch))

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            call, batch = task
            if not batch.is_abandoned:
                batch.answers.put(self._answer(call))

    def _answer(self, call: Call) -> Answer:
        began_at = self._monotonic()
        if self._is_stopped:
            return Answer(call.key, NotStarted("shutting down"), 0.0)
        if call.start_by is not None and began_at > call.start_by:
            return Answer(call.key, NotStarted("too late to begin"), 0.0)
        flight = Flight(call.deadline_seconds, self._monotonic, self._watchdog)
        self._watchdog.watch(flight)
        board(flight)
        result: HttpResponse | Unavailable | OutcomeUnknown
        try:
            result = self._exchange(call.request, flight)
        except BaseException as error:  # whatever it is, the call is answered
            result = flight.failure(error)
        finally:
            self._watchdog.forget(flight)
        return Answer(call.key, result, self._monotonic() - began_at)

    def _exchange(self, request: HttpRequest, flight: Flight) -> HttpResponse:
        raw = self._adapter.send(_prepared(request), stream=True, timeout=flight.seconds_left()).raw
        flight.step = "reading the answer"
        try:
            body = _body(raw, flight)
        except BaseException:
            raw.close()
            raw.release_conn()
            raise
        return HttpResponse(raw.status, Headers(raw.headers), body)


def _prepared(request: HttpRequest) -> PreparedRequest:
    """Fill in what the adapter reads. `prepare` would check and encode again what a provider has already encoded."""
    prepared = PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    # Nothing compressed, which could unfold to any size.
    prepared.headers = CaseInsensitiveDict({"User-Agent": "Landfall", **request.headers, "Accept-Encoding": "identity"})
    if request.body:
        prepared.headers["Content-Length"] = str(len(request.body))
        prepared.body = request.body
    return prepared


def _body(raw: Any, flight: Flight) -> bytes:
    """Read the whole body. Raises BadAnswer if there is too much of it, or no telling whether it is whole."""
    if raw.status < 200:  # 103 Early Hints, for one: http.client takes it for the answer, which is still to come
        raise BadAnswer(f"HTTP {raw.status} is no answer")
    body: bytes = raw.read(ANSWER_LIMIT_BYTES + 1, decode_content=True)
    if len(body) > ANSWER_LIMIT_BYTES:
        raise BadAnswer("the answer is too long")
    if raw.length_remaining is None and not raw.chunked and (flight.is_cut or not body):
        # It ends where the connection ends, which may have been in its headers: http.client does not mind.
        raise BadAnswer("the answer may have been cut short")
    return body

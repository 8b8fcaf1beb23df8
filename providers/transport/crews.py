"""Crews of threads: each thread makes one call at a time, on connections that its crew keeps."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from providers.errors import AddressForbidden, NotStarted, OutcomeUnknown, Unavailable
from providers.messages import HttpResponse, MailResponse
from providers.transport.base import Answer, Call, Receiver
from providers.transport.flights import Flight, Watchdog


class Lines(Protocol):
    """The connections of one crew, used by several threads at once."""

    def exchange(self, request: Any, flight: Flight) -> HttpResponse | MailResponse:
        """Make a call. Whatever it raises is told as `flight` sees it."""
        ...

    def close(self) -> None:
        """Close those that are idle."""
        ...


class CrewTransport:
    """Fulfils `Transport`. Each process has threads and connections of its own from its first call on: forks are safe."""

    def __init__(self, concurrency: int, monotonic: Callable[[], float], open_lines: Callable[[], Lines]) -> None:
        self.concurrency = concurrency
        self._monotonic = monotonic
        self._open_lines = open_lines
        self._crews: dict[int, _Crew] = {}  # by process id: a child has its parent's crew, but not its threads

    def send(self, calls: Sequence[Call], inbox: Receiver) -> None:
        if calls:
            self._crew().take(calls, inbox)

    def close(self) -> None:
        if crew := self._crews.pop(os.getpid(), None):
            crew.stop()

    def _crew(self) -> _Crew:
        pid = os.getpid()
        crew = self._crews.get(pid)
        if crew is None:
            crew = self._crews.setdefault(pid, _Crew(self.concurrency, self._monotonic, self._open_lines()))
        crew.start()  # again where there were no threads to be had
        return crew


class _Crew:
    """One process's threads and connections."""

    def __init__(self, size: int, monotonic: Callable[[], float], lines: Lines) -> None:
        self._size = size
        self._monotonic = monotonic
        self._lines = lines
        self._watchdog = Watchdog(monotonic)
        self._waiting: queue.SimpleQueue[tuple[Call, Receiver] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_started = False
        self._is_stopped = False

    def start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._watchdog.start()
                for number in range(self._size):
                    threading.Thread(target=self._work, name=f"transport-{number}", daemon=True).start()
                self._is_started = True

    def stop(self) -> None:
        """Begin nothing more; calls under way come to their end."""
        with self._lock:
            self._is_stopped = True
            for _ in range(self._size):
                self._waiting.put(None)
        self._watchdog.stop()
        self._lines.close()

    def take(self, calls: Sequence[Call], inbox: Receiver) -> None:
        with self._lock:
            for call in calls:
                if self._is_stopped:  # nobody waits any more
                    inbox.add(self._answer(call))
                else:
                    self._waiting.put((call, inbox))

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            call, inbox = task
            if not inbox.is_abandoned:
                inbox.add(self._answer(call))

    def _answer(self, call: Call) -> Answer:
        began_at = self._monotonic()
        if self._is_stopped:
            return Answer(call.key, NotStarted("shutting down"), 0.0)
        if call.start_by is not None and began_at > call.start_by:
            return Answer(call.key, NotStarted("too late to begin"), 0.0)
        flight = Flight(call.deadline_seconds, self._monotonic, self._watchdog)
        self._watchdog.watch(flight)
        result: HttpResponse | MailResponse | Unavailable | AddressForbidden | OutcomeUnknown
        try:
            result = self._lines.exchange(call.request, flight)
        except BaseException as error:  # whatever it is, the call is answered
            result = flight.failure(error)
        finally:
            self._watchdog.forget(flight)
        return Answer(call.key, result, self._monotonic() - began_at)

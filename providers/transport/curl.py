"""The transport over libcurl's multi interface: one thread that keeps many calls going at once."""

from __future__ import annotations

import math
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

import certifi
import pycurl  # type: ignore[import-untyped]

from providers.errors import AddressForbidden, NotStarted, Unavailable
from providers.transport.base import Answer, Call, Receiver
from providers.transport.foreign import ForeignRules
from providers.transport.handles import Handle
from providers.transport.wires import Wires

KEPT_CONNECTIONS = 512  # 16 to each of 32 hosts, as the transport over requests keeps


class CurlTransport:
    """Fulfils `Transport`. Each process has a thread and connections of its own from its first call on: forks are safe.

    Speaks HTTP/2 where a host offers it over TLS; calls to that host then share connections.
    `ca_file` names the certificate authorities to trust, None means certifi's.
    """

    def __init__(
        self,
        concurrency: int = 16,
        monotonic: Callable[[], float] = time.monotonic,
        ca_file: str | None = None,
        foreign: ForeignRules = ForeignRules(),  # noqa: B008  frozen
    ) -> None:
        self.concurrency = concurrency
        self._monotonic = monotonic
        self._ca_file = ca_file or certifi.where()
        self._foreign = foreign
        self._loops: dict[int, _Loop] = {}  # by process id: a child has its parent's loop, but not its thread
        self._lock = threading.Lock()

    def send(self, calls: Sequence[Call], inbox: Receiver) -> None:
        if calls:
            self._loop().take(calls, inbox)

    def close(self) -> None:
        if loop := self._loops.pop(os.getpid(), None):
            loop.stop()

    def _loop(self) -> _Loop:
        pid = os.getpid()
        with self._lock:
            if pid not in self._loops or self._loops[pid].is_stopped:
                self._loops[pid] = _Loop(self.concurrency, self._monotonic, self._ca_file, self._foreign)
            return self._loops[pid]


class _Loop:
    """One process's thread with curl's handles and connections, which no other thread touches.

    Driven socket by socket: pycurl's `select` takes no descriptor above 1023, and cannot be woken for further calls.
    """

    def __init__(self, size: int, monotonic: Callable[[], float], ca_file: str, foreign: ForeignRules) -> None:
        self.is_stopped = False
        self._size = size
        self._monotonic = monotonic
        self._ca_file = ca_file
        self._foreign = foreign
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Call, Receiver]] = deque()
        self._busy: dict[pycurl.Curl, tuple[Handle, Receiver]] = {}
        self._idle: list[Handle] = []
        self._wires = Wires()
        self._timer_at = math.inf
        self._watched: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, KEPT_CONNECTIONS)
        threading.Thread(target=self._run, name="transport-curl", daemon=True).start()

    def stop(self) -> None:
        """Begin nothing more; calls under way come to their end."""
        with self._lock:
            if not self.is_stopped:
                self.is_stopped = True
                self._wake()

    def take(self, calls: Sequence[Call], inbox: Receiver) -> None:
        with self._lock:
            if self.is_stopped:  # nobody listens any more
                for call in calls:
                    inbox.add(_unbegun(call))
            else:
                self._waiting.extend((call, inbox) for call in calls)
                self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # the pipe is full: it will wake
            os.write(self._waker, b"!")

    def _run(self) -> None:
        try:
            while not self._is_over():
                self._turn()
        except BaseException as error:  # whatever it is, every call is answered; the next ones get another loop
            self._give_up(error)
        finally:
            self._close()

    def _is_over(self) -> bool:
        with self._lock:
            return self.is_stopped and not self._busy and not self._waiting

    def _turn(self) -> None:
        while self._waiting and (self.is_stopped or len(self._busy) < self._size):
            call, inbox = self._waiting.popleft()
            if not inbox.is_abandoned:
                self._begin(call, inbox)
        self._drive()
        self._end()

    def _begin(self, call: Call, inbox: Receiver) -> None:
        now = self._monotonic()
        if self.is_stopped:
            inbox.add(_unbegun(call))
        elif call.start_by is not None and now > call.start_by:
            inbox.add(Answer(call.key, NotStarted("too late to begin"), 0.0))
        elif call.deadline_seconds <= 0:
            inbox.add(Answer(call.key, Unavailable("preparing the request: the deadline passed"), 0.0))
        else:
            try:
                if call.request.is_foreign:
                    self._foreign.check_url(call.request)
                handle = self._idle.pop() if self._idle else Handle(self._ca_file, self._wires, self._foreign)
                handle.begin(call, now)
                self._multi.add_handle(handle.curl)
            except AddressForbidden as error:
                inbox.add(Answer(call.key, AddressForbidden(error.detail), 0.0))
            except BaseException as error:
                inbox.add(Answer(call.key, Unavailable(f"writing the request: {type(error).__name__}"), 0.0))
            else:
                self._busy[handle.curl] = handle, inbox

    def _drive(self) -> None:
        """Wait until a socket is ready, a timer has run out or there are new calls, and let curl work."""
        seconds = self._timer_at - time.monotonic()
        events = self._selector.select(None if seconds == math.inf else max(seconds, 0))
        if time.monotonic() >= self._timer_at:
            self._timer_at = math.inf
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        for key, mask in events:
            if key.fd == self._woken:
                os.read(self._woken, 4096)
            else:
                self._multi.socket_action(key.fd, mask)  # selectors and curl use the same bits

    def _end(self) -> None:
        is_more = True
        while is_more:
            is_more, done, failed = self._multi.info_read()
            for curl in done:
                self._end_call(curl, pycurl.E_OK)
            for curl, code, _ in failed:
                self._end_call(curl, code)

    def _end_call(self, curl: pycurl.Curl, code: int) -> None:
        handle, inbox = self._busy[curl]
        now = self._monotonic()
        self._multi.remove_handle(curl)
        if code and handle.begin_again(now):
            self._multi.add_handle(curl)
        else:
            inbox.add(handle.end(code, now))
            del self._busy[curl]
            self._idle.append(handle)

    def _watch(self, what: int, descriptor: int, *_: object) -> None:
        """Called by curl when it wants to know something else of a socket."""
        is_known = descriptor in self._watched
        if what in (pycurl.POLL_IN, pycurl.POLL_OUT, pycurl.POLL_INOUT):
            (self._selector.modify if is_known else self._selector.register)(descriptor, what)
            self._watched.add(descriptor)
        elif is_known:
            self._selector.unregister(descriptor)
            self._watched.discard(descriptor)

    def _set_timer(self, milliseconds: int) -> None:
        self._timer_at = math.inf if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _give_up(self, error: BaseException) -> None:
        with self._lock:
            self.is_stopped = True
        for handle, inbox in self._busy.values():
            inbox.add(handle.give_up(error, self._monotonic()))
        for call, inbox in self._waiting:
            inbox.add(_unbegun(call))

    def _close(self) -> None:
        for curl in self._busy:
            with suppress(pycurl.error):
                self._multi.remove_handle(curl)
        self._multi.close()
        with self._lock:  # nobody is about to write to the pipe
            self._selector.close()
            os.close(self._woken)
            os.close(self._waker)


def _unbegun(call: Call) -> Answer:
    return Answer(call.key, NotStarted("shutting down"), 0.0)

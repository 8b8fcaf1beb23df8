"""Calls under way: how far each got, and the hand that cuts it off at its deadline."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import socket
import ssl
import threading
from collections.abc import Callable

from providers.errors import AddressForbidden, OutcomeUnknown, Unavailable


class Late(Exception):
    """The deadline passed."""


class BadAnswer(Exception):
    """An answer that proves nothing. The text is ours and may be shown."""


class Flight:
    """One call from its first step to its answer. Used by one worker; only `cut` comes from outside."""

    __slots__ = ("_handle", "_monotonic", "_watchdog", "ends_at", "has_left", "is_cut", "step")

    def __init__(self, seconds: float, monotonic: Callable[[], float], watchdog: Watchdog) -> None:
        self.ends_at = monotonic() + seconds
        self.step = "preparing the request"
        self.has_left = False  # bytes of the request may have left this machine
        self.is_cut = False
        self._monotonic = monotonic
        self._watchdog = watchdog
        self._handle: int | None = None

    def seconds_left(self) -> float:
        left = self.ends_at - self._monotonic()
        if self.is_cut or left <= 0:
            raise Late
        return left

    def hold(self, connection: socket.socket) -> None:
        """From now on the deadline cuts this connection.

        A duplicate of its descriptor is kept, because wrapping in TLS empties the socket object, and closing may give
        its number to another connection.
        """
        handle = os.dup(connection.fileno())
        with self._watchdog.lock:
            self._drop()
            self._handle = handle

    def release(self) -> None:
        """The connection is no longer ours: the deadline must not cut it."""
        with self._watchdog.lock:
            self._drop()

    def depart(self) -> None:
        """Bytes leave now. Raises Late instead if the deadline has passed."""
        if not self.has_left:
            self.seconds_left()
            self.has_left = True
            self.step = "waiting for the answer"

    def cut(self) -> None:
        """Shut the connection: its worker wakes up. Called under the watchdog's lock."""
        self.is_cut = True
        if self._handle is not None:
            with contextlib.suppress(OSError), socket.socket(fileno=self._handle) as connection:
                self._handle = None  # closed with the socket object
                connection.shutdown(socket.SHUT_RDWR)

    def failure(self, error: BaseException) -> Unavailable | AddressForbidden | OutcomeUnknown:
        """Say what an exception means for the call. Their texts hold addresses and whole URLs, so only names are kept."""
        cause = _innermost(error)
        if isinstance(cause, AddressForbidden):
            return AddressForbidden(cause.detail)
        if self.is_cut or isinstance(cause, Late | TimeoutError):
            reason = "the deadline passed"
        else:
            reason = str(cause) if isinstance(cause, BadAnswer) else _name(cause)
        return (OutcomeUnknown if self.has_left else Unavailable)(f"{self.step}: {reason}")

    def _drop(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Watchdog:
    """One thread that cuts every flight still open at its deadline. Read timeouts do not: a byte a second satisfies them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._monotonic = monotonic
        self._open: set[Flight] = set()
        self._wakes_at = math.inf
        self._is_stopped = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="transport-watchdog", daemon=True).start()

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify()

    def watch(self, flight: Flight) -> None:
        with self._changed:
            self._open.add(flight)
            if flight.ends_at < self._wakes_at:
                self._changed.notify()

    def forget(self, flight: Flight) -> None:
        with self._changed:
            self._open.discard(flight)
            flight.release()

    def _run(self) -> None:
        with self._changed:
            while not (self._is_stopped and not self._open):
                now = self._monotonic()
                late = [flight for flight in self._open if flight.ends_at <= now]
                self._open.difference_update(late)
                for flight in late:
                    flight.cut()
                self._wakes_at = min((flight.ends_at for flight in self._open), default=math.inf)
                self._changed.wait(None if self._wakes_at == math.inf else self._wakes_at - now)


def _innermost(error: BaseException) -> BaseException:
    """Find what happened first: requests and urllib3 wrap exceptions several deep, each in its own way."""
    for _ in range(10):
        causes = (getattr(error, "reason", None), error.__cause__, *error.args)
        inner = next((cause for cause in causes if isinstance(cause, BaseException)), None)
        if inner is None:
            break
        error = inner
    return error


def _name(error: BaseException) -> str:
    name = type(error).__name__
    if isinstance(error, ssl.SSLError):
        return f"{name} {error.reason or ''}".rstrip()
    return errno.errorcode.get(error.errno or 0, name) if isinstance(error, OSError) else name

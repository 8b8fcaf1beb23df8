"""Hints: "look, there may be work". Safe to lose, to repeat, and to send while the broker is down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from celery import current_app
from django.db import transaction

from notifications.lanes import Lane
from notifications.numbers import numbers

log = structlog.get_logger(__name__)


class Hints:
    """Sends hints by task name. After a failure none is sent for a while, so that no caller waits for a dead broker again."""

    def __init__(
        self, publish: Callable[..., Any] | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._publish = publish or (lambda *args, **options: current_app.send_task(*args, **options))
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._closed_until = 0.0

    def drain(self, lane: Lane) -> None:
        """There may be something due in a lane."""
        self._send("notifications.drain", lane, {"lane": lane.value})

    def apply(self) -> None:
        """There may be reports to apply."""
        self._send("notifications.apply", Lane.CONTROL, {})

    def canary(self, lane: Lane) -> None:
        """Have whoever consumes a lane show it. Expires when that sign would be too old; hints ahead in its queue, sooner."""
        self._send("notifications.canary", lane, {"lane": lane.value}, expires=numbers().canary_limit_seconds)

    def drain_after_commit(self, lane: Lane) -> None:
        """Hint once the caller's transaction is committed; once per lane and transaction."""
        connection = transaction.get_connection()
        hint = _Drain(self, lane)
        if connection.in_atomic_block and any(waiting == hint for _, waiting, _ in connection.run_on_commit):
            return
        transaction.on_commit(hint, robust=True)

    def _send(self, task: str, lane: Lane, arguments: dict[str, str], expires: float | None = None) -> None:
        with self._lock:
            if self._monotonic() < self._closed_until:
                return
        try:
            expires = expires or numbers().hint_expiry_seconds
            self._publish(task, kwargs=arguments, queue=lane.value, expires=expires, ignore_result=True)
        except Exception as error:  # whatever the broker's client raises: the sweep finds what this hint was for
            with self._lock:
                self._closed_until = self._monotonic() + numbers().hint_circuit_seconds
            log.warning("hint not sent", task=task, lane=lane.value, error=type(error).__name__)


class _Drain:
    """A callback that equals another for the same lane."""

    def __init__(self, hints: Hints, lane: Lane) -> None:
        self._hints = hints
        self._lane = lane

    def __call__(self) -> None:
        self._hints.drain(self._lane)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Drain) and other._lane is self._lane

    def __hash__(self) -> int:
        return hash(self._lane)


hints = Hints()


def reach_broker() -> None:
    """Connect to the broker, as a hint would. Raises what its client raises."""
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=1)

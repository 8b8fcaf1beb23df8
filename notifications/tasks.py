"""Celery's way in. Every task is a hint: safe to lose, to repeat, to run late and to run twice at once."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cache
from typing import Any

import structlog
from celery import Task, shared_task
from celery.signals import beat_init, worker_init, worker_ready, worker_shutting_down
from django.conf import settings
from django.db import close_old_connections, connection, connections
from django.utils import timezone

from notifications import checks, stopping
from notifications.accounts import accounts
from notifications.hints import hints
from notifications.lanes import Lane
from notifications.numbers import numbers
from notifications.redaction import redactor
from notifications.runtime import Runtime
from notifications.services import apply as applying
from notifications.services import arrivals as arriving
from notifications.services import clean as cleaning
from notifications.services import endpoint_health, replay
from notifications.services import heartbeat as beating
from notifications.services import reconcile as reconciling
from notifications.services import redact as redacting
from notifications.services import sweep as sweeping
from notifications.services.allowance import Allowance
from notifications.services.deliver import Drain
from notifications.sql.reconcile import beat
from notifications.sql.rows import DATABASE_AWAY
from providers.transport.choice import make_transport

log = structlog.get_logger(__name__)


class Hint(Task):  # type: ignore[type-arg]
    """Tries again when the infrastructure fails; what fails for good leaves a dead letter."""

    autoretry_for = DATABASE_AWAY
    retry_backoff = True
    retry_jitter = True
    max_retries = 5

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        close_old_connections()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.run(*args, **kwargs)
        except Exception as error:
            redactor.error(error)  # Celery repeats it to all who listen, Flower among them
            raise

    def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        try:
            replay.file_task(self.name or "", exc)
        except DATABASE_AWAY:
            log.error("task failed for good, and cannot be filed", task=self.name, error=type(exc).__name__)


@cache
def runtime(transport: str) -> Runtime:
    """The world of this process: made after the fork, kept for its life."""
    carrier = make_transport(transport, numbers().connections, settings.WEBHOOKS)
    return Runtime(carrier, stopping=stopping.is_stopping)


def transport_of(lane: Lane) -> str:
    """Who carries a lane's calls: curl is for volume, `requests` for single ones, unless a setting says otherwise."""
    if settings.SEND_TRANSPORT == "auto" and lane is not Lane.BULK:
        return "requests"
    return str(settings.SEND_TRANSPORT)


@shared_task(name="notifications.drain", base=Hint, bind=False)
def drain(*, lane: str, **_newer_arguments: Any) -> int:
    """Deliver what is due in a lane."""
    connection.health_check_done = True  # type: ignore[attr-defined]  # a claim finds out by itself whether the connection is good
    return Drain(Lane(lane), accounts=accounts, hints=hints, runtime=runtime(transport_of(Lane(lane)))).run()


@shared_task(name="notifications.apply", base=Hint)
def apply(**_newer_arguments: Any) -> int:
    """Apply reports that wait."""
    return applying.apply_waiting()


@shared_task(name="notifications.sweep", base=Hint)
def sweep(**_newer_arguments: Any) -> int:
    """Find what lost hints were for."""
    return sweeping.sweep(hints)


@shared_task(name="notifications.reconcile", base=Hint)
def reconcile(**_newer_arguments: Any) -> int:
    """Put stuck rows right."""
    return reconciling.reconcile(hints, now=timezone.now())


@shared_task(name="notifications.judge_arrivals", base=Hint)
def judge_arrivals(**_newer_arguments: Any) -> int:
    """See whose messages arrive."""
    return arriving.judge_arrivals(now=timezone.now())


@shared_task(name="notifications.watch_endpoints", base=Hint)
def watch_endpoints(**_newer_arguments: Any) -> int:
    """See which endpoints have failed for long."""
    return endpoint_health.watch_endpoints(now=timezone.now())


@shared_task(name="notifications.redact", base=Hint)
def redact(**_newer_arguments: Any) -> int:
    """Forget the texts and addresses of what ended long ago."""
    return redacting.redact(Allowance(stopping=stopping.is_stopping), now=timezone.now())


@shared_task(name="notifications.clean", base=Hint)
def clean(**_newer_arguments: Any) -> int:
    """Delete what ended longer ago."""
    return cleaning.clean(Allowance(stopping=stopping.is_stopping), now=timezone.now())


@shared_task(name="notifications.poll_statuses", base=Hint)
def poll_statuses(**_newer_arguments: Any) -> int:
    """Have due status checks made."""
    return sweeping.poll_statuses(hints)


@shared_task(name="notifications.heartbeat", base=Hint)
def heartbeat(**_newer_arguments: Any) -> None:
    """Show that beat schedules and a worker works, and ask each lane for a sign."""
    beating.heartbeat(hints)


@shared_task(name="notifications.canary", base=Hint)
def canary(*, lane: str, **_newer_arguments: Any) -> None:
    """Show that a lane is consumed."""
    beat(Lane(lane).value)


@worker_init.connect
def go_by_index(**_: Any) -> None:
    """Have every statement of a worker look rows up. Read whole while it is small, a table would be so for as long as a plan is kept."""
    connections.settings["default"]["OPTIONS"]["options"] += " -c enable_seqscan=off"


@worker_shutting_down.connect
def begin_nothing_more(**_: Any) -> None:
    """SIGTERM: calls in flight finish, nothing more begins."""
    stopping.stop()


@beat_init.connect
@worker_ready.connect
def say_what_is_misconfigured(**_: Any) -> None:
    """Workers and beat show nobody what Django's checks find."""
    checks.say_at_start()


@worker_ready.connect
def report_for_duty(sender: Any, **_: Any) -> None:
    """Show which lanes are served. A control worker sweeps without beat too: it hints, and never drains by itself."""
    lanes = sender.app.amqp.queues.consume_from
    with suppress(*DATABASE_AWAY):
        for lane in lanes:
            beat(lane)
    connection.close()
    if Lane.CONTROL.value in lanes:
        threading.Thread(target=_sweep_for_ever, name="sweep", daemon=True).start()


def _sweep_for_ever() -> None:
    pause = threading.Event()
    while not pause.wait(numbers().sweep_seconds):
        try:
            sweeping.sweep(hints)
            beat(beating.SWEEPER)
        except DATABASE_AWAY:
            continue  # the database is away: next turn
        finally:
            connection.close()  # a pool process forked meanwhile must not share it

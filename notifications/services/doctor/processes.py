"""Processes: beat schedules what it should, and every lane is served."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from django_celery_beat.models import PeriodicTask

from notifications.lanes import Lane
from notifications.numbers import numbers
from notifications.services.doctor.findings import Finding, listed, spoken
from notifications.services.heartbeat import BEAT, SWEEPER, Ages, ages, is_beat_silent, unconsumed
from notifications.sql.health import oldest_due_seconds

# What must be scheduled, each of them once or more.
NEEDED = ("sweep", "poll_statuses", "heartbeat", "reconcile", "redact", "clean", "judge_arrivals", "watch_endpoints")

START_BEAT = "Start `celery -A config beat` and a worker for the control lane, as the Procfile does."


def findings(task_names: Collection[str]) -> Iterator[Finding]:
    """What does not run, or not as it should. `task_names` are those that workers know."""
    seen = ages()
    yield from _beat(seen)
    yield from _workers(seen)
    yield from _sweeper(seen)
    yield from _due()
    yield from _scheduled()
    yield from _schedule_leads_somewhere(task_names)


def _beat(seen: Ages) -> Iterator[Finding]:
    if BEAT not in seen:
        yield Finding("W050", "Beat has not been seen yet.", START_BEAT)
    elif is_beat_silent(seen):
        silence = f"Beat has been silent for {spoken(seen[BEAT])}, or nobody takes its heartbeat from lane control."
        yield Finding("E050", silence, START_BEAT)


def _workers(seen: Ages) -> Iterator[Finding]:
    unseen = [lane for lane in Lane.values if lane not in seen]
    if unseen:
        lanes = f"lane {unseen[0]}" if len(unseen) == 1 else f"lanes {listed(unseen)}"
        start = "Start one with `-Q` and the lane, as the Procfile does."
        yield Finding("W051", f"No worker has been seen yet for {lanes}.", start)
    for lane, seconds in unconsumed(seen).items():
        yield Finding(
            "E052",
            f"Lane {lane} is not consumed: no canary for {spoken(seconds)}.",
            f"Start a worker with `-Q {lane}`, as the Procfile does, or start it again if one runs: it is stuck.",
        )


def _sweeper(seen: Ages) -> Iterator[Finding]:
    if seen.get(SWEEPER, math.inf) > numbers().sweeper_limit_seconds:
        silence = f"has been silent for {spoken(seen[SWEEPER])}" if SWEEPER in seen else "has not been seen yet"
        yield Finding(
            "W057",
            f"The timer of a control worker {silence}: lost hints are found only while beat runs.",
            "Start a worker for lane control, or start it again.",
        )


def _due() -> Iterator[Finding]:
    for lane, seconds in oldest_due_seconds().items():
        limit = numbers().due_limit_seconds(lane)
        if seconds > limit:
            yield Finding(
                "W056",
                f"The oldest due entry of lane {lane} has waited for {spoken(seconds)}, longer than {limit:g} s.",
                f"Start a worker for lane {lane}, or one more if it has some.",
            )


def _scheduled() -> Iterator[Finding]:
    states = list(PeriodicTask.objects.values_list("task", "enabled"))
    for name in NEEDED:
        enabled = [is_enabled for task, is_enabled in states if task == f"notifications.{name}"]
        if not any(enabled):
            yield Finding(
                "W053",
                f"The periodic task notifications.{name} is {'switched off' if enabled else 'missing'}.",
                "Switch it on in the admin, under Periodic tasks."
                if enabled
                else "Add it in the admin, under Periodic tasks, as migrations 0004, 0009 and 0017 did.",
            )


def _schedule_leads_somewhere(task_names: Collection[str]) -> Iterator[Finding]:
    for name, task, queue in (
        PeriodicTask.objects.filter(enabled=True).values_list("name", "task", "queue").order_by("name")
    ):
        if task not in task_names:
            yield Finding(
                "W054",
                f"Beat sends {task!r} (periodic task {name!r}), which no worker knows.",
                "Correct its name in the admin, or switch it off.",
            )
        elif queue and queue not in Lane.values:
            yield Finding(
                "W055",
                f"The periodic task {name!r} goes to queue {queue!r}, which is no lane.",
                f"Give it one of {listed(Lane.values)}, or none.",
            )

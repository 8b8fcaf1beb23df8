"""Processes: beat schedules what it should, and every lane is served."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from django_celery_beat.models import PeriodicTask

from notifications.lanes import Lane
from notifications.numbers import numbers
from notifications.services.doctor.findings import Finding, listed
from notifications.services.health import BEAT, CONTROL, URGENT
from notifications.sql.health import heartbeat_seconds, oldest_due_seconds

NEEDED = ("sweep", "poll_statuses", "heartbeat", "reconcile")  # what must be scheduled, each of them once or more

START_BEAT = "Start `celery -A config beat` and a worker for the control lane, as the Procfile does."


def findings(task_names: Collection[str]) -> Iterator[Finding]:
    """What does not run, or not as it should. `task_names` are those that workers know."""
    ages = heartbeat_seconds([BEAT, *Lane.values])
    yield from _beat(ages)
    yield from _workers(ages)
    yield from _due()
    yield from _scheduled()
    yield from _schedule_leads_somewhere(task_names)


def _beat(ages: Mapping[str, float]) -> Iterator[Finding]:
    if BEAT not in ages:
        yield Finding("W050", "Beat has not been seen yet.", START_BEAT)
    elif ages[BEAT] > numbers().heartbeats_missed * numbers().heartbeat_seconds:
        yield Finding("E050", f"Beat has been silent for {_spoken(ages[BEAT])}.", START_BEAT)


def _workers(ages: Mapping[str, float]) -> Iterator[Finding]:
    """The control worker beats over and over, the others once, when they start."""
    unseen = [lane for lane in Lane.values if lane not in ages]
    if unseen:
        lanes = f"lane {unseen[0]}" if len(unseen) == 1 else f"lanes {listed(unseen)}"
        start = "Start one with `-Q` and the lane, as the Procfile does."
        yield Finding("W051", f"No worker has been seen yet for {lanes}.", start)
    if ages.get(CONTROL, 0.0) > numbers().heartbeats_missed * numbers().sweep_seconds:
        silence = f"The worker for lane control has been silent for {_spoken(ages[CONTROL])}: receipts are not applied."
        yield Finding("E052", silence, "Start one, as the Procfile does.")


def _due() -> Iterator[Finding]:
    for lane, seconds in oldest_due_seconds().items():
        limit = numbers().urgent_overdue_seconds if lane in URGENT else numbers().overdue_seconds
        if seconds > limit:
            yield Finding(
                "W056",
                f"The oldest due entry of lane {lane} has waited for {_spoken(seconds)}, longer than {limit:g} s.",
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
                else "Add it in the admin, under Periodic tasks, as migration 0004_beat_schedules did.",
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


def _spoken(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"

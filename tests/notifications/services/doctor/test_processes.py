"""Processes that are silent, and schedules that lead nowhere, are found."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from config.celery import app
from notifications.lanes import Lane
from notifications.models import Heartbeat
from notifications.numbers import numbers
from notifications.services.doctor import processes
from notifications.sql.reconcile import beat
from tests import factories
from tests.notifications.finding import codes, said

SCHEDULES = [
    import_module(f"notifications.migrations.{name}")
    for name in (
        "0004_beat_schedules",
        "0009_schedule_redact_and_clean",
        "0017_schedule_judge_arrivals",
        "0020_schedule_watch_endpoints",
    )
]

pytestmark = pytest.mark.usefixtures("seeded", "busy")


@pytest.fixture
def busy(seeded: None) -> None:
    """Beat and workers of every lane have just been seen, and everything is scheduled."""
    for migration in SCHEDULES:
        migration.seed(apps, None)
    for process in ("beat", "sweeper", *Lane.values):
        beat(process)


def findings():
    app.loader.import_default_modules()
    return list(processes.findings(app.tasks.keys()))


def silent(process: str, seconds: float) -> None:
    """Let a process have been seen last so long ago."""
    Heartbeat.objects.filter(process=process).update(beat_at=timezone.now() - timedelta(seconds=seconds))


class TestBusy:
    def test_is_well(self):
        assert findings() == []

    def test_needs_all_that_migrations_schedule(self):
        assert set(processes.NEEDED) == {name for migration in SCHEDULES for name in migration.SECONDS}


class TestBeat:
    def test_never_seen_is_a_warning(self):
        Heartbeat.objects.filter(process="beat").delete()

        assert codes(findings()) == ["W050"]

    def test_silent_for_three_beats_is_an_error(self):
        silent("beat", 300)

        assert "Beat has been silent for 5 min, or nobody takes its heartbeat from lane control." in said(
            findings(), "E050"
        )

    def test_silent_is_the_one_error_though_no_lane_gets_a_canary_then(self):
        for process in ("beat", *Lane.values):
            silent(process, 3 * 86400)

        assert codes(findings()) == ["E050"]

    def test_silent_for_a_moment_is_well(self):
        silent("beat", 25)

        assert findings() == []


class TestWorkers:
    def test_never_seen_for_some_lanes_is_one_warning(self):
        Heartbeat.objects.filter(process__in=["bulk", "critical"]).delete()

        assert "No worker has been seen yet for lanes critical and bulk." in said(findings(), "W051")

    def test_never_seen_for_one_lane_is_a_warning(self):
        Heartbeat.objects.filter(process="upkeep").delete()

        assert "for lane upkeep." in said(findings(), "W051")

    @pytest.mark.parametrize("lane", Lane)
    def test_that_take_no_canary_are_an_error(self, lane):
        silent(lane, 3 * 86400)

        sentence = said(findings(), "E052")

        assert f"Lane {lane} is not consumed: no canary for 3 days." in sentence
        assert f"`-Q {lane}`" in sentence

    def test_that_may_be_busy_with_what_came_before_the_canary_are_well(self):
        for lane in Lane.values:
            silent(lane, numbers().canary_limit_seconds - 2)

        assert findings() == []


class TestSweeper:
    def test_never_seen_is_a_warning(self):
        Heartbeat.objects.filter(process="sweeper").delete()

        assert "The timer of a control worker has not been seen yet" in said(findings(), "W057")

    def test_silent_is_a_warning_though_its_lane_is_consumed(self):
        silent("sweeper", 3 * 86400)

        assert "The timer of a control worker has been silent for 3 days" in said(findings(), "W057")

    def test_silent_for_two_turns_is_well(self):
        silent("sweeper", 12)

        assert findings() == []


class TestDue:
    def test_work_that_nobody_takes_is_a_warning(self):
        factories.message(due_in=timedelta(minutes=-10))

        assert "The oldest due entry of lane normal has waited for 10 min" in said(findings(), "W056")

    def test_urgent_work_waits_less(self):
        factories.message(of=factories.notification(priority="critical"), due_in=timedelta(seconds=-90))
        factories.message(due_in=timedelta(seconds=-90))

        assert "lane critical has waited for 90 s, longer than 60 s" in said(findings(), "W056")

    def test_work_that_has_just_become_due_is_well(self):
        factories.message()

        assert findings() == []


class TestSchedules:
    @pytest.mark.parametrize("name", processes.NEEDED)
    def test_one_that_is_missing_is_a_warning(self, name):
        PeriodicTask.objects.filter(name=name).delete()

        assert f"notifications.{name} is missing" in said(findings(), "W053")

    def test_one_that_is_switched_off_is_a_warning(self):
        PeriodicTask.objects.filter(name="reconcile").update(enabled=False)

        assert "notifications.reconcile is switched off" in said(findings(), "W053")

    def test_one_under_another_name_is_well(self):
        PeriodicTask.objects.filter(name="sweep").update(name="look for work")

        assert findings() == []

    def test_one_of_a_task_that_no_worker_knows_is_a_warning(self):
        every = PeriodicTask.objects.get(name="sweep").interval
        PeriodicTask.objects.create(name="old", task="notifications.swep", interval=every)

        assert "'notifications.swep' (periodic task 'old')" in said(findings(), "W054")

    def test_one_that_is_switched_off_may_lead_anywhere(self):
        every = PeriodicTask.objects.get(name="sweep").interval
        PeriodicTask.objects.create(name="old", task="notifications.swep", interval=every, enabled=False)

        assert findings() == []

    def test_one_that_goes_to_no_lane_is_a_warning(self):
        PeriodicTask.objects.filter(name="sweep").update(queue="celery")

        assert "goes to queue 'celery', which is no lane" in said(findings(), "W055")


def test_ages_are_by_the_database_clock():
    with connection.cursor() as cursor:
        cursor.execute("UPDATE heartbeat SET beat_at = clock_timestamp() - interval '31 s' WHERE process = 'beat'")

    assert codes(findings()) == ["E050"]

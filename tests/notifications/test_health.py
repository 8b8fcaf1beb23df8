"""/healthz and /readyz, with the database as it is in each condition."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from celery import current_app
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from notifications.lanes import Lane, Priority
from notifications.models import Heartbeat
from notifications.numbers import numbers
from notifications.services.health import ANSWER_SECONDS
from tests import factories
from tests.notifications.conftest import Outage

OVERHEAD_SECONDS = 1.0  # on a busy machine
ALL_WELL = {"database": True, "migrations": True, "outbox_urgent": True, "outbox_other": True}


def get(path: str) -> HttpResponse:
    return Client(raise_request_exception=False).get(path)


def ready() -> tuple[int, dict[str, bool], list[str]]:
    """The status, each check by name, and the warnings. No answer may tell strangers where anything is."""
    answer = get("/readyz")
    for url in (os.environ["DATABASE_URL"], os.environ["CELERY_BROKER_URL"]):
        parts = urlsplit(url)
        for secret in (parts.hostname, str(parts.port), parts.password):
            assert not secret or secret not in answer.text
    told = answer.json()
    assert told["ready"] is (answer.status_code == 200)
    return answer.status_code, {name: check["ok"] for name, check in told["checks"].items()}, told["warnings"]


def beat(process: str, *, seconds_ago: float = 0) -> None:
    Heartbeat.objects.update_or_create(
        process=process, defaults={"beat_at": timezone.now() - timedelta(seconds=seconds_ago)}
    )


def due(priority: Priority, *, since_seconds: float) -> None:
    """An entry in the lane of a priority, due for so long."""
    owner = factories.notification(priority=priority)
    factories.message(of=owner, due_in=timedelta(seconds=-since_seconds))


@pytest.fixture
def beating(seeded: None) -> None:
    """A house in which beat and a control worker's timer show that they work."""
    beat("beat")
    beat("sweeper")


@pytest.fixture
def broker_at() -> Iterator[Callable[[str], None]]:
    """Lets the broker be elsewhere for one test."""
    before = current_app.conf.broker_write_url

    def move(url: str) -> None:
        current_app.conf.broker_write_url = url

    yield move
    current_app.conf.broker_write_url = before


class TestAlive:
    def test_is_said_without_the_database(self, outage: Outage) -> None:
        outage.begin()

        answer = get("/healthz")

        assert (answer.status_code, answer.text) == (200, "alive\n")

    def test_is_not_for_caches(self) -> None:
        assert get("/healthz")["Cache-Control"] == "no-store"


class TestReady:
    def test_when_everything_is_as_it_must_be(self, beating: None) -> None:
        assert ready() == (200, ALL_WELL, [])

    def test_says_by_which_numbers_it_judged(self, beating: None) -> None:
        due(Priority.CRITICAL, since_seconds=20)

        checks = get("/readyz").json()["checks"]

        assert checks["migrations"]["pending"] == 0
        assert 20 <= checks["outbox_urgent"]["oldest_due_seconds"] < 30
        assert checks["outbox_urgent"]["limit_seconds"] == 60
        assert checks["outbox_other"] == {"ok": True, "oldest_due_seconds": 0, "limit_seconds": 300}

    def test_is_no_alarm_in_the_log_when_it_is_not(
        self, beating: None, caplog: pytest.LogCaptureFixture, numbers_are: Callable[..., None]
    ) -> None:
        numbers_are(urgent_overdue_seconds=0.0)
        due(Priority.HIGH, since_seconds=1)

        assert ready()[0] == 503
        assert [record.levelname for record in caplog.records] == ["WARNING"]

    def test_is_not_for_caches(self, beating: None) -> None:
        assert get("/readyz")["Cache-Control"] == "no-store"

    def test_takes_no_other_method(self) -> None:
        assert Client().post("/readyz").status_code == 405


class TestDatabase:
    def test_that_is_away_is_not_ready_and_the_same_process_sees_it_come_back(
        self, beating: None, outage: Outage
    ) -> None:
        outage.begin()
        away = ready()
        outage.end()

        assert away == (503, {"database": False}, [])
        connection.close()
        assert ready() == (200, ALL_WELL, [])

    def test_that_hangs_is_not_ready_in_time(self, beating: None, second_connection: Any) -> None:
        second_connection.execute("BEGIN")
        second_connection.execute("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        hanging = [ready() for _ in range(2)]
        took = time.monotonic() - began
        second_connection.execute("ROLLBACK")

        assert hanging == [(503, {"database": False}, [])] * 2
        assert took < 2 * (ANSWER_SECONDS + OVERHEAD_SECONDS)
        assert ready() == (200, ALL_WELL, [])


class TestMigrations:
    def test_that_are_pending_are_not_ready(self, beating: None) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = 'sessions' RETURNING name, applied")
            row = cursor.fetchone()
            status, checks, _ = ready()
            cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('sessions', %s, %s)", row)

        assert (status, checks) == (503, {"database": True, "migrations": False})


class TestOutbox:
    @pytest.mark.parametrize(
        ("priority", "check", "limit_seconds"),
        [
            (Priority.CRITICAL, "outbox_urgent", 60),
            (Priority.HIGH, "outbox_urgent", 60),
            (Priority.NORMAL, "outbox_other", 300),
            (Priority.BULK, "outbox_other", 300),
        ],
    )
    def test_may_wait_up_to_its_lanes_limit(
        self, beating: None, priority: Priority, check: str, limit_seconds: float
    ) -> None:
        due(priority, since_seconds=limit_seconds - 20)
        before = ready()
        due(priority, since_seconds=limit_seconds + 1)
        after = ready()

        assert before == (200, ALL_WELL, [])
        assert after == (503, {**ALL_WELL, check: False}, [])

    def test_is_judged_by_what_is_due_and_not_by_what_is_claimed_or_for_later(self, beating: None) -> None:
        owner = factories.notification(priority=Priority.CRITICAL)
        claimed = factories.message(of=owner, due_in=timedelta(seconds=-500))
        factories.begun(claimed, factories.account())
        due(Priority.CRITICAL, since_seconds=-500)

        assert ready() == (200, ALL_WELL, [])

    def test_has_limits_that_can_be_set(self, beating: None, numbers_are: Callable[..., None]) -> None:
        numbers_are(overdue_seconds=20.0)
        due(Priority.BULK, since_seconds=21)

        assert ready()[0] == 503


class TestHeartbeats:
    def test_that_never_came_are_a_warning(self, seeded: None) -> None:
        silent = [f"{process} has never shown a sign of life" for process in ("beat", "sweeper")]

        assert ready() == (200, ALL_WELL, silent)

    @pytest.mark.parametrize(("process", "interval_seconds"), [("beat", 10), ("sweeper", 5)])
    def test_may_be_three_intervals_old(self, beating: None, process: str, interval_seconds: float) -> None:
        beat(process, seconds_ago=3 * interval_seconds - 2)
        young = ready()
        beat(process, seconds_ago=3 * interval_seconds + 1)
        old = ready()

        assert young == (200, ALL_WELL, [])
        assert old == (200, ALL_WELL, [f"{process} has shown no sign of life for {3 * interval_seconds + 1} s"])


class TestLanes:
    @pytest.mark.parametrize("lane", Lane)
    def test_whose_canary_is_too_old_are_named_in_a_warning(self, beating: None, lane: Lane) -> None:
        limit = numbers().canary_limit_seconds
        beat(lane, seconds_ago=limit - 2)
        young = ready()
        beat(lane, seconds_ago=limit + 1)
        old = ready()

        assert young == (200, ALL_WELL, [])
        assert old == (200, ALL_WELL, [f"lane {lane} is not consumed: no canary for {limit + 1:.0f} s"])

    def test_are_not_named_while_beat_sends_no_canaries(self, beating: None) -> None:
        for process in ("beat", *Lane.values):
            beat(process, seconds_ago=600)

        assert ready() == (200, ALL_WELL, ["beat has shown no sign of life for 600 s"])

    def test_have_their_time_again_when_beat_is_back(self, beating: None) -> None:
        beat("bulk", seconds_ago=600)
        beat("canaries", seconds_ago=5)
        at_once = ready()
        beat("canaries", seconds_ago=numbers().canary_limit_seconds + 1)
        later = ready()

        assert at_once == (200, ALL_WELL, [])
        assert later == (200, ALL_WELL, ["lane bulk is not consumed: no canary for 600 s"])

    def test_of_control_is_not_consumed_though_its_workers_timer_lives(self, beating: None) -> None:
        beat("control", seconds_ago=600)

        assert ready() == (200, ALL_WELL, ["lane control is not consumed: no canary for 600 s"])


class TestOpenTransaction:
    def test_that_is_too_old_is_a_warning(
        self, beating: None, second_connection: Any, numbers_are: Callable[..., None]
    ) -> None:
        second_connection.execute("BEGIN")
        numbers_are(transaction_alarm_seconds=0.0)

        status, checks, warnings = ready()

        assert (status, checks) == (200, ALL_WELL)
        assert warnings == ["a transaction has been open for 0 s: claims become slower"]

    def test_that_is_young_is_well(self, beating: None, second_connection: Any) -> None:
        second_connection.execute("BEGIN")

        assert ready() == (200, ALL_WELL, [])


class TestBroker:
    def test_that_is_away_is_a_warning(self, beating: None, broker_at: Callable[[str], None]) -> None:
        broker_at("redis://127.0.0.1:1/0")

        assert ready() == (200, ALL_WELL, ["broker does not answer"])

    def test_that_hangs_is_a_warning_in_time(self, beating: None, broker_at: Callable[[str], None]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            broker_at(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
            began = time.monotonic()

            said = ready()

        assert said == (200, ALL_WELL, ["broker does not answer"])
        assert time.monotonic() - began < ANSWER_SECONDS + OVERHEAD_SECONDS

"""Hints: never in a caller's way, and no more of them than can be of use."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from celery import Celery
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from notifications.hints import Hints
from notifications.lanes import Lane
from notifications.numbers import numbers


class Broker:
    """Takes what is published; while down, it refuses with an error of its own."""

    def __init__(self) -> None:
        self.published: list[tuple[str, dict[str, Any]]] = []
        self.calls = 0
        self.error: Exception | None = None

    def __call__(self, task: str, **options: Any) -> None:
        self.calls += 1
        if self.error:
            raise self.error
        self.published.append((task, options))

    @property
    def lanes(self) -> list[str]:
        return [options["kwargs"]["lane"] for _, options in self.published]


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hints(broker: Broker, clock: Clock) -> Hints:
    return Hints(broker, clock)


class TestAHint:
    @pytest.mark.parametrize("lane", Lane)
    def test_to_drain_names_its_lane_and_goes_into_its_queue(self, hints, broker, lane):
        hints.drain(lane)

        ((task, options),) = broker.published
        assert task == "notifications.drain"
        assert options["kwargs"] == {"lane": lane.value}
        assert options["queue"] == lane.value

    def test_to_apply_carries_nothing_and_goes_into_control(self, hints, broker):
        hints.apply()

        ((task, options),) = broker.published
        assert task == "notifications.apply"
        assert (options["kwargs"], options["queue"]) == ({}, "control")

    def test_does_not_outlive_an_outage_and_leaves_no_result(self, hints, broker):
        hints.drain(Lane.NORMAL)

        ((_, options),) = broker.published
        assert (options["expires"], options["ignore_result"]) == (60, True)


class TestACanary:
    @pytest.mark.parametrize("lane", Lane)
    def test_names_its_lane_and_goes_into_its_queue(self, hints, broker, lane):
        hints.canary(lane)

        ((task, options),) = broker.published
        assert task == "notifications.canary"
        assert options["kwargs"] == {"lane": lane.value}
        assert options["queue"] == lane.value

    def test_outlives_the_hints_before_it_and_the_drain_that_the_last_of_them_begins(self, hints, broker):
        hints.canary(Lane.BULK)

        ((_, options),) = broker.published
        assert options["expires"] > numbers().hint_expiry_seconds + numbers().longest_drain_seconds

    def test_does_not_outlive_the_time_after_which_its_lane_is_called_unconsumed(self, hints, broker):
        hints.canary(Lane.BULK)

        ((_, options),) = broker.published
        assert options["expires"] <= numbers().canary_limit_seconds


class TestABrokerThatIsDown:
    @pytest.mark.parametrize("error", [OperationalError("down"), ConnectionRefusedError(), OSError(), KeyError("pool")])
    def test_is_not_the_callers_problem(self, hints, broker, error):
        broker.error = error

        hints.drain(Lane.NORMAL)
        hints.apply()
        hints.canary(Lane.NORMAL)

    def test_is_left_alone_for_every_lane_until_the_circuit_closes(self, hints, broker, clock):
        broker.error = OperationalError("down")
        hints.drain(Lane.NORMAL)
        clock.seconds += numbers().hint_circuit_seconds - 0.1

        hints.drain(Lane.NORMAL)
        hints.drain(Lane.CRITICAL)
        hints.apply()
        hints.canary(Lane.BULK)

        assert broker.calls == 1

    def test_is_tried_again_when_the_circuit_closes(self, hints, broker, clock):
        broker.error = OperationalError("down")
        hints.drain(Lane.NORMAL)
        broker.error = None
        clock.seconds += numbers().hint_circuit_seconds

        hints.drain(Lane.NORMAL)

        assert broker.lanes == ["normal"]

    def test_opens_the_circuit_again_while_it_stays_down(self, hints, broker, clock):
        broker.error = OperationalError("down")
        for _ in range(4):
            hints.drain(Lane.NORMAL)
            clock.seconds += numbers().hint_circuit_seconds / 2

        assert broker.calls == 2

    def test_of_the_real_kind_is_asked_once_and_is_not_the_callers_problem_either(self, monkeypatch, unused_port):
        monkeypatch.setenv("CELERY_BROKER_URL", f"redis://127.0.0.1:{unused_port}/0")
        app = Celery(set_as_current=False)
        app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
        app.conf.task_publish_retry_policy = settings.CELERY_TASK_PUBLISH_RETRY_POLICY
        asked = []
        hints = Hints(lambda *args, **options: [asked.append(args), app.send_task(*args, **options)])

        for _ in range(2):
            hints.drain(Lane.NORMAL)

        assert asked == [("notifications.drain",)]


@pytest.fixture
def unused_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.django_db(transaction=True)
class TestAfterCommit:
    def test_hints_at_once_outside_a_transaction(self, hints, broker):
        hints.drain_after_commit(Lane.NORMAL)

        assert broker.lanes == ["normal"]

    def test_hints_when_the_transaction_commits_and_not_before(self, hints, broker):
        with transaction.atomic():
            hints.drain_after_commit(Lane.NORMAL)
            before = list(broker.lanes)

        assert (before, broker.lanes) == ([], ["normal"])

    def test_hints_once_per_lane(self, hints, broker):
        with transaction.atomic():
            for lane in (Lane.NORMAL, Lane.CRITICAL, Lane.NORMAL, Lane.NORMAL, Lane.CRITICAL):
                hints.drain_after_commit(lane)

        assert broker.lanes == ["normal", "critical"]

    def test_hints_once_per_transaction(self, hints, broker):
        for _ in range(2):
            with transaction.atomic():
                hints.drain_after_commit(Lane.NORMAL)

        assert broker.lanes == ["normal", "normal"]

    def test_hints_once_however_deeply_savepoints_are_nested(self, hints, broker):
        with transaction.atomic():
            with transaction.atomic():
                hints.drain_after_commit(Lane.NORMAL)
                with transaction.atomic():
                    hints.drain_after_commit(Lane.NORMAL)
            hints.drain_after_commit(Lane.NORMAL)

        assert broker.lanes == ["normal"]

    def test_does_not_hint_for_what_was_rolled_back(self, hints, broker):
        def accept_and_fail() -> None:
            with transaction.atomic():
                hints.drain_after_commit(Lane.NORMAL)
                raise LookupError

        with pytest.raises(LookupError):
            accept_and_fail()

        assert broker.lanes == []

    def test_hints_after_a_savepoint_that_hinted_was_rolled_back(self, hints, broker):
        with transaction.atomic():
            rolled_back(hints, Lane.NORMAL)
            hints.drain_after_commit(Lane.NORMAL)

        assert broker.lanes == ["normal"]

    def test_does_not_hint_for_a_savepoint_that_was_rolled_back(self, hints, broker):
        with transaction.atomic():
            hints.drain_after_commit(Lane.CRITICAL)
            rolled_back(hints, Lane.NORMAL)

        assert broker.lanes == ["critical"]

    def test_hints_for_the_outer_one_though_a_savepoint_with_the_same_lane_was_rolled_back(self, hints, broker):
        with transaction.atomic():
            hints.drain_after_commit(Lane.NORMAL)
            rolled_back(hints, Lane.NORMAL)

        assert broker.lanes == ["normal"]

    def test_never_disturbs_the_commit_or_what_comes_after_it(self, hints, broker):
        broker.error = OperationalError("down")
        after = []

        with transaction.atomic():
            hints.drain_after_commit(Lane.NORMAL)
            transaction.on_commit(lambda: after.append("committed"))

        assert after == ["committed"]


def rolled_back(hints: Hints, lane: Lane) -> None:
    """Hint in a savepoint that comes to nothing."""
    with transaction.atomic():
        hints.drain_after_commit(lane)
        transaction.set_rollback(True)

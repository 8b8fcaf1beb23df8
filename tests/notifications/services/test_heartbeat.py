"""Heartbeats and canaries: a lane shows that it is consumed by consuming."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications import tasks
from notifications.lanes import Lane
from notifications.models import Heartbeat

pytestmark = pytest.mark.usefixtures("seeded")


def seen(process: str, *, seconds_ago: float) -> None:
    Heartbeat.objects.update_or_create(
        process=process, defaults={"beat_at": timezone.now() - timedelta(seconds=seconds_ago)}
    )


def age(process: str) -> float:
    return (timezone.now() - Heartbeat.objects.get(process=process).beat_at).total_seconds()


class TestHeartbeat:
    def test_puts_a_canary_into_each_lane(self, queues):
        tasks.heartbeat()

        assert queues() == dict.fromkeys(Lane.values, 1)

    def test_shows_that_beat_works_and_not_that_any_lane_is_consumed(self, queues):
        tasks.heartbeat()

        assert age("beat") < 10
        assert not Heartbeat.objects.filter(process__in=Lane.values).exists()

    def test_shows_it_though_the_broker_is_away(self, monkeypatch):
        monkeypatch.setattr("notifications.tasks.hints._publish", broken)
        monkeypatch.setattr("notifications.tasks.hints._closed_until", 0.0)

        tasks.heartbeat()

        assert age("beat") < 10

    def test_notes_when_canaries_begin(self, queues):
        tasks.heartbeat()

        assert age("canaries") < 10

    def test_notes_when_canaries_begin_again_after_a_silence(self, queues):
        seen("beat", seconds_ago=31)
        seen("canaries", seconds_ago=1000)

        tasks.heartbeat()

        assert age("canaries") < 10

    def test_leaves_that_note_alone_while_beat_goes_on(self, queues):
        seen("beat", seconds_ago=12)
        seen("canaries", seconds_ago=1000)

        tasks.heartbeat()

        assert age("canaries") >= 1000

    def test_forgives_arguments_of_a_newer_sender(self, queues):
        tasks.heartbeat(colour="red")


class TestCanary:
    @pytest.mark.parametrize("lane", Lane)
    def test_shows_that_its_lane_is_consumed_and_no_other(self, lane):
        for each in Lane.values:
            seen(each, seconds_ago=500)

        tasks.canary(lane=lane.value)

        assert [each for each in Lane if age(each) < 10] == [lane]

    def test_of_a_lane_that_was_never_seen_is_its_first_sign(self):
        tasks.canary(lane="bulk")

        assert Heartbeat.objects.get().process == "bulk"

    def test_forgives_arguments_of_a_newer_sender(self):
        tasks.canary(lane="bulk", colour="red")

        assert age("bulk") < 10

    def test_of_no_lane_leaves_no_row(self):
        with pytest.raises(ValueError, match="cellar"):
            tasks.canary(lane="cellar")

        assert not Heartbeat.objects.exists()


def broken(*_: object, **__: object) -> None:
    raise ConnectionRefusedError

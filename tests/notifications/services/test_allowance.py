"""A job that nobody waits for takes a share of one core, for a bounded time."""

from __future__ import annotations

from uuid import UUID

import pytest

from notifications.models import Notification
from notifications.services.allowance import Allowance, windows
from notifications.states import State
from tests import factories

FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)


class Clock:
    """A time that passes only while somebody works or sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept = 0.0

    def monotonic(self):
        return self.now

    def work(self, seconds):
        self.now += seconds

    def sleep(self, seconds):
        self.now += seconds
        self.slept += seconds


@pytest.fixture
def clock():
    return Clock()


def an_allowance(clock, **options):
    return Allowance(monotonic=clock.monotonic, sleep=clock.sleep, **options)


class TestTurns:
    @pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
    def test_work_for_no_more_than_their_share_of_a_bounded_time(self, clock, numbers_are, share):
        numbers_are(clean_seconds=20.0, clean_share=share)
        worked = 0.0

        for _ in an_allowance(clock).turns():
            clock.work(0.25)
            worked += 0.25

        assert clock.now <= 20
        assert worked == pytest.approx(20 * share, rel=0.1)
        assert clock.slept == pytest.approx(clock.now - worked)

    def test_are_one_at_least_however_long_it_takes(self, clock):
        turns = 0
        for _ in an_allowance(clock).turns():
            clock.work(100)
            turns += 1

        assert (turns, clock.slept) == (1, 0)

    def test_of_two_jobs_in_one_run_share_its_time(self, clock, numbers_are):
        numbers_are(clean_seconds=20.0)
        allowance = an_allowance(clock)
        for _ in allowance.turns():
            clock.work(1)
        for _ in allowance.turns():
            clock.work(1)

        assert clock.now <= 21

    def test_end_when_the_process_is_told_to_stop(self, clock):
        for _ in an_allowance(clock, stopping=lambda: clock.now >= 3).turns():
            clock.work(1)

        assert clock.now - clock.slept == 2


class TestWindows:
    def test_hold_every_notification_once(self, seeded, clock):
        ids = sorted(factories.message(State.FAILED).notification_id for _ in range(5))

        found = [
            list(Notification.objects.filter(id__gt=after, id__lte=until).order_by("id").values_list("id", flat=True))
            for after, until in windows(an_allowance(clock), FIRST, LAST, 2)
        ]

        assert [len(some) for some in found[:3]] == [2, 2, 1]
        assert [id for some in found for id in some] == ids

    def test_end_at_their_bound(self, seeded, clock):
        ids = sorted(factories.message(State.FAILED).notification_id for _ in range(5))

        *_, (_, until) = windows(an_allowance(clock), FIRST, ids[2], 2)

        assert until == ids[2]

    def test_begin_behind_a_given_id(self, seeded, clock):
        ids = sorted(factories.message(State.FAILED).notification_id for _ in range(3))

        (first, *_) = windows(an_allowance(clock), ids[1], LAST, 5)

        assert first == (ids[1], ids[2])

"""The outbox: when an entry is due, and how a batch is cut into waves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from notifications.lanes import Lane, Priority
from notifications.outbox import Batch, WaveSize, call_seconds, due_at, waves
from notifications.states import OPEN, State

NOW = datetime(2027, 1, 15, 10, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


MOMENTS = ("next_at", "escalate_at", "expires_at", "receipt_deadline")
# What can make an entry of a message in this state due.
COUNTS = {
    State.QUEUED: {"next_at", "escalate_at", "expires_at"},
    State.UNCERTAIN: {"next_at", "escalate_at", "receipt_deadline"},
    State.SENT: {"next_at", "escalate_at", "receipt_deadline"},
}


class TestDueAt:
    @pytest.mark.parametrize("state", sorted(OPEN))
    @pytest.mark.parametrize("earliest", MOMENTS)
    def test_is_the_earliest_moment_that_counts_in_the_state(self, state, earliest):
        moments = {moment: at(10 + place) for place, moment in enumerate(MOMENTS)} | {earliest: at(1)}

        expected = min(moment for name, moment in moments.items() if name in COUNTS[state])

        assert due_at(state, **moments) == expected
        assert (expected == at(1)) is (earliest in COUNTS[state])

    @pytest.mark.parametrize("state", sorted(OPEN))
    @pytest.mark.parametrize("absent", [(), *combinations(["next_at", "escalate_at"], 1), ("next_at", "escalate_at")])
    def test_does_without_moments_that_are_not_set(self, state, absent):
        moments = {"next_at": at(1), "escalate_at": at(2), "expires_at": at(3), "receipt_deadline": at(4)}
        last = at(3) if state is State.QUEUED else at(4)

        result = due_at(state, **moments | dict.fromkeys(absent))

        assert result == min([moments[name] for name in ("next_at", "escalate_at") if name not in absent] + [last])

    def test_is_not_the_receipt_deadline_of_a_message_that_is_queued_again(self):
        assert due_at(State.QUEUED, next_at=at(5), escalate_at=None, expires_at=at(60), receipt_deadline=at(1)) == at(5)

    @pytest.mark.parametrize("state", [State.SENT, State.UNCERTAIN])
    def test_is_not_the_expiry_of_a_message_that_may_be_out(self, state):
        assert due_at(state, next_at=at(5), escalate_at=None, expires_at=at(1), receipt_deadline=at(60)) == at(5)


class TestCallSeconds:
    @pytest.mark.parametrize(
        ("priority", "expected"),
        [(Priority.CRITICAL, 5), (Priority.HIGH, 10), (Priority.NORMAL, 10), (Priority.BULK, 10), ("critical", 5)],
    )
    def test_are_fewer_for_what_is_critical(self, priority, expected):
        assert call_seconds(priority) == expected


class TestWaveSize:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (0.0, 200),  # never more, however fast
            (0.001, 200),
            (0.08, 200),
            (0.1, 160),  # 16 connections, ten calls each within the second
            (0.25, 64),
            (1.0, 16),  # each connection one
            (10.0, 16),  # never fewer
        ],
    )
    def test_is_what_all_connections_can_start_within_a_second(self, call, expected):
        size = WaveSize(seconds=1.0 if call < 1 else 0.001)
        for _ in range(200):
            size.learn(call)

        assert size() == pytest.approx(expected, rel=0.02)

    def test_begins_with_a_guess_within_the_bounds(self):
        assert 16 <= WaveSize()() <= 200

    def test_shrinks_at_once_after_one_slow_call(self):
        size = WaveSize(seconds=0.01)

        size.learn(0.5)

        assert size() == 32

    def test_grows_slowly_after_fast_calls(self):
        size = WaveSize(seconds=0.5)
        sizes = []
        for _ in range(30):
            size.learn(0.01)
            sizes.append(size())

        assert sizes == sorted(sizes)
        assert sizes[0] < 40
        assert sizes[-1] > 150

    def test_is_at_least_one_per_connection_even_where_waves_are_set_smaller(self, numbers_are):
        numbers_are(send_concurrency=8, wave_size=4)

        assert WaveSize()() == 8


class TestWaves:
    @pytest.mark.parametrize(
        ("items", "expected"),
        [
            ([], []),
            (["a"], [["a"]]),
            (["a", "b", "c"], [["a", "b", "c"]]),
            (["a", "b", "c", "d"], [["a", "b", "c"], ["d"]]),
        ],
    )
    def test_keep_their_order(self, items, expected):
        assert list(waves(items, lambda: 3)) == expected

    def test_ask_for_their_size_anew_each_time(self):
        sizes = iter([1, 3, 2])

        result = [len(wave) for wave in waves("abcdef", lambda: next(sizes))]

        assert result == [1, 3, 2]


class TestBatch:
    def test_carries_the_clock_of_the_database_forward_by_its_own(self):
        clock = iter([105.5])
        row = type("Row", (), {"now": NOW})()

        batch = Batch(claim=None, lane=Lane.NORMAL, rows=[row], claimed_at=100.0, monotonic=lambda: next(clock))

        assert batch.now() == NOW + timedelta(seconds=5.5)

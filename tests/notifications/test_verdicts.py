"""What a verdict keeps of a message, and what it lets go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from notifications.lanes import CHECKING, SENDING, Priority
from notifications.services.verdicts import lane_of, on_locked
from notifications.sql.lock import LockedMessage
from notifications.sql.record import Verdict
from notifications.states import ENDED, MOVES, OPEN, InvalidMove, State
from tests.notifications.locked import NOW, a_message, a_notification

WINDOW_ENDS, DEADLINE = NOW + timedelta(minutes=30), NOW + timedelta(hours=72)


def a_busy_message(state: State, **changes: Any) -> LockedMessage:
    """One that much has happened to."""
    return a_message(
        state,
        **{
            "reason": "held",
            "account_id": 7,
            "tried": [8],
            "rerouted": True,
            "attempt_count": 2,
            "tries": 3,
            "checks": 4,
            "not_there": 1,
            "escalate_at": WINDOW_ENDS,
            "receipt_deadline": None if state is State.QUEUED else DEADLINE,
            **changes,
        },
    )


def verdict(leaving: State, to: State, **changes: Any) -> Verdict:
    return on_locked(a_busy_message(leaving), a_notification(), to, **changes)


ALLOWED = [(leaving, to) for leaving in State for to in State if to in MOVES[leaving] or to is leaving]
MOVED = [(leaving, to) for leaving, to in ALLOWED if leaving is not to]


class TestAVerdict:
    @pytest.mark.parametrize(("leaving", "to"), [(State.SENT, State.EXPIRED), (State.FAILED, State.QUEUED)])
    def test_cannot_be_made_of_a_move_that_is_not_allowed(self, leaving, to):
        with pytest.raises(InvalidMove):
            verdict(leaving, to)

    @pytest.mark.parametrize(("leaving", "to"), ALLOWED)
    def test_keeps_what_a_message_carries_through_all_its_states(self, leaving, to):
        result = verdict(leaving, to)

        assert (result.account_id, result.tried, result.rerouted, result.tries) == (7, [8], True, 3)

    @pytest.mark.parametrize("state", State)
    def test_keeps_reason_and_counts_where_a_message_stays(self, state):
        result = verdict(state, state)

        assert (result.reason, result.checks, result.not_there) == ("held", 4, 1)

    @pytest.mark.parametrize(("leaving", "to"), MOVED)
    def test_begins_reason_and_counts_anew_where_it_moves(self, leaving, to):
        result = verdict(leaving, to)

        assert (result.reason, result.checks, result.not_there) == ("", 0, 0)

    @pytest.mark.parametrize(("leaving", "to"), ALLOWED)
    def test_ends_the_promise_and_the_window_with_the_message(self, leaving, to):
        result = verdict(leaving, to)

        assert (result.due_at is None) is (to in ENDED)
        assert result.escalate_at == (None if to in ENDED else WINDOW_ENDS)

    @pytest.mark.parametrize(
        ("leaving", "to", "expected"),
        [
            (State.QUEUED, State.SENT, DEADLINE),  # set as it is sent …
            (State.QUEUED, State.UNCERTAIN, DEADLINE),
            (State.SENT, State.QUEUED, None),  # … gone when it must be sent again …
            (State.QUEUED, State.FAILED, None),  # … and never set where nothing was
        ],
    )
    def test_gives_proof_72_hours_from_when_the_message_may_be_out(self, leaving, to, expected):
        assert verdict(leaving, to).receipt_deadline == expected

    def test_gives_proof_no_more_time_when_the_message_turns_out_sent(self):
        earlier = NOW + timedelta(hours=3)
        uncertain = a_busy_message(State.UNCERTAIN, receipt_deadline=earlier)

        assert on_locked(uncertain, a_notification(), State.SENT).receipt_deadline == earlier

    @pytest.mark.parametrize(
        ("to", "next_at", "expected"),
        [
            (State.QUEUED, NOW, NOW),
            (State.QUEUED, None, WINDOW_ENDS),
            (State.SENT, NOW + timedelta(minutes=1), NOW + timedelta(minutes=1)),
            (State.SENT, NOW + timedelta(days=30), WINDOW_ENDS),
        ],
    )
    def test_is_due_at_the_next_action_and_never_after_the_window(self, to, next_at, expected):
        assert verdict(State.UNCERTAIN, to, next_at=next_at).due_at == expected

    def test_says_what_it_is_told_to(self):
        result = verdict(State.SENT, State.SENT, reason="other", checks=9, escalate_at=None, next_at=None)

        assert (result.reason, result.checks, result.escalate_at, result.due_at) == ("other", 9, None, DEADLINE)


class TestLanes:
    @pytest.mark.parametrize("priority", Priority)
    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_that_send_hold_only_what_is_queued(self, state, priority):
        expected = SENDING[priority] if state is State.QUEUED else CHECKING[priority]
        notification = a_notification(priority=priority.value)

        assert lane_of(state, priority) is expected
        assert on_locked(a_busy_message(state), notification, state).lane == expected.value

    def test_that_check_keep_the_urgent_from_waiting_behind_the_rest(self):
        lanes = {priority: lane_of(State.SENT, priority).value for priority in Priority}

        assert lanes == {"critical": "control", "high": "control", "normal": "upkeep", "bulk": "upkeep"}

"""The states: every pair of them in one table."""

from __future__ import annotations

import pytest

from notifications.states import ENDED, MOVES, OPEN, End, InvalidMove, State, check_move

# Rows are left, columns are entered, in the order of State. "x" is a move, "=" is staying, "." is forbidden.
TABLE = """
                queued  uncertain  sent  delivered  failed  expired  suppressed  cancelled  unconfirmed  dead_lettered
queued          =       x          x     x          x       x        x           x          x            x
uncertain       x       =          x     x          x       .        .           .          x            x
sent            x       .          =     x          x       .        .           .          x            .
delivered       .       .          .     =          x       .        .           .          .            .
failed          .       .          .     x          =       .        .           .          .            .
expired         .       .          .     x          x       =        .           .          .            .
suppressed      .       .          .     x          x       .        =           .          .            .
cancelled       .       .          .     x          x       .        .           =          .            .
unconfirmed     .       .          .     x          x       .        .           .          =            .
dead_lettered   x       x          .     x          x       .        .           .          .            =
"""


def pairs() -> list[tuple[State, State, str]]:
    header, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return [(State(row[0]), State(to), mark) for row in rows for to, mark in zip(header, row[1:], strict=True)]


PAIRS = pairs()


def marked(*marks: str) -> list[tuple[State, State]]:
    return [(leaving, to) for leaving, to, mark in PAIRS if mark in marks]


class TestMoves:
    def test_are_told_for_every_pair_of_states(self):
        assert {(leaving, to) for leaving, to, _ in PAIRS} == {(leaving, to) for leaving in State for to in State}
        assert set(MOVES) == set(State)

    @pytest.mark.parametrize(("leaving", "to"), marked("x", "="))
    def test_in_the_table_are_allowed_and_so_is_staying(self, leaving, to):
        check_move(leaving, to)

    @pytest.mark.parametrize(("leaving", "to"), marked("."))
    def test_not_in_the_table_are_refused_by_name(self, leaving, to):
        with pytest.raises(InvalidMove, match=f"^{leaving} -> {to}$"):
            check_move(leaving, to)

    def test_never_lead_from_a_state_to_itself(self):
        assert not [state for state in State if state in MOVES[state]]

    @pytest.mark.parametrize("state", sorted(set(State) - {State.DELIVERED}))
    def test_let_a_delivery_correct_every_state(self, state):
        assert State.DELIVERED in MOVES[state]


class TestGroups:
    def test_divide_the_states_into_open_and_ended(self):
        assert {State.QUEUED, State.UNCERTAIN, State.SENT} == OPEN
        assert set(State) == OPEN | ENDED
        assert not OPEN & ENDED

    @pytest.mark.parametrize("state", sorted(ENDED - {State.DEAD_LETTERED}))
    def test_let_only_a_person_open_what_has_ended(self, state):
        assert not MOVES[state] & OPEN

    def test_give_a_notification_the_same_ends_as_a_message(self):
        assert set(End.values) == {state.value for state in ENDED}

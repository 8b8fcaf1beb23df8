"""Pace: places of accounts with a rate, as pure numbers; nobody waits for any of them."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import OutboxEntry, Pace
from notifications.sql.claim import claim
from notifications.sql.pace import RESERVE, WANTED, Wanted, reserve
from notifications.sql.rows import execute
from notifications.sql.turns import Turn, next_turn_seconds, postpone
from notifications.states import State
from tests import factories
from tests.factories import SECOND
from tests.notifications.racing import counted, together

pytestmark = pytest.mark.usefixtures("seeded")

FAR = 1000.0


def wanted(
    count,
    account,
    *,
    rate=20.0,
    sender_rate=None,
    burst=1,
    cost=1,
    senders=("shop",),
    costs=None,
    enters_room=True,
    of="",
):
    """So many places; their senders and costs come round in turn."""
    return [
        Wanted(
            number=number,
            account_id=account.id,
            of=of,
            seconds=1 / rate if rate else None,
            sender=senders[number % len(senders)],
            sender_seconds=1 / sender_rate if sender_rate else None,
            burst=burst,
            cost=(costs or [cost])[number % len(costs or [cost])],
            room="~bulk",
            room_seconds=max(1 / rate if rate else 0.0, 1 / sender_rate if sender_rate else 0.0),
            enters_room=enters_room,
        )
        for number in range(count)
    ]


def turns(places):
    """When each has its turn, in seconds after the first; None where there is no place yet."""
    first = min(place.turn_at for place in places if place.turn_at)
    return [place.turn_at and round((place.turn_at - first).total_seconds(), 3) for place in places]


def highest(moments, *, rate, burst):
    """By how much the fullest window is fuller than it may be: 1 is just so, more is too much."""
    moments = sorted(moments)
    return max(
        (last - first + 1) / (rate * (moments[last] - moments[first]).total_seconds() + burst)
        for first in range(len(moments))
        for last in range(first, len(moments))
    )


@pytest.fixture
def account(seeded):
    return factories.account()


class TestReserve:
    def test_lets_a_burst_go_at_once_and_then_keeps_the_rate(self, account):
        places = reserve(wanted(10, account, burst=5), horizon_seconds=FAR)

        assert turns(places) == [0, 0, 0, 0, 0, 0.05, 0.1, 0.15, 0.2, 0.25]

    def test_goes_on_where_the_last_batch_ended(self, account):
        places = [
            *reserve(wanted(5, account), horizon_seconds=FAR),
            *reserve(wanted(5, account), horizon_seconds=FAR),
        ]

        assert turns(places) == pytest.approx([number / 20 for number in range(10)])

    def test_lets_one_go_at_once_after_a_pause_and_no_more_than_the_burst_however_long_it_was(self, account):
        reserve(wanted(60, account), horizon_seconds=FAR)
        Pace.objects.update(next_at=timezone.now() - timedelta(hours=1))

        assert turns(reserve(wanted(4, account, burst=2), horizon_seconds=FAR)) == [0, 0, 0.05, 0.1]

    def test_begins_by_the_clock_of_the_database(self, account):
        before = timezone.now()

        (place,) = reserve(wanted(1, account), horizon_seconds=FAR)

        assert abs(place.turn_at - before) < SECOND

    def test_counts_what_each_one_takes(self, account):
        places = reserve(wanted(4, account, rate=10, burst=4, costs=[3, 1, 2, 4]), horizon_seconds=FAR)

        assert turns(places) == [0, 0, 0.2, 0.6]

    def test_lets_one_that_is_larger_than_a_burst_go_when_all_before_it_are_done(self, account):
        places = reserve(wanted(3, account, rate=10, burst=1, cost=3), horizon_seconds=FAR)

        assert turns(places) == [0, 0.3, 0.6]

    def test_holds_the_rate_of_each_sender_and_the_later_turn_counts(self, account):
        asked = wanted(6, account, rate=10, sender_rate=2, senders=("a", "b", "c"))

        assert turns(reserve(asked, horizon_seconds=FAR)) == [0, 0.1, 0.2, 0.5, 0.5, 0.5]

    def test_limits_senders_where_the_account_has_no_rate(self, account):
        asked = wanted(6, account, rate=None, sender_rate=2, senders=("a", "b"))

        assert turns(reserve(asked, horizon_seconds=FAR)) == [0, 0, 0.5, 0.5, 1, 1]

    def test_keeps_accounts_and_questions_apart(self, account):
        other = factories.account("other")
        asked = [*wanted(3, account), *wanted(3, other), *wanted(3, account, of="?", rate=2)]
        numbered = [
            Wanted(**{name: getattr(one, name) for name in Wanted.__slots__} | {"number": number})
            for number, one in enumerate(asked)
        ]

        assert turns(reserve(numbered, horizon_seconds=FAR)) == [0, 0.05, 0.1, 0, 0.05, 0.1, 0, 0.5, 1]

    @pytest.mark.parametrize("burst", [1, 5])
    def test_never_lets_more_go_in_any_window_than_the_rate_and_the_burst(self, account, burst, aside):
        def ask():
            return [
                place
                for _ in range(10)
                for place in reserve(wanted(6, account, burst=burst, costs=[1]), horizon_seconds=FAR)
            ]

        places = [place for part in together(aside, ask, ask, ask) for place in part]

        assert len(places) == 180
        assert highest([place.turn_at for place in places], rate=20, burst=burst) <= 1.0001
        assert (max(place.turn_at for place in places) - timezone.now()).total_seconds() < 180 / 20

    def test_locks_rows_sorted_so_that_two_never_wait_for_each_other(self, account):
        reserve(wanted(1, account, sender_rate=1), horizon_seconds=FAR)
        parameters = {"horizon": FAR, **WANTED.parameters(wanted(9, account, sender_rate=1))}

        plan = "\n".join(line for (line,) in execute(f"EXPLAIN {RESERVE}", parameters))

        assert re.search(r"LockRows.*Sort Key: pace\w*\.account_id, pace\w*\.of\n", plan, re.DOTALL)

    def test_is_one_statement_but_for_the_first_time(self, account):
        reserve(wanted(3, account, sender_rate=1), horizon_seconds=FAR)

        with counted() as statements:
            reserve(wanted(300, account, sender_rate=1), horizon_seconds=FAR)

        assert len(statements) == 1

    def test_makes_the_row_of_a_sender_that_is_new_to_a_known_account(self, account):
        reserve(wanted(1, account, rate=None, sender_rate=1), horizon_seconds=FAR)

        places = reserve(wanted(2, account, rate=None, sender_rate=1, senders=("new",)), horizon_seconds=FAR)

        assert turns(places) == [0, 1]


class TestHorizon:
    def test_hands_out_nothing_beyond_it_and_says_when_the_rest_may_expect_a_place(self, account):
        places = reserve(wanted(100, account, burst=5), horizon_seconds=2.0)

        assert sum(place.turn_at is not None for place in places) == 45
        now = places[0].turn_at
        expected = [(place.expected_at - now).total_seconds() for place in places if place.expected_at]
        assert expected == pytest.approx([2.05 + number / 20 for number in range(55)])

    def test_lets_nothing_that_got_no_place_take_any_of_the_rate(self, account):
        reserve(wanted(1000, account), horizon_seconds=2.0)

        whole = Pace.objects.get(of="").next_at - timezone.now()

        assert whole < timedelta(seconds=2.1)

    def test_takes_none_of_the_account_for_what_its_sender_must_wait_with(self, account):
        places = reserve(wanted(100, account, rate=20, sender_rate=1), horizon_seconds=2.0)
        others = reserve(wanted(1, account, rate=20, sender_rate=1, senders=("other",)), horizon_seconds=2.0)

        assert sum(place.turn_at is not None for place in places) == 3
        assert turns([places[0], others[0]]) == pytest.approx([0, 0.15], abs=0.001)

    def test_takes_none_of_the_account_for_what_waits_for_its_sender_in_the_same_batch(self, account):
        asked = wanted(100, account, rate=20, sender_rate=1, senders=("shop",) * 99 + ("other",))

        places = reserve(asked, horizon_seconds=2.0)

        assert turns([places[0], places[99]]) == [0, 0.15]

    def test_leaves_places_beyond_it_to_those_that_see_farther(self, account):
        reserve(wanted(1000, account), horizon_seconds=1.0)
        far = reserve(wanted(20, account), horizon_seconds=3.0)

        near = reserve(wanted(1, account), horizon_seconds=1.0)

        assert all(place.turn_at for place in far)
        assert near[0].turn_at is None

    def test_sends_nobody_to_the_end_of_the_room_twice(self, account):
        reserve(wanted(100, account), horizon_seconds=1.0)
        before = Pace.objects.get(of="~bulk").next_at

        places = reserve(wanted(100, account, enters_room=False), horizon_seconds=1.0)

        assert {(place.turn_at, place.expected_at) for place in places[1:]} == {(None, None)}
        assert Pace.objects.get(of="~bulk").next_at == before

    def test_expects_no_place_before_the_first_that_will_be_free(self, account):
        (first,) = reserve(wanted(1, account, rate=0.01), horizon_seconds=1.0)

        (place,) = reserve(wanted(1, account, rate=0.01), horizon_seconds=1.0)

        assert place.expected_at == first.turn_at + timedelta(seconds=100)

    def test_goes_on_in_the_room_where_the_last_batch_ended(self, account):
        reserve(wanted(100, account), horizon_seconds=0.0)
        room = Pace.objects.get(of="~bulk").next_at

        places = reserve(wanted(2, account), horizon_seconds=0.0)

        assert [place.expected_at for place in places] == [room, room + timedelta(seconds=1 / 20)]


class TestPostpone:
    def test_gives_an_entry_back_until_its_turn_as_if_it_had_never_been_claimed(self):
        message = factories.message()
        token = uuid4()
        claim(Lane.NORMAL, 10, claim=token, lease_seconds=60)
        at = timezone.now() + 5 * SECOND

        postpone([Turn(message.id, at, at, 7)], claim=token)

        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.strikes, entry.due_at, entry.turn_at, entry.turn_account) == (None, 0, at, at, 7)

    @pytest.mark.parametrize("case", ["another's", "begun"])
    def test_leaves_alone_what_is_not_ours_to_give_back(self, case):
        message = factories.message()
        token = factories.begun(message, factories.account()) if case == "begun" else uuid4()
        before = OutboxEntry.objects.values().get()

        postpone([Turn(message.id, timezone.now(), timezone.now(), 7)], claim=token)

        assert OutboxEntry.objects.values().get() == before

    def test_is_told_to_whoever_claims_it_at_its_turn_and_forgotten_when_it_was_used(self):
        message = factories.message()
        at = timezone.now() - SECOND
        OutboxEntry.objects.update(turn_at=at, turn_account=7)

        (row,) = claim(Lane.NORMAL, 10, claim=uuid4(), lease_seconds=60)

        assert (row.message_id, row.turn_at, row.turn_account) == (message.id, at, 7)


class TestNextTurn:
    def wait(self, seconds, account_id=7, state=State.QUEUED):
        message = factories.message(state, due_in=timedelta(seconds=seconds))
        OutboxEntry.objects.filter(message=message).update(turn_account=account_id)
        return message

    def test_is_that_of_the_first_entry_with_a_place_in_the_lane(self):
        self.wait(8)
        self.wait(5)
        self.wait(1, account_id=None)
        self.wait(2, state=State.SENT)

        assert next_turn_seconds(Lane.NORMAL, horizon_seconds=10) == pytest.approx(5, abs=1)

    def test_is_none_where_nobody_waits_or_not_before_the_horizon(self):
        self.wait(30)

        assert next_turn_seconds(Lane.NORMAL, horizon_seconds=10) is None
        assert next_turn_seconds(Lane.BULK, horizon_seconds=10) is None

    def test_does_not_count_what_somebody_has_claimed(self):
        self.wait(-1)
        claim(Lane.NORMAL, 10, claim=uuid4(), lease_seconds=5)

        assert next_turn_seconds(Lane.NORMAL, horizon_seconds=10) is None

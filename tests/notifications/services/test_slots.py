"""Slots: an account that is slow, or takes a few calls at once only, keeps nobody else waiting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane, Priority
from notifications.models import Breaker, Cause, Message, OutboxEntry, ProviderAccount
from notifications.services.slots import Slots, Waiting
from notifications.services.switch import rest_there
from notifications.states import State
from notifications.tempo import Tempo
from providers.twilio import Twilio
from tests.notifications.stories import sms, told

BRITISH = "+447400123401"


def waiting(account_id: int = 1, calls_at_once: int | None = 2, claimed_at: float = 0.0) -> Any:
    provider = SimpleNamespace(calls_at_once=calls_at_once)
    row = SimpleNamespace(priority=Priority.NORMAL)
    planned = SimpleNamespace(account=SimpleNamespace(id=account_id, provider=provider), row=row)
    return Waiting(SimpleNamespace(claimed_at=claimed_at), planned)  # type: ignore[arg-type]


def slots(size: int = 16, tempo: Tempo | None = None) -> Slots:
    return Slots(size, tempo or Tempo())


def quick(*account_ids: int, seconds: float = 0.1) -> Tempo:
    """What is known of accounts that answer in a tenth of a second."""
    tempo = Tempo()
    for account_id in account_ids:
        tempo.learn(account_id, seconds)
    return tempo


def slow(*account_ids: int) -> Tempo:
    return quick(*account_ids, seconds=5.0)


class TestSlots:
    def test_are_a_few_for_each_account_in_turn(self):
        some = slots(tempo=quick(1, 2))
        for account in (1, 1, 1, 2):
            assert some.put(waiting(account))

        begun = [one.account.id for one in some.take()]

        assert begun == [1, 2, 1]
        assert [*some.take()] == [], "its slots are taken"

    def test_go_on_with_whoever_is_next_in_turn(self):
        some = slots(size=8, tempo=quick(1, 2, 3))  # six slots
        for account in (1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3):
            some.put(waiting(account, calls_at_once=4))

        assert Counter(one.account.id for one in some.take()) == {1: 2, 2: 2, 3: 2}
        some.free([1, 2])
        assert [one.account.id for one in some.take()] == [1, 2]

    def test_there_is_one_where_there_is_but_one_connection(self):
        some = slots(size=1)
        some.put(waiting())

        assert len([*some.take()]) == 1

    def test_come_free_with_the_answers(self):
        some = slots(tempo=quick(1))
        for _ in range(3):
            some.put(waiting())
        begun = [*some.take()]

        some.free([1])

        assert len(begun) == 2
        assert len([*some.take()]) == 1

    def test_leave_a_quarter_of_the_connections_to_the_others(self):
        some = slots(size=8, tempo=quick(*range(1, 9)))
        for account in range(1, 9):
            some.put(waiting(account))

        assert len([*some.take()]) == 6

    @pytest.mark.parametrize(
        ("with_quick", "expected"), [(True, {1: 1, 2: 1, 3: 1, 9: 4}), (False, {1: 2, 2: 2, 3: 2})]
    )
    def test_are_a_quarter_for_slow_strangers_while_quick_ones_wait_else_half(self, with_quick, expected):
        """Three that say nothing would have all twelve of them for as long as calls may take."""
        tempo = quick(9)
        for account in (1, 2, 3):
            tempo.learn(account, 5.0)
        some = slots(tempo=tempo)
        for account in (1, 2, 3, 9) if with_quick else (1, 2, 3):
            for _ in range(8):
                some.put(waiting(account, calls_at_once=4))

        assert Counter(one.account.id for one in some.take()) == expected

    def test_are_one_for_each_stranger_that_has_not_answered_yet_up_to_half(self):
        some = slots(tempo=quick(9))
        for account in range(1, 10):
            for _ in range(4):
                some.put(waiting(account, calls_at_once=4))

        assert Counter(one.account.id for one in some.take()) == {**dict.fromkeys(range(1, 7), 1), 9: 4}
        assert some.busy_with_slow == 6

    def test_are_kept_for_newcomers_when_the_slow_have_their_share(self):
        tempo = quick(9)
        tempo.learn(1, 5.0)
        some = slots(tempo=tempo)
        for account in (*[1] * 5, *[9] * 10):
            some.put(waiting(account, calls_at_once=8))
        assert Counter(one.account.id for one in some.take()) == {1: 3, 9: 8}

        some.put(waiting(2))

        assert [one.account.id for one in some.take()] == [2]

    def test_are_all_for_a_slow_provider_if_need_be(self):
        some = slots(size=16, tempo=slow(1))
        for _ in range(20):
            some.put(waiting(1, calls_at_once=None))

        assert len([*some.take()]) == 12

    def test_have_so_many_waiting_and_no_more(self):
        some = slots()

        assert [some.put(waiting()) for _ in range(9)] == [True] * 8 + [False]

    def test_have_as_many_waiting_as_are_answered_soon(self):
        some = slots(tempo=quick(1, seconds=0.01))

        assert [some.put(waiting()) for _ in range(41)] == [True] * 40 + [False]

    def test_are_full_when_more_wait_for_them_than_they_do_in_a_moment(self):
        some = slots(size=8, tempo=quick(*range(1, 20)))  # six slots
        assert not some.are_full
        for account in range(1, 20):
            for _ in range(2):
                some.put(waiting(account))
        assert not some.are_full, "nobody has taken one"

        taken = [*some.take()]

        assert some.are_full
        some.free(one.account.id for one in taken)
        assert not some.are_full

    def test_of_the_quick_ones_are_as_many_however_many_slow_ones_there_are(self):
        alone, beside = slots(tempo=quick(*range(1, 5))), slots(tempo=quick(*range(1, 5)))
        for some in (alone, beside):
            for account in range(1, 5):
                for _ in range(4):
                    some.put(waiting(account, 4))
        for stranger in range(10, 20):
            beside.put(waiting(stranger, 4))

        of_quick = [sum(one.account.id < 10 for one in some.take()) for some in (alone, beside)]

        assert of_quick == [12, 12]
        assert beside.busy_with_slow == 6

    def test_are_never_full_of_strangers_that_may_be_slow(self):
        some = slots(size=8)
        for account in range(1, 20):
            for _ in range(2):
                some.put(waiting(account))
        list(some.take())

        assert not some.are_full

    def test_are_idle_when_nothing_waits_and_nothing_is_under_way(self):
        some = slots()
        some.put(waiting())
        assert not some.is_idle

        list(some.take())
        assert not some.is_idle

        some.free([1])
        assert some.is_idle

    def test_give_back_all_that_waits(self):
        some = slots()
        kept = [waiting(1), waiting(1), waiting(2)]
        for one in kept:
            some.put(one)

        assert some.empty() == kept
        assert some.is_idle

    def test_know_what_is_in_time(self):
        late, early = waiting(claimed_at=0.0), waiting(claimed_at=100.0)

        assert [one.is_in_time(100.0) for one in (late, early)] == [False, True]

    @pytest.mark.parametrize(
        ("calls_at_once", "seconds", "expected"), [(4, 0.01, True), (None, 0.01, False), (None, 2.0, True)]
    )
    def test_are_for_those_that_take_a_few_calls_at_once_and_for_slow_ones(self, calls_at_once, seconds, expected):
        tempo = Tempo()
        tempo.learn(1, seconds)

        assert slots(tempo=tempo).is_for(waiting(calls_at_once=calls_at_once).account) is expected


class TestTempo:
    def test_believes_a_slow_call_at_once_and_quick_ones_slowly(self):
        tempo = Tempo()
        tempo.learn(1, 0.01)
        tempo.learn(1, 5.0)
        assert tempo.is_slow(1)

        for _ in range(10):
            tempo.learn(1, 0.01)
        assert tempo.is_slow(1)

        for _ in range(30):
            tempo.learn(1, 0.01)
        assert not tempo.is_slow(1)

    def test_calls_neither_slow_nor_quick_what_nobody_has_called(self):
        assert not Tempo().is_slow(1)
        assert not Tempo().is_quick(1)
        assert Tempo().seconds(1, unknown=10.0) == 10.0


@pytest.fixture
def two(world, more_vendors):
    """Germany by an account known to be slow, everybody else by a quick one."""
    world.account("twilio-spare", denied_countries=["DE"], priority=1)
    slow = ProviderAccount.objects.get(slug="twilio")
    ProviderAccount.objects.filter(slug="twilio").update(countries=["DE"])
    accounts.forget()
    accounts.tempo.learn(slow.id, 1.0)
    return slow


class TestDrain:
    def test_answers_of_a_slow_account_keep_nobody_waiting(self, world, two):
        world.sandbox.set_faults("twilio", latency_seconds=0.4)
        with transaction.atomic():
            slow = [sms() for _ in range(3)]
            quick = [sms(BRITISH) for _ in range(5)]
        order: list[str] = []
        later: list[Message] = []

        def note(answers):
            order.extend(one.row.country for answer in answers for one in answer.key.planned)
            if not later:
                later.append(sms(BRITISH))

        world.drain(Lane.NORMAL, transport=world.between(after=note))

        assert order == ["GB"] * 6 + ["DE"] * 3, "one that came meanwhile was sent before the slow answers were in"
        assert {told(message)[0] for message in slow + quick + later} == {State.SENT}

    def test_what_is_too_many_for_it_comes_again_in_a_moment(self, world, two, monkeypatch):
        monkeypatch.setattr(Twilio, "calls_at_once", 1)
        with transaction.atomic():
            messages = [sms() for _ in range(7)]

        world.deliver(world.claim(Lane.NORMAL))

        assert sorted(told(message)[0] for message in messages).count(State.SENT) == 1
        entries = OutboxEntry.objects.filter(message__in=messages, lane=Lane.NORMAL)
        assert {(entry.claim, entry.strikes, entry.began_at) for entry in entries} == {(None, 0, None)}
        assert entries.filter(due_at__gt=timezone.now() + timedelta(seconds=0.2)).count() == 3, "more than four rounds"

    def test_begins_no_slow_call_that_would_outlast_it(self, world, two, numbers_are):
        numbers_are(drain_seconds=1.0)
        message = sms()
        clock = iter([100.0])

        world.drain(Lane.NORMAL, monotonic=lambda: next(clock, 100.9))

        assert (told(message)[0], world.requests("twilio")) == (State.QUEUED, 0)

    def test_calls_one_whose_calls_take_longer_than_a_drain(self, world, two, numbers_are):
        """Or it would stay slow for ever: only a call can tell that it is not."""
        numbers_are(drain_seconds=0.5)
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT

    def test_gives_back_what_waits_for_an_account_that_has_been_switched_off(self, world, two):
        message = sms()
        batch = world.claim(Lane.NORMAL)
        known = accounts.get

        def off(account_id):
            account = known(account_id)
            return replace(account, is_on=False) if account and account.slug == "twilio" else account

        accounts.get, keep = off, known  # type: ignore[method-assign]
        try:
            world.deliver(batch)
        finally:
            accounts.get = keep  # type: ignore[method-assign]

        assert (told(message)[0], world.requests("twilio")) == (State.QUEUED, 0)

    def test_makes_the_one_call_that_probes_an_account(self, world, two):
        rest_there(two.id, "DE", "")
        Breaker.objects.update(cause=Cause.CALLS, opened_until=timezone.now() - timedelta(seconds=1))
        accounts.forget()
        messages = [sms() for _ in range(2)]

        world.deliver(world.claim(Lane.NORMAL))

        assert sorted(told(message)[0] for message in messages) == [State.QUEUED, State.SENT]
        assert not Breaker.objects.exists()


def test_a_drain_whose_slots_are_full_claims_no_more(world, two, monkeypatch, numbers_are):
    """What it cannot begin soon is left to other drains."""
    monkeypatch.setattr(Twilio, "calls_at_once", 1)
    monkeypatch.setattr(Slots, "are_full", property(lambda self: bool(self.busy)))
    numbers_are(batch_size=1)
    with transaction.atomic():
        messages = [sms() for _ in range(3)]
    claimed_at_once: list[int] = []

    def look(calls):
        claimed_at_once.append(OutboxEntry.objects.filter(message__in=messages, claim__isnull=False).count())

    world.drain(Lane.NORMAL, transport=world.between(before=look))

    assert claimed_at_once == [1, 1, 1]

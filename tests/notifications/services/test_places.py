"""Places: what an account's rate lets go now goes, the rest waits for its turn."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations

import pytest
from django.utils import timezone

from notifications.accounts import accounts
from notifications.explanation import explain
from notifications.lanes import Lane
from notifications.models import Attempt, Message, OutboxEntry, Pace, ProviderAccount
from notifications.states import State
from notifications.timeline import timeline
from tests import factories
from tests.factories import DAY, NUMBER, SECOND
from tests.notifications.racing import counted, together
from tests.notifications.stories import due_at, email, end_of, only_send, sms, sms_then_email, told


def limit(slug="twilio", **fields):
    """Give an account rates."""
    ProviderAccount.objects.filter(slug=slug).update(**fields)
    accounts.forget()
    return ProviderAccount.objects.get(slug=slug)


def waiting():
    """The entries that hold a place, the earliest first."""
    return list(OutboxEntry.objects.filter(turn_account__isnull=False).order_by("turn_at"))


def come(message, *, late=SECOND * 0, **entry):
    """Let a message's turn be now, or have been a while ago."""
    now = timezone.now() - late
    OutboxEntry.objects.filter(message=message).update(due_at=now, turn_at=now, **entry)


def once(world, lane=Lane.NORMAL):
    """Claim once what is due, and deliver it."""
    world.deliver(world.claim(lane))


class TestTurns:
    def test_lets_a_burst_go_and_the_rest_wait_without_a_try_or_a_move(self, world):
        account = limit(rate=10, rate_burst=3)
        for _ in range(8):
            sms()

        once(world)

        assert world.on_the_wire() == 3
        waits = [entry.turn_at - waiting()[0].turn_at for entry in waiting()]
        assert [wait.total_seconds() for wait in waits] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
        for entry in waiting():
            assert (entry.claim, entry.strikes, entry.due_at) == (None, 0, entry.turn_at)
            assert (entry.turn_account, entry.began_at) == (account.id, None)
            assert told(entry.message) == (State.QUEUED, "")
            assert (entry.message.tries, entry.message.attempt_count) == (0, 0)

    def test_goes_at_its_turn_without_asking_for_another(self, world):
        account = limit(rate=0.1)
        message = sms()
        come(message, turn_account=account.id)

        with counted() as statements:
            once(world)

        assert told(message)[0] == State.SENT
        assert not [statement for statement in statements if "pace" in statement]
        entry = OutboxEntry.objects.get()
        assert (entry.turn_at, entry.turn_account) == (None, None)

    def test_is_void_when_it_is_used_too_late_so_that_no_crowd_goes_at_once(self, world):
        account = limit(rate=10, rate_burst=2)
        for _ in range(10):
            come(sms(), late=60 * SECOND, turn_account=account.id)

        once(world)

        assert world.on_the_wire() == 2
        assert waiting()[0].turn_at > timezone.now() - SECOND

    def test_is_kept_for_one_that_is_woken_before_it(self, world):
        account = limit(rate=10)
        message = sms()
        turn_at = timezone.now() + 30 * SECOND
        OutboxEntry.objects.update(turn_at=turn_at, turn_account=account.id)

        once(world)

        assert world.on_the_wire() == 0
        assert (due_at(message), waiting()[0].turn_at) == (turn_at, turn_at)

    def test_binds_routing_to_the_account_that_keeps_it(self, world):
        limit(rate=10)
        spare = world.account("twilio-spare", rate=10)
        message = sms()
        come(message, turn_account=spare.id)

        once(world)

        assert Attempt.objects.get(message=message).account == spare

    def test_does_not_bind_to_an_account_that_is_off(self, world):
        spare = world.account("twilio-spare", rate=10, is_on=False)
        message = sms()
        come(message, turn_account=spare.id)

        once(world)

        assert Attempt.objects.get(message=message).account.slug == "twilio"

    def test_is_asked_for_nobody_where_no_account_has_a_rate(self, world):
        sms()

        with counted() as statements:
            world.drain(Lane.NORMAL)

        assert world.on_the_wire() == 1
        assert not [statement for statement in statements if "pace" in statement or "turn_account IS NOT" in statement]

    def test_ends_when_something_else_is_due_before_it(self, world):
        account = limit(rate=10)
        message = sms(expires_at=timezone.now() + 20 * SECOND)
        OutboxEntry.objects.update(turn_at=timezone.now() + 30 * SECOND, turn_account=account.id)

        once(world)

        assert abs(due_at(message) - timezone.now() - 20 * SECOND) < SECOND


class TestSaid:
    def test_names_the_account_and_the_time(self, world):
        account = limit(rate=10)
        message = sms()
        turn_at = datetime(2027, 1, 15, 12, 30, 5, tzinfo=UTC)
        OutboxEntry.objects.update(turn_at=turn_at, turn_account=account.id)

        words = "waits for its turn at twilio, until 2027-01-15 12:30:05 UTC"
        assert explain(message.notification) == f"Accepted: the SMS is queued, and {words}."
        last = timeline(message.notification)[-1]
        assert (last.at, last.kind, last.text) == (turn_at, "turn", f"the SMS {words}")

    def test_says_that_a_turn_is_only_expected_where_no_place_is_kept(self, world):
        message = sms()
        OutboxEntry.objects.update(turn_at=datetime(2027, 1, 15, 12, 30, 5, tzinfo=UTC))

        assert "and waits for a turn, expected at 2027-01-15 12:30:05 UTC" in explain(message.notification)

    def test_says_nothing_of_turns_once_it_was_sent(self, world):
        message = sms()
        world.drain(Lane.NORMAL)
        OutboxEntry.objects.update(turn_at=timezone.now())

        assert "turn" not in explain(Message.objects.get(id=message.id).notification)


class TestCosts:
    def test_counts_the_sms_of_a_text_where_the_rate_counts_them(self, world):
        limit(rate=10, rate_counts="segments", rate_burst=4)
        for _ in range(3):
            sms(text="x" * 200)

        once(world)

        assert world.on_the_wire() == 2
        assert Pace.objects.get(of="").next_at - timezone.now() == pytest.approx(0.6 * SECOND, abs=0.3 * SECOND)

    def test_counts_each_message_of_a_call_that_carries_many(self, world):
        limit("postmark", rate=10, rate_burst=5)
        for _ in range(12):
            email()

        once(world)

        assert (world.on_the_wire("postmark"), world.requests("postmark")) == (5, 1)

    def test_holds_the_rate_of_a_sender(self, world):
        limit(sender_rate=1, settings={"from": "+15005550006", "senders": {"FR": "Landfall"}})
        for number in (NUMBER, NUMBER, "+33612345678"):
            sms(number)

        once(world)

        assert world.on_the_wire() == 2
        assert set(Pace.objects.filter(of__regex="^[^~]").values_list("of", flat=True)) == {"+15005550006", "Landfall"}


class TestWithoutAPlace:
    def test_waits_for_the_time_when_there_may_be_one_and_holds_none(self, world):
        limit(rate=1)
        for _ in range(30):
            sms(priority="bulk")

        once(world, Lane.BULK)

        assert len(waiting()) == 5
        rest = OutboxEntry.objects.filter(turn_at__isnull=False, turn_account=None).order_by("turn_at")
        assert (rest[23].due_at - rest[0].due_at).total_seconds() == pytest.approx(23)
        assert rest[0].due_at - timezone.now() == pytest.approx(5 * SECOND, abs=SECOND)

    def test_waits_as_long_again_when_it_waited_in_vain(self, world):
        limit(rate=0.1)
        sms(priority="bulk")
        once(world, Lane.BULK)
        message = sms(priority="bulk")
        come(message, late=600 * SECOND)

        once(world, Lane.BULK)

        assert 299 < (due_at(message) - timezone.now()).total_seconds() < 901

    def test_keeps_nobody_urgent_behind_a_backlog(self, world):
        limit(rate=1)
        for _ in range(30):
            sms(priority="bulk")
        once(world, Lane.BULK)
        urgent = sms(priority="critical")

        once(world, Lane.CRITICAL)

        assert due_at(urgent) - timezone.now() < 7 * SECOND


class TestInVain:
    def test_goes_by_another_account_when_it_would_be_of_no_use_at_its_turn(self, world):
        limit(rate=0.1)
        spare = world.account("twilio-spare")
        sms()
        message = sms(expires_at=timezone.now() + 5 * SECOND)

        once(world)

        assert Attempt.objects.get(message=message).account == spare

    def test_stays_with_its_account_while_its_turn_is_in_time(self, world):
        limit(rate=0.2)
        world.account("twilio-spare")
        sms()
        sms()

        once(world)

        assert (world.on_the_wire(), len(waiting())) == (1, 1)

    def test_is_ended_in_time_where_there_is_no_other(self, world):
        limit(rate=0.1)
        sms()
        message = sms(expires_at=timezone.now() + 5 * SECOND)
        once(world)
        assert abs(due_at(message) - timezone.now() - 5 * SECOND) < SECOND

        type(message.notification).objects.filter(id=message.notification_id).update(expires_at=timezone.now())
        factories.make_due(message)
        once(world)

        assert (told(message)[0], end_of(message)) == (State.EXPIRED, "expired")

    def test_does_not_outwait_the_next_step(self, world):
        limit(rate=0.001)
        sms()
        message = sms_then_email()

        once(world)

        message.refresh_from_db()
        assert due_at(message) == message.escalate_at

    def test_is_never_sent_by_a_second_provider_when_it_may_be_out(self, world):
        first = limit(rate=0.1)
        world.account("twilio-spare")
        only_send("twilio")
        sms()
        soon = factories.notification(on_unclear="send_again", expires_at=timezone.now() + 5 * SECOND)
        factories.message(of=soon, account=first, perhaps_sent=True, attempt_count=1)

        once(world)

        assert (world.on_the_wire("twilio"), world.on_the_wire("twilio-spare")) == (1, 0)


class TestQuestions:
    def due(self, account, count=3, **fields):
        return [factories.message(State.SENT, account=account, **fields) for _ in range(count)]

    def test_take_a_tenth_of_the_rate_and_wait_for_their_turn(self, world):
        account = limit(rate=10)
        messages = self.due(account)

        once(world, Lane.UPKEEP)

        assert world.requests("twilio", "status") == 1
        first, second = waiting()
        assert (second.turn_at - first.turn_at).total_seconds() == pytest.approx(1)
        assert sorted(message.checks for message in Message.objects.filter(id__in=[one.id for one in messages])) == [
            0,
            0,
            1,
        ]

    def test_are_asked_at_their_turn(self, world):
        account = limit(rate=10)
        for message in self.due(account):
            come(message, turn_account=account.id)

        once(world, Lane.UPKEEP)

        assert world.requests("twilio", "status") == 3

    def test_may_be_late_since_no_drain_waits_for_them(self, world):
        account = limit(rate=10)
        for message in self.due(account):
            come(message, turn_account=account.id, late=10 * SECOND)
        held = factories.message(State.SENT, account=account)
        come(held, turn_account=account.id, late=-60 * SECOND)

        world.drain(Lane.UPKEEP)

        assert world.requests("twilio", "status") == 3

    def test_never_wait_where_a_step_escalates(self, world):
        account = limit(rate=10)
        self.due(account, escalate_at=timezone.now())

        once(world, Lane.UPKEEP)

        assert world.requests("twilio", "status") == 3

    def test_take_nothing_of_what_messages_may_take(self, world):
        account = limit(rate=10)
        self.due(account, 1)
        sms()
        once(world, Lane.UPKEEP)

        once(world)

        assert world.on_the_wire() == 1


class TestDrain:
    def test_waits_for_turns_and_keeps_the_rate_on_the_wire_with_another_beside_it(self, world, aside):
        rate, burst, count = 20, 5, 30
        limit(rate=rate, rate_burst=burst)
        for _ in range(count):
            sms()

        together(aside, lambda: world.drain(Lane.NORMAL), lambda: world.drain(Lane.NORMAL))

        taken_at = sorted(taken.taken_at for _, taken in world.sandbox.messages())
        assert len(taken_at) == count
        for (first, begin), (last, end) in combinations(enumerate(taken_at), 2):
            if end - begin >= 1:
                assert last - first + 1 <= 1.05 * rate * (end - begin) + burst
        assert taken_at[-1] - taken_at[0] < 1.5 * (count - burst) / rate

    def test_returns_where_nobody_waits_for_a_turn(self, world):
        limit(rate=0.001)
        message = sms()
        OutboxEntry.objects.update(due_at=timezone.now() + DAY)

        assert world.drain(Lane.NORMAL) == 0
        assert told(message)[0] == State.QUEUED

"""Apply: reports are judged by all that is known, so neither their order nor their repetition matters."""

from __future__ import annotations

from random import Random

import pytest
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import Attempt, DeliveryEvent, Message, Notification, OutboxEntry, Outcome, Suppression
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.evidence import RANKS
from notifications.states import End, State
from providers.messages import EventKind
from tests import factories
from tests.factories import SECOND
from tests.notifications.racing import together
from tests.notifications.stories import end_of, fallback_of, told

pytestmark = pytest.mark.usefixtures("seeded")


def hear(message, *kinds, attempt=1):
    """Apply reports about a message, one after the other."""
    for kind in kinds:
        factories.event(message, kind, attempt=attempt)
        apply_waiting()
    return told(message)


class TestOneReport:
    @pytest.mark.parametrize(
        ("kind", "state", "reason"),
        [
            ("accepted", State.SENT, ""),
            ("sent", State.SENT, ""),
            ("expired", State.FAILED, "expired_at_provider"),
            ("failed", State.FAILED, "not_delivered"),
            ("bounced", State.FAILED, "bounced"),
            ("delivered", State.DELIVERED, ""),
            ("unknown", State.SENT, ""),
            ("complained", State.SENT, ""),
            ("opted_out", State.SENT, ""),
        ],
    )
    def test_about_a_sent_message(self, kind, state, reason):
        message = factories.message(State.SENT)

        assert hear(message, kind) == (state, reason)

        assert DeliveryEvent.objects.get().applied_at is not None
        is_open = state is State.SENT
        assert OutboxEntry.objects.exists() is is_open
        assert end_of(message) == (None if is_open else state)

    def test_of_a_passing_failure_sends_once_more_later_where_nothing_else_can_be_done(self):
        message = factories.message(State.SENT)

        assert hear(message, "not_reached") == (State.QUEUED, "not_reached")

        entry = OutboxEntry.objects.get()
        assert (entry.lane, entry.due_at > timezone.now()) == (Lane.NORMAL, True)

    def test_of_a_passing_failure_gives_way_to_the_next_step(self):
        message = factories.message(State.SENT, of=factories.notification("sms-then-email"))

        assert hear(message, "not_reached") == (State.FAILED, "not_reached")

        assert fallback_of(message).state == State.QUEUED

    @pytest.mark.parametrize("kind", ["accepted", "sent"])
    def test_tells_that_an_uncertain_message_went_out(self, kind):
        message = factories.message(State.UNCERTAIN)
        factories.event(message, kind, provider_message_id="SM-told")

        apply_waiting()

        assert told(message) == (State.SENT, "")
        assert Attempt.objects.get().provider_message_id == "SM-told"
        assert OutboxEntry.objects.get().due_at > timezone.now()

    @pytest.mark.parametrize("state", sorted(set(State) - {State.QUEUED, State.DELIVERED}))
    def test_of_a_delivery_delivers_from_every_state(self, state):
        message = factories.message(state)
        if not message.attempt_count:
            factories.attempt(message, factories.account(), outcome=Outcome.UNCLEAR)

        assert hear(message, "delivered") == (State.DELIVERED, "")

        assert end_of(message) == End.DELIVERED
        assert not OutboxEntry.objects.exists()

    @pytest.mark.parametrize("kind", ["failed", "not_reached", "expired"])
    def test_of_a_failure_corrects_what_was_unconfirmed(self, kind):
        message = factories.message(State.UNCONFIRMED)

        assert hear(message, kind)[0] == State.FAILED

        assert end_of(message) == End.FAILED

    def test_of_a_hard_bounce_undoes_a_delivery_and_begins_the_next_step(self):
        steps = [{"channel": "email", "wait_for": "delivered", "window_seconds": 90}, {"channel": "sms"}]
        message = factories.message(State.DELIVERED, of=factories.notification(steps=steps))

        assert hear(message, "bounced") == (State.FAILED, "bounced")

        assert (fallback_of(message).state, end_of(message)) == (State.QUEUED, None)

    def test_about_the_call_being_made_files_its_attempt_and_takes_the_entry_from_its_holder(self):
        message = factories.message()
        account = factories.account()
        factories.begun(message, account)
        factories.event(message, "sent", account=account, provider_message_id="SM-told")

        apply_waiting()

        assert told(message) == (State.SENT, "")
        attempt = Attempt.objects.get()
        assert (attempt.number, attempt.outcome, attempt.provider_message_id) == (1, Outcome.TAKEN, "SM-told")
        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.attempt, entry.began_at) == (None, None, None)
        assert (message.attempt_count, message.account_id) == (1, account.id)
        assert audit().is_sound

    def test_about_an_older_attempt_does_not_stop_the_newer_one(self):
        message = factories.message(State.SENT, attempt_count=2)
        factories.attempt(message, message.account, number=2)

        assert hear(message, "failed", attempt=1)[0] == State.SENT

    def test_that_names_a_dead_address_suppresses_it(self):
        message = factories.message(State.SENT)
        factories.event(message, "failed", suppress="unreachable")

        apply_waiting()

        row = Suppression.objects.get()
        assert (row.channel, row.address_hash, row.reason) == ("sms", message.address_hash, "unreachable")

    def test_of_a_complaint_suppresses_and_changes_no_state(self):
        message = factories.message(State.DELIVERED)
        factories.event(message, "complained", suppress="complaint")

        apply_waiting()

        assert told(message)[0] == State.DELIVERED
        assert Suppression.objects.get().reason == "complaint"


class TestOneKey:
    """What was repeated under one key is one message to its provider, whichever of the calls a report names."""

    def repeated(self, outcome=Outcome.TAKEN, *, keys=("k", "k"), state=State.SENT):
        """A message whose first call was unclear, and whose second one ended so."""
        message = factories.message(state, attempt_count=2)
        Attempt.objects.update(outcome=Outcome.UNCLEAR, provider_message_id=None, provider_key=keys[0])
        factories.attempt(message, message.account, number=2, outcome=outcome, provider_key=keys[1])
        return message

    @pytest.mark.parametrize("attempt", [1, 2])
    def test_a_report_counts_for_the_newest_call(self, attempt):
        message = self.repeated()

        assert hear(message, "failed", attempt=attempt) == (State.FAILED, "not_delivered")

        assert DeliveryEvent.objects.get().attempt_number == attempt

    def test_the_provider_names_the_message_that_the_newest_call_asked_for_again(self):
        message = self.repeated(Outcome.UNCLEAR, state=State.UNCERTAIN)
        factories.event(message, "sent", provider_message_id="first")

        apply_waiting()

        assert told(message) == (State.SENT, "")
        assert message.attempts.get(number=2).provider_message_id == "first"

    def test_a_report_about_the_first_call_counts_for_one_being_made(self):
        account = factories.account()
        message = factories.message(account=account, attempt_count=1, perhaps_sent=True)
        factories.attempt(message, account, outcome=Outcome.UNCLEAR, provider_key="k")
        factories.begun(message, account)
        OutboxEntry.objects.update(provider_key="k")
        factories.event(message, "sent", account=account)

        apply_waiting()

        assert told(message) == (State.SENT, "")
        assert message.attempts.get(number=2).outcome == Outcome.TAKEN
        assert audit().is_sound

    def test_a_report_under_an_older_key_does_not_count_for_the_newer_one(self):
        message = self.repeated(keys=("k", "another"))

        assert hear(message, "failed", attempt=1)[0] == State.SENT

    def test_nor_does_one_of_an_account_that_was_given_the_same_key(self):
        message = self.repeated()
        other = factories.account("another")
        Attempt.objects.filter(number=1).update(account=other)
        factories.event(message, "failed", account=other)

        apply_waiting()

        assert told(message)[0] == State.SENT

    def test_calls_without_a_key_are_each_their_own(self):
        message = self.repeated(keys=(None, None))

        assert hear(message, "failed", attempt=1)[0] == State.SENT


class TestMany:
    def test_are_all_applied_however_many_wait(self):
        messages = [factories.message(State.SENT) for _ in range(3)]
        for message in messages:
            for _ in range(80):
                factories.event(message, "sent")

        assert apply_waiting() == 240
        assert not DeliveryEvent.objects.filter(applied_at=None).exists()

    def test_by_several_appliers_at_once_end_as_by_one(self, aside):
        messages = [factories.message(State.SENT, of=factories.notification("sms-then-email")) for _ in range(20)]
        for kind in ("sent", "not_reached", "failed"):
            for message in messages:
                factories.event(message, kind)

        together(aside, *[apply_waiting] * 4)
        apply_waiting()

        assert {told(message)[0] for message in messages} == {State.FAILED}
        assert Message.objects.filter(step=1).count() == 20
        assert audit().is_sound

    def test_that_match_nothing_wait(self):
        factories.event(None, "delivered", provider_message_id="SM-unknown")

        assert apply_waiting() == 0

        assert DeliveryEvent.objects.get().applied_at is None

    def test_one_that_came_early_is_applied_when_its_attempt_is_on_file(self):
        account = factories.account()
        factories.event(None, "delivered", account=account, provider_message_id="SM-early")
        assert apply_waiting() == 0
        message = factories.message(State.SENT, account=account)
        Attempt.objects.update(provider_message_id="SM-early")

        assert apply_waiting() == 1

        assert told(message)[0] == State.DELIVERED
        event = DeliveryEvent.objects.get()
        assert (event.message_id, event.attempt_number) == (message.id, 1)


SPEAKING = [(attempt, kind) for attempt in (1, 2) for kind in RANKS]
SCENARIOS = 12
ORDERS = 5


class TestEveryOrder:
    """No engine step between. The judgement itself is tested over all permutations; this is a sample of them, stored."""

    @pytest.mark.parametrize("route", ["sms", "sms-then-email"])
    @pytest.mark.parametrize("state", [State.SENT, State.UNCERTAIN, State.UNCONFIRMED])
    def test_and_every_repetition_ends_the_same(self, state, route):
        chance = Random(f"{state} {route}")
        scenarios = [chance.sample(SPEAKING, chance.randint(2, 6)) for _ in range(SCENARIOS)]
        lives = [
            (number, self.message(state, route), self.order(reports, chance))
            for number, reports in self.each(scenarios)
        ]

        for turn in range(max(len(order) for _, _, order in lives)):
            for _, message, order in lives:
                if turn < len(order):
                    attempt, kind = order[turn]
                    factories.event(message, kind, attempt=attempt)
            apply_waiting()

        ends = {}
        for number, message, _ in lives:
            end = end_of(message) if route == "sms" else None  # a next step lives on by itself
            ends.setdefault(number, set()).add((told(message)[0], end))
        disagreeing = {number: (scenarios[number], end) for number, end in ends.items() if len(end) > 1}
        assert not disagreeing
        assert len(set().union(*ends.values())) > 1, "all ended alike: nothing was tested"
        assert audit().is_sound

    def each(self, scenarios):
        return [(number, reports) for number, reports in enumerate(scenarios) for _ in range(ORDERS)]

    def order(self, reports, chance):
        """The reports in some order, two of them told twice."""
        order = [*reports, *chance.sample(reports, 2)]
        chance.shuffle(order)
        return order

    def message(self, state, route):
        """A message that was sent twice: the first time it was not clear whether it went out."""
        message = factories.message(state, of=factories.notification(route), attempt_count=2, tries=2)
        Attempt.objects.filter(message=message, number=1).update(outcome=Outcome.UNCLEAR, provider_message_id=None)
        factories.attempt(message, message.account, number=2, outcome=factories.OUTCOMES[state])
        return message


def test_a_report_of_a_delivery_after_the_end_writes_the_end_again():
    message = factories.message(State.FAILED)
    ended_at = Notification.objects.get().ended_at

    hear(message, "delivered")

    notification = Notification.objects.get()
    assert (notification.end, notification.ended_at > ended_at) == (End.DELIVERED, True)


def test_a_report_after_its_time_still_counts():
    message = factories.message(State.SENT)
    Notification.objects.update(expires_at=timezone.now() - SECOND)

    assert hear(message, EventKind.NOT_REACHED) == (State.FAILED, "not_reached")

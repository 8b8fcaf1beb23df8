"""Record: verdicts count for whoever holds the claim, and for nobody else."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.models import Attempt, DeadLetter, Message, OutboxEntry, Outcome
from notifications.sql.record import LateAnswer, Verdict, file_late, record
from notifications.states import InvalidMove, State
from tests import factories
from tests.factories import DAY, SECOND
from tests.notifications.racing import against_each_other, until_waiting, updates_in_place

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def account():
    return factories.account()


def verdict(message, state=State.SENT, **fields):
    """What a holder makes of an answer; open states are due again in a day."""
    due_at = timezone.now() + DAY if state in (State.QUEUED, State.UNCERTAIN, State.SENT) else None
    return Verdict(
        **{
            "message_id": message.id,
            "leaving": State.QUEUED,
            "state": state,
            "lane": "upkeep",
            "due_at": due_at,
            "account_id": None,
            "outcome": Outcome.TAKEN,
            **fields,
        }
    )


def state_of(message):
    return Message.objects.get(id=message.id).state


class TestHolder:
    def test_moves_the_message_files_the_attempt_and_reschedules_the_entry_in_one_statement(self, account):
        message = factories.message()
        token = factories.begun(message, account)
        due_at = timezone.now() + DAY

        held = record(
            [
                verdict(
                    message,
                    due_at=due_at,
                    account_id=account.id,
                    tries=1,
                    segments=2,
                    provider_message_id="SM1",
                    http_status=201,
                    answer="ok",
                )
            ],
            claim=token,
        )

        assert held == {message.id}
        message.refresh_from_db()
        assert (message.state, message.attempt_count, message.tries, message.account_id, message.segments) == (
            State.SENT,
            1,
            1,
            account.id,
            2,
        )
        attempt = Attempt.objects.get(message=message)
        assert (attempt.number, attempt.account_id, attempt.outcome, attempt.provider_message_id) == (
            1,
            account.id,
            Outcome.TAKEN,
            "SM1",
        )
        assert (attempt.request_hash, attempt.http_status, attempt.answer) == ("h" * 64, 201, "ok")
        entry = OutboxEntry.objects.get(message=message)
        assert (entry.claim, entry.strikes, entry.lane, entry.due_at) == (None, 0, "upkeep", due_at)
        assert (entry.attempt, entry.account_id, entry.request_hash, entry.began_at) == (None, None, None, None)

    def test_deletes_the_entry_of_a_message_that_ended(self, account):
        message = factories.message()
        token = factories.begun(message, account)

        record([verdict(message, State.FAILED, outcome=Outcome.REFUSED)], claim=token)

        assert state_of(message) == State.FAILED
        assert not OutboxEntry.objects.exists()

    def test_files_no_attempt_for_a_call_that_was_never_made(self, account):
        message = factories.message()
        token = factories.begun(message, account)

        record([verdict(message, State.QUEUED, outcome=None)], claim=token)

        message.refresh_from_db()
        assert (message.attempt_count, Attempt.objects.count()) == (0, 0)
        assert OutboxEntry.objects.get(message=message).attempt is None

    def test_files_a_dead_letter_with_the_reason_and_the_last_error(self, account):
        message = factories.message()
        token = factories.begun(message, account)

        record(
            [
                verdict(
                    message,
                    State.DEAD_LETTERED,
                    reason="account_at_fault",
                    outcome=Outcome.REFUSED,
                    error="AuthenticationFailed",
                    error_code="20003",
                )
            ],
            claim=token,
        )

        letter = DeadLetter.objects.get()
        assert (letter.message_id, letter.reason, letter.last_error) == (
            message.id,
            "account_at_fault",
            "AuthenticationFailed 20003",
        )

    def test_refuses_a_move_that_is_not_in_the_table_before_any_statement(self):
        message = factories.message(State.SENT)

        with pytest.raises(InvalidMove):
            verdict(message, State.EXPIRED, leaving=State.SENT)


class TestFenced:
    @pytest.mark.parametrize(
        "lose",
        [
            lambda: OutboxEntry.objects.update(claim=uuid4()),
            lambda: OutboxEntry.objects.update(claim=None),
            lambda: OutboxEntry.objects.all().delete(),
        ],
        ids=["claimed by another", "claim cleared by evidence", "entry gone"],
    )
    @pytest.mark.parametrize("state", [State.SENT, State.FAILED, State.DEAD_LETTERED])
    def test_changes_nothing_at_all(self, account, lose, state):
        message = factories.message()
        token = factories.begun(message, account)
        lose()
        before = list(OutboxEntry.objects.values())

        held = record([verdict(message, state)], claim=token)

        assert held == set()
        assert list(OutboxEntry.objects.values()) == before
        assert state_of(message) == State.QUEUED
        assert not Attempt.objects.exists()
        assert not DeadLetter.objects.exists()

    def test_does_not_hinder_the_verdicts_that_are_held(self, account):
        ours, lost = factories.message(), factories.message()
        token = factories.begun(ours, account)
        factories.begun(lost, account)

        assert record([verdict(ours), verdict(lost)], claim=token) == {ours.id}
        assert (state_of(ours), state_of(lost)) == (State.SENT, State.QUEUED)

    def test_sees_a_claim_that_was_lost_while_it_waited(self, account, aside):
        message = factories.message()
        token = factories.begun(message, account)

        with transaction.atomic():
            OutboxEntry.objects.select_for_update().get(message=message)
            recording = aside(record, [verdict(message)], claim=token)
            until_waiting()
            OutboxEntry.objects.update(claim=None)

        assert recording.result(5) == set()
        assert state_of(message) == State.QUEUED

    def test_moves_no_message_that_has_left_the_state_it_was_seen_in(self, account):
        message = factories.message()
        token = factories.begun(message, account)
        Message.objects.update(state=State.DELIVERED)

        record([verdict(message)], claim=token)

        assert state_of(message) == State.DELIVERED


def test_entries_are_locked_in_the_order_of_ids_however_they_are_found(seeded, aside):
    account, token = factories.account(), uuid4()
    messages = factories.messages_in_disorder(20)
    for message in reversed(messages):  # an update lays rows down anew
        factories.begun(message, account, claim=token)
    verdicts = [verdict(message) for message in messages]

    held = against_each_other(aside, "outbox", messages[10].id, lambda: len(record(verdicts, claim=token)))

    assert sorted(held) == [0, 20]


class TestLateAnswers:
    def late(self, message, account, number=1, provider_message_id="SM1"):
        return LateAnswer(
            message.id,
            number,
            account.id,
            None,
            "h" * 64,
            600,
            timezone.now() - 70 * SECOND,
            provider_message_id,
            "201 ok",
        )

    def test_adds_a_late_answer_to_the_attempt_that_somebody_filed_as_unclear(self, account):
        message = factories.message(State.UNCERTAIN, account=account)

        file_late([self.late(message, account)])

        attempt = Attempt.objects.get()
        assert (attempt.outcome, attempt.late_answer, attempt.provider_message_id) == (
            Outcome.UNCLEAR,
            "201 ok",
            "SM1",
        )

    def test_files_the_attempt_itself_when_nobody_has(self, account):
        message = factories.message()

        file_late([self.late(message, account)])

        attempt = Attempt.objects.get()
        assert (attempt.number, attempt.outcome, attempt.late_answer) == (1, Outcome.UNCLEAR, "201 ok")

    def test_keeps_a_providers_id_that_is_known_already(self, account):
        message = factories.message(State.SENT, account=account)
        known = Attempt.objects.get().provider_message_id

        file_late([self.late(message, account, provider_message_id="SM-other")])

        assert Attempt.objects.get().provider_message_id == known

    def test_is_not_overwritten_by_the_one_who_files_the_lost_attempt_afterwards(self, account):
        message = factories.message()
        token = factories.begun(message, account)
        file_late([self.late(message, account)])

        record([verdict(message, State.UNCERTAIN, outcome=Outcome.UNCLEAR)], claim=token)

        attempt = Attempt.objects.get()
        assert (attempt.late_answer, attempt.provider_message_id) == ("201 ok", "SM1")
        assert state_of(message) == State.UNCERTAIN


def test_messages_move_in_place(seeded):
    """No index is on a state, not even in a condition: one would make every move a full index update."""
    account = factories.account()
    messages = [factories.message() for _ in range(10)]
    token = uuid4()
    for message in messages:
        factories.begun(message, account, claim=token)

    with transaction.atomic(), updates_in_place("message") as updates:
        record([verdict(message) for message in messages], claim=token)

    assert updates["all"] == 10
    assert updates["in_place"] >= 8  # a full page now and then moves a row

"""Begin: the last look before the wire. Whatever it does not return must not be sent."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import Incident, Message, Notification, OutboxEntry
from notifications.sql.begin import Intent, begin
from notifications.sql.claim import claim
from notifications.states import State
from tests import factories
from tests.factories import SECOND
from tests.notifications.racing import against_each_other, until_waiting, updates_in_place

CALL_SECONDS = 20.0

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def account():
    return factories.account()


def claimed(count=1, **fields):
    """Messages in one claim, and that claim."""
    messages = [factories.message(of=factories.notification(**fields)) for _ in range(count)]
    token = uuid4()
    claim(Lane.NORMAL, count, claim=token, lease_seconds=60)
    return messages, token


def begin_all(messages, token, account, call_seconds=CALL_SECONDS):
    intents = [Intent(message.id, 1, account.id, "key", "hash", 600) for message in messages]
    return begin(intents, claim=token, call_seconds=call_seconds)


class TestBegin:
    def test_puts_attempt_account_key_hash_and_time_on_file(self, account):
        (message,), token = claimed()

        allowed = begin_all([message], token, account)

        entry = OutboxEntry.objects.get(message=message)
        assert allowed == {message.id}
        assert (entry.attempt, entry.account_id, entry.provider_key, entry.request_hash) == (
            1,
            account.id,
            "key",
            "hash",
        )
        assert abs(timezone.now() - entry.began_at) < 5 * SECOND

    def test_allows_the_others_of_a_wave_when_one_was_stopped(self, account):
        messages, token = claimed(3)
        Notification.objects.filter(messages=messages[1]).update(stopped_at=timezone.now())

        assert begin_all(messages, token, account) == {messages[0].id, messages[2].id}

    @pytest.mark.parametrize(
        "stop",
        [
            lambda message: Notification.objects.update(stopped_at=timezone.now()),
            lambda message: Notification.objects.update(expires_at=timezone.now() - SECOND),
            lambda message: Incident.objects.update(ended_at=timezone.now()),
            factories.suppression,
            lambda message: Message.objects.update(state=State.CANCELLED),
            lambda message: OutboxEntry.objects.update(claim=uuid4()),
            lambda message: OutboxEntry.objects.update(claim=None),
            lambda message: OutboxEntry.objects.all().delete(),
            lambda message: OutboxEntry.objects.update(due_at=timezone.now() + timedelta(seconds=CALL_SECONDS - 1)),
        ],
        ids=[
            "stopped",
            "expired",
            "incident over",
            "suppressed",
            "no longer queued",
            "claimed by another",
            "claim cleared",
            "entry gone",
            "too little lease left for a call",
        ],
    )
    def test_refuses_what_changed_since_the_claim(self, account, stop):
        (message,), token = claimed(incident=factories.incident())
        stop(message)

        assert begin_all([message], token, account) == set()
        assert not OutboxEntry.objects.filter(began_at__isnull=False).exists()

    def test_gives_back_what_it_had_too_little_lease_for_without_a_strike(self, account):
        """Else a house too busy to begin in time would take every message for one that kills its worker."""
        (message,), token = claimed()
        OutboxEntry.objects.update(due_at=timezone.now() + timedelta(seconds=CALL_SECONDS - 1))

        begin_all([message], token, account)

        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.strikes) == (None, 0)
        assert entry.due_at <= timezone.now()

    def test_gives_back_what_is_not_wanted_any_more_to_be_ended_at_once(self, account):
        (message,), token = claimed()
        Notification.objects.update(stopped_at=timezone.now())

        begin_all([message], token, account)

        entry = OutboxEntry.objects.get()
        assert (entry.claim, entry.strikes) == (None, 1)
        assert entry.due_at <= timezone.now()

    def test_leaves_alone_what_another_has_claimed(self, account):
        (message,), token = claimed()
        another = uuid4()
        OutboxEntry.objects.update(claim=another)

        begin_all([message], token, account)

        assert (OutboxEntry.objects.get().claim, OutboxEntry.objects.get().strikes) == (another, 1)

    def test_refuses_to_begin_twice(self, account):
        (message,), token = claimed()
        begin_all([message], token, account)

        assert begin_all([message], token, account) == set()

    def test_is_not_stopped_by_an_incident_that_goes_on_or_a_suppression_that_is_over(self, account):
        (message,), token = claimed(incident=factories.incident(ended_at=timezone.now() + 60 * SECOND))
        factories.suppression(message, until=timezone.now() - SECOND)

        assert begin_all([message], token, account) == {message.id}

    def test_waits_for_whoever_holds_the_entry_and_then_sees_what_he_did(self, account, aside):
        """A receipt or a cancel that has locked the entry first replaces the claim: then nothing is called."""
        (message,), token = claimed()

        with transaction.atomic():
            OutboxEntry.objects.select_for_update().get(message=message)
            beginning = aside(begin_all, [message], token, account)
            until_waiting()
            OutboxEntry.objects.filter(message=message).update(claim=None)

        assert beginning.result(5) == set()

    def test_locks_in_the_order_of_ids_however_rows_are_found(self, account, aside):
        """Unsorted batches deadlocked 80 times of 100."""
        messages, token = factories.messages_in_disorder(20), uuid4()
        claim(Lane.NORMAL, 20, claim=token, lease_seconds=60)

        begins = against_each_other(aside, "outbox", messages[10].id, lambda: len(begin_all(messages, token, account)))

        assert sorted(begins) == [0, 20]

    def test_updates_rows_in_place(self, account):
        """Begin touches no index: the time of every call would pay for it otherwise."""
        messages, token = claimed(20)

        with transaction.atomic(), updates_in_place("outbox") as updates:
            begin_all(messages, token, account)

        assert updates["all"] == 20
        assert updates["in_place"] >= 18  # a full page now and then moves a row

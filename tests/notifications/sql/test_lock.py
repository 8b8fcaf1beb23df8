"""Lock first, read after: two ends at once must see each other."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import Message, Notification
from notifications.sql.begin import Intent, begin
from notifications.sql.claim import claim
from notifications.sql.lock import lock, lock_notifications, notifications_of, read
from notifications.states import State
from tests import factories
from tests.factories import SECOND
from tests.notifications.racing import against_each_other, until_waiting

pytestmark = pytest.mark.usefixtures("seeded")


def locked_states(notification):
    with transaction.atomic():
        (locked,) = lock([notification.id])
        return [message.state for message in locked.messages]


class TestLock:
    def test_reads_what_the_one_before_wrote(self, aside):
        """One statement that locks and reads would see the siblings as they were before the wait (measured)."""
        owner = factories.notification("sms-then-email")
        factories.message(State.SENT, of=owner)
        second = factories.message(State.SENT, of=owner, step=1)

        with transaction.atomic():
            lock([owner.id])
            reading = aside(locked_states, owner)
            until_waiting()
            Message.objects.filter(id=second.id).update(state=State.DELIVERED)

        assert reading.result(5) == [State.SENT, State.DELIVERED]

    def test_locks_in_the_order_of_ids_however_rows_are_found(self, aside):
        ids = [message.notification_id for message in factories.messages_in_disorder(20)]

        assert against_each_other(aside, "notification", ids[10], lambda: len(lock(ids))) == [20, 20]

    @pytest.mark.parametrize("first", ["lock", "begin"])
    def test_locks_entries_in_the_order_in_which_workers_do(self, aside, first):
        messages, token, account = factories.messages_in_disorder(20), uuid4(), factories.account()
        claim(Lane.NORMAL, 20, claim=token, lease_seconds=60)
        intents = [Intent(message.id, 1, account.id, None, "h", 600) for message in messages]
        works = [
            lambda: len(lock(message.notification_id for message in messages)),
            lambda: len(begin(intents, claim=token, call_seconds=20)),
        ]

        done = against_each_other(aside, "outbox", messages[10].id, *(works if first == "lock" else reversed(works)))

        assert done == [20, 20]

    def test_returns_nothing_for_an_id_that_does_not_exist(self):
        with transaction.atomic():
            assert lock([uuid4()]) == []

    def test_does_not_hinder_reading(self, second_connection):
        owner = factories.message().notification

        with transaction.atomic():
            lock_notifications([owner.id])
            second_connection.execute("SELECT count(*) FROM notification")

        assert second_connection.fetchone() == (1,)


class TestRead:
    def test_brings_messages_in_the_order_of_their_steps_with_what_is_in_their_entries(self):
        owner = factories.notification("sms-then-email")
        second = factories.message(of=owner, step=1)
        first = factories.message(State.SENT, of=owner)
        account = factories.account()
        claim = factories.begun(second, account)

        (locked,) = read([owner.id])

        assert [message.id for message in locked.messages] == [first.id, second.id]
        assert (locked.messages[0].has_entry, locked.messages[0].claim, locked.messages[0].open_attempt) == (
            True,
            None,
            None,
        )
        assert (locked.messages[1].claim, locked.messages[1].open_attempt, locked.messages[1].open_account_id) == (
            claim,
            1,
            account.id,
        )

    @pytest.mark.parametrize(
        ("change", "is_useful"),
        [
            ({}, True),
            ({"stopped_at": timezone.now()}, False),
            ({"expires_at": timezone.now() - SECOND}, False),
            ({"incident": "over"}, False),
            ({"incident": "going on"}, True),
        ],
        ids=["nothing happened", "stopped", "expired", "incident over", "incident going on"],
    )
    def test_says_whether_anything_may_still_be_sent(self, change, is_useful):
        if key := change.get("incident"):
            change = {"incident": factories.incident(ended_at=timezone.now() if key == "over" else None)}
        owner = factories.message().notification
        Notification.objects.filter(id=owner.id).update(**change)

        (locked,) = read([owner.id])

        assert locked.is_useful is is_useful


def test_notifications_of_names_each_owner_once():
    owner = factories.notification("sms-then-email")
    messages = [factories.message(State.SENT, of=owner), factories.message(of=owner, step=1)]

    assert notifications_of(message.id for message in messages) == [owner.id]

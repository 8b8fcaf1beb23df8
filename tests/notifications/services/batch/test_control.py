"""Pause, resume, cancel: whatever is asked of a batch, each of its notifications reaches an end."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import Batch, Message, Notification, OutboxEntry
from notifications.services.audit import audit
from notifications.services.batch import control
from notifications.services.batch.control import BatchIsCancelled, cancel_batch, pause, resume
from notifications.services.batch.progress import progress
from notifications.services.retry_now import retry_now
from notifications.sql.begin import Intent, begin
from notifications.sql.claim import claim
from notifications.states import End, State
from tests import factories
from tests.notifications.batches import DEAR, batch_of, guest_batch
from tests.notifications.racing import until_waiting

pytestmark = pytest.mark.usefixtures("seeded")

BOTH = {**DEAR, "email": {"subject": "Hi", "text": "Dear {name}"}}
STEPS = "sms,email,name\n+4915112345601,a@example.org,Ana\n"


@pytest.fixture(autouse=True)
def in_small_windows(monkeypatch):
    """So that a few notifications are several windows."""
    monkeypatch.setattr(control, "AT_ONCE", 2)


def due_counts() -> tuple[int, int]:
    """Entries that are due, and entries that wait until their notification expires."""
    now = OutboxEntry.objects.filter(due_at__lte=timezone.now()).count()
    return now, OutboxEntry.objects.filter(due_at=F("message__notification__expires_at")).count()


class TestPause:
    def test_what_has_not_left_waits_until_it_expires(self, world):
        batch = guest_batch(5)

        assert pause(batch) == {"paused": 5}

        assert (batch.state, batch.paused_at is not None) == ("paused", True)
        assert due_counts() == (0, 5)
        assert world.drain() == 0
        assert audit().is_sound

    def test_what_expires_meanwhile_ends_expired(self, world):
        batch = guest_batch(3)
        pause(batch)
        past = timezone.now() - timedelta(seconds=1)
        Notification.objects.update(expires_at=past)
        OutboxEntry.objects.update(due_at=past)

        world.drain()

        assert progress(batch).ends["expired"] == 3
        assert world.on_the_wire() == 0
        assert audit().is_sound

    def test_takes_what_was_claimed_and_not_begun_from_its_worker(self):
        batch, token = guest_batch(3), uuid4()
        claim(Lane.BULK, 10, claim=token, lease_seconds=60)

        assert pause(batch) == {"paused": 3}

        intents = [
            Intent(id, 1, factories.account().id, None, "h", 600) for id in Message.objects.values_list("id", flat=True)
        ]
        assert begin(intents, claim=token, call_seconds=20) == set()
        assert set(OutboxEntry.objects.values_list("strikes", flat=True)) == {0}

    def test_leaves_what_is_being_called_and_what_was_sent(self):
        batch = guest_batch(3)
        calling, sent, queued = Message.objects.order_by("id")
        token = factories.begun(calling, factories.account())
        Message.objects.filter(id=sent.id).update(state=State.SENT)
        before = dict(OutboxEntry.objects.values_list("message_id", "due_at"))

        assert pause(batch) == {"paused": 1}

        after = dict(OutboxEntry.objects.values_list("message_id", "due_at"))
        assert {id for id in after if after[id] != before[id]} == {queued.id}
        assert OutboxEntry.objects.get(message=calling).claim == token

    def test_sees_what_a_worker_recorded_while_it_waited(self, aside, second_connection):
        batch = guest_batch(1)
        (message,) = Message.objects.all()
        second_connection.execute("BEGIN")
        second_connection.execute(
            "UPDATE outbox SET due_at = now() + interval '2 minutes' WHERE message_id = %s", [message.id]
        )
        second_connection.execute("UPDATE message SET state = 'sent' WHERE id = %s", [message.id])
        pausing = aside(pause, batch)
        until_waiting()

        second_connection.execute("COMMIT")

        assert pausing.result(10) == {"paused": 0}
        assert due_counts() == (0, 0)

    def test_again_catches_what_came_back_meanwhile(self):
        batch = guest_batch(2)
        pause(batch)
        first_paused_at = batch.paused_at
        OutboxEntry.objects.filter(message=Message.objects.first()).update(due_at=timezone.now())

        assert pause(batch) == {"paused": 1}
        assert batch.paused_at == first_paused_at

    def test_leaves_other_batches_alone(self):
        batch = guest_batch(2)
        guest_batch(3)

        pause(batch)

        assert due_counts() == (3, 2)

    def test_does_not_keep_an_operator_from_sending_one_now(self):
        pause(guest_batch(1))

        assert retry_now(Message.objects.get().id)
        assert due_counts() == (1, 0)


class TestResume:
    def test_all_is_sent_once(self, world, queues):
        batch = guest_batch(3)
        pause(batch)
        world.drain()

        assert resume(batch) == {"resumed": 3}
        world.drain()

        assert batch.state == "accepted"
        assert world.on_the_wire() == 3
        assert queues()["bulk"] > 0
        assert audit().is_sound

    def test_gives_a_step_the_time_back_that_the_pause_took(self):
        batch = Batch.objects.get(id=batch_of(STEPS, BOTH).id)
        before = Message.objects.get().escalate_at
        pause(batch)
        Batch.objects.update(paused_at=F("paused_at") - timedelta(hours=1))
        Notification.objects.update(send_at=F("send_at") - timedelta(hours=2))

        resume(batch)

        assert timedelta(hours=1) <= Message.objects.get().escalate_at - before < timedelta(hours=1, seconds=30)

    def test_what_was_to_be_sent_later_still_is(self):
        tomorrow = timezone.now() + timedelta(days=1)
        batch = Batch.objects.get(id=batch_of(STEPS, BOTH, send_at=tomorrow.isoformat()).id)
        before = Message.objects.get().escalate_at
        pause(batch)

        resume(batch)

        assert OutboxEntry.objects.get().due_at == tomorrow
        assert Message.objects.get().escalate_at == before

    def test_twice_changes_nothing_more(self):
        batch = guest_batch(2)
        pause(batch)
        resume(batch)

        assert resume(batch) == {"resumed": 0}

    def test_finishes_what_broke_off(self, monkeypatch):
        batch = guest_batch(5)
        pause(batch)
        wake, calls = control.sql.wake, []

        def breaks_off(ids):
            calls.append(ids)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return wake(ids)

        monkeypatch.setattr(control.sql, "wake", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            resume(batch)

        assert resume(batch) == {"resumed": 3}
        assert due_counts() == (5, 0)


class TestCancel:
    def test_stops_what_has_not_left_and_counts_the_rest(self):
        batch = guest_batch(4)
        calling, sent, *_ = Message.objects.order_by("id")
        factories.begun(calling, factories.account())
        Message.objects.filter(id=sent.id).update(state=State.SENT)

        assert cancel_batch(batch) == {"stopped": 2, "unknown": 1, "already_at_the_provider": 1}

        assert (batch.state, batch.cancelled_at is not None) == ("cancelled", True)
        assert Notification.objects.filter(stopped_at__isnull=True).count() == 0
        assert progress(batch).ends["cancelled"] == 2
        assert progress(batch).open == 2

    def test_stops_what_is_paused(self, world):
        batch = guest_batch(3)
        pause(batch)

        assert cancel_batch(batch) == {"stopped": 3}
        assert cancel_batch(batch) == {"ended": 3}

        assert world.drain() == 0
        assert not OutboxEntry.objects.exists()
        assert set(Notification.objects.values_list("end", flat=True)) == {End.CANCELLED}
        assert audit().is_sound

    @pytest.mark.parametrize("change", [pause, resume])
    def test_is_for_good(self, change):
        batch = guest_batch(1)
        cancel_batch(batch)

        with pytest.raises(BatchIsCancelled):
            change(batch)


class TestTwoPeople:
    def test_who_pauses_stops_when_somebody_cancels(self, monkeypatch):
        batch = guest_batch(6)
        park, calls = control.sql.park, []

        def is_overtaken(ids):
            calls.append(ids)
            return park(ids)

        monkeypatch.setattr(control.sql, "park", is_overtaken)
        hold_state = control.sql.hold_state

        def cancelled_after_one(batch_id):
            if len(calls) == 1:
                Batch.objects.update(state="cancelled")
            return hold_state(batch_id)

        monkeypatch.setattr(control.sql, "hold_state", cancelled_after_one)

        assert pause(batch) == {"paused": 2}
        assert len(calls) == 1


class TestProgress:
    def test_counts_every_notification_in_exactly_one_place(self, world):
        world.listen()
        batch = Batch.objects.get(
            id=batch_of("to,name\n+4915112345601,Ana\n+4915112345603,Bo\n+4915112345604,Cy\n+4915112345602,Di\n").id
        )
        before = progress(batch)
        world.drain()
        world.hear()

        after = progress(batch)

        assert (before.open, sum(before.ends.values()), before.deleted) == (4, 0, 0)
        assert after.ends["delivered"] == 1
        assert after.ends["failed"] == 2
        assert after.open == 1
        assert audit().is_sound

    def test_what_is_deleted_is_not_forgotten(self):
        batch = guest_batch(3)
        first = Notification.objects.first()
        OutboxEntry.objects.filter(message__notification=first).delete()
        Message.objects.filter(notification=first).delete()
        first.delete()

        assert (progress(batch).open, progress(batch).deleted) == (2, 1)

    def test_reads_its_batch_by_an_index(self, second_connection):
        guest_batch(1)
        second_connection.execute("SET enable_seqscan = off")
        second_connection.execute(f"EXPLAIN SELECT FROM notification WHERE batch_id = '{uuid4()}'")

        assert "notification_batch" in str(second_connection.fetchall())

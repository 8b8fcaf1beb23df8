"""Reconcile: what should never happen is found, put right, and said aloud."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from notifications.hints import hints
from notifications.ids import first_id_at
from notifications.lanes import Lane
from notifications.models import Attempt, Message, Notification, OutboxEntry, ScanPosition
from notifications.services.audit import audit
from notifications.services.reconcile import reconcile
from notifications.services.sweep import poll_statuses, sweep
from notifications.states import ENDED, OPEN, End, State
from tests import factories
from tests.factories import SECOND
from tests.notifications.racing import together
from tests.notifications.stories import told

pytestmark = pytest.mark.usefixtures("seeded")


def run():
    return reconcile(hints, now=timezone.now())


def alarms(caplog, work) -> dict[str, dict[str, object]]:
    """What is said at level error while some work is done: the fields of each event by its name."""
    caplog.clear()
    work()
    said = [record.msg for record in caplog.records if record.levelname == "ERROR"]
    return {event["event"]: event for event in said}


def old_id(hours: int) -> UUID:
    """An id that was made so long ago."""
    return UUID(int=first_id_at(timezone.now() - timedelta(hours=hours)).int + 1)


class TestSound:
    def test_rows_are_left_alone(self):
        for state in State:
            factories.message(state)
        before = list(Message.objects.values()), list(OutboxEntry.objects.values()), list(Notification.objects.values())

        assert run() == 0

        after = list(Message.objects.values()), list(OutboxEntry.objects.values()), list(Notification.objects.values())
        assert after == before


class TestMissingEntry:
    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_is_promised_again(self, state):
        message = factories.message(state)
        OutboxEntry.objects.all().delete()

        assert run() == 1

        entry = OutboxEntry.objects.get()
        assert (entry.message_id, entry.due_at <= timezone.now()) == (message.id, True)
        assert entry.lane == (Lane.NORMAL if state is State.QUEUED else Lane.UPKEEP)
        assert audit().is_sound

    def test_is_delivered_then(self, world):
        message = factories.message()
        OutboxEntry.objects.all().delete()
        run()

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT

    def test_is_found_twice_at_once_and_promised_once(self, aside):
        factories.message()
        OutboxEntry.objects.all().delete()

        together(aside, run, run)

        assert OutboxEntry.objects.count() == 1


class TestSurplusEntry:
    @pytest.mark.parametrize("state", sorted(ENDED))
    def test_is_closed_by_its_drain_and_nothing_is_sent(self, world, state):
        message = factories.message(state)
        OutboxEntry.objects.create(
            message=message, client=message.notification.client, lane=Lane.NORMAL, due_at=timezone.now() - SECOND
        )
        before = Message.objects.values().get()

        world.drain(Lane.NORMAL)

        assert not OutboxEntry.objects.exists()
        assert Message.objects.values().get() == before
        assert world.requests("twilio") == 0
        assert audit().is_sound


class TestWithoutEnd:
    @pytest.mark.parametrize("state", sorted(ENDED))
    def test_is_settled(self, state):
        factories.message(state)
        Notification.objects.update(end=None, ended_at=None)

        assert run() == 1

        assert Notification.objects.get().end == state
        assert audit().is_sound

    def test_gets_the_step_it_is_owed(self):
        message = factories.message(State.FAILED, of=factories.notification("sms-then-email"))
        Notification.objects.update(end=None, ended_at=None)

        run()

        assert Message.objects.get(notification=message.notification_id, step=1).state == State.QUEUED
        assert Notification.objects.get().end is None

    def test_one_that_has_no_message_at_all_does_not_stop_the_others(self):
        factories.notification()
        message = factories.message(State.FAILED)
        Notification.objects.update(end=None, ended_at=None)

        run()

        assert Notification.objects.get(messages=message).end == End.FAILED


class TestOverdue:
    def test_entries_are_hinted_and_counted(self, queues):
        factories.message(due_in=-121 * SECOND)
        factories.message(of=factories.notification(priority="critical"), due_in=-121 * SECOND)

        assert run() == 2

        assert queues() == {"normal": 1, "critical": 1}

    def test_an_entry_of_a_dead_worker_is_not_overdue_before_two_leases(self, queues):
        factories.message(due_in=-119 * SECOND)

        assert run() == 0
        assert queues() == {}


class TestAlarms:
    @pytest.mark.parametrize(("priority", "limit_seconds"), [("critical", 60), ("high", 60), ("bulk", 300)])
    def test_are_of_lanes_whose_oldest_due_entry_is_beyond_their_limit(self, caplog, priority, limit_seconds):
        factories.message(of=factories.notification(priority=priority), due_in=-(limit_seconds - 20) * SECOND)
        before = alarms(caplog, run)
        factories.message(of=factories.notification(priority=priority), due_in=-(limit_seconds + 5) * SECOND)
        after = alarms(caplog, run)

        assert "lane is behind" not in before
        assert after["lane is behind"]["lane"] == priority
        assert 0 <= after["lane is behind"]["oldest_due_seconds"] - (limit_seconds + 5) < 10

    def test_are_of_a_transaction_that_somebody_left_open_and_do_not_tell_what_it_did(
        self, caplog, second_connection, numbers_are
    ):
        numbers_are(transaction_alarm_seconds=0.0)
        second_connection.execute("BEGIN")
        second_connection.execute("SELECT pg_backend_pid(), 'k7Qz41mX'")
        ((process_id, _),) = second_connection.fetchall()

        said = alarms(caplog, run)["transaction open for long"]

        assert (said["process_id"], said["seconds"]) == (process_id, 0)
        assert "k7Qz41mX" not in str(said)

    def test_are_not_of_a_transaction_that_is_young(self, caplog, second_connection):
        second_connection.execute("BEGIN")

        assert alarms(caplog, run) == {}


class TestOlder:
    def test_notifications_are_looked_over_from_a_stored_position(self, monkeypatch):
        monkeypatch.setattr("notifications.services.reconcile.OLDER_AT_ONCE", 2)
        messages = [factories.message(of=factories.notification(id=old_id(hours))) for hours in (9, 8, 7, 6, 5)]
        OutboxEntry.objects.all().delete()

        found = [run() for _ in range(4)]

        assert found == [2, 2, 1, 0]
        assert OutboxEntry.objects.count() == len(messages)
        assert ScanPosition.objects.get().last_id == UUID(int=0), "and then from the first again"

    def test_a_fault_behind_the_position_is_found_in_the_next_round(self):
        message = factories.message(of=factories.notification(id=old_id(5)))
        run()
        OutboxEntry.objects.all().delete()

        assert run() + run() == 1
        assert OutboxEntry.objects.get().message_id == message.id


class TestReports:
    def test_that_came_early_are_matched(self):
        account = factories.account()
        factories.event(None, "delivered", account=account, provider_message_id="SM-early")
        message = factories.message(State.SENT, account=account)
        Attempt.objects.update(provider_message_id="SM-early")

        run()

        assert told(message)[0] == State.DELIVERED

    @pytest.mark.parametrize(("minutes", "alarms"), [(11, 1), (9, 0)])
    def test_that_match_nothing_are_an_alarm_after_a_while(self, caplog, minutes, alarms):
        factories.event(None, "delivered", received_at=timezone.now() - timedelta(minutes=minutes))

        run()

        said = [record for record in caplog.records if "reports match no message" in str(record.msg)]
        assert len(said) == alarms


class TestSweep:
    def test_hints_every_lane_in_which_something_is_due(self, queues):
        factories.message()
        factories.message()
        factories.message(of=factories.notification(priority="bulk"), due_in=60 * SECOND)
        factories.message(State.SENT, of=factories.notification(priority="critical"))

        assert sweep(hints) == 2

        assert queues() == {"normal": 1, "control": 1}

    def test_hints_for_checks_only_where_checks_are_due(self, queues):
        factories.message()
        factories.message(State.SENT)
        factories.message(State.SENT, of=factories.notification(priority="high"), due_in=60 * SECOND)

        assert poll_statuses(hints) == 1

        assert queues() == {"upkeep": 1}

    def test_finds_what_a_dead_worker_left(self, queues):
        message = factories.message()
        factories.begun(message, factories.account(), lease=-SECOND)

        assert sweep(hints) == 1

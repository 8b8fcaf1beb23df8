"""Clean: what ended long ago goes, and its end still counts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.hints import hints
from notifications.ids import first_id_at
from notifications.models import (
    Attempt,
    Batch,
    DeadLetter,
    DeliveryEvent,
    Heartbeat,
    Message,
    Notification,
    OutboxEntry,
    ScanPosition,
    SkippedRow,
    SmsCount,
    Tally,
)
from notifications.services import clean as cleaning
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.clean import _delete_window as delete_window
from notifications.services.reconcile import reconcile
from notifications.sql.reconcile import beat, save_position
from notifications.states import OPEN, End, State
from notifications.tasks import clean as clean_task
from notifications.tasks import redact as redact_task
from tests import factories
from tests.notifications.old import clean, decide_all, ended_in_every_way, redact, told_all
from tests.notifications.racing import counted, together, until_waiting
from tests.notifications.stories import sms, told

pytestmark = pytest.mark.usefixtures("seeded")

FAIL_WHEN_3_ARE_LEFT = "SELECT 1 / (SELECT count(*) - 3 FROM notification)"
TABLES = (Notification, Message, Attempt, DeliveryEvent, OutboxEntry, DeadLetter)


def rows():
    return [list(table.objects.order_by("pk").values()) for table in TABLES]


def tallies():
    return {(row.day, row.end): row.count for row in Tally.objects.all()}


def counts():
    """What an audit counts: accepted, and each place; that it is sound goes without saying."""
    report = audit()
    assert report.is_sound, report.faults
    return report.accepted, +report.counts


class TestOld:
    def test_it_goes_with_all_that_belongs_to_it(self):
        messages = ended_in_every_way()

        assert clean() == len(messages)

        assert rows() == [[] for _ in TABLES]

    def test_its_end_counts_on_the_day_it_ended(self):
        for day in (1, 1, 2):
            message = told_all()
            Notification.objects.filter(id=message.notification_id).update(ended_at=datetime(2026, 1, day, tzinfo=UTC))
        told_all(State.FAILED)
        Notification.objects.filter(end="failed").update(ended_at=datetime(2026, 1, 1, 23, 59, tzinfo=UTC))

        clean()

        assert tallies() == {
            (date(2026, 1, 1), "delivered"): 2,
            (date(2026, 1, 1), "failed"): 1,
            (date(2026, 1, 2), "delivered"): 1,
        }

    def test_later_ones_of_the_same_day_are_added(self):
        for _ in range(2):
            told_all()
            clean()

        assert list(tallies().values()) == [2]

    def test_its_age_is_that_of_its_end(self):
        told_all()

        assert clean(days=89) == 0
        assert clean(days=91) == 1

    def test_its_age_is_a_number(self, numbers_are):
        numbers_are(delete_after_days=2.0)
        told_all()

        assert clean(days=3) == 1

    def test_it_is_counted_whether_it_was_redacted_or_not(self):
        told_all()
        redact()
        told_all()

        assert clean() == 2


class TestNeeded:
    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_what_is_open_is_not_touched(self, state):
        told_all(state)
        before = rows()

        assert clean(days=400) == 0
        assert rows() == before

    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_nor_what_has_ended_while_another_step_is_open(self, state):
        owner = factories.notification("sms-then-email")
        factories.message(State.DELIVERED, of=owner)
        factories.message(state, of=owner, step=1)
        Notification.objects.update(end="delivered", ended_at=timezone.now())
        before = rows()

        assert clean() == 0
        assert rows() == before

    def test_nor_what_a_person_must_decide_on(self):
        told_all(State.DEAD_LETTERED)

        assert clean() == 0
        decide_all()
        assert clean() == 1

    def test_nor_what_a_report_is_waiting_for(self):
        factories.event(told_all(), "bounced")

        assert clean() == 0
        apply_waiting()
        assert clean() == 1
        assert [tally.end for tally in Tally.objects.all()] == [End.FAILED]

    def test_signs_of_life_and_positions_are_left_alone(self):
        beat("beat")
        save_position("reconcile", cleaning.FIRST)

        clean(days=1000)

        assert (Heartbeat.objects.count(), ScanPosition.objects.count()) == (1, 1)

    def test_letters_of_tasks_are_left_alone(self):
        DeadLetter.objects.create(kind=DeadLetter.Kind.TASK, task="notifications.apply", reason="task_failed")
        decide_all()

        clean()

        assert DeadLetter.objects.count() == 1


class TestAudit:
    def test_counts_the_same_before_and_after(self):
        ended_in_every_way()
        for state in OPEN:
            told_all(state)
        before = counts()

        clean()

        assert counts() == before
        assert Notification.objects.count() == len(OPEN)

    def test_says_what_has_been_cleaned(self):
        told_all()
        told_all(State.FAILED)
        told_all(State.FAILED)
        clean()
        told_all(State.SENT)

        lines = audit().lines()

        assert "cleaned 3 of these: delivered 1 + failed 2" in lines
        assert any(line.startswith("accepted 4 = delivered 1 + unconfirmed 0 + failed 2") for line in lines)

    def test_says_nothing_of_it_where_nothing_has_been(self):
        told_all()

        assert not any("cleaned" in line for line in audit().lines())


class TestReports:
    @pytest.mark.parametrize(("days", "left"), [(29, 1), (31, 0)])
    def test_that_match_nothing_go_after_a_while(self, days, left):
        factories.event(None, "delivered")

        clean(days=days)

        assert DeliveryEvent.objects.count() == left

    def test_that_match_nothing_all_go_in_turns(self, monkeypatch):
        monkeypatch.setattr("notifications.services.clean.AT_ONCE", 2)
        for _ in range(5):
            factories.event(None, "delivered")

        clean(days=31)

        assert not DeliveryEvent.objects.exists()

    def test_that_have_their_message_stay_as_long_as_it(self):
        told_all()

        clean(days=31)

        assert DeliveryEvent.objects.count() == 1

    def test_of_what_is_deleted_match_nothing_are_kept_a_while_and_dropped(self):
        message = told_all()
        provider_id = message.attempts.get().provider_message_id
        clean()
        factories.event(None, "delivered", account=message.account, provider_message_id=provider_id)

        assert apply_waiting() == 0
        clean(days=31)

        assert not DeliveryEvent.objects.exists()

    @pytest.mark.parametrize("work", [clean, lambda: reconcile(hints, now=timezone.now())])
    def test_that_came_while_their_message_was_deleted_match_nothing(self, work):
        message = told_all()
        clean()
        event = factories.event(message, "opted_out", suppress="opted_out")

        work()

        event.refresh_from_db()
        assert (event.message_id, event.attempt_number, event.applied_at) == (None, None, None)
        assert audit().is_sound


class TestBatches:
    def test_stay_as_long_as_any_of_their_notifications_and_go_with_what_they_say_of_skipped_rows(self):
        emptied, in_use = factories.batch(skipped=2), factories.batch(skipped=1)
        told_all(batch=emptied)
        told_all(batch=in_use)
        factories.message(of=factories.notification(batch=in_use))

        clean()

        assert list(Batch.objects.all()) == [in_use]
        assert [row.batch for row in SkippedRow.objects.all()] == [in_use]

    def test_that_are_new_stay_even_where_nothing_came_of_them(self):
        batch = factories.batch()

        clean(days=89)
        assert Batch.objects.get() == batch

        clean(days=91)
        assert not Batch.objects.exists()

    def test_all_go_in_turns(self, monkeypatch):
        monkeypatch.setattr("notifications.services.clean.AT_ONCE", 2)
        for _ in range(5):
            factories.batch()

        clean()

        assert not Batch.objects.exists()


class TestAfterwards:
    def test_the_idempotency_key_is_free_again(self):
        first = sms(idempotency_key="k")
        OutboxEntry.objects.all().delete()
        Message.objects.update(state="cancelled")
        Notification.objects.update(end="cancelled", ended_at=timezone.now())
        clean()

        assert sms(idempotency_key="k") != first
        assert counts()[0] == 2


class TestRun:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr("notifications.services.clean.AT_ONCE", 2)

    def test_ends_when_its_time_is_up_and_says_so(self, numbers_are, caplog):
        for _ in range(5):
            told_all()
        numbers_are(clean_seconds=0.0)

        assert clean() == 2
        assert "cleaning is behind" in caplog.text
        assert [clean(), clean(), clean()] == [2, 1, 0]

    def test_is_not_behind_when_all_is_done(self, caplog):
        for _ in range(5):
            told_all()

        assert clean() == 5
        assert "behind" not in caplog.text

    def test_ends_when_its_process_is_told_to_and_is_not_behind_then(self, caplog):
        for _ in range(5):
            told_all()

        assert clean(stopping=lambda: True) == 2
        assert "behind" not in caplog.text

    @pytest.mark.parametrize("failing", range(len(cleaning.sql.DELETE) + 1))
    def test_that_fails_anywhere_in_the_middle_counts_nothing_twice_and_loses_nothing(self, monkeypatch, failing):
        """In the second of three batches before each of its statements, and after the last of the first batch."""
        for _ in range(5):
            told_all()
        before = counts()
        statements = (*cleaning.sql.DELETE[:failing], FAIL_WHEN_3_ARE_LEFT, *cleaning.sql.DELETE[failing:])
        monkeypatch.setattr("notifications.sql.clean.DELETE", statements)

        with pytest.raises(Exception, match="division by zero"):
            clean()

        assert counts() == before
        monkeypatch.undo()
        clean()
        assert counts() == before
        assert not Notification.objects.exists()

    def test_takes_as_many_statements_for_a_window_of_many_as_of_one(self, monkeypatch):
        monkeypatch.setattr("notifications.services.clean.AT_ONCE", 1000)
        statements = []
        for count in (1, 50):
            for _ in range(count):
                told_all()
            with counted() as some:
                clean()
            statements.append(len(some))

        assert statements[0] == statements[1] <= 18


class TestAtOnce:
    def test_two_runs_count_each_end_once(self, aside, monkeypatch):
        monkeypatch.setattr("notifications.services.clean.AT_ONCE", 3)
        for _ in range(30):
            told_all()
            told_all(State.FAILED)
        before = counts()

        deleted = together(aside, clean, clean)

        assert sum(deleted) == 60
        assert sorted(tallies().values()) == [30, 30]
        assert counts() == before

    def test_a_second_run_passes_over_what_the_first_is_deleting(self, aside):
        told_all()
        with transaction.atomic():
            clean()
            assert aside(clean).result(5) == 0

        assert list(tallies().values()) == [1]

    def test_what_others_hold_is_passed_over_without_waiting(self, aside):
        held, free = told_all(), told_all()

        with transaction.atomic():
            Notification.objects.select_for_update().get(id=held.notification_id)
            assert aside(clean).result(5) == 1

        assert Notification.objects.get().id == held.notification_id
        assert free.notification_id != held.notification_id
        assert clean() == 1

    def test_accepting_and_sending_do_not_wait_for_a_batch(self, aside, world):
        told_all()
        waiting = sms()

        with transaction.atomic():
            assert clean() == 1
            fresh = aside(sms).result(5)
            aside(world.drain).result(10)
            assert {told(message)[0] for message in (waiting, fresh)} == {State.SENT}

    def test_a_report_that_is_being_applied_keeps_its_notification(self, aside):
        message = told_all()
        factories.event(message, "bounced")

        with transaction.atomic():
            apply_waiting()
            assert aside(clean).result(5) == 0

        assert told(message)[0] == State.FAILED
        assert clean() == 1

    def test_a_report_that_comes_during_a_batch_waits_for_it_and_finds_nothing(self, aside):
        message = told_all()

        with transaction.atomic():
            clean()
            event = aside(factories.event, message, "bounced", suppress="opted_out").result(5)
            applying = aside(apply_waiting)
            until_waiting()
        applying.result(5)

        assert not Notification.objects.exists()
        assert DeliveryEvent.objects.get(id=event.id).applied_at is None


def test_counts_of_sms_go_two_days_after_their_hour():
    now = timezone.now()
    hours = [now - timedelta(days=2, hours=1), now - timedelta(days=1, hours=23)]
    for hour in hours:
        SmsCount.objects.create(client=factories.client(), country="DE", hour=hour, count=1)

    clean(days=0)

    assert SmsCount.objects.get().hour == hours[1]


def test_a_window_holds_no_more_than_it_is_given():
    first, second = sorted(told_all().notification_id for _ in range(2))
    later = timezone.now() + timedelta(days=91)

    assert delete_window(cleaning.FIRST, first, later) == 1
    assert Notification.objects.get().id == second
    assert first < first_id_at(later)


def test_both_are_tasks_that_take_newer_arguments():
    told_all()

    assert (redact_task(newer=1), clean_task(newer=1)) == (0, 0)

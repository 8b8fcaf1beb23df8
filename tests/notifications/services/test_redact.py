"""Redact: texts and addresses go some time after the end; that something was sent, and what came of it, stays."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.utils import timezone

from notifications.models import Attempt, DeadLetter, DeliveryEvent, Message, Notification, OutboxEntry, ScanPosition
from notifications.services import redact as redacting
from notifications.services.audit import audit
from notifications.services.replay import CannotReplay, replay
from notifications.services.search import Search, search
from notifications.states import ENDED, OPEN, State
from notifications.timeline import timeline
from tests import factories
from tests.notifications.old import WORDS, ended_in_every_way, is_redacted, redact, report, told_all
from tests.notifications.racing import counted, together, updates_in_place
from tests.notifications.stories import sms, told

pytestmark = pytest.mark.usefixtures("seeded")

TABLES = (Notification, Message, Attempt, DeliveryEvent, OutboxEntry, DeadLetter)
EMPTIED = {"recipient", "content", "metadata", "address", "answer", "late_answer", "raw", "redacted_at"}


def rows():
    return [list(table.objects.order_by("pk").values()) for table in TABLES]


def what_stays():
    return [[{name: row[name] for name in row.keys() - EMPTIED} for row in table] for table in rows()]


class TestOld:
    def test_texts_and_addresses_are_gone_from_every_table(self):
        messages = ended_in_every_way()

        assert redact() == len(messages)

        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"SELECT t::text FROM {table._meta.db_table} t")
                said = str(cursor.fetchall())
                assert WORDS not in said
                assert WORDS.encode().hex() not in said
                assert factories.NUMBER not in said

    def test_all_else_stays_as_it_was(self):
        ended_in_every_way()
        before = what_stays()

        redact()

        assert what_stays() == before
        assert audit().is_sound

    def test_once_is_enough(self):
        ended_in_every_way()
        redact()
        before = rows()

        assert redact() == 0
        assert rows() == before

    def test_its_age_is_that_of_its_end(self):
        message = told_all()

        assert redact(days=29) == 0
        assert not is_redacted(message)
        assert redact(days=31) == 1

    def test_its_age_is_a_number(self, numbers_are):
        numbers_are(redact_after_days=1.0)
        told_all()

        assert redact(days=2) == 1

    def test_it_is_found_by_its_recipient_all_the_same(self):
        message = told_all()
        redact()

        found, _ = search(message.notification.client_id, Search(recipient=factories.NUMBER), 10)

        assert [notification.id for notification in found] == [message.notification_id]

    def test_its_timeline_says_so_and_tells_the_rest(self):
        message = told_all()
        redact()

        texts = [moment.text for moment in timeline(Notification.objects.get(id=message.notification_id))]

        assert texts[-1] == "redacted: its texts and addresses are gone"
        assert {"accepted", "ended: delivered", "attempt 1: twilio took the SMS"} <= set(texts)

    def test_its_updates_touch_no_index_of_notification_and_message(self):
        for _ in range(20):
            told_all()

        with transaction.atomic(), updates_in_place("notification") as counts:
            redact()

        assert counts["in_place"] == counts["all"] > 0


class TestNeeded:
    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_what_is_open_is_not_touched(self, state):
        told_all(state)
        before = rows()

        assert redact(days=400) == 0
        assert rows() == before

    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_nor_what_has_ended_while_another_step_is_open(self, state):
        owner = factories.notification("sms-then-email")
        factories.message(State.DELIVERED, of=owner)
        factories.message(state, of=owner, step=1)
        Notification.objects.update(end="delivered", ended_at=timezone.now())
        before = rows()

        assert redact() == 0
        assert rows() == before

    def test_nor_what_a_person_must_decide_on(self):
        told_all(State.DEAD_LETTERED)
        before = rows()

        assert redact() == 0
        assert rows() == before

    def test_nor_what_a_report_is_waiting_for(self):
        factories.event(told_all(), "bounced")

        assert redact() == 0

    def test_nor_what_still_has_an_entry(self):
        message = told_all()
        OutboxEntry.objects.create(
            message=message, client=message.notification.client, lane="normal", due_at=timezone.now()
        )

        assert redact() == 0

    def test_what_ends_late_is_found_in_a_later_round(self):
        late = told_all(State.SENT)
        told_all()
        assert redact() == 1

        OutboxEntry.objects.all().delete()
        Message.objects.filter(id=late.id).update(state="delivered")
        Notification.objects.filter(id=late.notification_id).update(end="delivered", ended_at=timezone.now())

        assert redact() == 1
        assert is_redacted(late)


class TestAfterwards:
    def test_a_dead_letter_cannot_be_replayed_and_says_why(self):
        told_all(State.DEAD_LETTERED)
        DeadLetter.objects.update(resolved_at=timezone.now(), resolution="discarded")
        redact()
        DeadLetter.objects.update(resolved_at=None, resolution=None)

        with pytest.raises(CannotReplay, match="its text and address have been redacted, so there is nothing left"):
            replay(DeadLetter.objects.get().id, by="ana")

    def test_the_same_request_under_its_key_is_answered_as_before(self):
        first = sms(idempotency_key="k")
        OutboxEntry.objects.all().delete()
        Message.objects.update(state="cancelled")
        Notification.objects.update(end="cancelled", ended_at=timezone.now())
        assert redact() == 1

        assert sms(idempotency_key="k") == first

    def test_a_late_report_still_counts_and_sends_nothing(self, world):
        message = factories.message(State.DELIVERED, of=factories.notification("sms-then-email"))
        redact()

        factories.event(message, "bounced")
        world.hear()
        world.drain()

        assert told(message)[0] == State.FAILED
        assert Notification.objects.get().end == "failed"
        assert Message.objects.count() == 1
        assert audit().is_sound

    def test_a_late_report_is_redacted_too(self):
        message = told_all()
        redact()
        report(message)

        redact()

        assert {bytes(raw) for raw in DeliveryEvent.objects.values_list("raw", flat=True)} == {b""}

    def test_late_reports_are_read_once_and_in_pages(self, monkeypatch):
        monkeypatch.setattr("notifications.services.redact.REPORTS_AT_ONCE", 2)
        message = told_all()
        redact()
        for _ in range(5):
            report(message)
        redact()
        last = ScanPosition.objects.get(name=redacting.REPORTS_POSITION).last_id.int

        assert last == DeliveryEvent.objects.latest("id").id
        with counted() as statements:
            redact()
        assert redacting.sql.REDACT_REPORTS not in statements

    def test_reports_of_what_is_not_redacted_keep_what_they_said(self):
        told_all(State.SENT)

        redact()

        assert bytes(DeliveryEvent.objects.get().raw) == WORDS.encode()


class TestRun:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr("notifications.services.redact.AT_ONCE", 2)

    def test_ends_when_its_time_is_up_and_goes_on_from_there(self, numbers_are):
        messages = [told_all() for _ in range(5)]
        numbers_are(clean_seconds=0.0)

        found = [redact() for _ in range(4)]

        assert found == [2, 2, 1, 0]
        assert all(map(is_redacted, messages))

    def test_begins_again_from_the_first_when_it_has_come_to_the_end(self):
        told_all()

        redact()

        assert ScanPosition.objects.get(name=redacting.POSITION).last_id == redacting.FIRST

    def test_says_when_it_cannot_keep_up(self, numbers_are, caplog):
        for _ in range(5):
            told_all()
        numbers_are(clean_seconds=0.0)

        redact()

        assert "redacting is behind" in caplog.text

    def test_ends_when_its_process_is_told_to(self):
        for _ in range(5):
            told_all()

        assert redact(stopping=lambda: True) == 2

    def test_that_fails_in_the_middle_leaves_whole_notifications(self, monkeypatch):
        messages = [told_all() for _ in range(4)]
        fail = ("UPDATE attempt SET answer = 1 / (SELECT count(*) FROM notification WHERE redacted_at IS NULL)",)
        monkeypatch.setattr("notifications.sql.clean.REDACT", (*redacting.sql.REDACT, *fail))

        with pytest.raises(Exception, match="division by zero"):
            redact()

        assert [is_redacted(message) for message in messages] == [True, True, False, False]
        assert list(Message.objects.order_by("id").values_list("address", flat=True)) == [
            "",
            "",
            *[factories.NUMBER] * 2,
        ]

        monkeypatch.undo()
        assert redact() == 2

    def test_takes_as_many_statements_for_a_window_of_many_as_of_one(self, monkeypatch):
        monkeypatch.setattr("notifications.services.redact.AT_ONCE", 1000)
        redact()
        statements = []
        for count in (1, 50):
            for _ in range(count):
                told_all()
            with counted() as some:
                redact()
            statements.append(len(some))

        assert statements[0] == statements[1] <= 20


class TestAtOnce:
    def test_two_runs_redact_each_notification_once(self, aside):
        messages = [told_all() for _ in range(20)]

        assert sum(together(aside, redact, redact)) == len(messages)

    def test_what_others_hold_is_passed_over_without_waiting(self, aside):
        held, free = told_all(), told_all()

        with transaction.atomic():
            Notification.objects.select_for_update().get(id=held.notification_id)
            assert aside(redact).result(5) == 1

        assert (is_redacted(held), is_redacted(free)) == (False, True)
        assert redact() == 1

    def test_accepting_and_sending_do_not_wait_for_a_batch(self, aside, world):
        told_all()
        waiting = sms()

        with transaction.atomic():
            assert redact() == 1
            fresh = aside(sms).result(5)
            aside(world.drain).result(10)
            assert {told(message)[0] for message in (waiting, fresh)} == {State.SENT}


def test_these_tests_try_every_end():
    assert {message.state for message in ended_in_every_way()} == ENDED

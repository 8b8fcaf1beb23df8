"""Accept many: all or nothing, once per key, and no more memory for more rows."""

from __future__ import annotations

import gc
import tracemalloc
from datetime import timedelta
from io import BytesIO
from tempfile import TemporaryFile

import pytest
from django.utils import timezone

import notifications.sql.batch as sql
from notifications import send
from notifications.lanes import Lane
from notifications.models import Batch, Client, Message, Notification, OutboxEntry, Route, SkippedRow
from notifications.numbers import numbers
from notifications.services.audit import audit
from notifications.services.batch.accept import accept_batch
from notifications.services.batch.faults import BadRows
from notifications.services.batch.rows import Format
from notifications.services.request import Refused
from notifications.states import State
from tests import factories
from tests.notifications.batches import (
    DEAR,
    batch_of,
    guest_batch,
    guests,
    refused,
    row_counts,
    said,
    texts,
)
from tests.notifications.racing import together, until_waiting

BOTH = {**DEAR, "email": {"subject": "Dear {name}", "html": "<p>{name}</p>"}}

pytestmark = pytest.mark.usefixtures("seeded")


class TestRows:
    def test_each_becomes_a_notification_with_a_message_and_an_entry(self, queues):
        accepted = batch_of("to,name,reference\n+4915112345601,Ana,order 7\n+4915112345602,Bo,\n", reference="may")

        batch = Batch.objects.get(id=accepted.id)
        first, second = Notification.objects.order_by("id")
        message = Message.objects.get(notification=first)
        entry = OutboxEntry.objects.get(message=message)
        assert (accepted.accepted_count, accepted.skipped_count, accepted.replayed) == (2, 0, False)
        assert (batch.state, batch.reference, batch.accepted_at) == ("accepted", "may", accepted.accepted_at)
        assert (first.batch, first.reference, second.reference) == (batch, "order 7", "")
        assert (first.content, first.recipient) == ({"sms": {"text": "Dear Ana"}}, {"sms": "+4915112345601"})
        assert (first.accepted_at, first.send_at) == (accepted.accepted_at, accepted.accepted_at)
        assert (message.state, message.address, message.country) == (State.QUEUED, "+4915112345601", "DE")
        assert (entry.lane, entry.due_at, entry.claim) == (Lane.BULK, accepted.accepted_at, None)
        assert first.expires_at - first.send_at == timedelta(hours=72)
        assert queues() == {"bulk": 1}
        assert audit().is_sound

    def test_are_stored_as_a_request_of_their_own_would_be(self):
        send({"sms": "+49 151 12345601"}, {"sms": {"text": "Dear Ana"}}, priority="bulk")
        batch_of("to,name\n+49 151 12345601,Ana\n")

        one, other = (
            {
                name: value
                for name, value in {**row, **Message.objects.filter(notification=row["id"]).values()[0]}.items()
                if not name.endswith("_at") and name not in ("id", "notification_id", "batch_id", "fingerprint")
            }
            for row in Notification.objects.order_by("id").values()
        )
        assert one == other

    def test_may_have_an_address_for_one_step_or_for_both(self):
        batch_of("sms,email,name\n+4915112345601,a@example.org,A\n,b@example.org,B\n+4915112345603,,C\n", BOTH)

        steps = Message.objects.order_by("notification_id", "step").values_list("channel", "state", "reason")
        assert list(steps) == [
            ("sms", State.QUEUED, ""),
            ("sms", State.SUPPRESSED, "no_address"),
            ("email", State.QUEUED, ""),
            ("sms", State.QUEUED, ""),
        ]
        waits = dict(Message.objects.filter(state=State.QUEUED).values_list("address", "escalate_at"))
        assert waits["+4915112345601"] is not None
        assert waits["+4915112345603"] is None
        assert audit().is_sound

    def test_may_go_by_several_channels_at_once(self):
        Route.objects.create(name="both", steps=[{"channels": ["sms", "email"], "need": "all"}])

        batch_of("sms,email,name\n+4915112345601,a@example.org,A\n,b@example.org,B\n", BOTH, route="both")

        parts = Message.objects.order_by("notification_id", "part").values_list("step", "part", "channel", "state")
        assert list(parts) == [
            (0, 0, "sms", State.QUEUED),
            (0, 1, "email", State.QUEUED),
            (0, 0, "sms", State.SUPPRESSED),
            (0, 1, "email", State.QUEUED),
        ]
        assert audit().is_sound

    def test_wait_until_they_are_to_be_sent(self, queues):
        tomorrow = timezone.now() + timedelta(days=1)

        batch_of(guests(1), send_at=tomorrow.isoformat(), expires_at=(tomorrow + timedelta(hours=1)).isoformat())

        notification = Notification.objects.get()
        assert OutboxEntry.objects.get().due_at == notification.send_at == tomorrow
        assert notification.expires_at == tomorrow + timedelta(hours=1)
        assert queues() == {}

    def test_escape_values_in_html_alone(self):
        batch_of("email,name\na@example.org,<b>&\n", {"email": BOTH["email"]})

        assert texts("email", "subject") == ["Dear <b>&"]
        assert texts("email", "html") == ["<p>&lt;b&gt;&amp;</p>"]

    def test_keep_every_character(self):
        name = "\\N \\. \t 'x' \"q\" \\t é 🎉 \x01"
        cell = name.replace('"', '""')

        batch_of(f'to,name\n+4915112345601,"{cell}\n2"\n')

        assert texts() == [f"Dear {name}\n2"]

    def test_of_json_lines_may_hold_numbers_and_truth(self):
        rows = (
            '{"to": "+4915112345601", "variables": {"Name": "012345"}}\n\n'
            '{"to": {"sms": "+4915112345602"}, "variables": {"name": 1e7}, "reference": "r"}\n'
            '{"to": "+4915112345603", "variables": {"name": true}}'
        )

        batch_of(rows, file_format=Format.JSONL)

        assert texts() == ["Dear 012345", "Dear 10000000", "Dear true"]

    def test_need_no_fields_beside_them_when_the_first_line_has_them(self):
        fields = b'{"batch": {"content": {"sms": {"text": "Dear {name}"}}}}\n'
        for file_format, rows in (
            (Format.CSV, b"to,name\n+4915112345601,Ana\n"),
            (Format.JSONL, b'{"to": "+4915112345601", "variables": {"name": "Ana"}}\n'),
        ):
            accept_batch(BytesIO(fields + rows), file_format, client_name="internal", now=timezone.now())

        assert texts() == ["Dear Ana", "Dear Ana"]


class TestAllOrNothing:
    @pytest.mark.parametrize("broken", range(len(sql.STORE)))
    def test_nothing_is_stored_when_it_breaks_in_the_middle(self, monkeypatch, queues, broken):
        statements = [*sql.STORE]
        statements[broken] = "SELECT 1/0"
        monkeypatch.setattr(sql, "STORE", statements)

        with pytest.raises(Exception, match="division by zero"):
            batch_of(guests(5))

        assert row_counts() == (0, 0, 0, 0)
        assert queues() == {}

    def test_one_bad_row_refuses_all(self):
        refusal = refused(guests(3) + "12,Eve\n")

        assert said(refusal) == [(5, "to.sms", "not a phone number")]

    def test_names_the_first_faults_and_counts_all(self):
        refusal = refused("to,name\n" + "12,Eve\n" * 250)

        assert isinstance(refusal, BadRows)
        assert (len(refusal.errors), refusal.bad_count, refusal.row_count) == (100, 250, 250)
        assert said(refusal)[99][0] == 101

    def test_no_fault_quotes_the_file(self):
        refusal = refused("to,name\n0151 998877,Eve\nsecret@,Eve\n")

        assert "998877" not in str(refusal)
        assert "secret" not in str(refusal)

    def test_no_transaction_is_open_while_rows_are_checked(self, second_connection):
        seen = []

        def look(position):
            second_connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL)"
            )
            seen.append(second_connection.fetchone()[0])

        file = BytesIO(guests(2500).encode())
        accept_batch(file, Format.CSV, {"content": DEAR}, client_name="internal", now=timezone.now(), tell=look)

        assert seen == [0, 0]


class TestSkipping:
    def test_accepts_the_others_and_reports_by_line(self):
        accepted = batch_of("to,name\n12,Eve\n+4915112345601,Ana\n+4915112345602,\n", skip_bad_rows=True)

        skipped = SkippedRow.objects.order_by("id").values_list("batch_id", "line", "field", "reason")
        assert (accepted.accepted_count, accepted.skipped_count) == (1, 2)
        assert texts() == ["Dear Ana"]
        assert [(line, field) for _, line, field, _ in skipped] == [(2, "to.sms"), (4, "variables.name")]
        assert {batch for batch, *_ in skipped} == {accepted.id}
        assert audit().is_sound

    def test_refuses_a_file_of_which_nothing_would_be_left(self):
        assert isinstance(refused("to,name\n12,Eve\n", skip_bad_rows=True), BadRows)
        assert not SkippedRow.objects.exists()


class TestFields:
    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"route": "pigeon"}, "route"),
            ({"incident": "none"}, "incident"),
            ({"send_at": "2020-01-01T00:00:00Z"}, "send_at"),
            ({"priority": "urgent"}, "priority"),
            ({"skip_bad_rows": "yes"}, "skip_bad_rows"),
            ({"to": {"sms": "+4915112345601"}}, "to"),
        ],
    )
    def test_are_judged_as_those_of_one_notification(self, fields, field):
        assert refused(guests(1), **fields).errors[0].field == field

    @pytest.mark.parametrize(
        ("content", "field"),
        [
            ({"sms": {"text": "{{ name }}"}}, "content.sms.text"),
            ({"sms": {"text": ""}}, "content.sms.text"),
            ({"email": {"subject": "Hi", "text": "Hi"}}, "to"),
            ({}, "to"),
        ],
    )
    def test_have_a_content_for_the_addresses(self, content, field):
        assert refused("to\n+4915112345601\n", content).errors[0].field == field

    def test_an_incident_is_kept_with_every_notification(self):
        incident = factories.incident("outage")

        batch_of(guests(2), incident="outage")

        assert set(Notification.objects.values_list("incident_id", flat=True)) == {incident.id}


class TestKey:
    def test_gives_the_first_answer_again_for_the_same_batch(self):
        first, again = (batch_of(guests(3), key="k1") for _ in range(2))

        assert (again.id, again.accepted_at, again.accepted_count) == (first.id, first.accepted_at, 3)
        assert (first.replayed, again.replayed) == (False, True)
        assert row_counts() == (1, 3, 3, 3)

    @pytest.mark.parametrize(
        "change", [{"file": guests(4)}, {"content": {"sms": {"text": "Hi {name}"}}}, {"route": "sms"}]
    )
    def test_refuses_another_file_or_other_fields(self, change):
        batch_of(guests(3), key="k1")

        with pytest.raises(Refused) as refusal:
            batch_of(change.pop("file", guests(3)), key="k1", **change)

        assert refusal.value.errors[0].field == "idempotency_key"
        assert row_counts() == (1, 3, 3, 3)

    def test_is_each_clients_own(self):
        Client.objects.create(name="bank")

        batch_of(guests(1), key="k1")
        batch_of(guests(1), key="k1", client="bank")

        assert row_counts()[0] == 2

    def test_is_not_burnt_by_a_refused_file(self):
        refused("to,name\n12,Eve\n", key="k1")

        assert not batch_of(guests(1), key="k1").replayed

    def test_is_still_good_when_the_hour_of_the_batch_has_passed(self):
        soon = timezone.now() + timedelta(seconds=0.3)
        fields = {"send_at": soon.isoformat(), "key": "k1"}
        first = batch_of(guests(1), **fields)
        while timezone.now() < soon:
            pass

        assert batch_of(guests(1), **fields).id == first.id

    def test_of_two_at_once_is_accepted_once(self, aside):
        answers = together(aside, *[lambda: batch_of(guests(50), key="k1")] * 2)

        assert len({answer.id for answer in answers}) == 1
        assert sorted(answer.replayed for answer in answers) == [False, True]
        assert row_counts() == (1, 50, 50, 50)

    def test_is_free_again_when_the_first_of_two_fails(self, aside, second_connection):
        second_connection.execute("BEGIN")
        second_connection.execute(
            "INSERT INTO batch (id, client_id, idempotency_key, fingerprint, reference, route, priority, state,"
            " accepted_count, skipped_count, created_at, accepted_at) SELECT gen_random_uuid(), id, 'k1', '', '', 'sms',"
            " 'bulk', 'accepted', 1, 0, now(), now() FROM client WHERE name = 'internal'"
        )
        waiting = aside(batch_of, guests(2), key="k1")
        until_waiting()

        second_connection.execute("ROLLBACK")

        assert not waiting.result(10).replayed
        assert row_counts() == (1, 2, 2, 2)


class TestMemory:
    def test_does_not_grow_with_the_file(self):
        peaks = [self.peak_of(count) for count in (1_000, 8_000)]

        assert peaks[1] - peaks[0] < 1_000_000
        assert peaks[1] < 16_000_000

    @staticmethod
    def peak_of(count: int) -> int:
        with TemporaryFile() as file:
            file.write(guests(count).encode())
            gc.collect()
            tracemalloc.start()
            accept_batch(file, Format.CSV, {"content": DEAR}, client_name="internal", now=timezone.now())
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return peak


class TestLimits:
    def test_a_file_has_so_many_rows_at_most(self, numbers_are):
        numbers_are(batch_rows=3)

        assert said(refused(guests(4))) == [(5, "row", "is one row too many")]
        assert batch_of(guests(3)).accepted_count == 3

    def test_are_a_million_rows_and_half_a_gigabyte(self):
        assert (numbers().batch_rows, numbers().batch_bytes) == (1_000_000, 512 * 1024 * 1024)

    def test_a_batch_says_what_became_of_it(self):
        assert str(guest_batch(1).id) in str(Batch.objects.get())

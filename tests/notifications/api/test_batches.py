"""Many at once over HTTP, through the whole of Django."""

from __future__ import annotations

import csv
import json
from uuid import uuid4

import pytest
from django.db import connection
from django.test import RequestFactory

from notifications import selectors
from notifications.api.reading import BadRequest, spooled
from notifications.models import Batch, Client, Notification, SkippedRow
from notifications.services.audit import audit
from notifications.services.keys import Scope
from tests.notifications.api.conftest import NOTIFICATIONS, Caller, caller_of
from tests.notifications.api.test_api import CASES, problem_of
from tests.notifications.batches import DEAR, guests, row_counts, texts

BATCHES = "/api/v1/batches"


def submit(caller: Caller, file: str | bytes, fields: object = None, content_type: str = "text/csv", **headers: str):
    """Send a file; its fields go in a header."""
    data = file.encode() if isinstance(file, str) else file
    headers["Landfall_Batch"] = json.dumps({"content": DEAR} if fields is None else fields)
    return caller.http.post(BATCHES, data, content_type=content_type, headers=caller._headers(headers))


class TestSubmit:
    def test_answers_with_what_never_changes(self, caller):
        response = submit(caller, guests(3))

        batch = Batch.objects.get()
        assert response.status_code == 202, response.content
        assert response.json().keys() == {"id", "accepted_at", "accepted", "skipped"}
        assert (response.json()["id"], response.json()["accepted"]) == (str(batch.id), 3)
        assert response["Location"] == f"{BATCHES}/{batch.id}"
        assert batch.client.name == "shop"
        assert set(Notification.objects.values_list("client__name", flat=True)) == {"shop"}
        assert audit().is_sound

    def test_takes_more_than_any_other_request_may_have(self, caller):
        padding = "x" * 1000
        rows = "".join(f"+49151{10000000 + n},{padding}\n" for n in range(2000))

        response = submit(caller, f"to,name\n{rows}")

        assert response.json()["accepted"] == 2000

    def test_says_429_where_its_rows_go_over_an_hourly_limit(self, caller):
        Client.objects.filter(name="shop").update(sms_hourly={"DE": 3})
        selectors.clients.forget()
        submit(caller, guests(2))

        refused = submit(caller, guests(2))

        assert "at most 1 more" in problem_of(refused, 429)["errors"][0]["accepted"]
        assert 1 <= int(refused["Retry-After"]) <= 3600
        assert row_counts()[0] == 1

    def test_takes_json_lines_with_the_fields_in_the_first(self, caller):
        file = b'{"batch": {"content": {"sms": {"text": "Gr\xc3\xbc\xc3\x9fe, {name}"}}}}\n{"to": "+4915112345601", "variables": {"name": "Ana"}}\n'  # fmt: skip

        response = caller.http.post(BATCHES, file, content_type="application/x-ndjson", headers=caller._headers({}))

        assert response.status_code == 202, response.content
        assert texts() == ["Grüße, Ana"]

    def test_reads_the_header_as_utf_8_as_curl_sends_it(self, caller):
        header = json.dumps({"content": {"sms": {"text": "Grüße, {name}"}}}, ensure_ascii=False)

        response = caller.http.post(
            BATCHES,
            guests(1),
            content_type="text/csv",
            headers=caller._headers({"Landfall-Batch": header.encode().decode("latin-1")}),
        )

        assert response.status_code == 202, response.content
        assert texts() == ["Grüße, Guest 0"]

    def test_names_bad_rows_by_line(self, caller):
        problem = problem_of_rows(submit(caller, guests(2) + "12,Eve\n"), 422)

        assert problem["errors"] == [
            {
                "field": "to.sms",
                "reason": "not a phone number",
                "accepted": "a phone number in international form, e.g. +4915112345678",
                "line": 4,
            }
        ]
        assert "1 of 3 rows" in problem["detail"]
        assert row_counts() == (0, 0, 0, 0)

    @pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x"])
    def test_wants_to_know_the_format(self, caller, content_type):
        problem_of(submit(caller, guests(1), content_type=content_type), 415)

    @pytest.mark.parametrize("header", ["{", "\xff", "[1]", ""])
    def test_refuses_fields_that_cannot_be_read(self, caller, header):
        response = caller.http.post(
            BATCHES, guests(1), content_type="text/csv", headers=caller._headers({"Landfall-Batch": header})
        )

        assert response.status_code in (400, 422)
        assert row_counts() == (0, 0, 0, 0)

    def test_refuses_a_file_over_the_limit_unread(self, caller, numbers_are):
        numbers_are(batch_bytes=1000)

        problem = problem_of(submit(caller, guests(100)), 413)

        assert "1000 bytes" in problem["detail"]

    def test_refuses_an_unknown_length_instead_of_taking_the_file_for_empty(self, caller):
        response = caller.http.generic(
            "POST", BATCHES, guests(1), "text/csv", headers=caller._headers({}), CONTENT_LENGTH=""
        )

        problem_of(response, 411)

    def test_does_not_take_half_a_file_for_the_whole(self):
        request = RequestFactory().post(BATCHES, guests(100), content_type="text/csv")
        request.META["CONTENT_LENGTH"] = str(int(request.META["CONTENT_LENGTH"]) + 1)

        with pytest.raises(BadRequest, match="bytes came"), spooled(request, limit=10**6):
            pytest.fail("half a file was given on")

    def test_asks_for_the_scope(self, seeded):
        problem_of(submit(caller_of("shop", Scope.READ), guests(1)), 403)


def problem_of_rows(response, status: int) -> dict:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    return response.json()


class TestKey:
    def test_gives_the_first_answer_again(self, caller):
        first, again = (submit(caller, guests(3), Idempotency_Key="k1") for _ in range(2))

        assert first.json() == again.json()
        assert again["Idempotent-Replayed"] == "true"
        assert row_counts() == (1, 3, 3, 3)

    def test_refuses_another_file(self, caller):
        submit(caller, guests(3), Idempotency_Key="k1")

        response = submit(caller, guests(2), Idempotency_Key="k1")

        assert problem_of(response, 422)["errors"][0]["field"] == "idempotency_key"

    def test_says_409_while_another_one_is_being_stored(self, caller, second_connection):
        second_connection.execute("BEGIN")
        second_connection.execute(
            "INSERT INTO batch (id, client_id, idempotency_key, fingerprint, reference, route, priority, state,"
            " accepted_count, skipped_count, created_at, accepted_at) VALUES (%s, %s, 'k1', '', '', 'sms', 'bulk',"
            " 'accepted', 1, 0, now(), now())",
            [uuid4(), Client.objects.get(name="shop").id],
        )

        response = submit(caller, guests(1), Idempotency_Key="k1")
        second_connection.execute("ROLLBACK")

        problem_of(response, 409)
        assert response["Retry-After"] == "1"
        assert submit(caller, guests(1), Idempotency_Key="k1").status_code == 202

    def test_is_not_that_of_another_route(self, caller):
        steps = json.loads((CASES / "idem-key-on-another-route" / "steps.json").read_text())
        key = {step["key"] for step in steps}.pop()
        created = caller.submit(Idempotency_Key=key)
        stopped = caller.post(f"{NOTIFICATIONS}/{created.json()['id']}/cancel", Idempotency_Key=key)

        batch = submit(caller, guests(2), Idempotency_Key=key)

        assert stopped.json()["messages"][0]["result"] == "stopped"
        assert batch.json()["accepted"] == 2
        assert "Idempotent-Replayed" not in batch


class TestLook:
    def test_says_how_far_it_is(self, caller):
        location = submit(caller, guests(3), {"content": DEAR, "reference": "may"})["Location"]

        found = caller.get(location).json()

        assert (found["state"], found["accepted"], found["open"], found["skipped"]) == ("accepted", 3, 3, 0)
        assert set(found["ends"].values()) == {0}
        assert (found["reference"], found["priority"], found["route"]) == ("may", "bulk", "sms")

    def test_hands_out_what_was_skipped(self, caller, monkeypatch):
        monkeypatch.setattr("notifications.services.batch.progress.PAGE", 2)
        file = guests(1) + "12,Eve\n" * 3 + "+4915112345601,\n"
        location = submit(caller, file, {"content": DEAR, "skip_bad_rows": True})["Location"]

        response = caller.get(f"{location}/skipped")

        rows = list(csv.DictReader(response.getvalue().decode().splitlines()))
        assert response["Content-Type"].startswith("text/csv")
        assert [(row["line"], row["field"]) for row in rows] == [
            ("3", "to.sms"),
            ("4", "to.sms"),
            ("5", "to.sms"),
            ("6", "variables.name"),
        ]
        assert SkippedRow.objects.count() == 4

    @pytest.mark.parametrize("path", ["", "/skipped"])
    def test_shows_nobody_elses(self, caller, path):
        location = submit(caller, guests(1))["Location"]

        problem_of(caller_of("bank").get(f"{location}{path}"), 404)
        problem_of(caller.get(f"{BATCHES}/{uuid4()}{path}"), 404)


class TestControl:
    def test_pauses_resumes_and_cancels(self, caller):
        location = submit(caller, guests(3))["Location"]

        answers = [caller.post(f"{location}/{change}").json() for change in ("pause", "resume", "cancel")]

        assert [answer["state"] for answer in answers] == ["paused", "accepted", "cancelled"]
        assert [answer["messages"] for answer in answers] == [{"paused": 3}, {"resumed": 3}, {"stopped": 3}]
        assert caller.get(location).json()["ends"]["cancelled"] == 3
        assert audit().is_sound

    def test_cannot_bring_back_what_is_cancelled(self, caller):
        location = submit(caller, guests(1))["Location"]
        caller.post(f"{location}/cancel")

        problem_of(caller.post(f"{location}/resume"), 409)

    @pytest.mark.parametrize("change", ["pause", "resume", "cancel"])
    def test_asks_for_the_scope_and_the_owner(self, caller, change):
        location = submit(caller, guests(1))["Location"]

        problem_of(caller_of("shop", Scope.SUBMIT).post(f"{location}/{change}"), 403)
        problem_of(caller_of("bank").post(f"{location}/{change}"), 404)


def test_leaves_no_temporary_table_behind(caller):
    submit(caller, guests(1))

    assert "incoming" not in connection.introspection.table_names()

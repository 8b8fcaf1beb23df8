"""Our callers' way in, through the whole of Django."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import connections
from django.utils import timezone

from notifications import selectors
from notifications.models import ApiKey, Client, Notification
from notifications.services.cancel import cancel
from notifications.services.keys import Scope, make_key
from tests.notifications.api.conftest import BODY, NOTIFICATIONS, Caller, caller_of
from tests.notifications.old import clean, redact, told_all

CASES = Path(__file__).parents[2] / "cases"


def problem_of(response, status: int) -> dict:
    """The problem in a response, which must be one."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert problem.keys() == {"type", "title", "status", "detail", "errors"}
    assert problem["status"] == status
    return problem


class TestSubmit:
    def test_answers_with_what_never_changes(self, caller):
        response = caller.submit()

        assert response.status_code == 202
        notification = Notification.objects.get()
        assert response.json().keys() == {"id", "accepted_at"}
        assert UUID(response.json()["id"]) == notification.id
        assert response["Location"] == f"{NOTIFICATIONS}/{notification.id}"
        assert notification.client.name == "shop"

    def test_gives_the_first_answer_again_for_the_same_key_and_body(self, caller):
        first = caller.submit(Idempotency_Key="k1")
        again = caller.submit(Idempotency_Key="k1")

        assert again.json() == first.json()
        assert again.status_code == 202
        assert again["Idempotent-Replayed"] == "true"
        assert "Idempotent-Replayed" not in first
        assert Notification.objects.count() == 1

    def test_refuses_another_body_under_the_same_key(self, caller):
        caller.submit(Idempotency_Key="k1")

        response = caller.submit(BODY | {"reference": "other"}, Idempotency_Key="k1")

        assert problem_of(response, 422)["errors"][0]["field"] == "idempotency_key"

    def test_keeps_the_keys_of_clients_apart(self, caller):
        other = caller_of("bank")

        ids = {sender.submit(Idempotency_Key="k1").json()["id"] for sender in (caller, other)}

        assert len(ids) == 2

    def test_does_not_burn_the_key_of_a_refused_request(self, caller):
        refused = caller.submit(BODY | {"to": {"sms": "12"}}, Idempotency_Key="k2")

        assert problem_of(refused, 422)["errors"][0]["field"] == "to.sms"
        assert caller.submit(Idempotency_Key="k2").status_code == 202

    def test_says_409_when_another_request_holds_the_key_for_too_long(self, caller, second_connection):
        with second_connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(
                "INSERT INTO notification (id, client_id, idempotency_key, fingerprint, category, priority, reference,"
                " recipient, content, metadata, route, steps, on_unclear, accepted_at, send_at, expires_at)"
                " VALUES (%s, %s, 'k4', '', 'transactional', 'normal', '', '{}', '{}', '{}', 'sms', '[]', 'hold',"
                " now(), now(), now())",
                [uuid4(), Client.objects.get(name="shop").id],
            )

            response = caller.submit(Idempotency_Key="k4")
            cursor.execute("ROLLBACK")

        problem_of(response, 409)
        assert response["Retry-After"] == "1"
        assert caller.submit(Idempotency_Key="k4").status_code == 202

    def test_says_429_over_an_hourly_limit_and_when_to_come_again(self, caller):
        Client.objects.filter(name="shop").update(sms_hourly={"*": 1})
        selectors.clients.forget()
        first = caller.submit(Idempotency_Key="k1")

        refused, replayed = caller.submit(Idempotency_Key="k2"), caller.submit(Idempotency_Key="k1")

        [error] = problem_of(refused, 429)["errors"]
        assert (error["field"], error["reason"]) == ("to.sms", "more than 1 SMS an hour to DE")
        assert 1 <= int(refused["Retry-After"]) <= 3600
        assert replayed.json() == first.json()
        problem_of(caller.post(f"{NOTIFICATIONS}/dry-run", BODY), 429)
        Client.objects.update(sms_hourly={"*": 2})
        selectors.clients.forget()
        assert caller.submit(Idempotency_Key="k2").status_code == 202

    @pytest.mark.parametrize("key", ["ключ", "", " ", "a\tb", "✅"])
    def test_refuses_a_key_that_no_header_can_hold(self, caller, key):
        response = caller.submit(Idempotency_Key=key)

        problem_of(response, 400)
        assert not Notification.objects.exists()

    def test_http_header_values_beyond_ascii_as_keys(self, caller):
        keys = json.loads((CASES / "http-header-values-beyond-ascii" / "input.json").read_text())["idempotency_keys"]

        assert [caller.submit(Idempotency_Key=key).status_code for key in keys] == [400, 202, 400, 400, 422]

    def test_refuses_two_different_keys(self, caller):
        response = caller.submit(BODY | {"idempotency_key": "a"}, Idempotency_Key="b")

        assert problem_of(response, 422)["errors"][0]["field"] == "idempotency_key"

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"\xff",
            b'{"to": NaN}',
            b"[" * 100_000,
            b'{"a": 1} x',
            '{"a": "\ud83d"}'.encode(errors="replace")[:8],
        ],
    )
    def test_refuses_what_is_not_json(self, caller, body):
        problem_of(caller.submit(body), 400)

    @pytest.mark.parametrize("body", [[], "text", 7, None])
    def test_refuses_json_that_is_no_object(self, caller, body):
        assert problem_of(caller.submit(body), 422)["errors"][0]["field"] == "request"

    def test_refuses_half_an_emoji(self, caller):
        body = (CASES / "text-lone-surrogate" / "request.json").read_bytes()

        errors = problem_of(caller.submit(body), 422)["errors"]

        assert any("surrogate" in error["reason"] for error in errors)

    def test_names_every_field_at_fault_and_no_address(self, caller):
        response = caller.submit({"to": {"sms": "+49 12"}, "content": {"sms": {"text": ""}}, "priority": "asap"})

        problem = problem_of(response, 422)
        assert {error["field"] for error in problem["errors"]} == {"to.sms", "content.sms.text", "priority"}
        assert all(error["reason"] and error["accepted"] for error in problem["errors"])
        assert "+49 12" not in json.dumps(problem)

    def test_refuses_a_body_over_the_limit_unread(self, caller):
        problem_of(caller.submit(b"x" * (1024 * 1024 + 1)), 413)


class TestWhoMayCall:
    @pytest.mark.parametrize("header", ["", "Bearer", "Bearer lf_live_nobody", "Basic dTpw", "Bearer \udcff"])
    def test_refuses_without_a_valid_key_in_one_shape(self, caller, header):
        caller.key = ""

        response = caller.http.get(NOTIFICATIONS, headers={"Authorization": header.encode("utf-8", "replace").decode()})

        problem = problem_of(response, 401)
        assert response["WWW-Authenticate"] == "Bearer"
        assert problem["detail"].startswith("Send a valid API key")

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda key: ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1)),
            lambda key: ApiKey.objects.update(revoked_at=timezone.now()),
            lambda key: Client.objects.update(is_active=False),
        ],
        ids=["expired", "revoked", "client switched off"],
    )
    def test_does_not_say_why_a_key_is_not_valid(self, caller, spoil):
        unknown = caller.http.get(NOTIFICATIONS, headers={"Authorization": "Bearer lf_live_nobody"})
        spoil(caller.key)

        response = caller.get(NOTIFICATIONS)

        assert problem_of(response, 401) == unknown.json()

    def test_keeps_to_the_scopes_of_the_key(self, seeded):
        reader = caller_of("shop", Scope.READ)

        assert "submit" in problem_of(reader.submit(), 403)["detail"]
        assert reader.get(NOTIFICATIONS).status_code == 200
        problem_of(reader.post(f"{NOTIFICATIONS}/{uuid4()}/cancel"), 403)

    def test_stores_only_a_hash_and_notes_the_use(self, caller):
        caller.submit()

        key = ApiKey.objects.get()
        assert caller.key not in {key.prefix, key.key_hash}
        assert key.last_used_at is not None

    def test_hides_what_belongs_to_another_client(self, caller):
        id = caller.submit().json()["id"]
        stranger = caller_of("bank")

        problem_of(stranger.get(f"{NOTIFICATIONS}/{id}"), 404)
        problem_of(stranger.post(f"{NOTIFICATIONS}/{id}/cancel"), 404)
        assert stranger.get(NOTIFICATIONS).json()["items"] == []


class TestGet:
    def test_says_where_it_is_without_saying_to_whom(self, caller):
        id = caller.submit(BODY | {"reference": "order 7"}).json()["id"]

        said = caller.get(f"{NOTIFICATIONS}/{id}").json()

        assert said["state"] == "accepted"
        assert said["reference"] == "order 7"
        assert said["explanation"] == "Accepted: the SMS is queued."
        assert [step["channel"] for step in said["steps"]] == ["sms"]
        assert said["steps"][0]["address"] == "+49…01"
        assert [event["kind"] for event in said["events"]] == ["notification"]
        assert "15112345601" not in json.dumps(said)

    def test_says_that_an_old_one_is_redacted_and_tells_the_rest(self, caller):
        message = told_all(of_client="shop", reference="order 7")
        redact()

        said = caller.get(f"{NOTIFICATIONS}/{message.notification_id}").json()

        assert (said["state"], said["reference"]) == ("delivered", "order 7")
        assert said["explanation"] == "Delivered: the SMS was delivered."
        assert said["steps"][0]["address"] == "redacted"
        assert said["events"][-1]["text"] == "redacted: its texts and addresses are gone"
        (found,) = caller.get(f"{NOTIFICATIONS}?recipient=%2B4915112345601").json()["items"]
        assert found["id"] == str(message.notification_id)

    def test_does_not_find_what_is_cleaned(self, caller):
        message = told_all(of_client="shop")
        clean()

        problem_of(caller.get(f"{NOTIFICATIONS}/{message.notification_id}"), 404)

    @pytest.mark.parametrize("id", ["7", "x", "00000000-0000-0000-0000-00000000000g"])
    def test_refuses_what_is_no_number_of_a_notification(self, caller, id):
        problem_of(caller.get(f"{NOTIFICATIONS}/{id}"), 422)

    def test_does_not_find_what_is_not_there(self, caller):
        problem_of(caller.get(f"{NOTIFICATIONS}/{uuid4()}"), 404)


class TestSearch:
    def find(self, caller: Caller, query: str) -> list[str]:
        response = caller.get(f"{NOTIFICATIONS}?{query}")
        assert response.status_code == 200, response.content
        return [item["id"] for item in response.json()["items"]]

    def test_pages_newest_first_without_gap_or_repetition(self, caller):
        ids = [caller.submit().json()["id"] for _ in range(5)]
        seen, cursor = [], ""

        while True:
            page = caller.get(f"{NOTIFICATIONS}?limit=2{cursor}").json()
            seen += [item["id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"

        assert seen == ids[::-1]

    def test_finds_by_reference_recipient_and_state(self, caller):
        first = caller.submit(BODY | {"reference": "a"}).json()["id"]
        second = caller.submit(
            {"to": {"email": "ana@example.org"}, "content": {"email": {"subject": "s", "text": "t"}}}
        )
        cancel(UUID(first))

        assert self.find(caller, "reference=a") == [first]
        assert self.find(caller, "recipient=%2B49 151 12345601") == [first]
        assert self.find(caller, "recipient=ANA@example.org".replace("ANA", "ana")) == [second.json()["id"]]
        assert self.find(caller, "state=cancelled") == [first]
        assert self.find(caller, "state=open") == [second.json()["id"]]
        assert self.find(caller, "incident=none") == []

    def test_finds_by_time(self, caller):
        caller.submit()

        assert len(self.find(caller, "accepted_from=2020-01-01T00:00:00Z&accepted_until=2100-01-01T00:00:00Z")) == 1
        assert self.find(caller, "accepted_until=2020-01-01T00:00:00Z") == []

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("state=lost", "state"),
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("cursor=x", "cursor"),
            ("recipient=12", "recipient"),
            ("accepted_from=2027-01-15T10:00:00", "accepted_from"),
            ("accepted_from=yesterday", "accepted_from"),
            ("accepted_from=0001-01-01T00:00:00Z", "accepted_from"),
            ("reference=%00", "reference"),
        ],
    )
    def test_refuses_what_it_cannot_look_for(self, caller, query, field):
        response = caller.get(f"{NOTIFICATIONS}?{query}")

        assert [error["field"] for error in problem_of(response, 422)["errors"]] == [field]


class TestCancel:
    def test_stops_what_has_not_left(self, caller):
        id = caller.submit().json()["id"]

        response = caller.post(f"{NOTIFICATIONS}/{id}/cancel")

        assert [message["result"] for message in response.json()["messages"]] == ["stopped"]
        assert caller.get(f"{NOTIFICATIONS}/{id}").json()["state"] == "cancelled"

    def test_is_not_answered_by_what_the_same_key_created(self, caller):
        id = caller.submit(Idempotency_Key="k1").json()["id"]

        response = caller.post(f"{NOTIFICATIONS}/{id}/cancel", Idempotency_Key="k1")

        assert response.status_code == 200
        assert Notification.objects.get().end == "cancelled"


class TestEveryAnswer:
    def test_repeats_the_request_id_or_makes_one(self, caller):
        assert caller.get(NOTIFICATIONS, X_Request_ID="abc-1")["X-Request-ID"] == "abc-1"
        assert caller.get(NOTIFICATIONS, X_Request_ID="a b\n")["X-Request-ID"] != "a b\n"

    @pytest.mark.parametrize(
        ("method", "path", "status"), [("get", "/api/v1/nothing", 404), ("put", NOTIFICATIONS, 405)]
    )
    def test_has_the_shape_of_ours_when_django_made_the_error(self, caller, method, path, status):
        problem_of(getattr(caller.http, method)(path), status)

    def test_keeps_the_shape_for_a_host_that_is_not_ours(self, caller):
        problem_of(caller.http.get(NOTIFICATIONS, headers={"Host": "evil.example"}), 400)


@pytest.fixture
def second_connection(seeded):
    """A connection beside the one that Django uses."""
    connection = connections.create_connection("default")
    yield connection
    connection.close()


class TestMakeKey:
    def test_makes_keys_that_cannot_be_guessed(self, seeded):
        client = Client.objects.get(name="internal")

        keys = {make_key(client, [Scope.READ]) for _ in range(3)}

        assert len(keys) == 3
        assert all(len(key) > 40 for key in keys)

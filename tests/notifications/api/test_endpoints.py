"""A client's endpoints over HTTP."""

from __future__ import annotations

import json

import pytest

from notifications.models import Message, ProviderAccount, WebhookEndpoint
from notifications.services.keys import Scope
from providers.webhook import signature
from tests import factories
from tests.notifications.api.conftest import Caller, caller_of

ENDPOINTS = "/api/v1/endpoints"
URL = "https://198.51.101.7/hooks"  # an address, so that nothing is looked up
BODY = {"name": "orders", "url": URL, "event_types": ["notification.*"], "owner_email": "ops@example.org"}


def made(caller: Caller, **fields):
    response = caller.post(ENDPOINTS, BODY | fields)
    assert response.status_code == 201, response.json()
    return response.json()


class TestMaking:
    def test_shows_the_secret_once(self, caller):
        response = caller.post(ENDPOINTS, BODY | {"headers": {"X-Tenant": "7"}})
        body = response.json()

        assert (response.status_code, response["Location"]) == (201, f"{ENDPOINTS}/orders")
        assert len(signature.key(body.pop("secret"))) == 32
        assert body == caller.get(f"{ENDPOINTS}/orders").json() == caller.get(ENDPOINTS).json()[0]
        assert body == {
            **BODY,
            "headers": {"X-Tenant": "7"},
            "is_on": True,
            "off_reason": "",
            "failing_since": None,
            "created_at": body["created_at"],
        }

    def test_answers_422_with_the_fields_at_fault(self, caller):
        response = caller.post(ENDPOINTS, {"name": "A", "url": "http://10.0.0.1/", "headers": {"X": "été ✅"}})

        assert response.status_code == 422
        assert response["Content-Type"] == "application/problem+json"
        assert {error["field"] for error in response.json()["errors"]} == {"name", "url", "headers"}

    @pytest.mark.parametrize(
        "url", ["https://10.0.0.1/", "https://127.0.0.1/", "https://[::1]/", "https://2130706433/"]
    )
    def test_refuses_an_address_that_is_not_public(self, caller, url):
        response = caller.post(ENDPOINTS, BODY | {"url": url})

        assert response.status_code == 422
        assert response.json()["errors"][0]["reason"] == "is not public"

    @pytest.mark.parametrize(("body", "status"), [(b"nonsense", 400), (b"[]", 422), (b"", 400), (b"\xff", 400)])
    def test_answers_what_is_no_object(self, caller, body, status):
        assert caller.post(ENDPOINTS, body).status_code == status


class TestChanging:
    def test_answers_with_what_it_is_now(self, caller):
        made(caller)

        response = caller.http.patch(
            f"{ENDPOINTS}/orders",
            {"event_types": [], "is_on": False},
            content_type="application/json",
            headers={"Authorization": f"Bearer {caller.key}"},
        )

        assert response.status_code == 200
        body = response.json()
        assert (body["event_types"], body["is_on"], body["off_reason"]) == ([], False, "switched off by hand")
        assert (body["url"], body["owner_email"]) == (URL, "ops@example.org")

    def test_a_new_secret_is_shown_once(self, caller):
        first = made(caller)["secret"]

        body = caller.post(f"{ENDPOINTS}/orders/rotate-secret").json()

        credentials = ProviderAccount.objects.get(slug="orders").credentials
        assert credentials["secret"] == body["secret"] != first == credentials["previous_secret"]
        assert (
            ProviderAccount.objects.get(slug="orders").settings["previous_secret_until"][:19]
            == body["previous_until"][:19]
        )

    def test_tries_it_out(self, caller):
        made(caller)

        assert caller.post(f"{ENDPOINTS}/orders/test").status_code == 202
        assert Message.objects.get().address == "orders"

    def test_ends_it(self, caller):
        made(caller)
        headers = {"Authorization": f"Bearer {caller.key}"}

        assert caller.http.delete(f"{ENDPOINTS}/orders", headers=headers).status_code == 204
        assert caller.http.delete(f"{ENDPOINTS}/orders", headers=headers).status_code == 404
        assert caller.get(ENDPOINTS).json() == []
        assert not ProviderAccount.objects.get(slug="orders").is_on


class TestWhoMay:
    def test_needs_a_scope_of_its_own(self, caller):
        others = [scope for scope in Scope if scope is not Scope.ENDPOINTS]

        assert caller_of("shop", *others).get(ENDPOINTS).status_code == 403
        assert caller_of("shop", Scope.ENDPOINTS).get(ENDPOINTS).status_code == 200

    @pytest.mark.parametrize(
        ("name", "status"),
        [
            ("orders", 404),
            ("twilio", 404),
            ("nobody", 404),
            ("..", 422),
            ("a%00b", 422),
            ("x" * 300, 422),
            ("Orders", 422),
        ],
    )
    def test_sees_no_other_clients(self, caller, name, status):
        made(caller)
        factories.account("twilio")
        other = caller_of("other")

        answers = [
            other.get(f"{ENDPOINTS}/{name}"),
            other.post(f"{ENDPOINTS}/{name}/test"),
            other.post(f"{ENDPOINTS}/{name}/rotate-secret"),
            other.http.delete(f"{ENDPOINTS}/{name}", headers={"Authorization": f"Bearer {other.key}"}),
        ]

        assert {answer.status_code for answer in answers} == {status}
        assert WebhookEndpoint.objects.get().account.is_on


class TestBesides:
    def test_a_notification_goes_to_an_endpoint_of_its_client(self, caller):
        made(caller)
        body = {"to": {"webhook": "orders"}, "content": {"webhook": {"type": "order.paid", "data": {"id": 7}}}}

        assert caller.submit(body).status_code == 202
        assert caller_of("other").submit(body).json()["errors"][0]["field"] == "to.webhook"

    def test_a_dry_run_names_it(self, caller):
        made(caller)
        body = {"to": {"webhook": "orders"}, "content": {"webhook": {"type": "order.paid", "data": {"id": 7}}}}

        [step] = caller.post("/api/v1/notifications/dry-run", body).json()["steps"]

        assert (step["channel"], step["account"]) == ("webhook", "orders")

    @pytest.mark.parametrize(
        "content", [{"webhook": {"type": "x", "data": {"a": 1}}}, {"push": {"text": "Hi", "data": {"a": "b"}}}]
    )
    def test_a_file_has_texts_and_mails_only(self, caller, content):
        [channel] = content
        lines = b'{"to": {"sms": "+4915112345601"}}\n'
        response = caller.http.post(
            "/api/v1/batches",
            lines,
            content_type="application/x-ndjson",
            headers={"Authorization": f"Bearer {caller.key}", "Landfall-Batch": json.dumps({"content": content})},
        )

        assert response.status_code == 422
        [error] = response.json()["errors"]
        assert (error["field"], error["accepted"]) == (f"content.{channel}", "sms, email or both")

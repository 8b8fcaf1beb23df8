"""Resend: roles, refusals, idempotency keys, look-ups, signed webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import requests

from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox.vendors.resend import vendor
from tests.providers.sandbox.clients import RESEND, ResendClient, eventually, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product

SPEC = json.loads((Path(__file__).parents[1] / "specs" / "resend.json").read_text())
IN_PROGRESS = payload("resend/error-409-in-progress.json")
OTHER_PAYLOAD = payload("resend/error-409-payload-differs.json")
SLOW_SECONDS = 1.5


def fits(content: Any, schema: dict[str, Any]) -> bool:
    jsonschema.validate(content, {**schema, "components": SPEC["components"]})
    return True


def is_signed(call: Call) -> bool:
    secret = base64.b64decode(RESEND["webhook_secret"].split("_")[1])
    text = f"{call.headers['svix-id']}.{call.headers['svix-timestamp']}.".encode() + call.body
    proof = base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
    return call.headers["svix-signature"] == f"v1,{proof}"


class TestAddress:
    @pytest.mark.parametrize(
        ("local", "words", "example"),
        [
            ("delivered", ["email.sent", "email.delivered"], "webhook-email.delivered.json"),
            ("silent", ["email.sent"], "webhook-email.sent.json"),
            ("bounce", ["email.sent", "email.bounced"], "webhook-email.bounced.json"),
            ("softbounce", ["email.sent", "email.bounced"], "webhook-email.bounced-transient.json"),
            (
                "complaint",
                ["email.sent", "email.delivered", "email.complained"],
                "webhook-email.complained.json",
            ),
        ],
    )
    def test_is_reported_as_in_the_example(
        self, resend: ResendClient, product: Product, sandbox: Sandbox, local: str, words: list[str], example: str
    ) -> None:
        expected = payload(f"resend/{example}")
        tags = [{"name": name, "value": value} for name, value in expected["data"]["tags"].items()]
        to = f"{local}+ana@example.net"
        id = resend.send(to, tags=tags).json()["id"]

        assert sandbox.wait_idle(10)

        told = product.calls[-1].json
        assert product.words == words
        assert shape(told) == shape(expected)
        own = {name: told["data"][name] for name in ("created_at", "message_id")} | {"email_id": id, "to": [to]}
        assert told == expected | {"created_at": told["created_at"], "data": expected["data"] | own}
        assert id in told["data"]["message_id"]
        published = SPEC["webhooks"][told["type"]]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert fits(told, published)

    @pytest.mark.parametrize(("local", "reason"), [("bounce", "previous_bounce"), ("complaint", "previous_complaint")])
    def test_is_suppressed_afterwards(
        self, resend: ResendClient, product: Product, sandbox: Sandbox, local: str, reason: str
    ) -> None:
        resend.send(f"{local}@example.org")
        assert sandbox.wait_idle(10)

        id = resend.send(f"{local.upper()}@example.org").json()["id"]
        assert sandbox.wait_idle(10)

        told = product.calls[-1].json
        assert shape(told["data"]["suppressed"]) == shape(
            payload("resend/webhook-email.suppressed.json")["data"]["suppressed"]
        )
        assert (told["type"], told["data"]["suppressed"]["reason"]) == ("email.suppressed", reason)
        assert resend.fetch(id)["last_event"] == "suppressed"

    def test_invalid_is_refused(self, resend: ResendClient, sandbox: Sandbox) -> None:
        answer = resend.send("invalid@example.org")

        assert (answer.status_code, answer.json()["name"]) == (422, "validation_error")
        assert answer.json()["message"].startswith("Invalid `to` field.")
        assert sandbox.counts().taken == 0

    def test_slow_is_answered_late(self, resend: ResendClient) -> None:
        began_at = time.monotonic()

        assert resend.send("slow@example.org").status_code == 200
        assert time.monotonic() - began_at >= PACE.slow_answer


class TestSend:
    def test_is_answered_as_in_the_example(self, resend: ResendClient) -> None:
        answer = resend.send("Ana Pereira <ana.pereira@example.net>")

        assert answer.status_code == 200
        assert shape(answer.json()) == shape(payload("resend/send-response-200.json"))

    @pytest.mark.parametrize(
        ("change", "name", "start"),
        [
            ({"from": None}, "missing_required_field", "Missing `from`"),
            ({"to": None}, "missing_required_field", "Missing `to`"),
            ({"subject": None}, "missing_required_field", "Missing `subject`"),
            ({"from": "nobody"}, "invalid_from_address", "Invalid `from`"),
            ({"to": []}, "validation_error", "The `to` field"),
            ({"to": [f"a{index}@example.org" for index in range(51)]}, "validation_error", "The `to` field"),
            ({"to": "ana@localhost"}, "validation_error", "Invalid `to` field"),
            ({"to": [7]}, "validation_error", "Invalid `to` field"),
            ({"cc": {"a": 1}}, "validation_error", "Invalid `cc` field"),
            ({"subject": 1}, "validation_error", "The `subject` field"),
            ({"text": "", "html": None}, "missing_required_field", "Missing `html` or `text`"),
            ({"headers": {"X-Attempt-Id": 1}}, "validation_error", "The `headers` field"),
            ({"tags": [{"name": "attempt", "value": "a b"}]}, "validation_error", "Tags"),
            ({"tags": [{"name": "attempt", "value": "x" * 257}]}, "validation_error", "Tags"),
            ({"tags": {"attempt": "1"}}, "validation_error", "Tags"),
        ],
    )
    def test_is_refused(
        self, resend: ResendClient, sandbox: Sandbox, change: dict[str, Any], name: str, start: str
    ) -> None:
        answer = resend.send(**{"to": "ana@example.org"} | change)

        assert (answer.status_code, answer.json()["statusCode"], answer.json()["name"]) == (422, 422, name)
        assert answer.json()["message"].startswith(start)
        assert sandbox.counts().taken == 0

    def test_refusals_are_worded_as_in_the_examples(self, resend: ResendClient) -> None:
        assert resend.send(None).json() == payload("resend/error-422-missing-field.json")
        assert resend.send("a@b.example", **{"from": "x"}).json() == payload("resend/error-422-invalid-from.json")

    @pytest.mark.parametrize("body", [b"{", b"[]"])
    def test_must_be_json(self, resend: ResendClient, body: bytes) -> None:
        answer = resend.http.post(f"{resend.base_url}/emails", data=body, timeout=10)

        assert (answer.status_code, answer.json()["name"]) == (400, "validation_error")

    @pytest.mark.parametrize(
        ("authorization", "name"),
        [(None, "missing_api_key"), ("Bearer wrong", "validation_error"), ("x", "validation_error")],
    )
    def test_needs_the_key(self, resend: ResendClient, sandbox: Sandbox, authorization: str | None, name: str) -> None:
        resend.http.headers["Authorization"] = authorization  # type: ignore[assignment]

        answer = resend.send("ana@example.org")

        assert (answer.status_code, answer.json()["name"]) == (401, name)
        assert sandbox.counts().unknown_requests == 1

    @pytest.mark.parametrize(("method", "path", "status"), [("GET", "/emails", 405), ("GET", "/domains", 404)])
    def test_is_the_only_other_thing(self, resend: ResendClient, method: str, path: str, status: int) -> None:
        answer = resend.http.request(method, f"{resend.base_url}{path}", timeout=10)

        assert (answer.status_code, answer.json()["statusCode"]) == (status, status)

    def test_survives_half_an_emoji(self, resend: ResendClient) -> None:
        id = resend.send("ana@example.org", subject="Hello \ud83d").json()["id"]

        assert resend.fetch(id)["subject"].startswith("Hello ")


class TestIdempotencyKey:
    def test_repeated_gives_the_first_id_and_no_second_mail(
        self, resend: ResendClient, sandbox: Sandbox, product: Product
    ) -> None:
        answers = [resend.send("ana@example.org", key="key-1") for _ in range(3)]

        assert sandbox.wait_idle(10)
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["id"] for answer in answers}) == 1
        counts = sandbox.counts()
        assert (counts.taken, counts.duplicates) == (1, ())
        assert counts.accounts["letters"].requests["send"] == 3
        assert product.words == ["email.sent", "email.delivered"]

    def test_with_another_payload_is_refused(self, resend: ResendClient, sandbox: Sandbox) -> None:
        resend.send("ana@example.org", key="key-1")

        answer = resend.send("ana@example.org", key="key-1", text="Something else")

        assert (answer.status_code, answer.json()) == (409, OTHER_PAYLOAD)
        assert sandbox.counts().taken == 1

    def test_compares_bytes(self, resend: ResendClient) -> None:
        """Stricter than the vendor may be: what differs in a space only is not what was frozen."""
        resend.send("ana@example.org", key="key-1")

        mail = payload("resend/send-request.json") | {
            "to": ["ana@example.org"],
            "tags": [{"name": "attempt", "value": "c-1"}],
        }
        answer = resend.http.post(
            f"{resend.base_url}/emails",
            data=json.dumps(mail, indent=1),
            headers={"Idempotency-Key": "key-1"},
            timeout=10,
        )

        assert answer.status_code == 409

    def test_other_or_none_is_another_mail(self, resend: ResendClient, sandbox: Sandbox) -> None:
        for key in ("key-1", "key-2", None, None):
            resend.send("ana@example.org", key=key)

        assert sandbox.counts().taken == 4

    def test_is_free_again_after_a_refusal(self, resend: ResendClient) -> None:
        assert resend.send("invalid@example.org", key="key-1").status_code == 422
        assert resend.send("ana@example.org", key="key-1").status_code == 200

    def test_is_forgotten_after_a_day(
        self, resend: ResendClient, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resend.send("ana@example.org", key="key-1")
        monkeypatch.setattr(vendor, "KEY_LIFE_SECONDS", 0)

        resend.send("ana@example.org", key="key-1")

        assert sandbox.counts().taken == 2

    def test_is_forgotten_with_the_books(self, resend: ResendClient, sandbox: Sandbox) -> None:
        first = resend.send("ana@example.org", key="key-1").json()["id"]
        sandbox.reset()

        assert resend.send("ana@example.org", key="key-1", text="Something else").json()["id"] != first

    @pytest.mark.parametrize("key", ["", "x" * 257])
    def test_has_a_length(self, resend: ResendClient, key: str) -> None:
        answer = resend.send("ana@example.org", key=key)

        assert (answer.status_code, answer.json()["name"]) == (400, "invalid_idempotency_key")

    def test_of_many_calls_at_once_one_is_taken(self, resend: ResendClient, sandbox: Sandbox) -> None:
        answers: list[int] = []

        def call() -> None:
            client = ResendClient(sandbox, "letters")
            answers.append(client.send("a@b.example", key="key-1").status_code)
            client.http.close()

        threads = [threading.Thread(target=call) for _ in range(8)]

        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

        assert answers == [200] * 8
        assert sandbox.counts().taken == 1

    def test_tells_the_id_when_the_answer_was_lost(self, resend: ResendClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("letters", accept_then_drop=True)
        with pytest.raises(requests.ConnectionError):
            resend.send("ana@example.org", key="key-1")

        answer = resend.send("ana@example.org", key="key-1")

        [(_, message)] = sandbox.messages()
        assert (answer.status_code, answer.json()) == (200, {"id": message.id})

    def test_is_refused_like_any_send_while_faults_refuse(self, resend: ResendClient, sandbox: Sandbox) -> None:
        resend.send("ana@example.org", key="key-1")
        sandbox.set_faults("letters", outage="status_500")

        assert resend.send("ana@example.org", key="key-1").status_code == 500


class TestWhileTheFirstCallRuns:
    @pytest.fixture
    def slow_sandbox(self) -> Iterator[Sandbox]:
        account = SandboxAccount("letters", "resend", RESEND)
        with Sandbox([account], pace=replace(PACE, slow_answer=SLOW_SECONDS, hang=SLOW_SECONDS)) as sandbox:
            yield sandbox

    @pytest.fixture
    def client(self, slow_sandbox: Sandbox) -> Iterator[ResendClient]:
        client = ResendClient(slow_sandbox, "letters")
        yield client
        client.http.close()

    @pytest.mark.parametrize(("local", "latency_seconds"), [("slow", 0.0), ("timeout", 0.0), ("ana", SLOW_SECONDS)])
    def test_its_key_is_in_progress_and_afterwards_tells_the_id(
        self, slow_sandbox: Sandbox, client: ResendClient, local: str, latency_seconds: float
    ) -> None:
        slow_sandbox.set_faults("letters", latency_seconds=latency_seconds)
        with pytest.raises(requests.ReadTimeout):
            client.send(f"{local}@example.org", key="key-1", timeout=0.5)
        slow_sandbox.set_faults("letters", latency_seconds=None)

        during = client.send(f"{local}@example.org", key="key-1")
        after = eventually(
            lambda: client.send(f"{local}@example.org", key="key-1"), lambda answer: answer.status_code == 200
        )

        [(_, message)] = slow_sandbox.messages()
        assert (during.status_code, during.json()) == (409, IN_PROGRESS)
        assert after.json() == {"id": message.id}

    def test_another_payload_is_told_at_once(self, client: ResendClient) -> None:
        with pytest.raises(requests.ReadTimeout):
            client.send("slow@example.org", key="key-1", timeout=0.5)

        assert client.send("slow@example.org", key="key-1", text="Other").json() == OTHER_PAYLOAD


class TestLookUp:
    def test_is_as_in_the_example(self, resend: ResendClient, sandbox: Sandbox) -> None:
        expected = payload("resend/get-email-response.json")
        id = resend.send("ana.pereira@example.net").json()["id"]
        assert sandbox.wait_idle(10)

        shown = resend.fetch(id)

        own = {name: shown[name] for name in ("created_at", "message_id")} | {"id": id}
        assert shown == expected | own
        assert len(shown["created_at"]) == len(expected["created_at"])
        assert fits(shown, {**SPEC["components"]["schemas"]["Email"], "additionalProperties": False})

    def test_of_a_mail_that_is_none_is_refused(self, resend: ResendClient) -> None:
        assert resend.fetch("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")["name"] == "not_found"

    def test_can_be_blind(self, resend: ResendClient, sandbox: Sandbox) -> None:
        id = resend.send("ana@example.org", key="key-1").json()["id"]
        sandbox.set_faults("letters", look_up_blind=True)

        assert resend.fetch(id)["name"] == "not_found"
        assert resend.send("ana@example.org", key="key-1").json()["id"] == id  # a key is no look-up


class TestFault:
    @pytest.mark.parametrize(
        ("refuse", "name"),
        [
            ({"status": 429, "code": 0, "message": "daily_quota_exceeded"}, "daily_quota_exceeded"),
            ({"status": 422, "code": 0, "message": "Invalid `to` field"}, "validation_error"),
            ({"status": 451, "code": 0}, "security_error"),
            ({"status": 599, "code": 0}, "application_error"),
        ],
    )
    def test_refusal_is_named_by_its_message_or_its_status(
        self, resend: ResendClient, sandbox: Sandbox, refuse: dict[str, Any], name: str
    ) -> None:
        sandbox.set_faults("letters", refuse=refuse)

        answer = resend.send("ana@example.org")

        assert (answer.status_code, answer.json()["name"]) == (refuse["status"], name)
        assert sandbox.counts().taken == 0

    def test_rate_limit_says_when_to_come_back(self, resend: ResendClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("letters", rate_limit=1, retry_after_seconds=7)

        answer = resend.send("ana@example.org")

        assert (answer.status_code, answer.json()["name"]) == (429, "rate_limit_exceeded")
        assert answer.headers["Retry-After"] == "7"


class TestWebhook:
    def test_is_signed(self, resend: ResendClient, product: Product) -> None:
        resend.send("ana@example.org")

        calls = product.wait_for(2)

        assert all(is_signed(call) for call in calls)
        assert abs(int(calls[0].headers["svix-timestamp"]) - time.time()) < 60
        assert calls[0].url == f"http://{product.host}/webhooks/letters/"

    def test_keeps_its_id_when_repeated(self, resend: ResendClient, product: Product, sandbox: Sandbox) -> None:
        sandbox.set_faults("letters", callback_repeat=2)
        product.status = lambda number: 500 if number == 0 else 204

        resend.send("silent@example.org")

        assert sandbox.wait_idle(10)
        assert product.words == ["email.sent"] * 3
        assert len({call.headers["svix-id"] for call in product.calls}) == 1

    def test_has_an_id_of_its_own(self, resend: ResendClient, product: Product) -> None:
        for _ in range(2):
            resend.send("ana@example.org")

        assert len({call.headers["svix-id"] for call in product.wait_for(4)}) == 4

    def test_may_be_silent_or_shuffled(self, resend: ResendClient, product: Product, sandbox: Sandbox) -> None:
        sandbox.set_faults("letters", silent=True)
        resend.send("ana@example.org")
        assert sandbox.wait_idle(10)
        assert product.calls == []

        sandbox.set_faults("letters", silent=None, callback_shuffle=True)
        resend.send("ana@example.org")
        assert sandbox.wait_idle(10)
        assert product.words == ["email.delivered", "email.sent"]


def test_a_secret_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="base64"):
        Sandbox([SandboxAccount("letters", "resend", {**RESEND, "webhook_secret": "whsec_!"})])

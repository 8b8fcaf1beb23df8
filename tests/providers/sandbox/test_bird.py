"""Bird: the adapter against the sandbox, and what the sandbox says on the wire."""

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

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotRegistered,
    Unavailable,
)
from providers.messages import Account, AttemptRef, EventKind, Found, NextPage, NotThere
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox.vendors.bird import vendor
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import SENDER, number, payload
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product
from tests.providers.sandbox.test_adapters import ATTEMPT, Desk, sms

CREDENTIALS = {"api_key": "bk_eu1_EXAMPLE000000000000", "webhook_secret": "whsec_YmlyZC13ZWJob29rLXNlY3JldC0wMDAx"}
SLUG = "birds-b"
KEYED = AttemptRef(ATTEMPT.id, key="key-1")
SLOW_SECONDS = 1.0
MODELS = json.loads((Path(__file__).parents[1] / "specs" / "bird-derived.json").read_text())["$defs"]
EVENTS = {
    "sms.sent": "EventSMSSent",
    "sms.delivered": "EventSMSDelivered",
    "sms.failed": "EventSMSFailed",
    "sms.rejected": "EventSMSRejected",
}


def fits(content: Any, model: str) -> bool:
    jsonschema.validate(content, {**MODELS[model], "$defs": MODELS})
    return True


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    account = SandboxAccount(SLUG, "bird", CREDENTIALS, f"http://{product.host}/webhooks/{SLUG}/")
    with Sandbox([account], pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=2)
    yield transport
    transport.close()


@pytest.fixture
def desk(sandbox: Sandbox, transport: RequestsTransport) -> Desk:
    account = Account(SLUG, CREDENTIALS, {"from": SENDER}, base_url=sandbox.base_url(SLUG))
    return Desk(connect("bird", account), transport, sms)


class Client:
    """Speaks as the vendor's documents say, and knows no adapter."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers["Authorization"] = f"Bearer {CREDENTIALS['api_key']}"
        self.url = f"{sandbox.base_url(SLUG)}/v1/sms/messages"

    def send(self, to: str, *, key: str | None = None, timeout: float = 10, **changes: Any) -> requests.Response:
        asked = {**payload("bird/send_request.json")["body"], "to": to, **changes}
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.http.post(self.url, json=asked, headers=headers, timeout=timeout)

    def get(self, rest: str = "", **query: str) -> requests.Response:
        return self.http.get(f"{self.url}{rest}", params=query, timeout=10)


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[Client]:
    client = Client(sandbox)
    yield client
    client.http.close()


class TestAdapter:
    def test_delivers_and_tells(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("01"), KEYED)

        events = [desk.hear(call) for call in product.wait_for(2)]

        assert (sent.provider_status, sent.segments) == ("accepted", 1)
        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert len({event.dedupe_key for event in events}) == 2
        assert desk.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_is_silent(self, desk: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = desk.send(number("02"), KEYED)

        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert desk.status(sent.provider_message_id) == [EventKind.ACCEPTED]

    @pytest.mark.parametrize(
        ("role", "count", "code", "suppress"),
        [("03", 2, "blocked_by_carrier", None), ("08", 1, "recipient_opted_out", "opted_out")],
    )
    def test_tells_of_trouble(
        self, desk: Desk, product: Product, role: str, count: int, code: str, suppress: str | None
    ) -> None:
        sent = desk.send(number(role), KEYED)

        event = desk.hear(product.wait_for(count)[-1])

        assert (event.kind, event.error_code, event.suppress) == (EventKind.FAILED, code, suppress)
        assert event.attempt == ATTEMPT.id
        assert desk.status(sent.provider_message_id) == [EventKind.FAILED]

    @pytest.mark.parametrize(
        ("role", "error"),
        [("04", InvalidRecipient), ("05", RateLimited), ("06", OutcomeUnknown), ("09", OutcomeUnknown)],
    )
    def test_says_no(self, desk: Desk, role: str, error: type[ProviderError]) -> None:
        with pytest.raises(error) as raised:
            desk.send(number(role), KEYED)

        assert type(raised.value) is error

    def test_takes_it_when_it_is_no_longer_busy(self, desk: Desk, sandbox: Sandbox) -> None:
        for index in range(2):
            with pytest.raises(RateLimited):
                desk.send(number("05"), AttemptRef(ATTEMPT.id, key=f"key-{index}"))

        assert desk.send(number("05"), AttemptRef(ATTEMPT.id, key="key-2")).provider_status == "accepted"
        assert sandbox.counts().taken == 1

    def test_answers_late(self, desk: Desk) -> None:
        assert desk.send(number("10"), KEYED).provider_status == "accepted"

    def test_tells_the_same_twice_under_one_key(self, desk: Desk, product: Product) -> None:
        desk.send(number("07"), KEYED)

        events = [desk.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    @pytest.mark.parametrize(("role", "fault"), [("06", {}), ("09", {}), ("02", {"accept_then_drop": True})])
    def test_is_settled_by_the_same_call_again(
        self, desk: Desk, sandbox: Sandbox, role: str, fault: dict[str, Any]
    ) -> None:
        sandbox.set_faults(SLUG, **fault)
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role), KEYED)

        sent = desk.send(number(role), KEYED)

        [(_, message)] = sandbox.messages()
        assert sent.provider_message_id == message.id
        assert message.attempt == ATTEMPT.id

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, desk: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role))

        found = desk.find(number(role))

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id

    def test_is_found_behind_other_pages(self, desk: Desk, client: Client) -> None:
        wanted = desk.send(number("02"))
        for _ in range(30):
            client.send(number("02"))

        first = desk.find(number("02"))

        assert isinstance(first, NextPage)
        found = desk.find(number("02"), first.page)
        assert isinstance(found, Found)
        assert found.provider_message_id == wanted.provider_message_id

    def test_is_not_there_when_it_was_never_sent(self, desk: Desk) -> None:
        desk.send(number("02"), AttemptRef("somebody-else-1"))

        assert desk.find(number("02")) == NotThere()

    def test_is_not_there_while_the_list_lags(self, desk: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults(SLUG, look_up_lag_seconds=3600)
        desk.send(number("02"))

        assert desk.find(number("02")) == NotThere()

    def test_is_not_settled_by_other_words_under_the_same_key(self, desk: Desk, sandbox: Sandbox) -> None:
        desk.send(number("02"), KEYED)

        with pytest.raises(OutcomeUnknown) as raised:
            desk.send(number("02"), KEYED, text="Your table is gone")

        assert raised.value.code == "E01005"
        assert sandbox.counts().taken == 1

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, Unavailable),
            ({"outage": "status_500"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 402, "code": 0}}, InsufficientBalance),
            ({"refuse": {"status": 422, "code": 0, "message": "SMSNoEligibleSender"}}, SenderNotRegistered),
            ({"refuse": {"status": 503, "code": 0}}, Unavailable),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
        ],
    )
    def test_has_faults(self, desk: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults(SLUG, **fault)

        with pytest.raises(error) as raised:
            desk.send(number("01"), KEYED)

        assert type(raised.value) is error
        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_report_that_was_changed(self, desk: Desk, product: Product) -> None:
        desk.send(number("01"))
        genuine = product.wait_for(1)[0]

        forged = Call(genuine.url, genuine.headers, genuine.body.replace(b"sms.sent", b"sms.failed"))

        with pytest.raises(InvalidSignature):
            desk.hear(forged)


class TestSend:
    def test_is_answered_as_in_the_models(self, client: Client) -> None:
        answer = client.send(number("02"), text="größer als € 5 😭", category="transactional")

        assert answer.status_code == 202
        assert fits(answer.json(), "SMSMessage")
        assert answer.json()["text"] == "größer als € 5 😭"
        assert answer.json()["segments"]["encoding"] == "UCS2"

    def test_keeps_no_code(self, client: Client) -> None:
        assert client.send(number("02")).json()["text"] == "**REDACTED**"

    @pytest.mark.parametrize(
        ("changes", "name", "param"),
        [
            ({"to": ""}, "ValidationError", "to"),
            ({"to": "14155550100"}, "SMSInvalidRecipient", "to"),
            ({"from": None}, "SMSNoEligibleSender", "from"),
            ({"from": "Much too long a name"}, "SMSSenderNotConfigured", "from"),
            ({"text": None}, "ValidationError", "text"),
            ({"text": "x" * 1837}, "ValidationError", "text"),
            ({"category": None}, "ValidationError", "category"),
            ({"metadata": {"a": "x" * 2048}}, "ValidationError", "metadata"),
            ({"tags": [{"name": "a b", "value": "c"}]}, "ValidationError", "tags"),
            ({"validity_period": 300}, "SMSUnsupportedFeature", "validity_period"),
        ],
    )
    def test_is_refused(self, client: Client, sandbox: Sandbox, changes: dict[str, Any], name: str, param: str) -> None:
        answer = client.send(**{"to": number("01"), **changes})

        error = answer.json()["error"]
        named = error.get("param") or error["details"][0]["param"]
        assert (answer.status_code, error["type"], error["name"], named) == (422, "validation_error", name, param)
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("body", [b"{", b"[]", b""])
    def test_must_be_json(self, client: Client, body: bytes) -> None:
        answer = client.http.post(client.url, data=body, timeout=10)

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E01002")

    @pytest.mark.parametrize("authorization", [None, "Bearer wrong", CREDENTIALS["api_key"]])
    def test_needs_the_key(self, client: Client, sandbox: Sandbox, authorization: str | None) -> None:
        client.http.headers["Authorization"] = authorization  # type: ignore[assignment]

        answer = client.send(number("01"))

        assert (answer.status_code, answer.json()["error"]["type"]) == (401, "auth_error")
        assert sandbox.counts().unknown_requests == 1


class TestIdempotencyKey:
    def test_repeated_gives_the_first_answer_and_no_second_message(
        self, client: Client, sandbox: Sandbox, product: Product
    ) -> None:
        first, again = (client.send(number("01"), key="key-1") for _ in range(2))

        assert sandbox.wait_idle(10)
        assert (again.status_code, again.content) == (202, first.content)
        assert "Idempotency-Replay" not in first.headers
        assert again.headers["Idempotency-Replay"] == "true"
        assert (sandbox.counts().taken, sandbox.counts().duplicates) == (1, ())
        assert [call.word for call in product.calls] == ["sms.sent", "sms.delivered"]

    def test_repeated_gives_the_first_refusal_too(self, client: Client) -> None:
        first, again = (client.send(number("04"), key="key-1") for _ in range(2))

        assert (again.status_code, again.content) == (422, first.content)
        assert again.headers["Idempotency-Replay"] == "true"

    def test_with_another_payload_is_refused(self, client: Client, sandbox: Sandbox) -> None:
        client.send(number("02"), key="key-1")

        answer = client.send(number("02"), key="key-1", text="Something else")

        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "E01005")
        assert sandbox.counts().taken == 1

    def test_other_or_none_is_another_message(self, client: Client, sandbox: Sandbox) -> None:
        for key in ("key-1", "key-2", None, None):
            client.send(number("02"), key=key)

        assert sandbox.counts().taken == 4

    def test_is_free_again_when_there_was_too_much_to_do(self, client: Client) -> None:
        statuses = [client.send(number("05"), key="key-1").status_code for _ in range(3)]

        assert statuses == [429, 429, 202]

    def test_is_forgotten_after_some_hours(
        self, client: Client, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client.send(number("02"), key="key-1")
        monkeypatch.setattr(vendor, "KEY_LIFE_SECONDS", 0)

        client.send(number("02"), key="key-1")

        assert sandbox.counts().taken == 2

    def test_is_forgotten_with_the_books(self, client: Client, sandbox: Sandbox) -> None:
        client.send(number("02"), key="key-1")
        sandbox.reset()

        assert client.send(number("02"), key="key-1", text="Something else").status_code == 202

    @pytest.mark.parametrize("key", ["", "x" * 256])
    def test_has_a_length(self, client: Client, key: str) -> None:
        answer = client.send(number("02"), key=key)

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E01002")

    def test_of_many_calls_at_once_one_is_taken(self, sandbox: Sandbox) -> None:
        answers: list[int] = []

        def call() -> None:
            client = Client(sandbox)
            answers.append(client.send(number("02"), key="key-1").status_code)
            client.http.close()

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

        assert answers == [202] * 8
        assert sandbox.counts().taken == 1

    def test_is_in_progress_while_the_first_call_runs(self) -> None:
        account = SandboxAccount(SLUG, "bird", CREDENTIALS)
        with Sandbox([account], pace=replace(PACE, slow_answer=SLOW_SECONDS)) as sandbox:
            client = Client(sandbox)
            with pytest.raises(requests.ReadTimeout):
                client.send(number("10"), key="key-1", timeout=0.2)

            during = client.send(number("10"), key="key-1")
            client.http.close()

        assert (during.status_code, during.json()["error"]["code"]) == (409, "E01004")
        assert sandbox.counts().taken == 1


class TestLookUp:
    def test_of_one_is_as_in_the_models(self, client: Client, sandbox: Sandbox) -> None:
        for role, status in (("01", "delivered"), ("03", "failed"), ("08", "rejected")):
            id = client.send(number(role)).json()["id"]
            assert sandbox.wait_idle(10)

            shown = client.get(f"/{id}").json()

            assert fits(shown, "SMSMessage")
            assert shown["status"] == status

    def test_of_many_is_by_recipient_and_newest_first(self, client: Client) -> None:
        ids = [client.send(number("02", person)).json()["id"] for person in (1, 2, 1, 1)]

        first = client.get(to=number("02", 1), limit="2").json()
        second = client.get(to=number("02", 1), limit="2", starting_after=first["next_cursor"]).json()

        assert [item["id"] for item in first["data"]] == [ids[3], ids[2]]
        assert [item["id"] for item in second["data"]] == [ids[0]]
        assert second["next_cursor"] is None
        assert client.get(direction="inbound").json()["data"] == []

    @pytest.mark.parametrize(
        ("span", "count"),
        [
            ({}, 1),
            ({"created_after": "2027-01-01T00:00:00Z", "created_before": "2026-01-01T00:00:00Z"}, 0),
            ({"created_after": "2026-01-01T00:00:00Z"}, 1),
            ({"created_before": "2026-01-01T00:00:00Z"}, 0),
        ],
    )
    def test_of_many_is_of_a_span_of_time(self, client: Client, span: dict[str, str], count: int) -> None:
        client.send(number("02"))

        assert len(client.get(**span).json()["data"]) == count
        assert client.get(created_after="soon").status_code == 422

    def test_of_nothing_is_refused(self, client: Client) -> None:
        assert client.get(f"/sms_{'0' * 26}").status_code == 404
        assert client.get(limit="101").status_code == 422

    def test_can_be_blind(self, client: Client, sandbox: Sandbox) -> None:
        id = client.send(number("02"), key="key-1").json()["id"]
        sandbox.set_faults(SLUG, look_up_blind=True)

        assert client.get(f"/{id}").status_code == 404
        assert client.get().json()["data"] == []
        assert client.send(number("02"), key="key-1").json()["id"] == id  # a key is no look-up


class TestWebhook:
    @pytest.mark.parametrize("role", ["01", "03", "08"])
    def test_is_as_in_the_models(self, client: Client, product: Product, sandbox: Sandbox, role: str) -> None:
        client.send(number(role))
        assert sandbox.wait_idle(10)

        assert product.calls
        assert all(fits(call.json, EVENTS[call.word]) for call in product.calls)

    def test_is_signed(self, client: Client, product: Product) -> None:
        client.send(number("01"))

        for call in product.wait_for(2):
            secret = base64.b64decode(CREDENTIALS["webhook_secret"].split("_")[1])
            text = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
            proof = base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
            assert call.headers["webhook-signature"] == f"v1,{proof}"
            assert abs(int(call.headers["webhook-timestamp"]) - time.time()) < 60

    def test_keeps_its_id_when_repeated(self, client: Client, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500 if number == 0 else 204

        client.send(number("08"))

        assert sandbox.wait_idle(10)
        assert [call.word for call in product.calls] == ["sms.rejected"] * 2
        assert len({call.headers["webhook-id"] for call in product.calls}) == 1

    def test_has_an_id_of_its_own(self, client: Client, product: Product) -> None:
        for _ in range(2):
            client.send(number("01"))

        assert len({call.headers["webhook-id"] for call in product.wait_for(4)}) == 4


def test_a_secret_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="base64"):
        Sandbox([SandboxAccount(SLUG, "bird", {**CREDENTIALS, "webhook_secret": "whsec_!"})])

"""MessageBird: the adapter against the sandbox, and what the sandbox says on the wire."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
)
from providers.messages import Account, EventKind, Found, NextPage, NotThere
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import PAYLOADS, SENDER, number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product
from tests.providers.sandbox.test_adapters import ATTEMPT, Desk, sms

CREDENTIALS = {"access_key": "live_EXAMPLE0000000000000", "signing_key": "messagebird-signing-key-0123456789abcdef"}
SLUG = "birds-a"


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    with Sandbox([SandboxAccount(SLUG, "messagebird", CREDENTIALS)], pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=2)
    yield transport
    transport.close()


@pytest.fixture
def desk(sandbox: Sandbox, transport: RequestsTransport, product: Product) -> Desk:
    account = Account(
        SLUG,
        CREDENTIALS,
        {"from": SENDER},
        base_url=sandbox.base_url(SLUG),
        callback_url=f"http://{product.host}/webhooks/{SLUG}/",
    )
    return Desk(connect("messagebird", account), transport, sms)


class Client:
    """Speaks as the vendor's documents say, and knows no adapter."""

    def __init__(self, sandbox: Sandbox, product: Product) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers["Authorization"] = f"AccessKey {CREDENTIALS['access_key']}"
        self.base_url = sandbox.base_url(SLUG)
        self.report_url = f"http://{product.host}/webhooks/{SLUG}/"

    def send(self, to: str, **changes: Any) -> requests.Response:
        recorded = payload("messagebird/send_request.json")
        asked = {**recorded, "recipients": [to.removeprefix("+")], "reportUrl": self.report_url, **changes}
        return self.http.post(f"{self.base_url}/messages", json=asked, timeout=10)

    def get(self, path: str) -> requests.Response:
        return self.http.get(f"{self.base_url}{path}", timeout=10)


@pytest.fixture
def client(sandbox: Sandbox, product: Product) -> Iterator[Client]:
    client = Client(sandbox, product)
    yield client
    client.http.close()


def claims_of(call: Call) -> dict[str, Any]:
    """Check a token and read it, written a second time."""
    signed, _, proof = call.headers["messagebird-signature-jwt"].rpartition(".")
    expected = hmac.new(CREDENTIALS["signing_key"].encode(), signed.encode(), hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(proof + "=") == expected
    claims = signed.partition(".")[2]
    content: dict[str, Any] = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return content


class TestAdapter:
    def test_delivers_and_tells(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("01"))

        calls = product.wait_for(2)
        events = [desk.hear(call) for call in calls]

        assert {call.method for call in calls} == {"GET"}
        assert (sent.provider_status, sent.segments) == ("sent", 1)
        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert desk.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_is_silent(self, desk: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = desk.send(number("02"))

        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert desk.status(sent.provider_message_id) == [EventKind.SENT]

    def test_fails_for_good_without_suppression(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("03"))

        event = desk.hear(product.wait_for(2)[-1])

        assert (event.kind, event.suppress, event.error_code) == (EventKind.FAILED, None, "11")
        assert desk.status(sent.provider_message_id) == [EventKind.FAILED]

    def test_tells_of_an_opt_out_afterwards(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("08"))

        event = desk.hear(product.wait_for(1)[0])

        assert (event.kind, event.suppress, event.attempt) == (EventKind.FAILED, "opted_out", ATTEMPT.id)
        assert desk.status(sent.provider_message_id) == [EventKind.FAILED]

    @pytest.mark.parametrize(
        ("role", "error"),
        [("04", InvalidRecipient), ("05", RateLimited), ("06", OutcomeUnknown), ("09", OutcomeUnknown)],
    )
    def test_says_no(self, desk: Desk, role: str, error: type[ProviderError]) -> None:
        with pytest.raises(error) as raised:
            desk.send(number(role))

        assert type(raised.value) is error
        assert raised.value.suppress is None

    def test_takes_it_when_it_is_no_longer_busy(self, desk: Desk, sandbox: Sandbox) -> None:
        for _ in range(2):
            with pytest.raises(RateLimited):
                desk.send(number("05"))

        assert desk.send(number("05")).provider_status == "sent"
        assert sandbox.counts().taken == 1

    def test_answers_late(self, desk: Desk) -> None:
        assert desk.send(number("10")).provider_status == "sent"

    def test_tells_the_same_twice_under_one_key(self, desk: Desk, product: Product) -> None:
        desk.send(number("07"))

        events = [desk.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, desk: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role))

        found = desk.find(number(role))

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id
        assert message.attempt == ATTEMPT.id

    def test_is_found_behind_other_pages(self, desk: Desk, client: Client) -> None:
        wanted = desk.send(number("02"))
        for index in range(120):
            client.send(number("02"), reference=f"another-{index}")

        first = desk.find(number("02"))

        assert first == NextPage("100")
        found = desk.find(number("02"), first.page)
        assert isinstance(found, Found)
        assert found.provider_message_id == wanted.provider_message_id

    def test_is_not_there_when_it_was_never_sent(self, desk: Desk, client: Client) -> None:
        client.send(number("02"), reference="somebody-else-1")

        assert desk.find(number("02")) == NotThere()

    def test_is_not_there_while_the_list_lags(self, desk: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults(SLUG, look_up_lag_seconds=3600)
        desk.send(number("02"))

        assert desk.find(number("02")) == NotThere()

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"accept_then_drop": True}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 2, "message": "access_key"}}, AuthenticationFailed),
            ({"refuse": {"status": 422, "code": 25}}, InsufficientBalance),
            ({"refuse": {"status": 422, "code": 10, "message": "originator"}}, SenderNotAllowed),
            ({"refuse": {"status": 422, "code": 10, "message": "body"}}, ContentRejected),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
        ],
    )
    def test_has_faults(self, desk: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults(SLUG, **fault)

        with pytest.raises(error) as raised:
            desk.send(number("01"))

        assert type(raised.value) is error
        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_report_that_was_changed(self, desk: Desk, product: Product) -> None:
        desk.send(number("03"))
        genuine = product.wait_for(2)[-1]

        forged = Call(genuine.url.replace("delivery_failed", "delivered"), genuine.headers, genuine.body)

        with pytest.raises(InvalidSignature):
            desk.hear(forged)


class TestSend:
    def test_is_answered_as_in_the_example(self, client: Client) -> None:
        answer = client.send(number("02"))

        recorded = payload("messagebird/send_response_201.json")
        assert answer.status_code == 201
        assert shape(answer.json()) == shape(recorded)
        own = {"id", "href", "createdDatetime", "recipients"}
        assert {k: v for k, v in answer.json().items() if k not in own} == {
            k: v for k, v in recorded.items() if k not in own
        }

    @pytest.mark.parametrize(
        ("changes", "code", "parameter"),
        [
            ({"originator": None}, 9, "originator"),
            ({"originator": "Much too long a name"}, 10, "originator"),
            ({"recipients": []}, 9, "recipients"),
            ({"recipients": ["nobody"]}, 9, "recipients"),
            ({"recipients": "14155550100,14155550101"}, 10, "recipients"),
            ({"recipients": {"a": 1}}, 10, "recipients"),
            ({"body": ""}, 9, "body"),
            ({"datacoding": "latin"}, 10, "datacoding"),
            ({"validity": 0}, 10, "validity"),
            ({"validity": "300"}, 10, "validity"),
            ({"reference": "x" * 129}, 10, "reference"),
            ({"reportUrl": 7}, 10, "reportUrl"),
        ],
    )
    def test_is_refused(
        self, client: Client, sandbox: Sandbox, changes: dict[str, Any], code: int, parameter: str
    ) -> None:
        answer = client.send(number("01"), **changes)

        [error] = answer.json()["errors"]
        assert (answer.status_code, error["code"], error["parameter"]) == (422, code, parameter)
        assert sandbox.counts().taken == 0

    def test_refusals_are_worded_as_in_the_examples(self, client: Client, sandbox: Sandbox) -> None:
        assert client.send(number("04")).json() == payload("messagebird/error_422_9.json")
        assert client.send(number("01"), originator="?").json() == payload("messagebird/error_422_10.json")
        sandbox.set_faults(SLUG, refuse={"status": 422, "code": 25})
        assert client.send(number("01")).json() == payload("messagebird/error_422_25.json")

    @pytest.mark.parametrize("body", [b"{", b"[]", b""])
    def test_must_be_json(self, client: Client, body: bytes) -> None:
        answer = client.http.post(f"{client.base_url}/messages", data=body, timeout=10)

        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, 21)

    @pytest.mark.parametrize("authorization", [None, "AccessKey wrong", f"Bearer {CREDENTIALS['access_key']}"])
    def test_needs_the_key(self, client: Client, sandbox: Sandbox, authorization: str | None) -> None:
        client.http.headers["Authorization"] = authorization  # type: ignore[assignment]

        answer = client.send(number("01"))

        assert (answer.status_code, answer.json()) == (401, payload("messagebird/error_401_2.json"))
        assert sandbox.counts().unknown_requests == 1

    def test_recipients_may_be_a_text(self, client: Client, sandbox: Sandbox) -> None:
        assert client.send("", recipients=number("02")).status_code == 201

        [(_, message)] = sandbox.messages()
        assert message.to == number("02")

    @pytest.mark.parametrize(
        ("coding", "text", "shown"),
        [("auto", "größer € 5", "plain"), ("auto", "😭", "unicode"), ("unicode", "a", "unicode")],
    )
    def test_coding_fits_the_text(self, client: Client, coding: str, text: str, shown: str) -> None:
        assert client.send(number("02"), datacoding=coding, body=text).json()["datacoding"] == shown


class TestLookUp:
    def test_of_one_is_its_record(self, client: Client, sandbox: Sandbox) -> None:
        taken = client.send(number("03")).json()
        assert sandbox.wait_idle(10)

        shown = client.get(f"/messages/{taken['id']}").json()

        [recipient] = shown["recipients"]["items"]
        assert (recipient["status"], recipient["statusErrorCode"]) == ("delivery_failed", 11)
        assert shown["recipients"]["totalDeliveryFailedCount"] == 1

    def test_of_many_begins_with_the_newest(self, client: Client) -> None:
        for index in range(5):
            client.send(number("02"), reference=f"r-{index}")

        page = client.get("/messages?limit=2&offset=1").json()

        assert [item["reference"] for item in page["items"]] == ["r-3", "r-2"]
        assert (page["offset"], page["limit"], page["count"], page["totalCount"]) == (1, 2, 2, 5)

    @pytest.mark.parametrize(
        ("path", "status", "code"),
        [
            (f"/messages/{'0' * 32}", 404, 20),
            ("/balance", 404, 98),
            ("/messages?limit=201", 422, 10),
            ("/messages?offset=x", 422, 10),
        ],
    )
    def test_of_nothing_is_refused(self, client: Client, path: str, status: int, code: int) -> None:
        answer = client.get(path)

        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)

    def test_can_be_blind(self, client: Client, sandbox: Sandbox) -> None:
        id = client.send(number("02")).json()["id"]
        sandbox.set_faults(SLUG, look_up_blind=True)

        assert client.get(f"/messages/{id}").status_code == 404
        assert client.get("/messages").json()["items"] == []


class TestReport:
    def test_is_as_in_the_example(self, client: Client, product: Product) -> None:
        client.send(number("01"))

        call = product.wait_for(2)[-1]

        recorded = dict(parse_qsl((PAYLOADS / "messagebird" / "callback_delivered.txt").read_text().strip()))
        told = dict(parse_qsl(urlsplit(call.url).query))
        assert list(told) == list(recorded)
        own = {"id", "recipient", "statusDatetime"}
        assert {k: v for k, v in told.items() if k not in own} == {k: v for k, v in recorded.items() if k not in own}
        assert (call.method, call.body) == ("GET", b"")

    def test_is_signed(self, client: Client, product: Product) -> None:
        client.send(number("01"))

        for call in product.wait_for(2):
            claims = claims_of(call)
            assert set(claims) == {"iss", "nbf", "exp", "jti", "url_hash"}
            assert claims["iss"] == "MessageBird"
            assert claims["url_hash"] == hashlib.sha256(call.url.encode()).hexdigest()

    def test_keeps_what_the_address_asks(self, client: Client, product: Product) -> None:
        client.send(number("01"), reportUrl=f"{client.report_url}?k=v")

        assert dict(parse_qsl(urlsplit(product.wait_for(1)[0].url).query))["k"] == "v"

    def test_is_only_of_what_has_a_reference(self, client: Client, product: Product, sandbox: Sandbox) -> None:
        client.send(number("01"), reference=None)

        assert sandbox.wait_idle(10)
        assert product.calls == []

    def test_is_repeated_until_it_is_answered_200(self, client: Client, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500 if number == 0 else 200

        client.send(number("08"))

        assert sandbox.wait_idle(10)
        assert len(product.calls) == 2
        assert len({call.url for call in product.calls}) == 1

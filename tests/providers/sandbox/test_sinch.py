"""Sinch: roles, refusals, lists, signed callbacks; and what the product's own adapter makes of them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import requests

from providers.errors import (
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
)
from providers.messages import (
    Account,
    AttemptRef,
    CannotTell,
    EventKind,
    Found,
    HttpRequest,
    HttpResponse,
    NextPage,
    NotThere,
    SentMessage,
)
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import SENDER, eventually, number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product
from tests.providers.sandbox.test_adapters import ATTEMPT, DEADLINE_SECONDS, Desk, sms

CREDENTIALS = {
    "service_plan_id": "jd63jf88477ll123ab4567cd89012ef3",
    "api_token": "token-000000000000000000000001",
    "webhook_secret": "sinch-hmac-secret-0001",
}
BY_PASSWORD = CREDENTIALS | {"service_plan_id": "plan-2", "webhook_secret": ""}
BY_PASSWORD |= {"webhook_user": "sinch", "webhook_password": "p4ss"}
MODELS = json.loads((Path(__file__).parents[1] / "specs" / "sinch-derived.json").read_text())["$defs"]


class SinchDesk(Desk):
    """Authorizes each call just before it leaves, as the product does."""

    def ask(self, request: HttpRequest, deadline_seconds: float = DEADLINE_SECONDS) -> HttpResponse:
        return super().ask(self.adapter.authorize(request, datetime.now(UTC)), deadline_seconds)


class Client:
    """Knows no adapter: says what the vendor's documentation says."""

    def __init__(self, sandbox: Sandbox, callback_url: str) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers["Authorization"] = f"Bearer {CREDENTIALS['api_token']}"
        self.url = f"{sandbox.base_url('sms-s')}/xms/v1/{CREDENTIALS['service_plan_id']}/batches"
        self.callback_url = callback_url

    def send(self, to: Any, **fields: Any) -> requests.Response:
        own = {"to": [to] if isinstance(to, str) else to, "callback_url": self.callback_url, "expire_at": None}
        asked = payload("sinch/send_request.json") | own | fields
        return self.http.post(
            self.url, json={name: value for name, value in asked.items() if value is not None}, timeout=10
        )

    def get(self, resource: str = "", **query: Any) -> requests.Response:
        return self.http.get(f"{self.url}{resource}", params=query, timeout=10)


def fits(content: Any, model: str) -> None:
    jsonschema.validate(content, {**MODELS[model], "additionalProperties": False, "$defs": MODELS})


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    accounts = [
        SandboxAccount("sms-s", "sinch", CREDENTIALS),
        SandboxAccount("sms-q", "sinch", BY_PASSWORD, f"http://{product.host}/webhooks/sms-q/"),
    ]
    with Sandbox(accounts, pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def sinch(sandbox: Sandbox, product: Product) -> Iterator[Client]:
    client = Client(sandbox, f"http://{product.host}/webhooks/sms-s/")
    yield client
    client.http.close()


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=2)
    yield transport
    transport.close()


@pytest.fixture
def desk(sandbox: Sandbox, product: Product, transport: RequestsTransport) -> Desk:
    account = Account(
        "sms-s",
        CREDENTIALS,
        {"from": SENDER},
        base_url=sandbox.base_url("sms-s"),
        callback_url=f"http://{product.host}/webhooks/sms-s/",
    )
    return SinchDesk(connect("sinch", account), transport, sms)


class TestSend:
    def test_is_answered_as_in_the_example(self, sinch: Client) -> None:
        expire_at = in_days(1)
        answer = sinch.send("+14155550100", expire_at=expire_at)

        expected = payload("sinch/send_response_201.json")
        shown = answer.json()
        assert answer.status_code == 201
        own = {name: shown[name] for name in ("id", "created_at", "modified_at", "send_at")}
        assert shown == expected | own | {"expire_at": expire_at, "callback_url": sinch.callback_url}
        assert {name: len(shown[name]) for name in own} == {name: len(expected[name]) for name in own}
        fits(shown, "TextResponse")

    @pytest.mark.parametrize(
        ("change", "status", "code"),
        [
            ({"to": []}, 400, "syntax_constraint_violation"),
            ({"to": None}, 400, "syntax_constraint_violation"),
            ({"to": ["14155550100", "14155550101"]}, 400, "syntax_constraint_violation"),
            ({"to": ["+1"]}, 400, "syntax_invalid_parameter_format"),
            ({"to": [7]}, 400, "syntax_invalid_parameter_format"),
            ({"body": ""}, 400, "syntax_constraint_violation"),
            ({"body": "x" * 1601}, 400, "syntax_constraint_violation"),
            ({"from": "much too long a name"}, 400, "syntax_invalid_parameter_format"),
            ({"type": "mt_binary"}, 400, "syntax_invalid_parameter_format"),
            ({"delivery_report": "sometimes"}, 400, "syntax_invalid_parameter_format"),
            ({"callback_url": "nowhere"}, 400, "syntax_invalid_parameter_format"),
            ({"callback_url": None}, 403, "missing_callback_url"),
            ({"client_reference": "x" * 129}, 400, "syntax_constraint_violation"),
            ({"expire_at": "soon"}, 400, "syntax_invalid_parameter_format"),
            ({"expire_at": "2026-01-15T10:05:00.000Z"}, 400, "syntax_constraint_violation"),
            ({"parameters": ["x"]}, 400, "syntax_invalid_parameter_format"),
        ],
    )
    def test_is_refused(self, sinch: Client, sandbox: Sandbox, change: dict[str, Any], status: int, code: str) -> None:
        answer = sinch.send(**{"to": number("01")} | change)

        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert set(answer.json()) == set(payload("sinch/error_400_format.json"))
        assert sandbox.counts().taken == 0

    def test_may_not_expire_too_late(self, sinch: Client) -> None:
        assert sinch.send(number("01"), expire_at=in_days(3.1)).status_code == 400
        assert sinch.send(number("01"), expire_at=in_days(2.9)).status_code == 201

    @pytest.mark.parametrize("body", [b"{", b"[]"])
    def test_must_be_json(self, sinch: Client, body: bytes) -> None:
        answer = sinch.http.post(sinch.url, data=body, timeout=10)

        assert (answer.status_code, answer.json()["code"]) == (400, "syntax_invalid_json")

    @pytest.mark.parametrize("authorization", [None, "Bearer wrong", f"Basic {CREDENTIALS['api_token']}"])
    def test_needs_the_token(self, sinch: Client, sandbox: Sandbox, authorization: str | None) -> None:
        sinch.http.headers["Authorization"] = authorization  # type: ignore[assignment]

        answer = sinch.send(number("01"))

        assert (answer.status_code, answer.content) == (401, b"")
        assert sandbox.counts().taken == 0

    def test_to_a_plan_that_is_none_is_not_authorized(self, sinch: Client, sandbox: Sandbox) -> None:
        sinch.url = sinch.url.replace("jd63", "jd64")

        assert sinch.send(number("01")).status_code == 401
        assert sandbox.counts().unknown_requests == 1

    @pytest.mark.parametrize(
        ("body", "parameters", "text"),
        [
            ("Hi ${name}!", {"name": {"default": "Ana"}}, "Hi Ana!"),
            ("Hi ${name}!", {"name": {"14155550100": "Rui", "default": "Ana"}}, "Hi Rui!"),
            ("Hi ${name}!", {"name": {"+14155550100": "Rui"}}, "Hi Rui!"),
            ("${a}{b}", {"a": {"default": "$"}}, "${b}"),  # what was filled in is not looked at again
        ],
    )
    def test_fills_in_parameters(
        self, sinch: Client, sandbox: Sandbox, body: str, parameters: dict[str, Any], text: str
    ) -> None:
        sinch.send("+14155550100", body=body, parameters=parameters)

        [(_, message)] = sandbox.messages()
        assert message.text == text

    def test_aborts_what_it_cannot_fill_in(self, sinch: Client, product: Product) -> None:
        sinch.send(number("01"), body="Hi ${name}!")

        [call] = product.wait_for(1)
        assert (call.json["status"], call.json["code"]) == ("Aborted", 405)


class TestLookUp:
    def test_is_as_in_the_example(self, sinch: Client) -> None:
        id = sinch.send("14155550100").json()["id"]

        assert set(sinch.get(f"/{id}").json()) == set(payload("sinch/get_batch_200.json"))

    @pytest.mark.parametrize("role", ["01", "02"])
    def test_reports_are_as_in_the_examples(self, sinch: Client, sandbox: Sandbox, role: str) -> None:
        id = sinch.send(number(role)).json()["id"]
        assert sandbox.wait_idle(10)
        status = {"01": ("Delivered", 0), "02": ("Queued", 400)}[role]

        full = sinch.get(f"/{id}/delivery_report", type="full").json()
        summary = sinch.get(f"/{id}/delivery_report").json()
        single = sinch.get(f"/{id}/delivery_report/{number(role)}").json()

        expected = payload("sinch/delivery_report_full_200.json")
        [told] = full["statuses"]
        assert shape(full) == shape(expected)
        assert (told["status"], told["code"]) == (single["status"], single["code"]) == status
        assert shape(summary) == shape(payload("sinch/callback_summary.json"))
        assert shape(single) == shape(payload("sinch/callback_recipient_delivered.json"))
        fits(full, "BatchDeliveryReport")
        fits(single, "RecipientDeliveryReport")

    def test_of_what_is_none_is_refused(self, sinch: Client) -> None:
        id = sinch.send(number("02")).json()["id"]

        for resource in ("/01X", "/01X/delivery_report", f"/{id}/delivery_report/14155550100"):
            assert sinch.get(resource).status_code == 404
        assert sinch.http.delete(f"{sinch.url}/{id}", timeout=10).status_code == 405

    def test_list_is_as_in_the_examples(self, sinch: Client) -> None:
        sinch.send(number("02"))

        found = sinch.get(client_reference="ntf-0001-a1").json()
        none = sinch.get(client_reference="ntf-0001-a2").json()

        expected = payload("sinch/list_batches_200_by_client_reference.json")
        assert found | {"batches": []} == expected | {"batches": []}
        assert [set(batch) for batch in found["batches"]] == [set(expected["batches"][0])]
        assert none == payload("sinch/list_batches_200_empty.json")

    @pytest.mark.parametrize(
        ("query", "count"),
        [
            ({}, 3),
            ({"from": "15005550006"}, 3),
            ({"from": "12345, 15005550006"}, 3),
            ({"from": "12345"}, 0),
            ({"start_date": "2026-01-15T10:00:00Z"}, 3),
            ({"end_date": "2026-01-15T10:00:00.000Z"}, 0),
        ],
    )
    def test_list_filters(self, sinch: Client, query: dict[str, str], count: int) -> None:
        for _ in range(3):
            sinch.send(number("02"))

        assert sinch.get(**query).json()["count"] == count

    def test_list_of_reports_shows_what_there_is_to_tell(self, sinch: Client, sandbox: Sandbox) -> None:
        ids = [sinch.send(number(role)).json()["id"] for role in ("01", "02", "03")]
        assert sandbox.wait_idle(10)
        url = sinch.url.removesuffix("batches") + "delivery_reports"

        shown = sinch.http.get(url, params={"page_size": 1, "page": 1}, timeout=10).json()
        none = sinch.http.get(url, params={"end_date": "2026-01-15T10:00:00Z"}, timeout=10).json()

        [report] = shown.pop("delivery_reports")
        fits(report, "RecipientDeliveryReport")
        assert (report["batch_id"], report["status"]) == (ids[0], "Delivered")
        assert shown == {"count": 2, "page": 1, "page_size": 1}  # the queued one has no report yet
        assert none["delivery_reports"] == []

    def test_list_has_pages(self, sinch: Client) -> None:
        ids = [sinch.send(number("02")).json()["id"] for _ in range(5)]

        pages = [sinch.get(page=page, page_size=2).json() for page in (0, 1, 2, 3)]

        assert [batch["id"] for page in pages for batch in page["batches"]] == ids[::-1]
        assert {page["count"] for page in pages} == {5}

    @pytest.mark.parametrize("query", [{"page": -1}, {"page_size": 101}, {"page_size": "x"}, {"start_date": "soon"}])
    def test_list_has_limits(self, sinch: Client, query: dict[str, Any]) -> None:
        assert sinch.get(**query).status_code == 400

    def test_can_be_blind_and_lag(self, sinch: Client, sandbox: Sandbox) -> None:
        id = sinch.send(number("02")).json()["id"]
        sandbox.set_faults("sms-s", look_up_lag_seconds=3600)
        assert sinch.get().json()["count"] == 0
        assert sinch.get(f"/{id}/delivery_report").status_code == 200

        sandbox.set_faults("sms-s", look_up_blind=True)
        assert sinch.get(f"/{id}/delivery_report").status_code == 404


class TestCallback:
    @pytest.mark.parametrize(
        ("role", "told"),
        [
            ("01", [("Dispatched", 401), ("Delivered", 0)]),
            ("03", [("Dispatched", 401), ("Aborted", 402)]),
            ("08", [("Deleted", 1)]),
            ("02", []),
        ],
    )
    def test_is_as_in_the_example(
        self, sinch: Client, product: Product, sandbox: Sandbox, role: str, told: list[tuple[str, int]]
    ) -> None:
        sinch.send(number(role))

        assert sandbox.wait_idle(10)

        assert [(call.json["status"], call.json["code"]) for call in product.calls] == told
        for call in product.calls:
            assert shape(call.json) == shape(payload("sinch/callback_recipient_delivered.json"))
            fits(call.json, "RecipientDeliveryReport")

    @pytest.mark.parametrize(
        ("kind", "count", "type_"),
        [
            ("none", 0, ""),
            ("summary", 1, "delivery_report_sms"),
            ("full", 1, "delivery_report_sms"),
            ("per_recipient", 2, "recipient_delivery_report_sms"),
            ("per_recipient_final", 1, "recipient_delivery_report_sms"),
        ],
    )
    def test_is_of_the_kind_asked_for(
        self, sinch: Client, product: Product, sandbox: Sandbox, kind: str, count: int, type_: str
    ) -> None:
        sinch.send(number("01"), delivery_report=kind)

        assert sandbox.wait_idle(10)
        assert [call.json["type"] for call in product.calls] == [type_] * count

    def test_is_signed(self, sinch: Client, product: Product) -> None:
        sinch.send(number("01"))

        for call in product.wait_for(2):
            name = "x-sinch-webhook-signature"
            text = b".".join(
                (call.body, call.headers[f"{name}-nonce"].encode(), call.headers[f"{name}-timestamp"].encode())
            )
            proof = hmac.new(CREDENTIALS["webhook_secret"].encode(), text, hashlib.sha256).digest()
            assert call.headers[name] == base64.b64encode(proof).decode()
            assert abs(int(call.headers[f"{name}-timestamp"]) - time.time()) < 60

    @pytest.mark.parametrize("status", [500, 503, 429, None])
    def test_comes_again_after_some_failures(
        self, sinch: Client, product: Product, sandbox: Sandbox, status: int | None
    ) -> None:
        product.status = lambda number: status if number == 0 else 200

        sinch.send(number("08"))

        assert sandbox.wait_idle(10)
        assert len(product.calls) == 2

    @pytest.mark.parametrize("status", [400, 401, 403, 404])
    def test_is_lost_after_others(self, sinch: Client, product: Product, sandbox: Sandbox, status: int) -> None:
        product.status = lambda number: status

        sinch.send(number("08"))

        assert sandbox.wait_idle(10)
        assert len(product.calls) == 1


class TestAdapter:
    def test_delivers_and_tells(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("01"))

        events = [desk.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert eventually(lambda: desk.status(sent.provider_message_id), bool) == [EventKind.DELIVERED]

    def test_says_when_it_expires(self, desk: Desk, sandbox: Sandbox) -> None:
        desk.send(number("02"))

        [(_, message)] = sandbox.messages()
        expire_at = datetime.fromisoformat(message.content.asked["expire_at"]).timestamp()
        assert abs(expire_at - message.taken_at - 300) < 10

    def test_silent_is_told_by_its_status_alone(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("02"))

        assert desk.status(sent.provider_message_id) == [EventKind.ACCEPTED]
        assert product.calls == []

    def test_tells_the_same_twice_under_one_key(self, desk: Desk, product: Product) -> None:
        desk.send(number("07"))

        events = [desk.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    @pytest.mark.parametrize(("role", "calls"), [("03", 2), ("08", 1)])
    def test_fails_for_good_without_suppression(self, desk: Desk, product: Product, role: str, calls: int) -> None:
        sent = desk.send(number(role))

        event = desk.hear(product.wait_for(calls)[-1])

        assert (event.kind, event.suppress) == (EventKind.FAILED, None)
        assert desk.status(sent.provider_message_id) == [EventKind.FAILED]

    @pytest.mark.parametrize(
        ("role", "error", "suppress"),
        [
            ("04", InvalidRecipient, "invalid"),
            ("05", RateLimited, None),
            ("06", OutcomeUnknown, None),
            ("09", OutcomeUnknown, None),
        ],
    )
    def test_says_no(self, desk: Desk, role: str, error: type[ProviderError], suppress: str | None) -> None:
        with pytest.raises(error) as raised:
            desk.send(number(role))

        assert raised.value.suppress == suppress

    def test_takes_it_the_third_time(self, desk: Desk) -> None:
        for _ in range(2):
            with pytest.raises(RateLimited):
                desk.send(number("05"))

        assert desk.send(number("05")).provider_message_id

    def test_slow_is_answered_late(self, desk: Desk) -> None:
        began_at = time.monotonic()

        assert desk.send(number("10")).provider_message_id
        assert time.monotonic() - began_at >= PACE.slow_answer

    @pytest.mark.parametrize("text", ["Your code is 123456", "Hello ${name}, that is ${5}"])
    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, desk: Desk, sandbox: Sandbox, role: str, text: str) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role), text=text)

        found = desk.find(number(role), text=text)

        [(_, message)] = sandbox.messages()
        assert found == Found(message.id)
        assert (message.attempt, message.to, message.text) == (ATTEMPT.id, number(role), text)

    def test_is_found_among_others_to_the_same_number(self, desk: Desk) -> None:
        wanted = desk.send(number("02"))
        desk.send(number("02"), AttemptRef("another-1"))

        assert desk.find(number("02")) == Found(wanted.provider_message_id or "")

    def test_is_not_there_when_it_was_never_sent(self, desk: Desk) -> None:
        desk.send(number("02"), AttemptRef("another-1"))

        assert desk.find(number("02")) == NotThere()

    def test_is_not_there_while_the_list_lags(self, desk: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-s", look_up_lag_seconds=3600)
        desk.send(number("02"))

        assert desk.find(number("02")) == NotThere()

    def test_nothing_is_said_by_a_list_that_is_refused(self, desk: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-s", rate_limit=1)

        assert isinstance(desk.find(number("02")), CannotTell)

    def test_another_attempt_of_the_message_is_found_behind_other_pages(self, desk: Desk) -> None:
        wanted = desk.send(number("02"), AttemptRef(f"{ATTEMPT.message}-7"))
        for _ in range(150):
            desk.send(number("02"), AttemptRef("another-1"))
        sent = SentMessage(sms(number("02")), ATTEMPT, desk.began_at, DEADLINE_SECONDS, any_attempt=True)

        first = desk.adapter.find_result(desk.ask(desk.adapter.find_request(sent)), sent)
        assert first == NextPage("1")

        assert isinstance(first, NextPage)
        second = desk.adapter.find_result(desk.ask(desk.adapter.find_request(sent, first.page)), sent)
        assert second == Found(wanted.provider_message_id or "")

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "status_500"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 400, "code": 0}}, InvalidRequest),
            ({"refuse": {"status": 403, "code": 0, "message": "unknown_campaign"}}, SenderNotAllowed),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, desk: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("sms-s", **fault)

        with pytest.raises(error) as raised:
            desk.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_callback_that_was_changed(self, desk: Desk, product: Product) -> None:
        desk.send(number("01"))
        genuine = product.wait_for(2)[0]

        forged = Call(genuine.url, genuine.headers, genuine.body.replace(b"Dispatched", b"Delivered"))

        with pytest.raises(InvalidSignature):
            desk.hear(forged)

    def test_a_report_that_was_not_believed_comes_again(self, desk: Desk, product: Product, sandbox: Sandbox) -> None:
        """As the product answers while its own secret is not yet the new one."""
        product.status = lambda number: desk.adapter.refused_webhook_status if number == 0 else 200

        desk.send(number("08"))

        assert sandbox.wait_idle(10)
        assert [desk.hear(call).kind for call in product.calls] == [EventKind.FAILED] * 2

    def test_believes_user_and_password_of_a_plan_that_does_not_sign(
        self, sandbox: Sandbox, product: Product, transport: RequestsTransport
    ) -> None:
        account = Account(
            "sms-q",
            BY_PASSWORD,
            base_url=sandbox.base_url("sms-q"),
            callback_url=f"http://{product.host}/webhooks/sms-q/",
        )
        desk = SinchDesk(connect("sinch", account), transport, sms)
        desk.send(number("01"))

        calls = product.wait_for(2)

        assert [desk.hear(call).kind for call in calls] == [EventKind.SENT, EventKind.DELIVERED]
        forged = {name: value for name, value in calls[0].headers.items() if name != "authorization"}
        with pytest.raises(InvalidSignature):
            desk.hear(Call(calls[0].url, forged, calls[0].body))

"""Plivo: roles, refusals, lists, signed callbacks; and what the product's own adapter makes of them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

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
    SenderNotAllowed,
    UnknownRefusal,
)
from providers.messages import (
    Account,
    AttemptRef,
    CannotTell,
    EventKind,
    Found,
    NotThere,
    SentMessage,
    WebhookRequest,
)
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import PAYLOADS, SENDER, eventually, number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product
from tests.providers.sandbox.test_adapters import ATTEMPT, DEADLINE_SECONDS, Desk, sms

CREDENTIALS = {"auth_id": "MAXXXXXXXXXXXXXXXXXX", "auth_token": "plivo-auth-token-000000000000000000000001"}


class Client:
    """Knows no adapter: says what the vendor's documentation says."""

    def __init__(self, sandbox: Sandbox, callback_url: str) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.auth = (CREDENTIALS["auth_id"], CREDENTIALS["auth_token"])
        self.url = f"{sandbox.base_url('sms-p')}/v1/Account/{CREDENTIALS['auth_id']}/Message/"
        self.callback_url = callback_url

    def send(self, dst: Any, **fields: Any) -> requests.Response:
        asked = payload("plivo/send_request.json") | {"dst": dst, "url": f"{self.callback_url}?attempt=p-1"} | fields
        return self.http.post(
            self.url, json={name: value for name, value in asked.items() if value is not None}, timeout=10
        )

    def list(self, **query: Any) -> requests.Response:
        return self.http.get(self.url, params=query, timeout=10)

    def fetch(self, uuid: str) -> requests.Response:
        return self.http.get(f"{self.url}{uuid}/", timeout=10)


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    with Sandbox([SandboxAccount("sms-p", "plivo", CREDENTIALS)], pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def plivo(sandbox: Sandbox, product: Product) -> Iterator[Client]:
    client = Client(sandbox, f"http://{product.host}/webhooks/sms-p/")
    yield client
    client.http.close()


@pytest.fixture
def desk(sandbox: Sandbox, product: Product) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=2)
    account = Account(
        "sms-p",
        CREDENTIALS,
        {"from": SENDER},
        base_url=sandbox.base_url("sms-p"),
        callback_url=f"http://{product.host}/webhooks/sms-p/",
    )
    yield Desk(connect("plivo", account), transport, sms)
    transport.close()


def form_example(name: str) -> dict[str, str]:
    return dict(parse_qsl((PAYLOADS / "plivo" / name).read_text().strip(), keep_blank_values=True))


class TestSend:
    def test_is_answered_as_in_the_example(self, plivo: Client) -> None:
        answer = plivo.send("+14155550100")

        assert answer.status_code == 202
        assert shape(answer.json()) == shape(payload("plivo/send_response_202.json"))
        assert answer.json()["message"] == "message(s) queued"

    @pytest.mark.parametrize(
        "change",
        [
            {"dst": ""},
            {"dst": "12"},
            {"dst": "491510000000000001"},
            {"dst": "14155550100<14155550101"},
            {"dst": "15005550006"},  # the sender itself
            {"src": None},
            {"powerpack_uuid": "pp-1"},  # beside a sender
            {"src": "no number at all!"},
            {"text": ""},
            {"text": "x" * 1601},
            {"text": "ж" * 738},
            {"type": "fax"},
            {"method": "PUT"},
            {"url": "ftp://example.org/"},
            {"message_expiry": 4},
            {"message_expiry": 10800},
            {"message_expiry": "300"},
        ],
    )
    def test_is_refused(self, plivo: Client, sandbox: Sandbox, change: dict[str, Any]) -> None:
        answer = plivo.send(**{"dst": number("01")} | change)

        assert answer.status_code == 400
        assert shape(answer.json()) == shape(payload("plivo/error_400.json"))
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("change", [{"text": "x" * 1600}, {"text": "ж" * 737}, {"message_expiry": 10799}])
    def test_is_taken_within_the_limits(self, plivo: Client, change: dict[str, Any]) -> None:
        assert plivo.send(number("01"), **change).status_code == 202

    def test_takes_a_powerpack(self, plivo: Client) -> None:
        assert plivo.send(number("01"), src=None, powerpack_uuid="pp-1").status_code == 202

    @pytest.mark.parametrize("body", [b"{", b"[]"])
    def test_must_be_json(self, plivo: Client, body: bytes) -> None:
        assert plivo.http.post(plivo.url, data=body, timeout=10).status_code == 400

    def test_to_a_number_that_is_none_is_answered_as_one_of_many(self, plivo: Client, sandbox: Sandbox) -> None:
        answer = plivo.send(number("04"))

        assert answer.status_code == 202
        assert set(answer.json()) == set(payload("plivo/send_response_202_some_invalid.json"))
        assert (answer.json()["message_uuid"], answer.json()["invalid_number"]) == ([], [number("04")])
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("auth", [None, (CREDENTIALS["auth_id"], "wrong"), ("MA1", CREDENTIALS["auth_token"])])
    def test_needs_id_and_token(self, plivo: Client, sandbox: Sandbox, auth: tuple[str, str] | None) -> None:
        plivo.http.auth = auth

        answer = plivo.send(number("01"))

        assert answer.status_code == 401
        assert shape(answer.json()) == shape(payload("plivo/error_401.json"))
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize(("method", "path", "status"), [("DELETE", "", 405), ("GET", "x/", 404)])
    def test_is_the_only_other_thing(self, plivo: Client, method: str, path: str, status: int) -> None:
        answer = plivo.http.request(method, plivo.url + path, timeout=10)

        assert answer.status_code == status
        assert shape(answer.json()) == shape(payload("plivo/error_404.json"))

    def test_without_the_slash_is_nowhere(self, plivo: Client) -> None:
        answer = plivo.http.post(plivo.url.removesuffix("/"), json=payload("plivo/send_request.json"), timeout=10)

        assert answer.status_code == 404


class TestLookUp:
    def test_is_as_in_the_example(self, plivo: Client, sandbox: Sandbox) -> None:
        expected = payload("plivo/get_200_delivered.json")
        [uuid] = plivo.send("14155550100").json()["message_uuid"]
        assert sandbox.wait_idle(10)

        shown = plivo.fetch(uuid).json()

        own = {name: shown[name] for name in ("api_id", "resource_uri", *shown) if "time" in name or name == "api_id"}
        assert shown == expected | own | {
            "message_uuid": uuid,
            "resource_uri": expected["resource_uri"].replace(expected["message_uuid"], uuid),
        }
        assert {name: len(shown[name]) for name in own} == {name: len(expected[name]) for name in own}

    def test_list_is_as_in_the_example(self, plivo: Client) -> None:
        plivo.send("14155550199")

        page = plivo.list(to_number="+14155550199").json()

        expected = payload("plivo/list_200_reconcile.json")
        assert (page["meta"], set(page)) == (expected["meta"], set(expected))
        assert [set(record) for record in page["objects"]] == [set(expected["objects"][0])]

    def test_list_has_pages_of_20(self, plivo: Client) -> None:
        uuids = [plivo.send(number("02")).json()["message_uuid"][0] for _ in range(45)]

        pages = [plivo.list(to_number=number("02"), offset=offset).json() for offset in (0, 20, 40)]

        assert [record["message_uuid"] for page in pages for record in page["objects"]] == uuids[::-1]
        assert [page["meta"]["total_count"] for page in pages] == [45, 45, 45]
        assert "offset=20" in pages[0]["meta"]["next"]
        assert (pages[0]["meta"]["previous"], pages[2]["meta"]["next"]) == (None, None)

    @pytest.mark.parametrize(
        ("query", "count"),
        [
            ({}, 2),
            ({"to_number": "4915100000002"}, 1),
            ({"to_number": "+4915100000002"}, 1),
            ({"from_number": "15005550006"}, 2),
            ({"from_number": "15005550007"}, 0),
            ({"message_direction": "outbound", "message_state": "queued"}, 2),
            ({"message_direction": "inbound"}, 0),
            ({"message_state": "failed"}, 0),
        ],
    )
    def test_list_filters(self, plivo: Client, query: dict[str, str], count: int) -> None:
        for to in ("4915100000002", "4915100000102"):
            plivo.send(to)

        assert plivo.list(**query).json()["meta"]["total_count"] == count

    @pytest.mark.parametrize(
        ("name", "seconds", "count"),
        [("gte", -5, 1), ("gte", 5, 0), ("gt", -5, 1), ("lte", 5, 1), ("lte", -5, 0), ("lt", -5, 0)],
    )
    def test_list_filters_by_time(self, plivo: Client, name: str, seconds: int, count: int) -> None:
        plivo.send(number("02"))
        moment = datetime.now(UTC) + timedelta(seconds=seconds)

        page = plivo.list(**{f"message_time__{name}": moment.strftime("%Y-%m-%d %H:%M:%S")}).json()

        assert page["meta"]["total_count"] == count

    @pytest.mark.parametrize("query", [{"limit": 21}, {"limit": 0}, {"offset": -1}, {"message_time__gt": "soon"}])
    def test_list_has_limits(self, plivo: Client, query: dict[str, Any]) -> None:
        assert plivo.list(**query).status_code == 400

    def test_can_be_blind_and_lag(self, plivo: Client, sandbox: Sandbox) -> None:
        [uuid] = plivo.send(number("02")).json()["message_uuid"]
        sandbox.set_faults("sms-p", look_up_lag_seconds=3600)
        assert plivo.list().json()["meta"]["total_count"] == 0
        assert plivo.fetch(uuid).status_code == 200

        sandbox.set_faults("sms-p", look_up_blind=True)
        assert plivo.fetch(uuid).status_code == 404


class TestCallback:
    @pytest.mark.parametrize(
        ("role", "states", "example"),
        [
            ("01", ["sent", "delivered"], "callback_delivered.txt"),
            ("03", ["sent", "undelivered"], "callback_undelivered.txt"),
            ("08", ["failed"], "callback_failed.txt"),
            ("02", [], None),
        ],
    )
    def test_is_as_in_the_example(
        self, plivo: Client, product: Product, sandbox: Sandbox, role: str, states: list[str], example: str | None
    ) -> None:
        [uuid] = plivo.send(number(role)).json()["message_uuid"]

        assert sandbox.wait_idle(10)

        assert [call.form["Status"] for call in product.calls] == states
        assert {call.form["MessageUUID"] for call in product.calls} <= {uuid}
        if example:
            told, expected = product.calls[-1].form, form_example(example)
            assert set(told) == set(expected)
            for name in ("Sequence", "PartInfo", "Type", "Units", "PowerpackUUID", "TotalRate"):
                assert told[name] == expected[name]
            assert len(told["DeliveryReportTime"]) == len(expected["DeliveryReportTime"])

    def test_says_why(self, plivo: Client, product: Product, sandbox: Sandbox) -> None:
        for role in ("01", "03", "08"):
            plivo.send(number(role))
        assert sandbox.wait_idle(10)

        assert {call.form["Status"]: call.form["ErrorCode"] for call in product.calls} == {
            "sent": "",
            "delivered": "000",
            "undelivered": "030",
            "failed": "200",
        }

    def test_is_signed_in_both_versions(self, plivo: Client, product: Product) -> None:
        plivo.send(number("01"))

        for call in product.wait_for(2):
            url, _, query = call.url.partition("?")
            nonce = call.headers["x-plivo-signature-v3-nonce"]
            told = "".join(name + value for name, value in sorted(call.form.items()))
            assert query == "attempt=p-1"
            assert call.headers["x-plivo-signature-v3"] == _proof(f"{url}?attempt=p-1.{told}.{nonce}")
            assert call.headers["x-plivo-signature-v2"] == _proof(url + call.headers["x-plivo-signature-v2-nonce"])

    def test_by_get_is_in_the_query(self, plivo: Client, product: Product) -> None:
        plivo.send(number("01"), method="GET")

        call = product.wait_for(1)[0]

        url, _, query = call.url.partition("?")
        pairs = sorted(parse_qsl(query, keep_blank_values=True))
        text = "&".join(f"{name}={value}" for name, value in pairs)
        nonce = call.headers["x-plivo-signature-v3-nonce"]
        assert (call.method, call.body) == ("GET", b"")
        assert dict(pairs)["Status"] == "sent"
        assert call.headers["x-plivo-signature-v3"] == _proof(f"{url}?{text}.{nonce}")

    def test_comes_three_times_more_until_it_is_heard(self, plivo: Client, product: Product, sandbox: Sandbox) -> None:
        """After any answer but a 2xx; the vendor waits for 60, 120 and 240 seconds."""
        product.status = lambda number: (403, 500, 404)[number] if number < 3 else 200

        plivo.send(number("08"))

        assert sandbox.wait_idle(10)
        assert len(product.calls) == 1 + len(PACE.webhook_retries)

    def test_is_not_made_without_an_address(self, plivo: Client, product: Product, sandbox: Sandbox) -> None:
        plivo.send(number("01"), url=None)

        assert sandbox.wait_idle(10)
        assert product.calls == []


def _proof(text: str) -> str:
    key = CREDENTIALS["auth_token"].encode()
    return base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()


class TestAdapter:
    def test_delivers_and_tells(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("01"))

        events = [desk.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert eventually(lambda: desk.status(sent.provider_message_id), bool) == [EventKind.DELIVERED]

    def test_silent_is_told_by_its_status_alone(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("02"))

        assert desk.status(sent.provider_message_id) == [EventKind.ACCEPTED]
        assert product.calls == []

    def test_tells_the_same_twice_under_one_key(self, desk: Desk, product: Product) -> None:
        desk.send(number("07"))

        events = [desk.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    @pytest.mark.parametrize(("role", "calls", "suppress"), [("03", 2, None), ("08", 1, "opted_out")])
    def test_fails_for_good(self, desk: Desk, product: Product, role: str, calls: int, suppress: str | None) -> None:
        sent = desk.send(number(role))

        event = desk.hear(product.wait_for(calls)[-1])

        assert (event.kind, event.suppress) == (EventKind.FAILED, suppress)
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

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, desk: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role))

        found = desk.find(number(role))

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id
        assert (message.attempt, message.to) == (ATTEMPT.id, number(role))

    def test_a_report_names_the_attempt_of_an_unclear_outcome(self, desk: Desk, product: Product) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number("09"))

        assert desk.hear(product.wait_for(1)[0]).attempt == ATTEMPT.id

    def test_of_two_to_one_number_neither_is_found(self, desk: Desk) -> None:
        for text in ("one", "two"):
            desk.send(number("02"), text=text)

        assert isinstance(desk.find(number("02"), text="one"), CannotTell)

    def test_is_found_beside_what_belongs_to_others(self, desk: Desk) -> None:
        first = desk.send(number("02"), text="one")
        second = desk.send(number("02"), AttemptRef("another-1"), text="two")
        owned = frozenset({second.provider_message_id or ""})

        sent = SentMessage(sms(number("02"), "one"), ATTEMPT, desk.began_at, DEADLINE_SECONDS, owned)
        found = desk.adapter.find_result(desk.ask(desk.adapter.find_request(sent)), sent)

        assert isinstance(found, Found)
        assert found.provider_message_id == first.provider_message_id

    def test_is_not_there_when_it_was_never_sent(self, desk: Desk) -> None:
        desk.send(number("01"))

        assert isinstance(desk.find(number("02")), NotThere)

    def test_is_not_there_while_the_list_lags(self, desk: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-p", look_up_lag_seconds=3600)
        desk.send(number("02"))

        assert isinstance(desk.find(number("02")), NotThere)

    def test_nothing_is_said_by_a_list_that_is_refused(self, desk: Desk, sandbox: Sandbox) -> None:
        """They allow 20 lists a minute."""
        sandbox.set_faults("sms-p", rate_limit=1)

        assert isinstance(desk.find(number("02")), CannotTell)

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 400, "code": 0}}, UnknownRefusal),
            ({"refuse": {"status": 400, "code": 0, "message": "Insufficient Credit"}}, InsufficientBalance),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 403, "code": 0}}, SenderNotAllowed),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, desk: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("sms-p", **fault)

        with pytest.raises(error) as raised:
            desk.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_callback_that_was_changed(self, desk: Desk, product: Product) -> None:
        desk.send(number("01"))
        genuine = product.wait_for(2)[0]

        for forged in (
            Call(genuine.url, genuine.headers, genuine.body.replace(b"=sent", b"=delivered")),
            Call(genuine.url.replace(ATTEMPT.id, "another-1"), genuine.headers, genuine.body),
        ):
            with pytest.raises(InvalidSignature):
                desk.hear(forged)

    def test_hears_a_callback_by_get(self, desk: Desk, plivo: Client, product: Product) -> None:
        plivo.send(number("01"), method="GET")
        call = product.wait_for(1)[0]

        [event] = desk.adapter.parse_webhook(WebhookRequest(call.method, call.url, call.headers, call.body))

        assert (event.kind, event.attempt) == (EventKind.SENT, "p-1")

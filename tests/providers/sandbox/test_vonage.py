"""Vonage, both APIs: the adapters against the sandbox over HTTP, and what the sandbox says in the vendor's own words."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
import requests

from providers.base import Provider
from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RecipientUnavailable,
    SenderNotAllowed,
)
from providers.messages import (
    Account,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    HttpRequest,
    HttpResponse,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.samples.vonage import APPLICATION_ID, private_key
from tests.providers.sandbox.clients import number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product

SPECS = Path(__file__).parents[1] / "specs"
KEYS = {
    "api_key": "abcd1234",
    "api_secret": "abcdef0123456789",
    "signature_secret": "vonage-signature-secret-0123456789abcdef",
}
ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
DEADLINE_SECONDS = 5.0
SHORT, LONG = "Your code is 123456", "größer als € 5 😭 " * 10  # one part, three parts


class Desk:
    """One adapter at work on one account."""

    def __init__(self, adapter: Provider, transport: RequestsTransport) -> None:
        self.adapter = adapter
        self.began_at = datetime.now(UTC)
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        request = self.adapter.authorize(request, datetime.now(UTC))
        [[answer]] = send_many(self._transport, [TransportCall("only", request, DEADLINE_SECONDS)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def send(self, to: str, text: str = SHORT, attempt: AttemptRef = ATTEMPT) -> SendResult:
        message = OutgoingMessage(Channel.SMS, to, text, useful_seconds=300)
        return self.adapter.send_result(self.ask(self.adapter.send_request(message, attempt)))

    def find(self, to: str, text: str = SHORT) -> FindResult:
        message = OutgoingMessage(Channel.SMS, to, text)
        sent = SentMessage(message, ATTEMPT, self.began_at, DEADLINE_SECONDS)
        return self.adapter.find_result(self.ask(self.adapter.find_request(sent)), sent)

    def status(self, provider_message_id: str | None) -> list[EventKind]:
        assert provider_message_id is not None
        answer = self.ask(self.adapter.status_request(provider_message_id))
        return [event.kind for event in self.adapter.status_result(answer)]

    def hear(self, call: Call) -> DeliveryEvent:
        [event] = self.adapter.parse_webhook(WebhookRequest(call.method, call.url, call.headers, call.body))
        return event


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    application = {"application_id": APPLICATION_ID, "private_key": private_key()}
    accounts = [
        SandboxAccount("new", "vonage", KEYS),
        SandboxAccount("app", "vonage", {**KEYS, "api_key": "abcd5678", **application}),
        SandboxAccount("old", "vonage_sms", KEYS),
    ]
    with Sandbox(accounts, pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def desks(sandbox: Sandbox, product: Product) -> Iterator[dict[str, Desk]]:
    transport = RequestsTransport(concurrency=2)

    def desk(slug: str, provider: str, credentials: dict[str, str]) -> Desk:
        account = Account(
            slug,
            credentials,
            {"from": "+15005550006"},
            base_url=sandbox.base_url(slug),
            callback_url=f"http://{product.host}/webhooks/{slug}/",
        )
        return Desk(connect(provider, account), transport)

    application = {"application_id": APPLICATION_ID, "private_key": private_key()}
    yield {
        "new": desk("new", "vonage", KEYS),
        "app": desk("app", "vonage", {**KEYS, "api_key": "abcd5678", **application}),
        "old": desk("old", "vonage_sms", KEYS),
    }
    transport.close()


@pytest.fixture(params=["new", "app", "old"])
def slug(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def vonage(desks: dict[str, Desk], slug: str) -> Desk:
    return desks[slug]


class TestRoles:
    def test_delivers_and_tells(self, vonage: Desk, product: Product) -> None:
        sent = vonage.send(number("01"))

        events = [vonage.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert vonage.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_is_silent(self, vonage: Desk, product: Product, sandbox: Sandbox) -> None:
        vonage.send(number("02"))

        assert sandbox.wait_idle(10)
        assert product.calls == []

    def test_tells_the_same_twice_under_one_key(self, vonage: Desk, product: Product) -> None:
        vonage.send(number("07"))

        events = [vonage.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    def test_fails_for_good_without_suppression(self, vonage: Desk, product: Product) -> None:
        sent = vonage.send(number("03"))

        event = vonage.hear(product.wait_for(2)[-1])

        assert (event.kind, event.suppress) == (EventKind.FAILED, None)
        assert vonage.status(sent.provider_message_id) == [EventKind.FAILED]

    def test_is_busy_twice(self, vonage: Desk) -> None:
        for _ in range(2):
            with pytest.raises(RateLimited):
                vonage.send(number("05"))

        assert vonage.send(number("05")).provider_message_id

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, vonage: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            vonage.send(number(role))

        found = vonage.find(number(role))

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id
        assert (message.attempt, message.to) == (ATTEMPT.id, number(role))

    def test_answers_late(self, vonage: Desk) -> None:
        assert vonage.send(number("10")).provider_message_id

    def test_is_not_found_when_it_was_never_sent(self, vonage: Desk) -> None:
        vonage.send(number("02"), attempt=AttemptRef(f"{ATTEMPT.message}-2"))

        assert vonage.find(number("02")) == NotThere()

    def test_is_not_there_while_reports_lag(self, vonage: Desk, sandbox: Sandbox, slug: str) -> None:
        sandbox.set_faults(slug, look_up_lag_seconds=3600)
        sent = vonage.send(number("02"))

        assert vonage.find(number("02")) == NotThere()
        assert vonage.status(sent.provider_message_id) == []

    def test_can_be_blind(self, vonage: Desk, sandbox: Sandbox, slug: str) -> None:
        sent = vonage.send(number("02"))
        sandbox.set_faults(slug, look_up_blind=True)

        assert vonage.status(sent.provider_message_id) == []


class TestRefusals:
    @pytest.mark.parametrize(
        ("slug", "role", "error", "suppress"),
        [
            ("new", "04", InvalidRecipient, None),
            ("old", "04", RecipientUnavailable, "unreachable"),
            ("old", "08", RecipientOptedOut, "opted_out"),
        ],
        indirect=["slug"],
    )
    def test_say_no(
        self, vonage: Desk, sandbox: Sandbox, role: str, error: type[ProviderError], suppress: str | None
    ) -> None:
        with pytest.raises(error) as raised:
            vonage.send(number(role))

        assert raised.value.suppress == suppress
        assert sandbox.messages() == []

    @pytest.mark.parametrize("slug", ["new"], indirect=True)
    def test_the_newer_api_tells_of_an_opt_out_by_report(self, vonage: Desk, product: Product) -> None:
        vonage.send(number("08"))

        event = vonage.hear(product.wait_for(1)[0])

        assert (event.kind, event.error_code, event.suppress) == (EventKind.FAILED, "1240", "opted_out")

    @pytest.mark.parametrize("slug", ["old"], indirect=True)
    def test_the_older_api_says_how_long_to_wait(self, vonage: Desk) -> None:
        with pytest.raises(RateLimited) as raised:
            vonage.send(number("05"))

        assert (raised.value.retry_after_seconds, raised.value.http_status) == (0.25, 200)

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "status_500"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_faults(
        self, vonage: Desk, sandbox: Sandbox, slug: str, fault: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults(slug, **fault)

        with pytest.raises(error) as raised:
            vonage.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    @pytest.mark.parametrize(
        ("slug", "refuse", "error"),
        [
            ("new", {"status": 402, "code": 0}, InsufficientBalance),
            ("new", {"status": 422, "code": 1120}, SenderNotAllowed),
            ("new", {"status": 401, "code": 0}, AuthenticationFailed),
            ("old", {"status": 422, "code": 9}, InsufficientBalance),
            ("old", {"status": 422, "code": 15}, SenderNotAllowed),
            ("old", {"status": 401, "code": 4}, AuthenticationFailed),
        ],
        indirect=["slug"],
    )
    def test_in_their_words(
        self, vonage: Desk, sandbox: Sandbox, slug: str, refuse: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults(slug, refuse=refuse)

        with pytest.raises(error):
            vonage.send(number("01"))

    def test_wrong_credentials(self, vonage: Desk, sandbox: Sandbox) -> None:
        credentials = {name: value for name, value in KEYS.items() if name != "api_secret"} | {"api_secret": "another"}
        account = vonage.adapter.account
        wrong = Account(account.slug, credentials, account.settings, account.base_url, account.callback_url)
        vonage.adapter = connect(vonage.adapter.name, wrong)

        with pytest.raises(AuthenticationFailed):
            vonage.send(number("01"))
        assert isinstance(vonage.find(number("01")), CannotTell)
        assert sandbox.messages() == []


class TestToken:
    @pytest.fixture
    def slug(self) -> str:
        return "app"

    def send(self, vonage: Desk, at: datetime | None = None, **changes: str) -> requests.Response:
        message = OutgoingMessage(Channel.SMS, number("02"), SHORT)
        bare = vonage.adapter.send_request(message, ATTEMPT)
        request = vonage.adapter.authorize(bare, at or datetime.now(UTC))
        headers = {**request.headers, **changes}
        return requests.post(request.url, data=request.body, headers=headers, timeout=10)

    def test_is_believed(self, vonage: Desk) -> None:
        assert self.send(vonage).status_code == 202

    def test_of_another_time_is_not_believed(self, vonage: Desk) -> None:
        for at in (datetime(2026, 1, 15, tzinfo=UTC), datetime(2126, 1, 15, tzinfo=UTC)):
            assert self.send(vonage, at).status_code == 401

    @pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer x.y.z", "Bearer ..", "Token x"])
    def test_that_is_none_is_not_believed(self, vonage: Desk, authorization: str) -> None:
        assert self.send(vonage, Authorization=authorization).status_code == 401

    def test_does_not_open_reports(self, vonage: Desk) -> None:
        request = vonage.adapter.status_request("x")
        bare = HttpRequest("GET", request.url, {"Accept": "application/json"})
        token = vonage.adapter.authorize(bare, datetime.now(UTC)).headers

        assert requests.get(request.url, headers=dict(token), timeout=10).status_code == 401


class TestParts:
    @pytest.fixture
    def slug(self) -> str:
        return "old"

    def test_each_part_reports_and_only_the_look_up_delivers(
        self, vonage: Desk, product: Product, sandbox: Sandbox
    ) -> None:
        sent = vonage.send(number("01"), LONG)

        events = [vonage.hear(call) for call in product.wait_for(6)]

        assert sent.segments == 3
        assert sandbox.wait_idle(10)
        assert {event.kind for event in events} == {EventKind.SENT}
        assert ",".join(event.provider_message_id or "" for event in events[:3]) == sent.provider_message_id
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert vonage.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_each_part_that_fails_fails_the_whole(self, vonage: Desk, product: Product) -> None:
        sent = vonage.send(number("03"), LONG)

        events = [vonage.hear(call) for call in product.wait_for(6)]

        assert {event.kind for event in events[3:]} == {EventKind.FAILED}
        assert vonage.status(sent.provider_message_id) == [EventKind.FAILED]

    def test_all_parts_are_found_after_an_unclear_outcome(self, vonage: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(OutcomeUnknown):
            vonage.send(number("09"), LONG)

        found = vonage.find(number("09"), LONG)

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == ",".join(message.content.part_ids)

    def test_some_parts_are_not_the_whole(self, vonage: Desk, sandbox: Sandbox) -> None:
        sent = vonage.send(number("01"), LONG)
        assert sandbox.wait_idle(10)
        assert sent.provider_message_id is not None

        first, second, _ = sent.provider_message_id.split(",")

        assert vonage.status(f"{first},{second}") == [EventKind.SENT]
        assert vonage.status(f"{first},no-such-id") == [EventKind.SENT]

    def test_the_text_arrives_as_it_was(self, vonage: Desk, sandbox: Sandbox) -> None:
        vonage.send(number("02"), LONG)
        vonage.send(number("02"), "größer als [5] €", AttemptRef(f"{ATTEMPT.message}-2"))

        assert [message.text for _, message in sandbox.messages()] == [LONG, "größer als [5] €"]


class TestCallbacks:
    def test_a_change_is_not_believed(self, vonage: Desk, product: Product) -> None:
        vonage.send(number("01"))
        genuine = product.wait_for(2)[-1]

        url = genuine.url.replace("=delivered", "=failed")
        forged = Call(url, genuine.headers, genuine.body.replace(b"delivered", b"rejected"), genuine.method)

        with pytest.raises(InvalidSignature):
            vonage.hear(forged)

    def test_come_again_until_they_are_taken(self, vonage: Desk, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500 if number == 0 else 403 if number == 1 else 200

        vonage.send(number("01"))

        assert sandbox.wait_idle(10)
        events = [vonage.hear(call) for call in product.calls]
        assert len(events) == 4
        assert len({event.dedupe_key for event in events}) == 2

    @pytest.mark.parametrize("slug", ["new"], indirect=True)
    @pytest.mark.parametrize(
        ("role", "example"), [("01", "callback_delivered.json"), ("03", "callback_undeliverable.json")]
    )
    def test_are_as_in_the_example(self, vonage: Desk, product: Product, role: str, example: str) -> None:
        expected = payload(f"vonage/{example}")
        sent = vonage.send(number(role))

        first, told = (call.json for call in product.wait_for(2))

        own = {
            "message_uuid": sent.provider_message_id,
            "to": number(role).removeprefix("+"),
            "client_ref": ATTEMPT.id,
            "timestamp": told["timestamp"],
        }
        error = told.get("error", {})
        assert shape(told) == shape(expected)
        assert {**told, "error": None} == {**expected, **own, "error": None}
        assert shape(first) == shape(payload("vonage/callback_submitted.json"))
        assert error.get("title", "1280") == "1280"
        spec = json.loads((SPECS / "vonage-messages.json").read_text())
        jsonschema.validate(
            told, {**spec["components"]["schemas"]["messageStatusSMS"], "components": spec["components"]}
        )

    @pytest.mark.parametrize("slug", ["new"], indirect=True)
    def test_carry_the_hash_of_their_body(self, vonage: Desk, product: Product) -> None:
        vonage.send(number("01"))

        for call in product.wait_for(2):
            vonage.hear(call)
            token = call.headers["authorization"].removeprefix("Bearer ")
            assert hashlib.sha256(call.body).hexdigest() in _decoded(token.split(".")[1])

    @pytest.mark.parametrize("slug", ["old"], indirect=True)
    def test_of_the_older_api_come_by_get(self, vonage: Desk, product: Product) -> None:
        vonage.send(number("01"))

        calls = product.wait_for(2)

        assert {(call.method, call.body) for call in calls} == {("GET", b"")}
        expected = set(payload("vonage_sms/callback_delivered.json")) | {"timestamp", "nonce", "sig"}
        query = urlsplit(calls[-1].url).query
        assert {pair.partition("=")[0] for pair in query.split("&")} == expected


class TestOwnWords:
    def send(self, sandbox: Sandbox, slug: str, content: Any) -> requests.Response:
        url, auth = sandbox.base_url(slug), (KEYS["api_key"], KEYS["api_secret"])
        if slug == "new":
            return requests.post(f"{url}/v1/messages", json=content, auth=auth, timeout=10)
        return requests.post(f"{url}/sms/json", data=content, auth=auth, timeout=10)

    @pytest.mark.parametrize(
        ("changes", "code", "wrong"),
        [
            ({"to": "+14155550100"}, "1150", "to"),
            ({"to": "123"}, "1150", "to"),
            ({"from": ""}, "1120", "from"),
            ({"text": ""}, "1150", "text"),
            ({"text": "x" * 1001}, "1150", "text"),
            ({"ttl": 19}, "1150", "ttl"),
            ({"ttl": "300"}, "1150", "ttl"),
            ({"client_ref": "x" * 41}, "1150", "client_ref"),
            ({"channel": "mms"}, "1150", "channel"),
            ({"webhook_url": "no address"}, "1150", "webhook_url"),
        ],
    )
    def test_objections_of_the_newer_api(
        self, sandbox: Sandbox, changes: dict[str, Any], code: str, wrong: str
    ) -> None:
        answer = self.send(sandbox, "new", payload("vonage/send_request.json") | changes)

        assert answer.status_code == 422
        assert shape(answer.json()) == shape(payload("vonage/error_422_invalid_params.json"))
        assert answer.json()["type"].endswith(f"messages#{code}")
        assert [item["name"] for item in answer.json()["invalid_parameters"]] == [wrong]

    @pytest.mark.parametrize(
        ("changes", "status"),
        [
            ({"to": ""}, "2"),
            ({"text": None}, "2"),
            ({"to": "+14155550100"}, "3"),
            ({"ttl": "300"}, "3"),
            ({"type": "text/plain"}, "3"),
            ({"from": "!"}, "15"),
            ({"text": "x" * 3201}, "12"),
            ({"client-ref": "x" * 41}, "3"),
            ({"callback": f"http://a.example/{'x' * 100}"}, "23"),
        ],
    )
    def test_objections_of_the_older_api(self, sandbox: Sandbox, changes: dict[str, Any], status: str) -> None:
        form = {"from": "Landfall", "to": "14155550102", "text": "Hi", "ttl": "300000", **changes}

        answer = self.send(sandbox, "old", form)

        assert answer.status_code == 200
        assert shape(answer.json()) == shape(payload("vonage_sms/send_response_200_status_4.json"))
        assert answer.json()["messages"][0]["status"] == status

    def test_answers_of_the_older_api_are_as_in_the_example(self, sandbox: Sandbox) -> None:
        form = {"from": "Landfall", "to": "14155550102", "text": "Hi", "client-ref": "ntf-0001-a1"}

        for text, example in (("Hi", "send_response_200.json"), ("x" * 161, "send_response_200_two_parts.json")):
            told = self.send(sandbox, "old", {**form, "text": text}).json()
            assert shape(told) == shape(payload(f"vonage_sms/{example}"))

    def test_a_letter_that_the_alphabet_lacks_is_lost_as_text(self, sandbox: Sandbox) -> None:
        for kind in ("text", "unicode"):
            self.send(sandbox, "old", {"from": "Landfall", "to": "14155550102", "text": "ça €", "type": kind})

        assert [message.text for _, message in sandbox.messages()] == ["?a €", "ça €"]

    @pytest.mark.parametrize("slug", ["new", "old"])
    def test_reports_are_as_in_the_example(self, sandbox: Sandbox, desks: dict[str, Desk], slug: str) -> None:
        desk = desks[slug]
        sent = desk.send(number("01"))
        assert sandbox.wait_idle(10)
        assert sent.provider_message_id is not None

        told = json.loads(desk.ask(desk.adapter.status_request(sent.provider_message_id)).body)

        spec = json.loads((SPECS / "vonage-reports.json").read_text())
        spec["components"]["schemas"] |= {"price": {}, "total_price": {}}  # numbers, and texts in their own examples
        response = spec["components"]["responses"]["json_record_response"]["content"]["application/json"]["schema"]
        jsonschema.validate(told, {"anyOf": response["oneOf"], "components": _lenient(spec["components"])})
        if slug == "new":
            assert shape(told) == shape(payload("vonage/reports_lookup_200.json"))

    @pytest.mark.parametrize("slug", ["new", "old"])
    @pytest.mark.parametrize(
        ("changes", "status"),
        [
            ({"account_id": "another1"}, 403),
            ({"product": "VOICE-CALL"}, 422),
            ({"direction": "inbound"}, 422),
            ({"date_start": "2026-01-01T00:00:00Z"}, 422),
            ({"id": "x"}, 422),
            ({"date_end": "soon"}, 422),
        ],
    )
    def test_objections_of_reports(self, sandbox: Sandbox, slug: str, changes: dict[str, str], status: int) -> None:
        asked = {
            "account_id": "abcd1234",
            "product": "SMS" if slug == "old" else "MESSAGES",
            "direction": "outbound",
            "date_start": "2026-01-15T00:00:00Z",
            "date_end": "2026-01-15T10:00:00+0000",
        }
        url, auth = f"{sandbox.base_url(slug)}/v2/reports/records", (KEYS["api_key"], KEYS["api_secret"])

        assert requests.get(url, params=asked, auth=auth, timeout=10).json()["records"] == []
        assert requests.get(url, params=asked | changes, auth=auth, timeout=10).status_code == status

    def test_what_is_not_found_is_named(self, sandbox: Sandbox, desks: dict[str, Desk]) -> None:
        sent = desks["new"].send(number("02"))

        answer = desks["new"].ask(desks["new"].adapter.status_request(f"{sent.provider_message_id},x,y"))

        assert json.loads(answer.body)["ids_not_found"] == "x,y"

    def test_other_addresses_are_none(self, sandbox: Sandbox) -> None:
        for slug in ("new", "old"):
            url, auth = f"{sandbox.base_url(slug)}/elsewhere", (KEYS["api_key"], KEYS["api_secret"])
            assert requests.get(url, auth=auth, timeout=10).status_code == 404

    def test_a_body_that_is_no_json_is_refused(self, sandbox: Sandbox) -> None:
        url, auth = f"{sandbox.base_url('new')}/v1/messages", (KEYS["api_key"], KEYS["api_secret"])

        for body in (b"{", b"[]"):
            answer = requests.post(url, data=body, auth=auth, timeout=10)
            assert (answer.status_code, answer.json()["type"].rpartition("#")[2]) == (422, "invalid-json")


def _decoded(part: str) -> str:
    return base64.urlsafe_b64decode(part + "==").decode()


def _lenient(components: Any) -> Any:
    """Their lengths, formats and patterns are those of questions, not of answers."""
    if isinstance(components, dict):
        return {
            name: _lenient(part)
            for name, part in components.items()
            if name not in ("minLength", "maxLength", "format")
        }
    return [_lenient(part) for part in components] if isinstance(components, list) else components

"""Telnyx: roles, refusals, idempotency keys, signed webhooks; and what the product's own adapter makes of them."""

from __future__ import annotations

import base64
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
    RecipientOptedOut,
    SenderNotAllowed,
)
from providers.messages import Account, AttemptRef, EventKind
from providers.registry import connect
from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox.vendors.telnyx import vendor
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import SENDER, number, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product
from tests.providers.sandbox.test_adapters import ATTEMPT, Desk, sms

VECTOR = payload("telnyx/signature_vector.json")
CREDENTIALS = {
    "api_key": "KEY0123456789",
    "webhook_private_key": base64.b64encode(bytes.fromhex(VECTOR["private_seed_hex_for_tests_only"])).decode(),
}
ADAPTER_CREDENTIALS = {"api_key": "KEY0123456789", "webhook_public_key": VECTOR["public_key_base64"]}
SPEC = json.loads((Path(__file__).parents[1] / "specs" / "telnyx-derived.json").read_text())["response_data_schema"]
KEYED = AttemptRef(ATTEMPT.id, key="key-1")
SLOW_SECONDS = 1.0


class Client:
    """Knows no adapter: says what the vendor's documentation says."""

    def __init__(self, sandbox: Sandbox, webhook_url: str) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers.update({"Authorization": "Bearer KEY0123456789"})
        self.url = f"{sandbox.base_url('sms-t')}/v2/messages"
        self.webhook_url = webhook_url

    def send(self, to: Any, *, key: str | None = None, timeout: float = 10, **fields: Any) -> requests.Response:
        asked = payload("telnyx/send_request.json")["body"] | {"to": to, "webhook_url": self.webhook_url} | fields
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.http.post(self.url, json=asked, headers=headers, timeout=timeout)

    def fetch(self, id: str) -> requests.Response:
        return self.http.get(f"{self.url}/{id}", timeout=10)


def code_of(answer: requests.Response) -> str:
    [error] = answer.json()["errors"]
    code: str = error["code"]
    return code


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    with Sandbox([SandboxAccount("sms-t", "telnyx", CREDENTIALS)], pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def client(sandbox: Sandbox, product: Product) -> Iterator[Client]:
    client = Client(sandbox, f"http://{product.host}/webhooks/sms-t/?attempt=42")
    yield client
    client.http.close()


@pytest.fixture
def desk(sandbox: Sandbox, product: Product) -> Iterator[Desk]:
    account = Account(
        "sms-t",
        ADAPTER_CREDENTIALS,
        {"from": SENDER},
        base_url=sandbox.base_url("sms-t"),
        callback_url=f"http://{product.host}/webhooks/sms-t/",
    )
    transport = RequestsTransport(concurrency=2)
    yield Desk(connect("telnyx", account), transport, sms)
    transport.close()


class TestAnswers:
    def test_a_message_is_as_in_the_example(self, client: Client) -> None:
        expected = payload("telnyx/send_response_200.json")

        answer = client.send(number("02"))

        told = answer.json()
        assert answer.status_code == 200
        assert shape(told) == shape(expected)
        jsonschema.validate(told["data"], SPEC)
        assert (told["data"]["to"][0]["status"], told["data"]["parts"]) == ("queued", 1)

    def test_a_look_up_is_as_in_the_example(self, client: Client, sandbox: Sandbox) -> None:
        id = client.send(number("01")).json()["data"]["id"]
        assert sandbox.wait_idle(10)

        told = client.fetch(id).json()

        assert shape(told) == shape(payload("telnyx/get_200_delivered.json"))
        jsonschema.validate(told["data"], SPEC)
        assert told["data"]["to"][0]["status"] == "delivered"

    @pytest.mark.parametrize(
        ("role", "files"),
        [
            ("01", ["callback_sent", "callback_finalized_delivered"]),
            ("03", ["callback_sent", "callback_finalized_delivery_failed_40001"]),
        ],
    )
    def test_reports_are_as_in_the_examples(
        self, client: Client, product: Product, sandbox: Sandbox, role: str, files: list[str]
    ) -> None:
        client.send(number(role))
        assert sandbox.wait_idle(10)

        assert len(product.calls) == len(files)
        for call, file in zip(product.calls, files, strict=True):
            expected = payload(f"telnyx/{file}.json")
            told = call.json
            for report in (expected, told):
                del report["data"]["payload"]["errors"]
            assert shape(told) == shape(expected)
            assert told["data"]["event_type"] == expected["data"]["event_type"]
            assert told["data"]["payload"]["to"][0]["status"] == expected["data"]["payload"]["to"][0]["status"]

    @pytest.mark.parametrize(
        ("change", "status", "code"),
        [
            ({"to": None}, 422, "10004"),
            ({"to": "4915112345601"}, 400, "10016"),
            ({"to": number("04")}, 400, "40310"),
            ({"to": number("08")}, 409, "40300"),
            ({"from": None, "messaging_profile_id": None}, 422, "10004"),
            ({"from": "Shop", "messaging_profile_id": None}, 422, "10004"),
            ({"from": "A name that is too long"}, 400, "40305"),
            ({"text": ""}, 422, "10004"),
            ({"text": 5}, 422, "10004"),
            ({"text": "x" * 1531}, 400, "40302"),
            ({"webhook_url": "nowhere"}, 400, "10003"),
            ({"webhook_url": "https://a.example/" + "x" * 2000}, 400, "10003"),
        ],
    )
    def test_is_refused(self, client: Client, sandbox: Sandbox, change: dict[str, Any], status: int, code: str) -> None:
        answer = client.send(**{"to": number("01")} | change)

        assert (answer.status_code, code_of(answer)) == (status, code)
        assert sandbox.counts().taken == 0

    def test_a_refusal_is_as_in_the_example(self, client: Client) -> None:
        [expected] = payload("telnyx/error_400_40310.json")["errors"]
        [told] = client.send(number("04")).json()["errors"]

        assert shape(told) == shape(expected) | {"source": {"pointer": "str"}}
        assert (told["code"], told["title"]) == (expected["code"], expected["title"])

    def test_a_number_pool_will_do_for_a_sender(self, client: Client) -> None:
        answer = client.send(number("02"), **{"from": None})

        assert answer.json()["data"]["from"]["phone_number"] == SENDER

    def test_needs_the_key(self, client: Client, sandbox: Sandbox) -> None:
        client.http.headers["Authorization"] = "Bearer wrong"

        answer = client.send(number("01"))

        assert (answer.status_code, code_of(answer)) == (401, "10009")
        assert sandbox.counts().unknown_requests == 1

    def test_knows_nothing_else(self, client: Client) -> None:
        assert client.fetch("40385f64-5717-4562-b3fc-2c963f66afa6").status_code == 404
        assert client.http.get(client.url, timeout=10).status_code == 404


class TestIdempotencyKey:
    def test_repeated_gives_the_first_answer_and_no_second_message(self, client: Client, sandbox: Sandbox) -> None:
        answers = [client.send(number("02"), key="key-1") for _ in range(3)]

        assert {answer.content for answer in answers} == {answers[0].content}
        assert (sandbox.counts().taken, sandbox.counts().duplicates) == (1, ())

    def test_with_another_payload_is_refused(self, client: Client, sandbox: Sandbox) -> None:
        client.send(number("02"), key="key-1")

        assert client.send(number("02"), key="key-1", text="Something else").status_code == 422
        assert sandbox.counts().taken == 1

    def test_compares_bytes(self, client: Client) -> None:
        body = json.dumps({"to": number("02"), "from": SENDER, "text": "x"}).encode()
        headers = {"Idempotency-Key": "key-1"}

        statuses = [
            client.http.post(client.url, data=data, headers=headers, timeout=10).status_code
            for data in (body, body, body.replace(b": ", b":"))
        ]

        assert statuses == [200, 200, 422]

    def test_other_or_none_is_another_message(self, client: Client, sandbox: Sandbox) -> None:
        for key in ("key-1", "key-2", None, None):
            client.send(number("02"), key=key)

        assert sandbox.counts().taken == 4

    def test_is_free_again_after_a_refusal(self, client: Client) -> None:
        """Only successes are played again."""
        assert [client.send(number("05"), key="key-1").status_code for _ in range(4)] == [429, 429, 200, 200]

    def test_is_forgotten_after_a_day(self, client: Client, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        client.send(number("02"), key="key-1")
        monkeypatch.setattr(vendor, "KEY_LIFE_SECONDS", 0)
        client.send(number("02"), key="key-1")

        assert sandbox.counts().taken == 2

    def test_is_forgotten_with_the_books(self, client: Client, sandbox: Sandbox) -> None:
        client.send(number("02"), key="key-1")
        sandbox.reset()

        assert client.send(number("02"), key="key-1", text="Something else").status_code == 200

    @pytest.mark.parametrize("key", ["", "x" * 256, "a b", "a/b"])
    def test_has_a_form(self, client: Client, key: str) -> None:
        assert client.send(number("02"), key=key).status_code == 400

    def test_of_many_calls_at_once_one_is_taken(self, sandbox: Sandbox, product: Product) -> None:
        statuses: list[int] = []

        def call() -> None:
            client = Client(sandbox, f"http://{product.host}/")
            statuses.append(client.send(number("02"), key="key-1").status_code)
            client.http.close()

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

        assert statuses == [200] * 8
        assert sandbox.counts().taken == 1

    def test_is_in_conflict_while_the_first_call_runs(self) -> None:
        account = SandboxAccount("sms-t", "telnyx", CREDENTIALS)
        with Sandbox([account], pace=replace(PACE, slow_answer=SLOW_SECONDS)) as sandbox:
            client = Client(sandbox, "http://127.0.0.1:9/")
            with pytest.raises(requests.ReadTimeout):
                client.send(number("10"), key="key-1", timeout=0.3)

            assert client.send(number("10"), key="key-1").status_code == 409
            client.http.close()


class TestReports:
    def test_are_tried_three_times_and_keep_their_id(self, client: Client, product: Product, sandbox: Sandbox) -> None:
        product.status = lambda number: 500

        client.send(number("03"))

        assert sandbox.wait_idle(10)
        assert len(product.calls) == 6
        assert len({call.json["data"]["id"] for call in product.calls}) == 2

    def test_without_an_address_of_the_message_go_to_the_profiles(self, product: Product) -> None:
        account = SandboxAccount("sms-t", "telnyx", CREDENTIALS, f"http://{product.host}/profile/")
        with Sandbox([account], pace=PACE) as sandbox:
            client = Client(sandbox, "")
            client.send(number("01"), webhook_url=None)

            assert {call.url for call in product.wait_for(2)} == {f"http://{product.host}/profile/"}
            client.http.close()

    def test_have_the_time_of_the_call(self, client: Client, product: Product) -> None:
        client.send(number("01"))

        assert abs(int(product.wait_for(1)[0].headers["telnyx-timestamp"]) - time.time()) < 60

    def test_a_key_that_is_none_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="32"):
            Sandbox([SandboxAccount("sms-t", "telnyx", {**CREDENTIALS, "webhook_private_key": "AAAA"})])


class TestAdapter:
    def test_delivers_and_tells(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("01"), KEYED)

        events = [desk.hear(call) for call in product.wait_for(2)]

        assert (sent.provider_status, sent.segments) == ("queued", 1)
        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert len({event.dedupe_key for event in events}) == 2
        assert desk.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_is_silent(self, desk: Desk, sandbox: Sandbox, product: Product) -> None:
        sent = desk.send(number("02"), KEYED)

        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert desk.status(sent.provider_message_id) == [EventKind.ACCEPTED]

    def test_fails_for_good_without_suppression(self, desk: Desk, product: Product) -> None:
        sent = desk.send(number("03"), KEYED)

        event = desk.hear(product.wait_for(2)[-1])

        assert (event.kind, event.error_code, event.suppress) == (EventKind.FAILED, "40008", None)
        assert desk.status(sent.provider_message_id) == [EventKind.FAILED]

    def test_tells_the_same_twice_under_one_key(self, desk: Desk, product: Product) -> None:
        desk.send(number("07"), KEYED)

        events = [desk.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    def test_answers_late(self, desk: Desk) -> None:
        assert desk.send(number("10"), KEYED).provider_status == "queued"

    @pytest.mark.parametrize(
        ("role", "error", "suppress"),
        [
            ("04", InvalidRecipient, "invalid"),
            ("05", RateLimited, None),
            ("08", RecipientOptedOut, "opted_out"),
            ("06", OutcomeUnknown, None),
            ("09", OutcomeUnknown, None),
        ],
    )
    def test_says_no(self, desk: Desk, role: str, error: type[ProviderError], suppress: str | None) -> None:
        with pytest.raises(error) as raised:
            desk.send(number(role), KEYED)

        assert raised.value.suppress == suppress

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_settled_by_the_same_call_again(self, desk: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            desk.send(number(role), KEYED)

        ends_at = time.monotonic() + 5
        while True:  # 409 as long as the first call runs
            try:
                sent = desk.send(number(role), KEYED)
                break
            except OutcomeUnknown:
                assert time.monotonic() < ends_at
                time.sleep(0.01)

        [(_, message)] = sandbox.messages()
        assert (sent.provider_message_id, message.attempt) == (message.id, ATTEMPT.id)

    def test_is_not_settled_by_other_words_under_the_same_key(self, desk: Desk, sandbox: Sandbox) -> None:
        desk.send(number("02"), KEYED)

        with pytest.raises(OutcomeUnknown):
            desk.send(number("02"), KEYED, text="Something else")

        assert sandbox.counts().taken == 1

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 10009}}, AuthenticationFailed),
            ({"refuse": {"status": 400, "code": 40333}}, InsufficientBalance),
            ({"refuse": {"status": 400, "code": 40010}}, SenderNotAllowed),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, desk: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("sms-t", **fault)

        with pytest.raises(error) as raised:
            desk.send(number("01"), KEYED)

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_report_that_was_changed(self, desk: Desk, product: Product) -> None:
        desk.send(number("01"), KEYED)
        [genuine, *_] = product.wait_for(1)

        forged = Call(genuine.url, genuine.headers, genuine.body.replace(b'"sent"', b'"delivered"'))

        with pytest.raises(InvalidSignature):
            desk.hear(forged)

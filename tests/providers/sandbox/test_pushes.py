"""Push services in the sandbox: what they do not take, and that a second push of one message takes the place of the first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from providers.apns import Apns
from providers.fcm import Fcm
from providers.messages import AttemptRef, HttpRequest, HttpResponse, Token
from providers.pushes import PushProvider
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.base import Call
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from providers.webpush import WebPush
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT
from tests.providers.sandbox.conftest import PACE

NAMES = ("fcm", "apns", "webpush")


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    accounts = [SandboxAccount(name, name, SAMPLES[name].provider.account.credentials) for name in NAMES]
    with Sandbox(accounts, pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=2)
    yield transport
    transport.close()


class Desk:
    """An adapter at work on the sandbox; `change` is done to a request that is complete."""

    def __init__(self, sandbox: Sandbox, name: str, transport: RequestsTransport) -> None:
        known = SAMPLES[name]
        self.message = known.message
        self.adapter: Any = type(known.provider)(replace(known.provider.account, base_url=sandbox.base_url(name)))
        self.now = datetime.now(UTC)
        self.token: Token | None = None
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        [[answer]] = send_many(self._transport, [Call("only", request, 5.0)])
        assert isinstance(answer.result, HttpResponse)
        return answer.result

    def request(self, attempt: AttemptRef = ATTEMPT) -> HttpRequest:
        request: HttpRequest = self.adapter.authorize(self.adapter.send_request(self.message, attempt), self.now)
        if not self.adapter.wants_token:
            return request
        if self.token is None:
            self.token = self.adapter.token_result(self.ask(self.adapter.token_request(self.now)))
        carrying: HttpRequest = self.adapter.with_token(request, self.token)
        return carrying

    def send(self, body: bytes | None = None, **headers: str | None) -> HttpResponse:
        request = self.request()
        changed = {**request.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        kept = {name: value for name, value in changed.items() if value is not None}
        return self.ask(replace(request, headers=kept, body=request.body if body is None else body))


@pytest.fixture
def desk(request: pytest.FixtureRequest, sandbox: Sandbox, transport: RequestsTransport) -> Desk:
    return Desk(sandbox, request.param, transport)


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("desk", names, indirect=True)


@of(*NAMES)
class TestEach:
    def test_a_second_push_of_a_message_takes_the_place_of_the_first(self, sandbox: Sandbox, desk: Desk) -> None:
        for number in (1, 2):
            answer = desk.ask(desk.request(AttemptRef(f"{ATTEMPT.message}-{number}")))
            desk.adapter.send_result(answer)

        other = desk.ask(desk.request(AttemptRef("0197b0c2f0c17cc0a1b2c3d4e5f60719-1")))

        assert other.status < 300
        assert [message.attempt for _, message in sandbox.messages()] == [
            ATTEMPT.message,
            "0197b0c2f0c17cc0a1b2c3d4e5f60719",
        ]

    def test_a_stranger_is_not_believed(self, sandbox: Sandbox, desk: Desk) -> None:
        answer = desk.send(Authorization="bearer x.y.z")

        assert answer.status in (401, 403)
        assert sandbox.messages() == []


@of("fcm")
class TestFcm:
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"token": None}, "message.token"),
            ({"topic": "news"}, "message.token"),
            ({"surprise": 1}, "message.surprise"),
            ({"data": {"n": 7}}, "message.data"),
            ({"data": {"google.x": "7"}}, "message.data"),
            ({"notification": {"text": "x"}}, "message.notification.text"),
            ({"android": {"ttl": "1 hour"}}, "message.android.ttl"),
            ({"android": {"ttl": "2419201s"}}, "message.android.ttl"),
            ({"android": {"priority": "URGENT"}}, "message.android.priority"),
            ({"apns": {"headers": {"apns-priority": 10}}}, "message.apns"),
        ],
    )
    def test_says_which_field_is_wrong(self, desk: Desk, change: dict[str, Any], field: str) -> None:
        message = json.loads(desk.request().body)["message"] | change
        body = json.dumps({"message": {name: value for name, value in message.items() if value is not None}})

        answer = desk.send(body.encode())

        [detail] = json.loads(answer.body)["error"]["details"]
        assert (answer.status, detail["fieldViolations"][0]["field"]) == (400, field)

    def test_names_nothing_where_it_is_too_big(self, desk: Desk) -> None:
        message = json.loads(desk.request().body)["message"] | {"data": {"x": "y" * 4096}}

        answer = desk.send(json.dumps({"message": message}).encode())

        assert (answer.status, "details" in json.loads(answer.body)["error"]) == (400, False)

    def test_gives_tokens_only_to_whoever_signs(self, desk: Desk) -> None:
        late = desk.ask(desk.adapter.token_request(desk.now - timedelta(hours=2)))
        asked = desk.adapter.token_request(desk.now)
        forged = desk.ask(replace(asked, body=asked.body[:-4] + b"AAAA"))

        assert late.status == forged.status == 400
        assert json.loads(late.body)["error"] == "invalid_grant"


@of("apns")
class TestApns:
    @pytest.mark.parametrize(
        ("headers", "reason"),
        [
            ({"apns_topic": None}, "MissingTopic"),
            ({"apns_topic": "com.example.other"}, "DeviceTokenNotForTopic"),
            ({"apns_priority": "7"}, "BadPriority"),
            ({"apns_push_type": "shout"}, "InvalidPushType"),
            ({"apns_collapse_id": "x" * 65}, "BadCollapseId"),
            ({"apns_expiration": "tomorrow"}, "BadExpirationDate"),
            ({"apns_id": "7"}, "BadMessageId"),
        ],
    )
    def test_says_what_is_wrong(self, desk: Desk, headers: dict[str, Any], reason: str) -> None:
        assert json.loads(desk.send(**headers).body)["reason"] == reason

    def test_takes_4096_bytes(self, desk: Desk) -> None:
        sizes = [4096 - len(b'{"aps":{"alert":{"body":""}}}'), 4097 - len(b'{"aps":{"alert":{"body":""}}}')]

        answers = [desk.send(b'{"aps":{"alert":{"body":"' + b"x" * size + b'"}}}') for size in sizes]

        assert [answer.status for answer in answers] == [200, 413]

    def test_takes_no_token_of_two_hours_ago(self, desk: Desk) -> None:
        desk.now -= timedelta(hours=2)

        assert json.loads(desk.send().body)["reason"] == "ExpiredProviderToken"


@of("webpush")
class TestWebPush:
    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"TTL": None}, 400),
            ({"Topic": "x" * 33}, 400),
            ({"Topic": "not/base64"}, 400),
            ({"Content_Encoding": None}, 400),
        ],
    )
    def test_refuses_what_is_missing(self, desk: Desk, headers: dict[str, Any], status: int) -> None:
        assert desk.send(**headers).status == status

    def test_refuses_what_its_browser_cannot_open(self, desk: Desk) -> None:
        sealed = desk.request().body

        assert desk.send(sealed[:-1] + bytes([sealed[-1] ^ 1])).status == 400
        assert desk.send(b"x" * 4097).status == 413

    def test_believes_nobody_for_longer_than_a_day(self, desk: Desk) -> None:
        desk.now += timedelta(days=1)

        assert desk.send().status == 403


def test_the_three_are_all_there_are() -> None:
    assert {kind.name for kind in PushProvider.__subclasses__()} == {Fcm.name, Apns.name, WebPush.name}

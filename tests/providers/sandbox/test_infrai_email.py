"""Infrai's e-mail: the adapter against the sandbox, and what the sandbox does not take. Keys and faults: test_infrai."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from providers.errors import InsufficientBalance, OutcomeUnknown, ProviderError, UnknownRefusal
from providers.infrai_email import InfraiEmail
from providers.messages import (
    Account,
    AttemptRef,
    Channel,
    EventKind,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
)
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import eventually, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Product

KEYS = {"api_key": "ifr_pk_proj_test"}
KEYED = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1", key="0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox([SandboxAccount("letters", "infrai_email", KEYS)], pace=PACE) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, account: Account, transport: RequestsTransport) -> None:
        self.adapter = InfraiEmail(account)
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        [[answer]] = send_many(self._transport, [TransportCall("only", request, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def request(self, to: str) -> HttpRequest:
        return self.adapter.send_request(OutgoingMessage(Channel.EMAIL, to, "Grüße", "Order", "<p>Grüße"), KEYED)

    def send(self, to: str) -> SendResult:
        return self.adapter.send_result(self.ask(self.request(to)))

    def status(self, provider_message_id: str | None) -> list[EventKind]:
        answer = self.ask(self.adapter.status_request(provider_message_id or ""))
        return [event.kind for event in self.adapter.status_result(answer)]


@pytest.fixture
def letters(sandbox: Sandbox) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=2)
    account = Account("letters", KEYS, {"from": "no-reply@example.com"}, base_url=sandbox.base_url("letters"))
    yield Desk(account, transport)
    transport.close()


class TestRoles:
    @pytest.mark.parametrize(
        ("local", "kind"),
        [
            ("delivered", EventKind.DELIVERED),
            ("silent", EventKind.SENT),
            ("bounce", EventKind.BOUNCED),
            ("softbounce", EventKind.FAILED),
            ("complaint", EventKind.COMPLAINED),
            ("slow", EventKind.DELIVERED),
        ],
    )
    def test_is_told_when_asked(self, letters: Desk, local: str, kind: EventKind) -> None:
        sent = letters.send(f"{local}@example.org")

        eventually(lambda: letters.status(sent.provider_message_id), lambda kinds: kinds == [kind])

        assert sent.provider_status == "queued"

    def test_invalid_is_refused(self, letters: Desk) -> None:
        with pytest.raises(UnknownRefusal) as raised:
            letters.send("invalid@example.org")

        assert raised.value.suppress is None

    def test_timeout_is_settled_by_the_same_call_again(self, letters: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(OutcomeUnknown):
            letters.send("timeout@example.org")

        sent = letters.send("timeout@example.org")

        [(_, message)] = sandbox.messages()
        assert (sent.provider_message_id, message.attempt) == (message.id, KEYED.id)

    def test_a_message_that_is_none_is_told_nothing_of(self, letters: Desk) -> None:
        assert letters.status("em_none") == []


def test_has_faults(letters: Desk, sandbox: Sandbox) -> None:
    sandbox.set_faults("letters", refuse={"status": 402, "code": 0})

    with pytest.raises(InsufficientBalance):
        letters.send("ana@example.org")


def test_answers_are_as_in_the_example(letters: Desk, sandbox: Sandbox, product: Product) -> None:
    taken = json.loads(letters.ask(letters.request("ana@example.org")).body)
    asked = json.loads(letters.ask(letters.adapter.status_request(taken["data"]["email_id"])).body)

    assert shape(taken) == shape(asked) == shape(payload("infrai_email/send-response-200.json"))
    assert sandbox.wait_idle(10)
    assert product.calls == []


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"reply_to": "x@example.com"}, 400),
        ({"subject": 5}, 422),
        ({"subject": ""}, 422),
        ({"to": "nobody"}, 422),
        ({"to": []}, 422),
        ({"to": ["a@x.example", "invalid@x.example"]}, 422),
        ({"text": "", "html": ""}, 422),
    ],
)
def test_refuses(letters: Desk, sandbox: Sandbox, changes: dict[str, Any], status: int) -> None:
    request = letters.request("ana@example.org")
    body = json.dumps(json.loads(request.body) | changes).encode()

    assert letters.ask(replace(request, body=body)).status == status
    assert sandbox.counts().taken == 0

"""The mail server of the sandbox, and the adapter and transport against it."""

from __future__ import annotations

import smtplib
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from providers.errors import (
    AuthenticationFailed,
    InvalidRecipient,
    OutcomeUnknown,
    ProviderError,
    RecipientBusy,
    RouteRejected,
    Unavailable,
)
from providers.messages import Account, AttemptRef, Channel, MailRequest, OutgoingMessage, SendResult
from providers.sandbox import Refusal, Sandbox, SandboxAccount
from providers.smtp import Smtp
from providers.transport.base import Call
from providers.transport.inbox import send_many
from providers.transport.smtp import SmtpTransport
from tests.providers.sandbox.clients import eventually
from tests.providers.sandbox.conftest import PACE

ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
SIGNED_IN = {"username": "relay-user", "password": "relay-pass"}


@pytest.fixture
def sandbox(log: list[str]) -> Iterator[Sandbox]:
    accounts = [SandboxAccount("relay", "smtp", SIGNED_IN), SandboxAccount("open-relay", "smtp", {})]
    with Sandbox(accounts, pace=PACE, log=log.append) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, sandbox: Sandbox, slug: str, credentials: dict[str, str], transport: SmtpTransport) -> None:
        settings = {"from": "no-reply@example.org", "security": "none"}
        self.adapter = Smtp(Account(slug, credentials, settings, sandbox.base_url(slug)))
        self._transport = transport

    def request(self, to: str, text: str = "Shipped.") -> MailRequest:
        message = OutgoingMessage(Channel.EMAIL, to, text, "Your order", f"<p>{text}</p>")
        return self.adapter.send_request(message, ATTEMPT)

    def send(self, to: str, text: str = "Shipped.") -> SendResult:
        [[answer]] = send_many(self._transport, [Call("only", self.request(to, text), 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return self.adapter.send_result(answer.result)


@pytest.fixture
def transport() -> Iterator[SmtpTransport]:
    transport = SmtpTransport(concurrency=2)
    yield transport
    transport.close()


@pytest.fixture
def desk(sandbox: Sandbox, transport: SmtpTransport) -> Desk:
    return Desk(sandbox, "relay", SIGNED_IN, transport)


class TestMail:
    def test_is_in_the_books_as_it_came(self, sandbox: Sandbox, desk: Desk) -> None:
        taken = desk.send("delivered@example.org", "hello\n.\n.hidden\nüber")

        [(slug, message)] = sandbox.messages()
        assert (slug, message.id, message.to) == ("relay", taken.provider_message_id, "delivered@example.org")
        assert message.text == "Your order\nhello\n.\n.hidden\nüber"
        assert message.attempt == ATTEMPT.id
        assert message.content.count(b"\r\nDate: ") + message.content.startswith(b"Date: ") == 1
        assert taken.provider_status == "2.0.0"

    def test_counts_as_those_of_other_vendors(self, sandbox: Sandbox, desk: Desk, log: list[str]) -> None:
        desk.send("delivered@example.org")
        desk.send("delivered@example.org")

        counts = sandbox.counts().accounts["relay"]
        assert (counts.requests, counts.answers, counts.taken) == ({"send": 2}, {"250": 2}, 2)
        assert [duplicate.to for duplicate in counts.duplicates] == ["delivered@example.org"]
        assert not any("delivered@" in line or SIGNED_IN["password"] in line for line in log)

    def test_accounts_are_told_apart_by_their_user(self, sandbox: Sandbox, transport: SmtpTransport) -> None:
        Desk(sandbox, "open-relay", {}, transport).send("delivered@example.org")

        assert [slug for slug, _ in sandbox.messages()] == ["open-relay"]

    def test_to_a_mailbox_beyond_ascii(self, sandbox: Sandbox, desk: Desk) -> None:
        desk.send("jörg@exämple.com")

        [(_, message)] = sandbox.messages()
        assert message.to == "jörg@xn--exmple-cua.com"
        assert b"=?" not in message.content.partition(b"\r\nContent-Type")[0]


class TestRoles:
    def test_invalid(self, sandbox: Sandbox, desk: Desk) -> None:
        with pytest.raises(InvalidRecipient) as caught:
            desk.send("invalid@example.org")

        assert (caught.value.code, caught.value.suppress) == ("5.1.1", "hard_bounce")
        assert sandbox.counts().accounts["relay"].answers == {"550": 1}
        desk.send("delivered@example.org")  # on the same connection

    @pytest.mark.parametrize("to", ["timeout@example.org", "delivered@example.org"])
    def test_no_answer_is_unclear_and_the_mail_is_taken(self, sandbox: Sandbox, desk: Desk, to: str) -> None:
        sandbox.set_faults("relay", accept_then_drop=to.startswith("delivered") or None)

        with pytest.raises(OutcomeUnknown):
            desk.send(to)

        assert len(sandbox.messages()) == 1

    def test_slow_is_late(self, desk: Desk) -> None:
        began = time.monotonic()

        assert desk.send("slow@example.org").provider_message_id
        assert time.monotonic() - began >= PACE.slow_answer


class TestFaults:
    @pytest.mark.parametrize(
        ("faults", "error"),
        [
            ({"outage": "status_503"}, Unavailable),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"rate_limit": 1}, ProviderError),
            ({"refuse": Refusal(554, 0, "5.7.1 Spam")}, RouteRejected),
            ({"refuse": Refusal(452, 0, "4.2.2 Full")}, RecipientBusy),
        ],
    )
    def test_take_nothing(
        self, sandbox: Sandbox, desk: Desk, faults: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults("relay", **faults)

        with pytest.raises(error):
            desk.send("delivered@example.org")

        assert sandbox.messages() == []

    def test_a_wrong_password_is_nobodys(self, sandbox: Sandbox, transport: SmtpTransport) -> None:
        stranger = Desk(sandbox, "relay", {**SIGNED_IN, "password": "guess"}, transport)

        with pytest.raises(AuthenticationFailed):
            stranger.send("delivered@example.org")

        assert sandbox.counts().unknown_requests > 0

    def test_mail_without_signing_in_is_nobodys(self, log: list[str]) -> None:
        with Sandbox([SandboxAccount("relay", "smtp", SIGNED_IN)], pace=PACE, log=log.append) as sandbox:
            host, port = sandbox.base_url("relay").removeprefix("smtp://").split(":")
            with (
                smtplib.SMTP(host, int(port), local_hostname="test") as client,
                pytest.raises(smtplib.SMTPDataError) as no,
            ):
                client.sendmail("a@example.org", ["delivered@example.org"], "Subject: x\r\n\r\ny")

            assert no.value.smtp_code == 530
            assert sandbox.messages() == []


def test_ends_while_a_mail_waits_for_its_answer(transport: SmtpTransport) -> None:
    with Sandbox([SandboxAccount("relay", "smtp", SIGNED_IN)], pace=replace(PACE, hang=60.0)) as sandbox:
        desk = Desk(sandbox, "relay", SIGNED_IN, transport)
        answers = send_many(transport, [Call("only", desk.request("timeout@example.org"), 30.0)])
        eventually(sandbox.messages, bool)

        sandbox.stop()

        [[answer]] = answers
    assert type(answer.result) is OutcomeUnknown


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiosmtpd.smtp", None)
    monkeypatch.delitem(sys.modules, "providers.sandbox.vendors.smtp.sink", raising=False)

    with pytest.raises(ValueError, match="aiosmtpd"):
        Sandbox([SandboxAccount("relay", "smtp", {})])
    with Sandbox([SandboxAccount("sms", "infrai", {"api_key": "x"})]):  # and only who needs it
        pass

"""Mailgun and Brevo as the sandbox plays them, and the adapter against them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from providers.anymail import Anymail
from providers.errors import AuthenticationFailed, ProviderError, RateLimited, UnknownRefusal
from providers.messages import (
    Account,
    Attachment,
    AttemptRef,
    Channel,
    EventKind,
    Headers,
    Mail,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)
from providers.sandbox import Sandbox, SandboxAccount
from providers.sandbox.vendors.anymail import vendor
from providers.transport.base import Call
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.samples.anymail import BASIC, CREDENTIALS
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Product

ID = "0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1"
MESSAGE = OutgoingMessage(Channel.EMAIL, "delivered@example.org", "Shipped.", "Your order", "<p>Shipped.</p>")


@pytest.fixture(params=["mailgun", "brevo"])
def esp(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sandbox(product: Product, esp: str) -> Iterator[Sandbox]:
    known = ":".join(BASIC.values()) + "@" if esp == "brevo" else ""
    url = f"http://{known}{product.host}/webhooks/vendor/"
    with Sandbox([SandboxAccount("vendor", "anymail", CREDENTIALS[esp], url)], pace=PACE) as sandbox:
        yield sandbox


class Desk:
    """The adapter at work on one account."""

    def __init__(self, account: Account, transport: RequestsTransport) -> None:
        self.adapter = Anymail(account)
        self._transport = transport

    def send(self, message: OutgoingMessage = MESSAGE, key: str | None = None) -> SendResult:
        request = self.adapter.send_request(message, AttemptRef(ID, key))
        [[answer]] = send_many(self._transport, [Call("only", request, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return self.adapter.send_result(answer.result)


@pytest.fixture
def desk(sandbox: Sandbox, esp: str) -> Iterator[Desk]:
    transport = RequestsTransport(concurrency=1)
    settings = {"esp": esp, "from": "no-reply@example.org"}
    yield Desk(Account("vendor", CREDENTIALS[esp], settings, sandbox.base_url("vendor")), transport)
    transport.close()


def kinds(desk: Desk, product: Product, count: int) -> list[EventKind]:
    """What the product is told, as its adapter reads it."""
    calls = [WebhookRequest("POST", call.url, Headers(call.headers), call.body) for call in product.wait_for(count)]
    events = [event for call in calls for event in desk.adapter.parse_webhook(call)]
    assert {event.attempt for event in events} == {ID}
    return [event.kind for event in events]


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("delivered", {EventKind.DELIVERED}),
        ("bounce", {EventKind.BOUNCED}),
        ("softbounce", {EventKind.NOT_REACHED}),
        ("complaint", {EventKind.DELIVERED, EventKind.COMPLAINED}),
    ],
)
def test_reports_what_became_of_a_mail(
    desk: Desk, sandbox: Sandbox, product: Product, esp: str, to: str, told: set[EventKind]
) -> None:
    taken = desk.send(replace(MESSAGE, to=f"{to}@example.org"))

    heard = kinds(desk, product, len(told) + (esp == "brevo"))  # which also says that it was asked

    [(_, message)] = sandbox.messages()
    assert (taken.provider_message_id, message.attempt) == (message.id, ID)
    assert set(heard) - {EventKind.ACCEPTED} == told


def test_reads_a_mail_with_files(desk: Desk, sandbox: Sandbox) -> None:
    files = (Attachment("a.pdf", "application/pdf", b"%PDF\r\n--x\0"),)

    desk.send(replace(MESSAGE, mail=Mail("Änä", attachments=files)))

    [(_, message)] = sandbox.messages()
    assert (message.to, message.text, message.attempt) == ("delivered@example.org", "Your order\nShipped.", ID)


def test_refuses_in_its_words(desk: Desk, sandbox: Sandbox) -> None:
    with pytest.raises(UnknownRefusal):
        desk.send(replace(MESSAGE, to="invalid@example.org"))
    sandbox.set_faults("vendor", rate_limit=1, retry_after_seconds=7)
    with pytest.raises(RateLimited) as caught:
        desk.send()

    assert caught.value.retry_after_seconds == 7
    assert sandbox.messages() == []


def test_knows_its_customers(desk: Desk, sandbox: Sandbox, esp: str) -> None:
    account = replace(desk.adapter.account, credentials={**CREDENTIALS[esp], "api_key": "guess"})
    desk.adapter = Anymail(account)

    with pytest.raises(AuthenticationFailed):
        desk.send()

    assert sandbox.counts().unknown_requests == 1


@pytest.mark.parametrize("esp", ["brevo"])
class TestKey:
    def test_makes_a_repeated_call_the_same_mail(self, desk: Desk, sandbox: Sandbox) -> None:
        assert desk.send(key="k") == desk.send(key="k")
        assert len(sandbox.messages()) == 1

    def test_is_forgotten(self, desk: Desk, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        desk.send(key="k")
        monkeypatch.setattr(vendor, "KEY_LIFE_SECONDS", 0)

        desk.send(key="k")

        assert len(sandbox.messages()) == 2

    def test_another_is_another_mail(self, desk: Desk, sandbox: Sandbox) -> None:
        for key in ("k", "l", None, None):
            desk.send(key=key)

        assert len(sandbox.messages()) == 4

"""The product's own adapters and transport against the sandbox: what each role and fault comes to in our words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

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
    Unavailable,
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
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.registry import connect
from providers.sandbox import Sandbox
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import POSTMARK_TOKEN, RESEND, SENDER, TWILIO, number
from tests.providers.sandbox.product import Call, Product

ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
DEADLINE_SECONDS = 5.0


class Desk:
    """One adapter at work on one account."""

    def __init__(self, adapter: Provider, transport: RequestsTransport, make: Callable[..., OutgoingMessage]) -> None:
        self.adapter = adapter
        self.make = make
        self.began_at = datetime.now(UTC)
        self._transport = transport

    def ask(self, request: HttpRequest, deadline_seconds: float = DEADLINE_SECONDS) -> HttpResponse:
        [[answer]] = send_many(self._transport, [TransportCall("only", request, deadline_seconds)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def send(self, to: str, attempt: AttemptRef = ATTEMPT, **message: Any) -> SendResult:
        request = self.adapter.send_request(self.make(to, **message), attempt)
        return self.adapter.send_result(self.ask(request))

    def find(self, to: str, page: str | None = None, **message: Any) -> FindResult:
        sent = SentMessage(self.make(to, **message), ATTEMPT, self.began_at, DEADLINE_SECONDS)
        return self.adapter.find_result(self.ask(self.adapter.find_request(sent, page)), sent)

    def status(self, provider_message_id: str | None) -> list[EventKind]:
        assert provider_message_id is not None
        answer = self.ask(self.adapter.status_request(provider_message_id))
        return [event.kind for event in self.adapter.status_result(answer)]

    def hear(self, call: Call) -> DeliveryEvent:
        [event] = self.adapter.parse_webhook(WebhookRequest("POST", call.url, call.headers, call.body))
        return event


def sms(to: str, text: str = "Your code is 123456: größer als € 5 😭") -> OutgoingMessage:
    return OutgoingMessage(Channel.SMS, to, text, useful_seconds=300)


def mail(to: str, text: str = "Your table is ready") -> OutgoingMessage:
    return OutgoingMessage(Channel.EMAIL, to, text, subject="Table ready", html="<p>Your table is ready</p>")


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=2)
    yield transport
    transport.close()


@pytest.fixture
def twilio(sandbox: Sandbox, transport: RequestsTransport, product: Product) -> Desk:
    account = Account(
        TWILIO.slug,
        TWILIO.credentials,
        {"from": SENDER},
        base_url=sandbox.base_url(TWILIO.slug),
        callback_url=f"http://{product.host}/webhooks/sms-a/",
    )
    return Desk(connect("twilio", account), transport, sms)


@pytest.fixture
def postmark(sandbox: Sandbox, transport: RequestsTransport) -> Desk:
    credentials = {"server_token": POSTMARK_TOKEN, "webhook_user": "pm-user", "webhook_password": "pm-pass-9f2c"}
    account = Account("mail", credentials, {"from": "no-reply@example.com"}, base_url=sandbox.base_url("mail"))
    return Desk(connect("postmark", account), transport, mail)


@pytest.fixture
def resend(sandbox: Sandbox, transport: RequestsTransport) -> Desk:
    account = Account("letters", RESEND, {"from": "no-reply@example.com"}, base_url=sandbox.base_url("letters"))
    return Desk(connect("resend", account), transport, mail)


class TestTwilio:
    def test_delivers_and_tells(self, twilio: Desk, product: Product) -> None:
        sent = twilio.send(number("01"))

        events = [twilio.hear(call) for call in product.wait_for(2)]

        assert (sent.provider_status, sent.segments) == ("queued", 1)
        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert twilio.status(sent.provider_message_id) == [EventKind.DELIVERED]

    def test_tells_the_same_twice_under_one_key(self, twilio: Desk, product: Product) -> None:
        twilio.send(number("07"))

        events = [twilio.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    def test_fails_for_good_without_suppression(self, twilio: Desk, product: Product) -> None:
        sent = twilio.send(number("03"))

        event = twilio.hear(product.wait_for(2)[-1])

        assert (event.kind, event.suppress) == (EventKind.FAILED, None)
        assert twilio.status(sent.provider_message_id) == [EventKind.FAILED]

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
    def test_says_no(self, twilio: Desk, role: str, error: type[ProviderError], suppress: str | None) -> None:
        with pytest.raises(error) as raised:
            twilio.send(number(role))

        assert raised.value.suppress == suppress

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_is_found_after_an_unclear_outcome(self, twilio: Desk, sandbox: Sandbox, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            twilio.send(number(role))

        found = twilio.find(number(role))

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id
        assert message.attempt == ATTEMPT.id

    def test_is_found_behind_other_pages(self, twilio: Desk) -> None:
        wanted = twilio.send(number("02"), text="the one")
        for index in range(250):
            twilio.send(number("02"), text=f"another {index}")

        pages, found = 0, twilio.find(number("02"), text="the one")
        while isinstance(found, NextPage):
            pages, found = pages + 1, twilio.find(number("02"), found.page, text="the one")

        assert pages == 2
        assert isinstance(found, Found)
        assert found.provider_message_id == wanted.provider_message_id

    def test_cannot_be_told_from_its_double(self, twilio: Desk) -> None:
        for _ in range(2):
            twilio.send(number("02"))

        assert isinstance(twilio.find(number("02")), CannotTell)

    def test_is_not_there_while_the_list_lags(self, twilio: Desk, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", look_up_lag_seconds=3600)
        twilio.send(number("02"))

        assert isinstance(twilio.find(number("02")), NotThere)

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 20003}}, AuthenticationFailed),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(
        self, twilio: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults("sms-a", **fault)

        with pytest.raises(error) as raised:
            twilio.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_callback_that_was_changed(self, twilio: Desk, product: Product) -> None:
        twilio.send(number("01"))
        [genuine, _] = product.wait_for(2)

        forged = Call(genuine.url, genuine.headers, genuine.body.replace(b"=sent", b"=delivered"))

        with pytest.raises(InvalidSignature):
            twilio.hear(forged)


class TestPostmark:
    def test_delivers_and_tells(self, postmark: Desk, product: Product) -> None:
        sent = postmark.send("delivered+1@example.org")

        event = postmark.hear(product.wait_for(1)[0])

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, ATTEMPT.id)
        assert event.provider_message_id == sent.provider_message_id
        assert postmark.status(sent.provider_message_id) == [EventKind.SENT, EventKind.DELIVERED]

    @pytest.mark.parametrize(
        ("local", "kinds", "suppress"),
        [
            ("bounce", [EventKind.BOUNCED], "hard_bounce"),
            ("softbounce", [EventKind.NOT_REACHED], None),
            ("complaint", [EventKind.DELIVERED, EventKind.COMPLAINED], "complaint"),
        ],
    )
    def test_tells_of_trouble(
        self, postmark: Desk, product: Product, local: str, kinds: list[EventKind], suppress: str | None
    ) -> None:
        postmark.send(f"{local}@example.org")

        events = [postmark.hear(call) for call in product.wait_for(len(kinds))]

        assert [event.kind for event in events] == kinds
        assert events[-1].suppress == suppress

    def test_says_no_to_an_invalid_address(self, postmark: Desk) -> None:
        with pytest.raises(InvalidRecipient):
            postmark.send("invalid@example.org")

    def test_says_no_to_an_inactive_address(self, postmark: Desk, product: Product) -> None:
        postmark.send("bounce@example.org")
        product.wait_for(1)

        with pytest.raises(RecipientUnavailable) as raised:
            postmark.send("bounce@example.org")

        assert raised.value.suppress == "inactive"

    def test_is_found_after_an_unclear_outcome(self, postmark: Desk, sandbox: Sandbox) -> None:
        with pytest.raises(OutcomeUnknown):
            postmark.send("timeout@example.org")

        found = postmark.find("timeout@example.org")

        [(_, message)] = sandbox.messages()
        assert isinstance(found, Found)
        assert found.provider_message_id == message.id

    def test_is_not_there_when_it_was_never_sent(self, postmark: Desk) -> None:
        postmark.send("ana@example.org", AttemptRef("somebody-else-1"))

        assert isinstance(postmark.find("ana@example.org"), NotThere)

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, Unavailable),
            ({"outage": "status_500"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 10}}, AuthenticationFailed),
            ({"refuse": {"status": 422, "code": 405}}, InsufficientBalance),
            ({"rate_limit": 1}, RateLimited),
        ],
    )
    def test_has_faults(
        self, postmark: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults("mail", **fault)

        with pytest.raises(error):
            postmark.send("ana@example.org")

    def test_refuses_a_webhook_without_credentials(self, postmark: Desk, product: Product) -> None:
        postmark.send("ana@example.org")
        [genuine] = product.wait_for(1)

        headers = {name: value for name, value in genuine.headers.items() if name != "authorization"}

        with pytest.raises(InvalidSignature):
            postmark.hear(Call(genuine.url, headers, genuine.body))


KEYED = AttemptRef(ATTEMPT.id, key="key-1")


class TestResend:
    def test_delivers_and_tells(self, resend: Desk, product: Product) -> None:
        sent = resend.send("delivered+1@example.org", KEYED)

        events = [resend.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        assert len({event.dedupe_key for event in events}) == 2
        assert resend.status(sent.provider_message_id) == [EventKind.DELIVERED]

    @pytest.mark.parametrize(
        ("local", "kinds", "suppress"),
        [
            ("silent", [EventKind.SENT], None),
            ("bounce", [EventKind.SENT, EventKind.BOUNCED], "hard_bounce"),
            ("softbounce", [EventKind.SENT, EventKind.NOT_REACHED], None),
            ("complaint", [EventKind.SENT, EventKind.DELIVERED, EventKind.COMPLAINED], "complaint"),
        ],
    )
    def test_tells_of_trouble(
        self, resend: Desk, product: Product, local: str, kinds: list[EventKind], suppress: str | None
    ) -> None:
        resend.send(f"{local}@example.org", KEYED)

        events = [resend.hear(call) for call in product.wait_for(len(kinds))]

        assert [event.kind for event in events] == kinds
        assert events[-1].suppress == suppress

    def test_tells_of_a_suppressed_address(self, resend: Desk, product: Product) -> None:
        resend.send("bounce@example.org")
        product.wait_for(2)

        resend.send("bounce@example.org")

        event = resend.hear(product.wait_for(3)[-1])
        assert (event.kind, event.suppress) == (EventKind.FAILED, "hard_bounce")

    def test_says_no_to_an_invalid_address(self, resend: Desk) -> None:
        with pytest.raises(InvalidRecipient):
            resend.send("invalid@example.org", KEYED)

    @pytest.mark.parametrize(("local", "fault"), [("timeout", {}), ("ana", {"accept_then_drop": True})])
    def test_is_settled_by_the_same_call_again(
        self, resend: Desk, sandbox: Sandbox, local: str, fault: dict[str, Any]
    ) -> None:
        sandbox.set_faults("letters", **fault)
        with pytest.raises(OutcomeUnknown):
            resend.send(f"{local}@example.org", KEYED)

        sent = resend.send(f"{local}@example.org", KEYED)

        [(_, message)] = sandbox.messages()
        assert sent.provider_message_id == message.id
        assert message.attempt == ATTEMPT.id

    def test_is_not_settled_by_other_words_under_the_same_key(self, resend: Desk, sandbox: Sandbox) -> None:
        resend.send("ana@example.org", KEYED)

        with pytest.raises(OutcomeUnknown) as raised:
            resend.send("ana@example.org", KEYED, text="Your table is gone")

        assert raised.value.code == "invalid_idempotent_request"
        assert sandbox.counts().taken == 1

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 401, "code": 0}}, AuthenticationFailed),
            ({"refuse": {"status": 403, "code": 0, "message": "validation_error"}}, SenderNotAllowed),
            ({"refuse": {"status": 429, "code": 0, "message": "monthly_quota_exceeded"}}, InsufficientBalance),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
        ],
    )
    def test_has_faults(
        self, resend: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]
    ) -> None:
        sandbox.set_faults("letters", **fault)

        with pytest.raises(error) as raised:
            resend.send("ana@example.org", KEYED)

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")

    def test_refuses_a_webhook_that_was_changed(self, resend: Desk, product: Product) -> None:
        resend.send("silent@example.org", KEYED)
        [genuine] = product.wait_for(1)

        forged = Call(genuine.url, genuine.headers, genuine.body.replace(b"email.sent", b"email.failed"))

        with pytest.raises(InvalidSignature):
            resend.hear(forged)

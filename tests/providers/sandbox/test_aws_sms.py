"""AWS End User Messaging: the adapter against the sandbox, and what the sandbox does not take."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from providers.aws_sms import AwsSms
from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RouteRejected,
    SenderNotAllowed,
)
from providers.messages import (
    Account,
    AttemptRef,
    Channel,
    DeliveryEvent,
    EventKind,
    Headers,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)
from providers.sandbox import Sandbox, SandboxAccount
from providers.transport.base import Call as TransportCall
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.sandbox.clients import number
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Call, Product

ATTEMPT = AttemptRef("0197a3a8c5b77b0f9d3c2f1e0a9b8c7d-1")
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOPIC = "arn:aws:sns:us-east-1:123456789012:sms-events"
KEYS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": SECRET_KEY, "topic_arn": TOPIC}


@pytest.fixture
def sandbox(product: Product) -> Iterator[Sandbox]:
    account = SandboxAccount("aws", "aws_sms", KEYS, f"http://{product.host}/webhooks/aws/")
    with Sandbox([account], pace=PACE) as sandbox:
        yield sandbox


@pytest.fixture
def certificate(sandbox: Sandbox) -> str:
    with requests.Session() as http:
        http.trust_env = False
        return http.get(f"{sandbox.base_url('aws')}/SimpleNotificationService.pem", timeout=10).text


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=2)
    yield transport
    transport.close()


class Desk:
    """The adapter at work on one account."""

    def __init__(self, transport: RequestsTransport, account: Account) -> None:
        self.adapter = AwsSms(account)
        self.clock = timedelta()  # how far ours is off
        self._transport = transport

    def ask(self, request: HttpRequest) -> HttpResponse:
        signed = self.adapter.authorize(request, datetime.now(UTC) + self.clock)
        return self.pass_on(signed)

    def pass_on(self, request: HttpRequest) -> HttpResponse:
        [[answer]] = send_many(self._transport, [TransportCall("only", request, 5.0)])
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return answer.result

    def request(self, to: str, text: str = "Your code is 123456: größer als € 5 😭") -> HttpRequest:
        return self.adapter.send_request(OutgoingMessage(Channel.SMS, to, text, useful_seconds=300), ATTEMPT)

    def send(self, to: str, **message: Any) -> SendResult:
        return self.adapter.send_result(self.ask(self.request(to, **message)))

    def hear(self, call: Call) -> DeliveryEvent:
        [event] = self.adapter.parse_webhook(WebhookRequest("POST", call.url, Headers(call.headers), call.body))
        return event


@pytest.fixture
def aws(sandbox: Sandbox, certificate: str, transport: RequestsTransport) -> Desk:
    credentials = {**KEYS, "signing_certificate": certificate}
    settings = {"from": "+15005550006", "configuration_set": "notify"}
    return Desk(transport, Account("aws", credentials, settings, base_url=sandbox.base_url("aws")))


class TestRoles:
    def test_delivers_and_tells(self, aws: Desk, product: Product, sandbox: Sandbox) -> None:
        sent = aws.send(number("01"))

        events = [aws.hear(call) for call in product.wait_for(2)]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.DELIVERED]
        assert {event.attempt for event in events} == {ATTEMPT.id}
        assert {event.provider_message_id for event in events} == {sent.provider_message_id}
        [(_, message)] = sandbox.messages()
        assert (message.id, message.attempt) == (sent.provider_message_id, ATTEMPT.id)
        assert message.text == "Your code is 123456: größer als € 5 😭"

    def test_tells_the_same_twice_under_one_key(self, aws: Desk, product: Product) -> None:
        aws.send(number("07"))

        events = [aws.hear(call) for call in product.wait_for(4)]

        assert [event.kind for event in events] == [EventKind.DELIVERED] * 2 + [EventKind.SENT] * 2
        assert len({event.dedupe_key for event in events}) == 2

    def test_fails_for_good_without_suppression(self, aws: Desk, product: Product) -> None:
        aws.send(number("03"))

        event = aws.hear(product.wait_for(2)[-1])

        assert (event.kind, event.suppress, event.provider_status) == (EventKind.FAILED, None, "TEXT_CARRIER_BLOCKED")

    @pytest.mark.parametrize(
        ("role", "error", "suppress"),
        [
            ("04", InvalidRecipient, None),
            ("05", RateLimited, None),
            ("08", RecipientOptedOut, "opted_out"),
            ("06", OutcomeUnknown, None),
            ("09", OutcomeUnknown, None),
        ],
    )
    def test_says_no(self, aws: Desk, role: str, error: type[ProviderError], suppress: str | None) -> None:
        with pytest.raises(error) as raised:
            aws.send(number(role))

        assert raised.value.suppress == suppress

    def test_is_busy_twice(self, aws: Desk) -> None:
        for _ in range(2):
            with pytest.raises(RateLimited):
                aws.send(number("05"))

        assert aws.send(number("05")).provider_message_id

    @pytest.mark.parametrize("role", ["06", "09"])
    def test_an_unclear_outcome_is_settled_by_an_event(self, aws: Desk, product: Product, role: str) -> None:
        with pytest.raises(OutcomeUnknown):
            aws.send(number(role))

        assert aws.hear(product.wait_for(1)[0]).attempt == ATTEMPT.id

    def test_slow_and_silent_are_taken(self, aws: Desk, sandbox: Sandbox, product: Product) -> None:
        aws.send(number("10"))
        aws.send(number("02"))

        assert sandbox.counts().taken == 2


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ({"outage": "status_503"}, OutcomeUnknown),
            ({"outage": "drop"}, OutcomeUnknown),
            ({"refuse": {"status": 403, "code": 0}}, AuthenticationFailed),
            (
                {
                    "refuse": {
                        "status": 400,
                        "code": 0,
                        "message": "ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT",
                    }
                },
                InsufficientBalance,
            ),
            (
                {"refuse": {"status": 400, "code": 0, "message": "ValidationException/COUNTRY_NOT_ENABLED"}},
                RouteRejected,
            ),
            ({"refuse": {"status": 400, "code": 0, "message": "ResourceNotFoundException"}}, SenderNotAllowed),
            ({"rate_limit": 1, "retry_after_seconds": 3}, RateLimited),
            ({"accept_then_drop": True}, OutcomeUnknown),
        ],
    )
    def test_has_faults(self, aws: Desk, sandbox: Sandbox, fault: dict[str, Any], error: type[ProviderError]) -> None:
        sandbox.set_faults("aws", **fault)

        with pytest.raises(error) as raised:
            aws.send(number("01"))

        assert raised.value.retry_after_seconds == fault.get("retry_after_seconds")


class TestProof:
    def test_of_another_key_is_refused(self, aws: Desk, sandbox: Sandbox) -> None:
        for name, exception in (
            ("secret_access_key", "InvalidSignatureException"),
            ("access_key_id", "UnrecognizedClientException"),
        ):
            account = replace(aws.adapter.account, credentials={**aws.adapter.account.credentials, name: "AKIDOTHER"})
            aws.adapter = AwsSms(account)
            with pytest.raises(AuthenticationFailed) as raised:
                aws.send(number("01"))
            assert raised.value.code == exception
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("minutes", [-6, 6])
    def test_by_a_clock_that_is_off_is_refused(self, aws: Desk, minutes: int) -> None:
        aws.clock = timedelta(minutes=minutes)

        with pytest.raises(AuthenticationFailed):
            aws.send(number("01"))

    def test_that_is_missing_is_refused(self, aws: Desk) -> None:
        with pytest.raises(AuthenticationFailed) as raised:
            aws.adapter.send_result(aws.pass_on(aws.request(number("01"))))

        assert raised.value.code == "MissingAuthenticationTokenException"

    def test_of_another_body_is_refused(self, aws: Desk, sandbox: Sandbox) -> None:
        signed = aws.adapter.authorize(aws.request(number("01")), datetime.now(UTC))

        with pytest.raises(AuthenticationFailed):
            aws.adapter.send_result(aws.pass_on(replace(signed, body=aws.request(number("02")).body)))
        assert sandbox.counts().taken == 0

    def test_may_be_by_a_temporary_key(self, aws: Desk) -> None:
        credentials = {**aws.adapter.account.credentials, "session_token": "FwoGZXIvYXdz=="}
        aws.adapter = AwsSms(replace(aws.adapter.account, credentials=credentials))

        assert aws.send(number("01")).provider_message_id


def changed(aws: Desk, **changes: Any) -> HttpRequest:
    request = aws.request(number("01"))
    fields = {**json.loads(request.body), **changes}
    return replace(
        request, body=json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
    )


class TestRules:
    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"DestinationPhoneNumber": "0151"}, InvalidRecipient),
            ({"DestinationPhoneNumber": None}, InvalidRecipient),
            ({"MessageBody": " "}, ContentRejected),
            ({"MessageBody": "x" * 1601}, ContentRejected),
            ({"OriginationIdentity": "a b"}, SenderNotAllowed),
            ({"OriginationIdentity": None}, SenderNotAllowed),
            ({"MessageType": "OTP"}, SenderNotAllowed),
            ({"ConfigurationSetName": "a b"}, SenderNotAllowed),
            ({"MaxPrice": "1"}, SenderNotAllowed),
        ],
    )
    def test_refuse(self, aws: Desk, sandbox: Sandbox, changes: dict[str, Any], error: type[ProviderError]) -> None:
        with pytest.raises(error):
            aws.adapter.send_result(aws.ask(changed(aws, **changes)))
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize(
        "changes", [{"TimeToLive": 4}, {"TimeToLive": 259_201}, {"Context": {"a": ""}}, {"Text": "x"}]
    )
    def test_refuse_what_is_our_bug(self, aws: Desk, sandbox: Sandbox, changes: dict[str, Any]) -> None:
        assert aws.ask(changed(aws, **changes)).status == 400
        assert sandbox.counts().taken == 0

    def test_a_dry_run_sends_nothing(self, aws: Desk, sandbox: Sandbox) -> None:
        assert aws.adapter.send_result(aws.ask(changed(aws, DryRun=True))).provider_message_id
        assert sandbox.counts().taken == 0

    def test_without_a_configuration_set_nothing_is_told(self, aws: Desk, sandbox: Sandbox, product: Product) -> None:
        aws.adapter.send_result(aws.ask(changed(aws, ConfigurationSetName=None)))

        assert sandbox.wait_idle(10)
        assert product.calls == []

    def test_know_one_operation(self, aws: Desk) -> None:
        request = aws.request(number("01"))
        other = replace(request, headers={**request.headers, "X-Amz-Target": "PinpointSMSVoiceV2.SendVoiceMessage"})

        assert json.loads(aws.ask(other).body)["__type"].endswith("#UnknownOperationException")


class TestNotification:
    def test_is_signed_as_sns_signs(self, aws: Desk, product: Product, certificate: str) -> None:
        aws.send(number("01"))

        call = product.wait_for(1)[0]

        told = json.loads(call.body)
        text = "".join(f"{name}\n{told[name]}\n" for name in ("Message", "MessageId", "Timestamp", "TopicArn", "Type"))
        key = x509.load_pem_x509_certificate(certificate.encode()).public_key()
        assert isinstance(key, rsa.RSAPublicKey)
        key.verify(base64.b64decode(told["Signature"]), text.encode(), padding.PKCS1v15(), hashes.SHA256())
        assert (told["TopicArn"], call.headers["x-amz-sns-message-type"]) == (TOPIC, "Notification")
        assert call.headers["content-type"] == "text/plain; charset=UTF-8"

    def test_that_was_changed_is_not_believed(self, aws: Desk, product: Product) -> None:
        aws.send(number("01"))
        genuine = product.wait_for(1)[0]

        for old, new in ((b"TEXT_SUCCESSFUL", b"TEXT_DELIVERED"), (b":sms-events", b":sms-others")):
            forged = Call(genuine.url, genuine.headers, genuine.body.replace(old, new))
            assert forged.body != genuine.body
            with pytest.raises(InvalidSignature):
                aws.hear(forged)

    @pytest.mark.parametrize(("status", "calls"), [(403, 1), (503, 3), (429, 3), (None, 3)])
    def test_is_repeated_after_a_5xx_and_never_after_a_4xx(
        self, aws: Desk, sandbox: Sandbox, product: Product, status: int | None, calls: int
    ) -> None:
        product.status = lambda number: status
        aws.send(number("01"))

        assert sandbox.wait_idle(10)
        for event in ("TEXT_SUCCESSFUL", "TEXT_DELIVERED"):
            told = [json.loads(call.body)["MessageId"] for call in product.calls if event.encode() in call.body]
            assert len(told) == calls
            assert len(set(told)) == 1

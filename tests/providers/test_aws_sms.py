"""Only what is odd about AWS End User Messaging. Its signature of calls: test_sigv4."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import errors
from providers.aws_sms import AwsSms
from providers.aws_sms.codes import EVENTS
from providers.errors import (
    AuthenticationFailed,
    InvalidSignature,
    MalformedWebhook,
    ProviderError,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.messages import (
    Ability,
    DeliveryEvent,
    EventKind,
    Headers,
    InboundMessage,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)
from tests.providers.samples import SAMPLES
from tests.providers.samples.aws_sms import (
    CERTIFICATE,
    INBOUND_TOPIC,
    TOPIC,
    aws_sms,
    new_certificate,
    new_key,
    raw_call,
    sns_call,
)
from tests.providers.samples.base import ATTEMPT, answer, payload

MESSAGE = SAMPLES["aws_sms"].message
MESSAGE_ID = "3d7c1f2e-0000-4000-8000-000000000001"
SHAPES = json.loads((Path(__file__).parent / "specs" / "aws-sms-voice-v2.json").read_text())["shapes"]
OTHER_KEY = new_key()


def misfits(value: Any, name: str, at: str = "") -> list[str]:
    """Say where a value does not fit a shape of the service model."""
    shape = SHAPES[name]
    match shape["type"]:
        case "structure":
            members = shape["members"]
            missing = [f"{at} lacks {member}" for member in shape.get("required", []) if member not in value]
            unknown = [f"{at} has {member}" for member in value if member not in members]
            known = [
                misfits(part, members[member]["shape"], f"{at}.{member}")
                for member, part in value.items()
                if member in members
            ]
            return missing + unknown + [misfit for parts in known for misfit in parts]
        case "map":
            parts = [(key, shape["key"]["shape"]) for key in value] + [
                (part, shape["value"]["shape"]) for part in value.values()
            ]
            inner = [misfit for part, kind in parts for misfit in misfits(part, kind, f"{at}[]")]
            return inner + ([f"{at} is too long"] if len(value) > shape["max"] else [])
        case "string":
            fits = isinstance(value, str) and shape.get("min", 0) <= len(value) <= shape.get("max", 10**9)
            fits = fits and re.fullmatch(shape.get("pattern", r"[\s\S]*"), value) is not None
            return [] if fits and value in shape.get("enum", [value]) else [at]
        case "integer":
            fits = type(value) is int and shape["min"] <= value <= shape["max"]
            return [] if fits else [at]
    raise AssertionError(shape["type"])


def fields(adapter: AwsSms | None = None, message: OutgoingMessage = MESSAGE) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads((adapter or aws_sms()).send_request(message, ATTEMPT).body)
    assert misfits(sent, "SendTextMessageRequest") == []
    return sent


class TestModel:
    """That what checks our requests can object at all."""

    @pytest.mark.parametrize(
        ("changes", "at"),
        [
            ({"DestinationPhoneNumber": "0151"}, ".DestinationPhoneNumber"),
            ({"DestinationPhoneNumber": "+" + "1" * 20}, ".DestinationPhoneNumber"),
            ({"MessageBody": ""}, ".MessageBody"),
            ({"MessageBody": " \n"}, ".MessageBody"),
            ({"MessageBody": "x" * 1601}, ".MessageBody"),
            ({"MessageType": "OTP"}, ".MessageType"),
            ({"TimeToLive": 4}, ".TimeToLive"),
            ({"TimeToLive": "300"}, ".TimeToLive"),
            ({"Context": {"a b": "x"}}, ".Context[]"),
            ({"Context": {"a": " x"}}, ".Context[]"),
            ({"Context": {str(number): "x" for number in range(6)}}, ".Context is too long"),
            ({"Body": "x"}, " has Body"),
        ],
    )
    def test_objects(self, changes: dict[str, Any], at: str) -> None:
        assert misfits({**fields(), **changes}, "SendTextMessageRequest") == [at]

    def test_wants_a_number(self) -> None:
        assert misfits({}, "SendTextMessageRequest") == [" lacks DestinationPhoneNumber"]


class TestSendRequest:
    def test_is_the_recorded_one(self) -> None:
        recorded = json.loads(payload("aws_sms/send_request.json"))

        request = aws_sms().send_request(MESSAGE, ATTEMPT)

        assert (request.method, request.url) == ("POST", "https://sms-voice.us-east-1.amazonaws.com/")
        assert json.loads(request.body) == recorded["body"]
        assert request.headers == {
            name: value for name, value in recorded["headers"].items() if name != "Authorization"
        }

    def test_is_signed_at_the_last_moment_only(self) -> None:
        adapter = aws_sms(session_token="temporary")
        request = adapter.send_request(MESSAGE, ATTEMPT)

        early, late = (adapter.authorize(request, datetime(2027, 1, 15, hour, tzinfo=UTC)) for hour in (10, 11))

        assert set(early.headers) - set(request.headers) == {"X-Amz-Date", "X-Amz-Security-Token", "Authorization"}
        assert early.headers["Authorization"] != late.headers["Authorization"]
        assert (early.url, early.body) == (late.url, late.body) == (request.url, request.body)

    @pytest.mark.parametrize(
        ("useful", "life"), [(None, None), (-5, 5), (0, 5), (4, 5), (300, 300), (259_200, 259_200), (10**6, 259_200)]
    )
    def test_lives_as_long_as_it_is_useful(self, useful: int | None, life: int | None) -> None:
        assert fields(message=replace(MESSAGE, useful_seconds=useful)).get("TimeToLive") == life

    def test_sender_by_country(self) -> None:
        adapter = aws_sms(senders={"DE": "LANDFALL", "US": "arn:aws:sms-voice:us-east-1:1:pool/pool-1"})

        senders = {
            country: fields(adapter, replace(MESSAGE, country=country))["OriginationIdentity"]
            for country in ("DE", "US", "FR", "")
        }

        assert senders == {
            "DE": "LANDFALL",
            "US": "arn:aws:sms-voice:us-east-1:1:pool/pool-1",
            "FR": "+15005550006",
            "": "+15005550006",
        }

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            aws_sms(**{"from": ""}).send_request(MESSAGE, ATTEMPT)

    def test_settings_that_go_along(self) -> None:
        sent = fields(aws_sms(message_type="PROMOTIONAL", max_price="0.50", protect_configuration="protect-1"))

        assert (sent["MessageType"], sent["MaxPrice"]) == ("PROMOTIONAL", "0.50")
        assert sent["ProtectConfigurationId"] == "protect-1"
        assert "ConfigurationSetName" not in fields(aws_sms(configuration_set=""))

    @pytest.mark.parametrize("region", ["evil.example/", "us-east-1.evil.example", "US EAST", "a@b", "x#"])
    def test_a_region_is_no_way_to_another_host(self, region: str) -> None:
        adapter = aws_sms(region=region)

        assert adapter.base_url == AwsSms.default_base_url
        with pytest.raises(AuthenticationFailed):
            adapter.send_request(MESSAGE, ATTEMPT)

    def test_drops_nothing_in_silence(self) -> None:
        for changes in ({"subject": "x"}, {"html": "<p>x"}):
            with pytest.raises(UnsupportedFeature):
                aws_sms().send_request(replace(MESSAGE, **changes), ATTEMPT)

    def test_what_it_cannot_do_it_does_not_claim(self) -> None:
        assert AwsSms.abilities == {Ability.RECEIPTS}
        with pytest.raises(UnsupportedFeature):
            aws_sms().status_request(MESSAGE_ID)
        with pytest.raises(UnsupportedFeature):
            aws_sms().find_request(SAMPLES["aws_sms"].sent)


NAMES = {
    "sender": errors.SenderNotAllowed,
    "registration": errors.SenderNotRegistered,
    "route": errors.RouteRejected,
    "account": errors.AuthenticationFailed,
    "money": errors.InsufficientBalance,
    "text": errors.ContentRejected,
    "bug": errors.InvalidRequest,
    "out": errors.RecipientOptedOut,
    "gone": errors.RecipientUnavailable,
    "unknown": errors.UnknownRefusal,
}
# What each reason in the service model means, written a second time; those not named here are unknown.
CONFLICTS = """
    DESTINATION_PHONE_NUMBER_OPTED_OUT out
    DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE gone
    DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION route
    DESTINATION_PHONE_NUMBER_NOT_VERIFIED sender
    NO_ORIGINATION_IDENTITIES_FOUND sender
    NUMBER_CAPABILITIES_MISMATCH sender
    MESSAGE_TYPE_MISMATCH sender
    PHONE_NUMBER_NOT_IN_REGISTRATION_REGION sender
    REGISTRATION_NOT_COMPLETE registration
    RESOURCE_NOT_ACTIVE sender
    PROTECT_CONFIGURATION_NOT_ASSOCIATED_WITH_CONFIGURATION_SET sender
"""
VALIDATIONS = """
    COUNTRY_NOT_ENABLED route
    DESTINATION_COUNTRY_BLOCKED route
    PRICE_OVER_THRESHOLD route
    CHANNEL_NOT_ENABLED sender
    COUNTRY_CODE_MISMATCH registration
    INTERNATIONAL_SENDING_NOT_SUPPORTED registration
    INVALID_ARN sender
    INVALID_IDENTITY_FOR_DESTINATION_COUNTRY registration
    RESOURCE_NOT_ACCESSIBLE sender
    SENDER_ID_NOT_REGISTERED registration
    SENDER_ID_NOT_SUPPORTED registration
    SENDER_ID_REQUIRES_REGISTRATION registration
    MAXIMUM_SIZE_EXCEEDED text
    INVALID_REQUEST bug
    PARAMETERS_CANNOT_BE_USED_TOGETHER bug
    UNKNOWN_OPERATION bug
    UNSPECIFIED_PARAMETER_NOT_SUPPORTED bug
    FIELD_VALIDATION_FAILED bug
    INVALID_PARAMETER bug
    CANNOT_PARSE bug
    MISSING_PARAMETER bug
"""


def expected_of(table: str, reason: str, usual: str = "unknown") -> type[ProviderError]:
    return NAMES[dict(line.split() for line in table.strip().split("\n")).get(reason, usual)]


def reasons(exception: str) -> list[str]:
    return list(SHAPES[f"{exception}Reason"]["enum"])


def refusal(exception: str, reason: str | None = None, status: int = 400, **more: Any) -> ProviderError:
    body = {"__type": f"com.amazonaws.pinpointsmsvoicev2#{exception}", "Message": "invented text", **more}
    with pytest.raises(ProviderError) as caught:
        aws_sms().send_result(answer(status, body if reason is None else {**body, "Reason": reason}))
    return caught.value


def named(*names: str) -> dict[str, Any]:
    return {"Fields": [{"Name": name, "Message": "invented text"} for name in names]}


class TestSendResult:
    def test_taken(self) -> None:
        assert aws_sms().send_result(answer(200, payload("aws_sms/send_response_200.json"))) == SendResult(MESSAGE_ID)

    @pytest.mark.parametrize("body", ["[]", "{}", '{"MessageId": null}', '{"MessageId": 5}', '{"MessageId": ""}'])
    def test_a_success_that_names_no_message_is_unclear(self, body: str) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            aws_sms().send_result(answer(200, body))

    @pytest.mark.parametrize(
        ("status", "file", "expected", "suppress", "code"),
        [
            (
                400,
                "ConflictException_opted_out",
                errors.RecipientOptedOut,
                "opted_out",
                "DESTINATION_PHONE_NUMBER_OPTED_OUT",
            ),
            (500, "InternalServerException", errors.OutcomeUnknown, None, "InternalServerException"),
            (
                400,
                "ServiceQuotaExceededException",
                errors.InsufficientBalance,
                None,
                "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT",
            ),
            (400, "ThrottlingException", errors.RateLimited, None, "ThrottlingException"),
            (400, "ValidationException", errors.InvalidRecipient, None, "FIELD_VALIDATION_FAILED"),
        ],
    )
    def test_recorded_refusals(
        self, status: int, file: str, expected: type[ProviderError], suppress: str | None, code: str
    ) -> None:
        with pytest.raises(ProviderError) as caught:
            aws_sms().send_result(answer(status, payload(f"aws_sms/error_{file}.json")))

        assert type(caught.value) is expected
        assert (caught.value.suppress, caught.value.code, caught.value.http_status) == (suppress, code, status)
        assert "invented" not in str(caught.value)

    @pytest.mark.parametrize("reason", reasons("ConflictException"))
    def test_every_conflict(self, reason: str) -> None:
        error = refusal("ConflictException", reason)

        assert type(error) is expected_of(CONFLICTS, reason)
        assert error.suppress == ("opted_out" if reason == "DESTINATION_PHONE_NUMBER_OPTED_OUT" else None)
        assert reason.startswith(error.code)
        assert 0 < len(error.code) <= 50  # as much as there is room for

    @pytest.mark.parametrize("reason", reasons("ValidationException"))
    def test_every_fault_of_validation(self, reason: str) -> None:
        assert type(refusal("ValidationException", reason)) is expected_of(VALIDATIONS, reason)

    @pytest.mark.parametrize("reason", reasons("ServiceQuotaExceededException"))
    def test_every_quota(self, reason: str) -> None:
        assert type(refusal("ServiceQuotaExceededException", reason)) is errors.InsufficientBalance

    @pytest.mark.parametrize("reason", reasons("AccessDeniedException"))
    def test_every_denial(self, reason: str) -> None:
        assert type(refusal("AccessDeniedException", reason, 403)) is errors.AuthenticationFailed

    @pytest.mark.parametrize(
        ("exception", "status", "expected"),
        [
            ("AccessDeniedException", 400, "account"),
            ("ResourceNotFoundException", 400, "sender"),
            ("ServiceQuotaExceededException", 400, "money"),
            ("ConflictException", 400, "unknown"),
            ("ConflictException", 409, "unknown"),
            ("ValidationException", 400, "bug"),
            ("BrandNewException", 400, "unknown"),
            # of any AWS service
            ("UnrecognizedClientException", 400, "account"),
            ("InvalidClientTokenId", 403, "account"),
            ("InvalidSignatureException", 400, "account"),
            ("SignatureDoesNotMatch", 403, "account"),
            ("MissingAuthenticationToken", 403, "account"),
            ("MissingAuthenticationTokenException", 400, "account"),
            ("IncompleteSignature", 400, "account"),
            ("IncompleteSignatureException", 400, "account"),
            ("ExpiredTokenException", 400, "account"),
            ("RequestExpired", 400, "account"),
            ("NotAuthorized", 400, "account"),
            ("OptInRequired", 403, "account"),
            ("InvalidAction", 400, "bug"),
            ("SerializationException", 400, "bug"),
            ("UnknownOperationException", 404, "bug"),
            ("ValidationError", 400, "bug"),
        ],
    )
    def test_without_a_reason_the_exception_counts(self, exception: str, status: int, expected: str) -> None:
        error = refusal(exception, status=status)

        assert type(error) is NAMES[expected]
        assert error.code == exception

    @pytest.mark.parametrize("status", [400, 429, 500, 503])
    @pytest.mark.parametrize(
        "exception", ["ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded"]
    )
    def test_throttled_is_not_processed_whatever_the_status(self, exception: str, status: int) -> None:
        assert type(refusal(exception, status=status)) is errors.RateLimited

    @pytest.mark.parametrize("exception", ["InternalServerException", "InternalFailure", "ServiceUnavailable"])
    @pytest.mark.parametrize("status", [500, 503])
    def test_a_fault_of_theirs_may_have_sent(self, exception: str, status: int) -> None:
        assert type(refusal(exception, status=status)) is errors.OutcomeUnknown

    def test_a_5xx_is_unclear_whatever_its_reason(self) -> None:
        error = refusal("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT", 500)

        assert (type(error), error.suppress) == (errors.OutcomeUnknown, None)

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            (["DestinationPhoneNumber"], errors.InvalidRecipient),
            (["destinationPhoneNumber"], errors.InvalidRecipient),
            (["DestinationPhoneNumber", "DestinationPhoneNumber"], errors.InvalidRecipient),
            (["MessageBody"], errors.ContentRejected),
            (["OriginationIdentity"], errors.SenderNotAllowed),
            (["ConfigurationSetName"], errors.SenderNotAllowed),
            (["MaxPrice"], errors.SenderNotAllowed),
            (["MessageType"], errors.SenderNotAllowed),
            (["ProtectConfigurationId"], errors.SenderNotAllowed),
            (["TimeToLive"], errors.InvalidRequest),
            (["DestinationPhoneNumber", "MessageBody"], errors.InvalidRequest),
            ([], errors.InvalidRequest),
        ],
    )
    def test_a_wrong_field_tells_whose_fault_it_is(self, names: list[str], expected: type[ProviderError]) -> None:
        for reason in ("FIELD_VALIDATION_FAILED", "INVALID_PARAMETER", None):
            error = refusal("ValidationException", reason, **named(*names))

            assert (type(error), error.suppress) == (expected, None)

    def test_a_clear_reason_counts_more_than_the_field(self) -> None:
        error = refusal("ValidationException", "COUNTRY_NOT_ENABLED", **named("DestinationPhoneNumber"))

        assert type(error) is errors.RouteRejected

    @pytest.mark.parametrize("named_", ["x", {"Name": "DestinationPhoneNumber"}, ["DestinationPhoneNumber"], [[]], 5])
    def test_odd_fields_name_nobody(self, named_: object) -> None:
        error = refusal("ValidationException", "FIELD_VALIDATION_FAILED", Fields=named_)

        assert type(error) is errors.InvalidRequest

    @pytest.mark.parametrize(
        "written",
        ["AccessDeniedException", "a.b#AccessDeniedException", "a.b#AccessDeniedException:http://c.example/d/"],
    )
    def test_an_exception_is_written_in_three_ways_and_two_places(self, written: str) -> None:
        for response in (answer(400, {"__type": written}), answer(400, "{}", X_Amzn_ErrorType=written)):
            with pytest.raises(errors.AuthenticationFailed) as caught:
                aws_sms().send_result(response)
            assert caught.value.code == "AccessDeniedException"

    @pytest.mark.parametrize("reason", ["+14155550100", "call +1 415", "x" * 81, 7, ["x"]])
    def test_only_a_name_of_their_kind_reaches_the_logs(self, reason: Any) -> None:
        error = refusal("ConflictException", reason)

        assert (error.code, str(error)) == ("ConflictException", "HTTP 400, ConflictException")


def event_text(**changes: Any) -> str:
    record = {**json.loads(payload("aws_sms/callback_TEXT_DELIVERED.json")), **changes}
    return json.dumps({name: value for name, value in record.items() if value is not None})


def event(**changes: Any) -> DeliveryEvent:
    [told] = aws_sms().parse_webhook(sns_call(event_text(**changes)))
    return told


class TestEvents:
    def test_recorded(self) -> None:
        call = sns_call(payload("aws_sms/callback_TEXT_DELIVERED.json").decode())

        [told] = aws_sms().parse_webhook(call)

        assert (told.kind, told.provider_status, told.suppress) == (EventKind.DELIVERED, "TEXT_DELIVERED", None)
        assert (told.attempt, told.provider_message_id) == (ATTEMPT.id, MESSAGE_ID)
        assert told.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert told.raw == call.body

    @pytest.mark.parametrize(
        ("type_", "kind"),
        [
            ("TEXT_QUEUED", EventKind.ACCEPTED),
            ("TEXT_PENDING", EventKind.ACCEPTED),
            ("TEXT_SENT", EventKind.SENT),
            ("TEXT_SUCCESSFUL", EventKind.SENT),
            ("TEXT_DELIVERED", EventKind.DELIVERED),
            ("text_delivered", EventKind.DELIVERED),
            ("TEXT_INVALID", EventKind.FAILED),
            ("TEXT_INVALID_MESSAGE", EventKind.FAILED),
            ("TEXT_UNREACHABLE", EventKind.NOT_REACHED),
            ("TEXT_CARRIER_UNREACHABLE", EventKind.NOT_REACHED),
            ("TEXT_BLOCKED", EventKind.FAILED),
            ("TEXT_CARRIER_BLOCKED", EventKind.FAILED),
            ("TEXT_SPAM", EventKind.FAILED),
            ("TEXT_UNKNOWN", EventKind.UNKNOWN),
            ("TEXT_TTL_EXPIRED", EventKind.EXPIRED),
            ("TEXT_PROTECT_BLOCKED", EventKind.FAILED),
            ("TEXT_BRAND_NEW", EventKind.UNKNOWN),
            ("VOICE_COMPLETED", EventKind.UNKNOWN),
            ("MEDIA_DELIVERED", EventKind.UNKNOWN),
            ("RCS_DELIVERED", EventKind.UNKNOWN),
        ],
    )
    def test_type(self, type_: str, kind: EventKind) -> None:
        told = event(eventType=type_)

        assert (told.kind, told.suppress, told.provider_status) == (kind, None, type_)

    def test_every_published_type_of_a_text_is_known(self) -> None:
        published = {name for name in SHAPES["EventType"]["enum"] if name.startswith("TEXT_")}

        assert set(EVENTS) == published - {"TEXT_ALL"}

    @pytest.mark.parametrize("type_", ["TEXT_INVALID", "TEXT_UNREACHABLE", "TEXT_BLOCKED", "TEXT_TTL_EXPIRED"])
    def test_an_end_that_is_not_final_is_none(self, type_: str) -> None:
        told = event(eventType=type_, isFinal=False)

        assert (told.kind, told.suppress) == (EventKind.SENT, None)
        assert told.dedupe_key != event(eventType=type_).dedupe_key
        assert event(eventType=type_, isFinal=None).kind is not EventKind.SENT

    def test_delivered_counts_whether_final_or_not(self) -> None:
        assert event(isFinal=False).kind is EventKind.DELIVERED

    def test_one_event_has_one_key_however_often_it_is_published(self) -> None:
        texts = [
            sns_call(event_text(), MessageId=number, Timestamp=f"2026-01-15T10:00:0{number}.000Z") for number in "12"
        ]

        assert len({aws_sms().parse_webhook(text)[0].dedupe_key for text in texts}) == 1
        assert event(eventTimestamp=1768471203001).dedupe_key != event().dedupe_key
        assert event(messageId="another").dedupe_key != event().dedupe_key

    @pytest.mark.parametrize("context", [None, {}, "x", {"attempt": 5}, {"attempt": "x" * 201}, [ATTEMPT.id]])
    def test_without_our_context_the_id_names_the_message(self, context: object) -> None:
        told = event(context=context)

        assert (told.attempt, told.provider_message_id) == (None, MESSAGE_ID)

    def test_what_is_said_in_the_context_never_steers(self) -> None:
        told = event(context={"attempt": ATTEMPT.id, "eventType": "TEXT_INVALID", "messageId": "x", "isFinal": "false"})

        assert told == replace(event(), raw=told.raw)

    @pytest.mark.parametrize("at", [None, True, "1768471203000", 10**30, -(10**30), [1], {}])
    def test_an_odd_time_is_none(self, at: object) -> None:
        assert event(eventTimestamp=at).occurred_at is None

    @pytest.mark.parametrize("at", ["NaN", "Infinity", "1e400"])
    def test_a_time_that_json_does_not_have_is_none(self, at: str) -> None:
        [told] = aws_sms().parse_webhook(sns_call(event_text().replace("1768471203000", at)))

        assert told.occurred_at is None

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "null",
            "{}",
            '{"messageId": "x"}',
            '{"eventType": "TEXT_SENT"}',
            '{"eventType": 5.5, "messageId": "x"}',
            "Successfully validated SNS topic",
        ],
    )
    def test_what_is_no_event_is_malformed(self, text: str) -> None:
        with pytest.raises(MalformedWebhook):
            aws_sms().parse_webhook(sns_call(text))
        assert aws_sms().parse_inbound(sns_call(text)) == []

    def test_an_event_about_no_message_is_kept(self) -> None:
        told = event(eventType="REGISTRATION_STATUS_CHANGE", messageId=None, context=None)

        assert (told.kind, told.provider_message_id, told.attempt) == (EventKind.UNKNOWN, None, None)


class TestSignature:
    @pytest.mark.parametrize("version", ["1", "2"])
    @pytest.mark.parametrize("subject", [None, "About a text"])
    def test_of_either_version_is_right(self, version: str, subject: str | None) -> None:
        assert aws_sms().parse_webhook(sns_call(event_text(), SignatureVersion=version, Subject=subject))

    @pytest.mark.parametrize("version", [None, "", "3", 1, "01"])
    def test_of_another_version_is_not(self, version: object) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(sns_call(event_text(), SignatureVersion=version))

    def test_of_version_1_is_not_one_of_version_2(self) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(_changed(SignatureVersion="2"))

    @pytest.mark.parametrize(
        "changes",
        [
            {"Message": event_text(eventType="TEXT_INVALID")},
            {"MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1c"},
            {"Timestamp": "2026-01-15T10:00:05.123Z"},
            {"Subject": "added"},
            {"Type": "SubscriptionConfirmation"},
            {"Signature": ""},
            {"Signature": None},
            {"Signature": 5},
            {"Signature": "é"},
            {"Signature": "AAAA"},
            {"Message": None},
            {"Message": {"eventType": "TEXT_DELIVERED"}},
            {"TopicArn": None},
            {"TopicArn": INBOUND_TOPIC},
        ],
    )
    def test_a_changed_call_is_not_believed(self, changes: dict[str, Any]) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(_changed(**changes))
        with pytest.raises(InvalidSignature):
            aws_sms().parse_inbound(_changed(**changes))

    def test_what_is_not_signed_may_change(self) -> None:
        assert aws_sms().parse_webhook(_changed(UnsubscribeURL="x", SigningCertURL="https://evil.example/mine.pem"))

    def test_a_key_that_is_not_pinned_is_not_believed(self) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(sns_call(event_text(), key=OTHER_KEY))

    @pytest.mark.parametrize("order", [1, -1])
    def test_while_amazon_changes_its_certificate_both_are_right(self, order: int) -> None:
        both = "\n".join([CERTIFICATE, new_certificate(OTHER_KEY)][::order])

        assert aws_sms(signing_certificate=both).parse_webhook(sns_call(event_text()))
        assert aws_sms(signing_certificate=both).parse_webhook(sns_call(event_text(), key=OTHER_KEY))

    @pytest.mark.parametrize("topic", ["arn:aws:sns:us-east-1:999999999999:sms-events", "", None, TOPIC + "\n"])
    def test_a_genuine_call_for_somebody_elses_topic_is_not_believed(self, topic: str | None) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(sns_call(event_text(), TopicArn=topic))

    def test_without_a_topic_nothing_is_believed(self) -> None:
        adapter = aws_sms(topic_arn="", inbound_topic_arn="")

        for topic in (TOPIC, "", None):
            with pytest.raises(InvalidSignature):
                adapter.parse_webhook(sns_call(event_text(), TopicArn=topic))

    @pytest.mark.parametrize("certificate", ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    def test_without_a_certificate_nothing_is_believed(self, certificate: str) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms(signing_certificate=certificate).parse_webhook(sns_call(event_text()))

    @pytest.mark.parametrize("kind", ["", "SubscriptionConfirmation", "notification"])
    def test_the_header_tells_the_same_type(self, kind: str) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(raw_call(sns_call(event_text()).body, kind))
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(replace(sns_call(event_text()), headers=Headers()))

    def test_a_raw_delivery_proves_nothing(self) -> None:
        """As from a subscription with raw message delivery: SNS does not sign those."""
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(raw_call(event_text().encode()))

    def test_is_over_letters_not_over_escapes(self) -> None:
        [told] = aws_sms().parse_webhook(sns_call(event_text(carrierName="Télé 😀\n\ud83d")))

        assert told.kind is EventKind.DELIVERED

    def test_sns_repeats_what_was_not_believed(self) -> None:
        """After a 5xx it does, after a 4xx it never does."""
        assert AwsSms.refused_webhook_status == 503

    @given(
        call=st.dictionaries(
            st.sampled_from(["Type", "Message", "MessageId", "TopicArn", "Timestamp", "SignatureVersion", "Signature"]),
            st.sampled_from(["Notification", TOPIC, "1", "2", "AAAA", ""])
            | st.none()
            | st.integers()
            | st.lists(st.text()),
        )
    )
    def test_nonsense_is_not_believed(self, call: dict[str, Any]) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(raw_call(json.dumps(call).encode(), str(call.get("Type"))))


def _changed(**changes: Any) -> WebhookRequest:
    """A genuine call with something changed afterwards; None takes it away."""
    call = {**json.loads(sns_call(event_text()).body), **changes}
    body = json.dumps({name: value for name, value in call.items() if value is not None}).encode()
    return raw_call(body, call.get("Type") or "")


SUBSCRIBE_URL = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=x&Token=2336412f37"


def confirmation(kind: str = "SubscriptionConfirmation", url: str | None = SUBSCRIBE_URL) -> WebhookRequest:
    return sns_call("You have chosen to subscribe", Type=kind, Token="2336412f37", SubscribeURL=url)


class TestSubscription:
    def test_to_be_confirmed_is_no_report(self) -> None:
        assert aws_sms().parse_webhook(confirmation()) == []
        assert aws_sms().parse_inbound(confirmation()) == []

    def test_tells_where_it_is_confirmed(self) -> None:
        assert aws_sms().subscribe_url(confirmation()) == SUBSCRIBE_URL
        assert aws_sms().subscribe_url(sns_call(event_text())) is None
        assert aws_sms().subscribe_url(confirmation("UnsubscribeConfirmation")) is None

    @pytest.mark.parametrize(
        "url", ["http://sns.us-east-1.amazonaws.com/", "https://sns.evil.example/", "https://x.sns.a.amazonaws.com/"]
    )
    def test_is_confirmed_at_amazon_only(self, url: str) -> None:
        assert aws_sms().subscribe_url(confirmation(url=url)) is None

    def test_of_somebody_else_is_not_believed(self) -> None:
        forged = sns_call("x", key=OTHER_KEY, Type="SubscriptionConfirmation", Token="x", SubscribeURL=SUBSCRIBE_URL)

        for read in (aws_sms().parse_webhook, aws_sms().parse_inbound, aws_sms().subscribe_url):
            with pytest.raises(InvalidSignature):
                read(forged)

    def test_without_its_address_is_not_believed(self) -> None:
        with pytest.raises(InvalidSignature):
            aws_sms().parse_webhook(confirmation(url=None))

    def test_that_ended_is_kept_for_a_person(self) -> None:
        [told] = aws_sms().parse_webhook(confirmation("UnsubscribeConfirmation"))

        assert (told.kind, told.provider_status) == (EventKind.UNKNOWN, "UnsubscribeConfirmation")
        assert (told.attempt, told.provider_message_id) == (None, None)


class TestInbound:
    def test_recorded(self) -> None:
        call = sns_call(payload("aws_sms/inbound.json").decode(), TopicArn=INBOUND_TOPIC)

        assert aws_sms().parse_inbound(call) == [
            InboundMessage(
                dedupe_key="cae173d2-0000-4000-8000-000000000001",
                sender="+14155550100",
                recipient="+15005550006",
                text="Yes, I am coming",
                received_at=datetime(2026, 1, 15, 10, 0, 4, 123000, tzinfo=UTC),
                raw=call.body,
            )
        ]
        assert aws_sms().parse_webhook(call) == []

    def test_an_event_is_none(self) -> None:
        assert aws_sms().parse_inbound(sns_call(event_text())) == []
        assert aws_sms().parse_inbound(sns_call(event_text(inboundMessageId="x"))) == []

    @pytest.mark.parametrize("name", ["inboundMessageId", "originationNumber", "destinationNumber", "messageBody"])
    def test_without_a_part_is_malformed(self, name: str) -> None:
        record = {**json.loads(payload("aws_sms/inbound.json")), name: None}

        with pytest.raises(MalformedWebhook):
            aws_sms().parse_inbound(sns_call(json.dumps(record)))

    def test_half_an_emoji_is_replaced(self) -> None:
        record = {**json.loads(payload("aws_sms/inbound.json")), "messageBody": "ok \ud83d\0"}

        [message] = aws_sms().parse_inbound(sns_call(json.dumps(record)))

        assert message.text == "ok \ufffd\ufffd"

"""Only what is odd about Amazon SES. How its calls are signed: test_sigv4; how SNS signs: test_aws_sms."""

from __future__ import annotations

import base64
import email.header
import email.utils
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from providers import errors
from providers.errors import (
    AuthenticationFailed,
    InvalidSignature,
    MalformedWebhook,
    ProviderError,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.messages import Attachment, DeliveryEvent, EventKind, Mail, OutgoingMessage, SendResult
from providers.ses import Ses
from providers.ses.codes import EXCEPTIONS
from tests.providers.samples import SAMPLES
from tests.providers.samples.aws_sms import new_key, raw_call, sns_call, sns_webhook
from tests.providers.samples.base import ATTEMPT, answer, http_file, payload
from tests.providers.samples.ses import ses

MESSAGE = SAMPLES["ses"].message
MESSAGE_ID = "0100019380a7c1e7-4a9f1d52-6d1b-4c8c-9a35-3b1f0e9b2c11-000000"
MODEL = json.loads((Path(__file__).parent / "specs" / "ses-v2.json").read_text())
SHAPES = MODEL["shapes"]
PDF = Attachment("Rechnung – März.pdf", "application/pdf", b"%PDF-1.7\r\n\0")
LOGO = Attachment("logo.png", "image/png", b"\x89PNG", content_id="logo")


def misfits(value: Any, name: str, at: str = "") -> list[str]:
    """Say where a value does not fit a shape of the service model."""
    shape = SHAPES[name]
    match shape["type"]:
        case "structure":
            members = shape["members"]
            wrong = [f"{at} lacks {member}" for member in shape.get("required", []) if member not in value]
            wrong += [f"{at} has {member}" for member in value if member not in members]
            for member in value.keys() & members.keys():
                wrong += misfits(value[member], members[member]["shape"], f"{at}.{member}")
            return wrong
        case "list":
            many = [f"{at} is too long"] if len(value) > shape.get("max", 10**9) else []
            return many + [misfit for part in value for misfit in misfits(part, shape["member"]["shape"], f"{at}[]")]
        case "blob":
            base64.b64decode(value, validate=True)
            return []
        case "string":
            fits = isinstance(value, str) and shape.get("min", 0) <= len(value) <= shape.get("max", 10**9)
            fits = fits and re.fullmatch(shape.get("pattern", r"[\s\S]*"), value) is not None
            return [] if fits and value in shape.get("enum", [value]) else [at]
    raise AssertionError(shape["type"])


def fields(adapter: Ses | None = None, message: OutgoingMessage = MESSAGE, **changes: Any) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads((adapter or ses()).send_request(replace(message, **changes), ATTEMPT).body)
    assert misfits(sent, "SendEmailRequest") == []
    return sent


class TestModel:
    """That what checks our requests can object at all."""

    @pytest.mark.parametrize(
        ("simple", "at"),
        [
            ({"Headers": [{"Name": "X:", "Value": "x"}]}, ".Content.Simple.Headers[].Name"),
            ({"Headers": [{"Name": "X", "Value": "é"}]}, ".Content.Simple.Headers[].Value"),
            ({"Headers": [{"Name": "X", "Value": "x" * 996}]}, ".Content.Simple.Headers[].Value"),
            ({"Headers": [{"Name": "X", "Value": "x"}] * 16}, ".Content.Simple.Headers is too long"),
            ({"Attachments": [{"FileName": "x"}]}, ".Content.Simple.Attachments[] lacks RawContent"),
            ({"Text": "x"}, ".Content.Simple has Text"),
        ],
    )
    def test_objects(self, simple: dict[str, Any], at: str) -> None:
        sent = fields()
        sent["Content"]["Simple"] |= simple

        assert misfits(sent, "SendEmailRequest") == [at]


class TestSendRequest:
    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("ses/send-request.json"))

        request = ses().send_request(MESSAGE, ATTEMPT)

        sent, simple = fields(), fields()["Content"]["Simple"]
        operation = MODEL["operations"]["SendEmail"]["http"]
        assert (request.method, request.url) == (
            operation["method"],
            f"https://email.us-east-1.amazonaws.com{operation['requestUri']}",
        )
        assert request.headers == {"Content-Type": "application/json"}
        assert set(sent) == set(recorded)
        assert set(simple) == set(recorded["Content"]["Simple"])
        assert simple["Subject"] == {"Data": "Your order", "Charset": "UTF-8"}
        assert simple["Headers"] == [{"Name": "X-Attempt-Id", "Value": ATTEMPT.id}]
        assert sent["EmailTags"] == [{"Name": "attempt", "Value": ATTEMPT.id}]
        assert sent["Destination"] == {"ToAddresses": [MESSAGE.to]}

    def test_is_signed_for_its_region(self) -> None:
        adapter = ses(region="eu-west-2", session_token="a-token")

        signed = adapter.authorize(adapter.send_request(MESSAGE, ATTEMPT), datetime(2026, 11, 30, tzinfo=UTC))

        assert signed.url.startswith("https://email.eu-west-2.amazonaws.com/")
        assert "/20261130/eu-west-2/ses/aws4_request," in signed.headers["Authorization"]
        assert signed.headers["X-Amz-Security-Token"] == "a-token"

    def test_text_alone_and_settings(self) -> None:
        assert set(fields(html=None)["Content"]["Simple"]["Body"]) == {"Text"}
        assert "ConfigurationSetName" not in fields(ses(configuration_set=""))
        assert fields(ses(tenant="shop"))["TenantName"] == "shop"

    def test_carries_all_that_a_mail_has(self) -> None:
        mail = Mail("Ana Pereira", "help@example.com", (PDF, LOGO), "https://notify.example.com/u/1?a=b")

        sent = fields(mail=mail)

        assert sent["Destination"] == {"ToAddresses": [f'"Ana Pereira" <{MESSAGE.to}>']}
        assert sent["ReplyToAddresses"] == ["help@example.com"]
        assert {header["Name"]: header["Value"] for header in sent["Content"]["Simple"]["Headers"]} == {
            "X-Attempt-Id": ATTEMPT.id,
            "List-Unsubscribe": "<https://notify.example.com/u/1?a=b>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
        pdf, logo = sent["Content"]["Simple"]["Attachments"]
        assert base64.b64decode(pdf["RawContent"]) == PDF.content
        assert (pdf["FileName"], pdf["ContentType"]) == ("Rechnung – März.pdf", "application/pdf")
        assert (pdf["ContentDisposition"], "ContentId" in pdf) == ("ATTACHMENT", False)
        assert (logo["ContentDisposition"], logo["ContentId"]) == ("INLINE", "logo")

    def test_a_repeat_has_the_same_bytes(self) -> None:
        message = replace(MESSAGE, mail=Mail("Zoë", "help@example.com", (PDF, LOGO), "https://notify.example.com/u/1"))

        first = ses().send_request(message, ATTEMPT)

        assert ses().send_request(replace(message, useful_seconds=1), ATTEMPT) == first

    @pytest.mark.parametrize(
        "name",
        [
            *(
                "Ana Pereira",
                "Pereira, Ana",
                'Ana "the" Pereira',
                "a\\b",
                "(Ana)",
                "<x@x.example>",
                "Zoë Müller; Söhne",
            ),
            *("Анна Каренина" * 8, "寧々 😭", "=?utf-8?q?x?="),
        ],
    )
    def test_a_name_is_read_as_it_was_meant(self, name: str) -> None:
        [written] = fields(mail=Mail(name))["Destination"]["ToAddresses"]

        [(shown, address)] = email.utils.getaddresses([written])
        assert written.isascii()
        assert address == MESSAGE.to
        assert str(email.header.make_header(email.header.decode_header(shown))) == name or name.startswith("=?")
        assert all(len(word) <= 75 for word in written.split(" ") if word.startswith("=?"))

    def test_a_sender_may_have_a_name(self) -> None:
        sent = fields(ses(**{"from": "Müller, Söhne <no-reply@notify.example.com>"}))

        [(shown, address)] = email.utils.getaddresses([sent["FromEmailAddress"]])
        assert str(email.header.make_header(email.header.decode_header(shown))) == "Müller, Söhne"
        assert address == "no-reply@notify.example.com"

    @pytest.mark.parametrize("breaks", ["\r\nBcc: x@example.org", "\nx", "\rx", "\0x", "\x85x", "\u2028x"])
    def test_no_line_break_gets_into_a_header(self, breaks: str) -> None:
        mail = Mail(f"Ana{breaks}", attachments=(Attachment(f"a{breaks}", f"text/plain{breaks}", b"x"),))

        sent = fields(subject=f"Your order{breaks}", mail=mail)

        [file], [to] = sent["Content"]["Simple"]["Attachments"], sent["Destination"]["ToAddresses"]
        for text in (sent["Content"]["Simple"]["Subject"]["Data"], to, file["FileName"], file["ContentType"]):
            assert len(text.splitlines()) == 1
            assert "\0" not in text
        assert [address for _, address in email.utils.getaddresses([to])] == [MESSAGE.to]

    @pytest.mark.parametrize(
        "mail",
        [
            Mail(reply_to="a@x.example\r\nBcc: b@x.example"),
            Mail(reply_to="a@x.example, b@x.example"),
            Mail(reply_to="jörg@x.example"),
            Mail(unsubscribe_url="https://x.example/\r\nBcc: b@x.example"),
            Mail(unsubscribe_url="https://x.example/" + "x" * 900),
            Mail(attachments=(Attachment("a", "image/png", b"x", content_id="a>\r\nX: b@x.example"),)),
            Mail(attachments=(Attachment("a" * 256, "image/png", b"x"),)),
        ],
    )
    def test_what_does_not_fit_is_refused(self, mail: Mail) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            fields(mail=mail)

        assert "x.example" not in str(caught.value)

    def test_a_domain_beyond_ascii_is_written_in_ascii(self) -> None:
        assert fields(to="ana@straße.example")["Destination"]["ToAddresses"] == ["ana@xn--strae-oqa.example"]

    @pytest.mark.parametrize("to", ["jörg@example.com", "用户@exämple.com"])
    def test_mail_unicode_local_part_is_another_accounts(self, to: str) -> None:
        """Never written as an encoded word, which RFC 2047 forbids in an address."""
        with pytest.raises(UnsupportedFeature) as caught:
            fields(to=to)

        assert "example" not in str(caught.value)

    @pytest.mark.parametrize(
        "to", ["a@x.example,b@x.example", "a@x.example b@x.example", "A <a@x.example>", "a@x.example\r\n"]
    )
    def test_an_address_never_becomes_two(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            ses().send_request(replace(MESSAGE, to=to), ATTEMPT)

        assert "x.example" not in str(caught.value)

    def test_needs_a_sender_and_a_region(self) -> None:
        with pytest.raises(SenderNotAllowed):
            ses(**{"from": ""}).send_request(MESSAGE, ATTEMPT)
        with pytest.raises(AuthenticationFailed):
            ses(region="evil.example/").send_request(MESSAGE, ATTEMPT)


def refusal(
    status: int, exception: str, text: str | None = "about ana.pereira@example.net", **fields: str
) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ses().send_result(answer(status, {"message": text, **fields}, x_amzn_ErrorType=exception))
    assert "ana.pereira" not in str(caught.value)
    assert caught.value.suppress is None
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        assert ses().send_result(answer(200, payload("ses/send-response-200.json"))) == SendResult(MESSAGE_ID)

    @pytest.mark.parametrize(
        ("file", "expected", "code"),
        [
            ("error-400-message-rejected", errors.SenderNotAllowed, "MessageRejected"),
            ("error-429-throttle", errors.RateLimited, "TooManyRequestsException"),
        ],
    )
    def test_recorded_refusals(self, file: str, expected: type[ProviderError], code: str) -> None:
        with pytest.raises(ProviderError) as caught:
            ses().send_result(http_file(f"ses/{file}.http", payload))

        assert (type(caught.value), caught.value.code) == (expected, code)
        assert "no-reply@notify.example.com" not in str(caught.value)

    @pytest.mark.parametrize(
        ("status", "exception", "text", "expected"),
        [
            (429, "TooManyRequestsException", "Maximum sending rate exceeded.", errors.RateLimited),
            (429, "TooManyRequestsException", "Daily message quota exceeded.", errors.InsufficientBalance),
            (400, "LimitExceededException", None, errors.InsufficientBalance),
            (400, "AccountSuspendedException", None, errors.SenderNotAllowed),
            (400, "SendingPausedException", None, errors.SenderNotAllowed),
            (400, "MailFromDomainNotVerifiedException", None, errors.SenderNotAllowed),
            (404, "NotFoundException", "Configuration set <x> does not exist", errors.SenderNotAllowed),
            (400, "MessageRejected", "Email address is not verified. The following", errors.SenderNotAllowed),
            (400, "MessageRejected", "something else", errors.ContentRejected),
            (400, "BadRequestException", "Illegal address", errors.InvalidRecipient),
            (400, "BadRequestException", "Missing final '@domain'", errors.InvalidRecipient),
            (400, "BadRequestException", "something else", errors.InvalidRequest),
            (403, "SignatureDoesNotMatch", None, errors.AuthenticationFailed),
            (403, "ExpiredTokenException", None, errors.AuthenticationFailed),
            (403, "AccessDeniedException", None, errors.AuthenticationFailed),
            (403, "somethingNew", None, errors.AuthenticationFailed),
            (400, "somethingNew", None, errors.UnknownRefusal),
            (400, "ThrottlingException", None, errors.RateLimited),
            (503, "ThrottlingException", None, errors.RateLimited),  # it was not processed
            (500, "InternalFailure", None, errors.OutcomeUnknown),
            (503, "MessageRejected", None, errors.OutcomeUnknown),
        ],
    )
    def test_refusals(self, status: int, exception: str, text: str | None, expected: type[ProviderError]) -> None:
        for written in (exception, f"{exception}:http://internal.amazon.com/coral/", f"com.amazonaws.ses#{exception}"):
            assert type(refusal(status, written, text)) is expected

    def test_every_published_refusal_has_a_meaning(self) -> None:
        published = {error["shape"] for error in MODEL["operations"]["SendEmail"]["errors"]}

        assert published <= set(EXCEPTIONS)

    def test_a_name_may_stand_in_the_body(self) -> None:
        assert type(refusal(400, "", __type="SendingPausedException")) is errors.SenderNotAllowed

    @pytest.mark.parametrize("body", [{}, {"MessageId": None}, {"MessageId": ""}, {"MessageId": 7}])
    def test_a_success_without_an_id_is_unclear(self, body: dict[str, Any]) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            ses().send_result(answer(200, body))


def report(kind: str, part: Any = None, tags: Any = None, **call: Any) -> DeliveryEvent:
    name = {"DeliveryDelay": "deliveryDelay", "Rendering Failure": "failure"}.get(kind, kind.lower())
    mail = {"messageId": MESSAGE_ID, "timestamp": "2026-11-30T16:20:31.674Z", "tags": tags or {}}
    [event] = ses().parse_webhook(sns_call(json.dumps({"eventType": kind, "mail": mail, name: part or {}}), **call))
    return event


def bounce(kind: str, reason: str = "General", status: str = "5.1.1") -> DeliveryEvent:
    recipient = {"emailAddress": MESSAGE.to, "status": status}
    return report("Bounce", {"bounceType": kind, "bounceSubType": reason, "bouncedRecipients": [recipient]})


class TestWebhook:
    @pytest.mark.parametrize(
        ("file", "kind", "suppress", "code", "second"),
        [
            ("delivery", EventKind.DELIVERED, None, "", 34),
            ("bounce-hard", EventKind.BOUNCED, "hard_bounce", "Permanent/General", 34),
            ("bounce-soft", EventKind.NOT_REACHED, None, "Transient/MailboxFull", 34),
            ("complaint", EventKind.COMPLAINED, "complaint", "abuse", 0),
            ("delay", EventKind.SENT, None, "TransientCommunicationFailure", 34),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, suppress: str | None, code: str, second: int) -> None:
        [event] = ses().parse_webhook(sns_webhook(payload(f"ses/webhook-{file}.json")))

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, code)
        assert (event.provider_message_id, event.attempt) == (MESSAGE_ID, None)  # another sender's tags
        assert event.occurred_at is not None
        assert event.occurred_at.second == second

    def test_our_own_tag_names_the_attempt(self) -> None:
        assert report("Send", tags={"attempt": [ATTEMPT.id], "ses:operation": ["SendEmail"]}).attempt == ATTEMPT.id
        for tags in ({"attempt": []}, {"attempt": ATTEMPT.id}, {"attempt": [5]}, []):
            assert report("Send", tags=tags).attempt is None

    @pytest.mark.parametrize(
        ("told", "kind"),
        [
            ("Send", EventKind.SENT),
            ("Reject", EventKind.FAILED),
            ("Rendering Failure", EventKind.FAILED),
            ("DeliveryDelay", EventKind.SENT),
            ("Open", EventKind.UNKNOWN),
            ("Click", EventKind.UNKNOWN),
            ("Subscription", EventKind.UNKNOWN),
            ("Huh", EventKind.UNKNOWN),
        ],
    )
    def test_other_events(self, told: str, kind: EventKind) -> None:
        event = report(told)

        assert (event.kind, event.provider_status, event.suppress) == (kind, told, None)
        assert event.occurred_at == datetime(2026, 11, 30, 16, 20, 31, 674000, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("event", "kind", "suppress"),
        [
            (bounce("Permanent"), EventKind.BOUNCED, "hard_bounce"),
            (bounce("Permanent", "NoEmail"), EventKind.BOUNCED, "hard_bounce"),
            (bounce("Permanent", "Suppressed"), EventKind.BOUNCED, "hard_bounce"),
            (bounce("Permanent", status="5.7.1"), EventKind.BOUNCED, None),  # our reputation's fault
            (bounce("Permanent", "OnAccountSuppressionList"), EventKind.FAILED, "inactive"),
            (bounce("Transient", "MailboxFull"), EventKind.NOT_REACHED, None),
            (bounce("Transient", "General"), EventKind.NOT_REACHED, None),  # a holiday reply, among others
            (bounce("Transient", "ContentRejected"), EventKind.NOT_REACHED, None),
            (bounce("Undetermined", "Undetermined"), EventKind.NOT_REACHED, None),
            (bounce("Huh"), EventKind.UNKNOWN, None),
            (report("Bounce"), EventKind.UNKNOWN, None),
            (report("Bounce", {"bounceType": "Permanent", "bouncedRecipients": [5]}), EventKind.BOUNCED, "hard_bounce"),
        ],
    )
    def test_bounces_are_hard_or_soft(self, event: DeliveryEvent, kind: EventKind, suppress: str | None) -> None:
        assert (event.kind, event.suppress) == (kind, suppress)

    @pytest.mark.parametrize(
        ("part", "kind", "suppress"),
        [
            ({}, EventKind.COMPLAINED, "complaint"),
            ({"complaintFeedbackType": "abuse"}, EventKind.COMPLAINED, "complaint"),
            ({"complaintFeedbackType": "not-spam"}, EventKind.UNKNOWN, None),
            ({"complaintSubType": "OnAccountSuppressionList"}, EventKind.FAILED, "complaint"),
        ],
    )
    def test_complaints(self, part: dict[str, str], kind: EventKind, suppress: str | None) -> None:
        event = report("Complaint", part)

        assert (event.kind, event.suppress) == (kind, suppress)

    def test_older_topics_name_the_type_differently(self) -> None:
        record = {"notificationType": "Delivery", "mail": {"messageId": MESSAGE_ID}}

        [event] = ses().parse_webhook(sns_call(json.dumps(record)))

        assert (event.kind, event.provider_status) == (EventKind.DELIVERED, "Delivery")

    def test_one_call_of_sns_is_one_report(self) -> None:
        first, again, other = (report("Delivery", MessageId=id) for id in ("call-1", "call-1", "call-2"))

        assert first.dedupe_key == again.dedupe_key != other.dedupe_key

    @pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"eventType": "Send"}', '{"mail": {"messageId": "x"}}'])
    def test_what_names_no_message_is_malformed(self, text: str) -> None:
        with pytest.raises(MalformedWebhook):
            ses().parse_webhook(sns_call(text))


class TestProof:
    def test_a_vector_is_believed(self) -> None:
        vector = json.loads(payload("ses/signature-vector.json"))
        adapter = ses(
            signing_certificate=vector["test_certificate_pem"],
            topic_arn="arn:aws:sns:eu-west-1:123456789012:ses-events",
        )
        call = payload("ses/sns-notification-delivery.json")

        [event] = adapter.parse_webhook(raw_call(call))

        assert (event.kind, event.provider_message_id) == (EventKind.DELIVERED, MESSAGE_ID)
        with pytest.raises(InvalidSignature):
            adapter.parse_webhook(raw_call(call.replace(b'\\"Delivery\\"', b'\\"Bounce\\"')))
        with pytest.raises(InvalidSignature):
            ses(signing_certificate=vector["test_certificate_pem"]).parse_webhook(raw_call(call))  # another topic

    def test_by_another_key_is_not(self) -> None:
        with pytest.raises(InvalidSignature):
            ses().parse_webhook(sns_call("{}", key=new_key()))

    def test_a_subscription_is_confirmed_by_hand(self) -> None:
        url = json.loads(payload("ses/sns-subscription-confirmation.json"))["SubscribeURL"]
        call = sns_call("You have chosen", Type="SubscriptionConfirmation", Token="x", SubscribeURL=url)

        assert ses().parse_webhook(call) == []
        assert ses().subscribe_url(call) == url
        assert ses().subscribe_url(sns_call("{}")) is None

    def test_a_subscription_that_ended_is_kept_for_a_person(self) -> None:
        call = sns_call("You have left", Type="UnsubscribeConfirmation", Token="x", SubscribeURL="https://x.example/")

        [told] = ses().parse_webhook(call)

        assert (told.kind, told.provider_status) == (EventKind.UNKNOWN, "UnsubscribeConfirmation")

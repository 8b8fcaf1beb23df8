"""Only what is odd about Resend."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from providers import errors
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, SenderNotAllowed, UnsupportedFeature
from providers.messages import (
    Ability,
    Attachment,
    AttemptRef,
    DeliveryEvent,
    EventKind,
    Headers,
    Mail,
    SendResult,
    WebhookRequest,
)
from providers.resend import Resend
from providers.resend.codes import REFUSALS, STATUSES
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, http_file, payload
from tests.providers.samples.resend import RESEND_SECRET, RESEND_VECTOR, resend, resend_webhook

MESSAGE = SAMPLES["resend"].message
PDF = Attachment("Rechnung – März.pdf", "application/pdf", b"%PDF")
LOGO = Attachment("logo.png", "image/png", b"PNG", content_id="logo")
MESSAGE_ID = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"
SPEC = json.loads((Path(__file__).parent / "specs" / "resend.json").read_text())
SCHEMAS = SPEC["components"]["schemas"]


def fields(adapter: Resend, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    return body


class TestSendRequest:
    @pytest.mark.parametrize("html", ["<p>Shipped.</p>", None])
    def test_fits_the_published_schema(self, html: str | None) -> None:
        closed = {"additionalProperties": False, "components": SPEC["components"]}

        sent = fields(resend(), html=html)

        jsonschema.validate(sent, {**SCHEMAS["SendEmailRequest"], **closed})
        [tag] = sent["tags"]
        jsonschema.validate(tag, {**SCHEMAS["Tag"], **closed})

    def test_carries_all_that_a_mail_has(self) -> None:
        mail = Mail("Müller, Ana", "help@example.com", (PDF, LOGO), "https://notify.example.com/u/1?a=b")

        sent = fields(resend(**{"from": "Café, Ltd <no-reply@notify.example.com>"}), mail=mail)

        closed = {"additionalProperties": False, "components": SPEC["components"]}
        jsonschema.validate(sent, {**SCHEMAS["SendEmailRequest"], **closed})
        assert sent["from"] == '"Café, Ltd" <no-reply@notify.example.com>'
        assert sent["to"] == [f'"Müller, Ana" <{MESSAGE.to}>']
        assert sent["reply_to"] == "help@example.com"
        assert sent["headers"] == {
            "X-Attempt-Id": ATTEMPT.id,
            "List-Unsubscribe": "<https://notify.example.com/u/1?a=b>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
        pdf, logo = sent["attachments"]
        jsonschema.validate(logo, {**SCHEMAS["Attachment"], **closed})
        assert pdf == {"filename": "Rechnung – März.pdf", "content": "JVBERg==", "content_type": "application/pdf"}
        assert (logo["filename"], logo["content_id"]) == ("logo.png", "logo")

    @pytest.mark.parametrize(
        ("name", "kind"), [("a.pdf", "image/png"), ("a.html", "text/plain"), ("A.PDF", "application/octet-stream")]
    )
    def test_a_file_whose_name_belies_its_kind_is_another_accounts(self, name: str, kind: str) -> None:
        with pytest.raises(UnsupportedFeature):
            fields(resend(), mail=Mail(attachments=(Attachment(name, kind, b"x"),)))

    @pytest.mark.parametrize(
        ("name", "kind"),
        [("a.pdf", "Application/PDF"), ("a.txt", "text/plain; charset=utf-8"), ("a.xyz", "a/b"), ("a", "a/b")],
    )
    def test_any_other_file_is_sent(self, name: str, kind: str) -> None:
        [sent] = fields(resend(), mail=Mail(attachments=(Attachment(name, kind, b"x"),)))["attachments"]

        assert (sent["filename"], sent["content_type"]) == (name, kind)

    def test_has_nothing_that_a_mail_does_not_have(self) -> None:
        assert not {"reply_to", "attachments"} & fields(resend()).keys()

    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("resend/send-request.json"))

        sent = fields(resend())

        assert set(sent) == set(recorded)
        assert sent["tags"] == [{"name": "attempt", "value": ATTEMPT.id}]
        assert sent["headers"] == {"X-Attempt-Id": ATTEMPT.id}
        assert (sent["from"], sent["to"]) == ("no-reply@notify.example.com", [MESSAGE.to])

    def test_headers(self) -> None:
        request = resend().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key="key-7"))

        assert (request.method, request.url) == ("POST", "https://api.resend.com/emails")
        assert request.headers == {
            "Accept": "application/json",
            "Authorization": "Bearer re_EXAMPLE_0000000000000000000000",
            "Content-Type": "application/json",
            "Idempotency-Key": "key-7",
        }

    def test_without_a_key_none_is_made_up(self) -> None:
        assert "Idempotency-Key" not in resend().send_request(MESSAGE, ATTEMPT).headers

    def test_a_repeated_call_is_the_same_to_the_byte(self) -> None:
        """From an adapter of its own, as after a restart, and when the message is useful for less time than before."""
        attempt = AttemptRef(ATTEMPT.id, key="key-7")

        first = resend().send_request(MESSAGE, attempt)
        again = resend().send_request(replace(MESSAGE, useful_seconds=1), attempt)

        assert (again.url, again.headers, again.body) == (first.url, first.headers, first.body)

    def test_mails_go_one_by_one(self) -> None:
        """A key of many protects no single one, and a mail whose answer is lost is repeated by itself."""
        requests = [resend().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key=key)) for key in ("key-1", "key-2")]

        assert Ability.BATCH not in Resend.abilities
        with pytest.raises(UnsupportedFeature):
            resend().batch_request(requests)

    def test_a_key_is_not_trusted_to_its_last_hour(self) -> None:
        assert Resend.key_life_seconds <= 23 * 60 * 60

    def test_text_alone(self) -> None:
        assert "html" not in fields(resend(), html=None)
        assert fields(resend(), subject=None)["subject"] == ""

    def test_a_subject_is_one_line(self) -> None:
        assert fields(resend(), subject="a\r\nBcc: x@example.org")["subject"] == "a Bcc: x@example.org"

    @pytest.mark.parametrize(
        "to", ["a@x.example,b@x.example", "a@x.example b@x.example", "A <a@x.example>", "a@x.example\r\n"]
    )
    def test_an_address_never_becomes_two(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            resend().send_request(replace(MESSAGE, to=to), ATTEMPT)

        assert "x.example" not in str(caught.value)

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            Resend(replace(resend().account, settings={})).send_request(MESSAGE, ATTEMPT)


def refusal(status: int, **body: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        resend().send_result(answer(status, {"statusCode": status, **body}))
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        recorded = http_file("resend/send-response-200.http", payload)

        assert resend().send_result(recorded) == SendResult(MESSAGE_ID)

    @pytest.mark.parametrize(
        ("status", "file", "expected"),
        [
            (403, "error-403-domain", errors.SenderNotAllowed),
            (409, "error-409-in-progress", errors.OutcomeUnknown),
            (409, "error-409-payload-differs", errors.OutcomeUnknown),
            (422, "error-422-invalid-from", errors.SenderNotAllowed),
            (422, "error-422-missing-field", errors.InvalidRequest),
            (429, "error-429-monthly-quota", errors.InsufficientBalance),
            (500, "error-500", errors.OutcomeUnknown),
        ],
    )
    def test_recorded_refusals(self, status: int, file: str, expected: type[ProviderError]) -> None:
        recorded = json.loads(payload(f"resend/{file}.json"))

        error = refusal(status, **recorded)

        assert type(error) is expected
        assert (error.code, error.http_status, error.suppress) == (recorded["name"], status, None)
        assert recorded["message"] not in str(error)

    def test_a_limit_says_how_long_to_wait(self) -> None:
        with pytest.raises(errors.RateLimited) as caught:
            resend().send_result(http_file("resend/error-429-rate.http", payload))

        assert caught.value.retry_after_seconds == 1.0

    @pytest.mark.parametrize("name", REFUSALS)
    def test_the_name_counts_whatever_the_status(self, name: str) -> None:
        for status in (400, 401, 403, 422, 429, 451):
            assert type(refusal(status, name=name)) is REFUSALS[name]

    @pytest.mark.parametrize("name", [name for name in REFUSALS if "idempotent" in name])
    def test_a_conflict_of_keys_proves_nothing(self, name: str) -> None:
        """Neither that the first call sent nor that it did not: above all it is no reason to send afresh."""
        assert type(refusal(409, name=name)) is errors.OutcomeUnknown

    @pytest.mark.parametrize(
        ("status", "name", "message", "expected"),
        [
            (400, "validation_error", "something else", errors.InvalidRequest),
            (400, "validation_error", "API key is invalid", errors.AuthenticationFailed),
            (401, "validation_error", "API key is invalid", errors.AuthenticationFailed),
            (403, "validation_error", "API key is invalid", errors.AuthenticationFailed),
            (403, "validation_error", "The example.com domain is not verified.", errors.SenderNotAllowed),
            (422, "validation_error", "Invalid `to` field. The email address needs", errors.InvalidRecipient),
            (400, "validation_error", "Invalid `to` field.", errors.InvalidRecipient),
            (422, "invalid_parameter", "Invalid `to` field.", errors.InvalidRecipient),
            (422, "validation_error", "Invalid `cc` field, not the `to` field", errors.InvalidRequest),
            (422, "invalid_from_address", "Invalid `to` field", errors.SenderNotAllowed),
            (422, "validation_error", None, errors.InvalidRequest),
            (500, "validation_error", "Invalid `to` field", errors.OutcomeUnknown),
            (418, "brand_new_error", "", errors.UnknownRefusal),
            (409, "brand_new_error", "", errors.UnknownRefusal),
            (503, "brand_new_error", "", errors.OutcomeUnknown),
            (422, 5, "", errors.UnknownRefusal),
        ],
    )
    def test_a_vague_name_is_told_by_status_and_text(
        self, status: int, name: object, message: str | None, expected: type[ProviderError]
    ) -> None:
        assert type(refusal(status, name=name, message=message)) is expected

    @pytest.mark.parametrize("name", ["ana.pereira@example.net", "Ana Pereira", "x" * 60 + "@", 7])
    def test_only_a_name_of_their_kind_reaches_the_logs(self, name: object) -> None:
        error = refusal(422, name=name, message="about ana.pereira@example.net")

        assert error.code == ""
        assert "ana" not in str(error).lower()

    @pytest.mark.parametrize("body", [{}, {"id": None}, {"id": ""}, {"id": 7}, {"name": "validation_error"}])
    def test_a_success_without_an_id_is_unclear(self, body: dict[str, Any]) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            resend().send_result(answer(200, body))


def polled(**changes: Any) -> list[DeliveryEvent]:
    mail = {**json.loads(payload("resend/get-email-response.json")), **changes}
    return resend().status_result(answer(200, json.dumps(mail)))


class TestStatus:
    def test_asks_for_one_mail(self) -> None:
        assert resend().status_request(MESSAGE_ID).url == f"https://api.resend.com/emails/{MESSAGE_ID}"

    def test_recorded(self) -> None:
        [event] = polled()

        assert (event.kind, event.provider_status) == (EventKind.DELIVERED, "delivered")
        assert (event.provider_message_id, event.occurred_at) == (MESSAGE_ID, None)  # it tells when the mail was made

    def test_every_published_status_has_a_meaning(self) -> None:
        assert set(SCHEMAS["Email"]["properties"]["last_event"]["enum"]) == set(STATUSES)

    @pytest.mark.parametrize(
        ("status", "kind", "suppress"),
        [
            ("delivery_delayed", EventKind.SENT, None),
            ("opened", EventKind.DELIVERED, None),
            ("bounced", EventKind.NOT_REACHED, None),
            ("complained", EventKind.COMPLAINED, "complaint"),
            ("suppressed", EventKind.FAILED, None),
            ("Delivered", EventKind.DELIVERED, None),
            ("huh", EventKind.UNKNOWN, None),
        ],
    )
    def test_status(self, status: str, kind: EventKind, suppress: str | None) -> None:
        [event] = polled(last_event=status)

        assert (event.kind, event.suppress) == (kind, suppress)

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        assert polled()[0].dedupe_key == polled(subject="changed")[0].dedupe_key
        assert polled()[0].dedupe_key != polled(last_event="sent")[0].dedupe_key

    def test_holds_neither_text_nor_address(self) -> None:
        raw = polled()[0].raw

        assert b"ana.pereira" not in raw
        assert b"shipped" not in raw

    @pytest.mark.parametrize(
        ("status", "body"),
        [(404, '{"name": "not_found"}'), (401, '{"name": "restricted_api_key"}'), (200, "<html>"), (200, "{}")],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert resend().status_result(answer(status, body)) == []


def report(type_: str, call_id: str = "msg_1", **data: Any) -> DeliveryEvent:
    content = {"type": type_, "created_at": "2026-11-30T16:20:34.126Z", "data": {"email_id": MESSAGE_ID, **data}}
    [event] = resend().parse_webhook(resend_webhook(content, call_id))
    return event


class TestWebhook:
    @pytest.mark.parametrize(
        ("file", "kind", "suppress", "code"),
        [
            ("sent", EventKind.SENT, None, ""),
            ("delivered", EventKind.DELIVERED, None, ""),
            ("delivery_delayed", EventKind.SENT, None, ""),
            ("bounced", EventKind.BOUNCED, "hard_bounce", "NoEmail"),
            ("bounced-transient", EventKind.NOT_REACHED, None, "MailboxFull"),
            ("complained", EventKind.COMPLAINED, "complaint", ""),
            ("failed", EventKind.FAILED, None, "reached_daily_quota"),
            ("suppressed", EventKind.FAILED, "hard_bounce", "previous_bounce"),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, suppress: str | None, code: str) -> None:
        [event] = resend().parse_webhook(resend_webhook(payload(f"resend/webhook-email.{file}.json")))

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, code)
        assert event.provider_message_id == MESSAGE_ID
        assert event.occurred_at == datetime(2026, 11, 30, 16, 20, 34, 126000, tzinfo=UTC)  # not when the mail was made
        assert event.attempt is None  # recorded from another sender, whose tags have other names

    def test_our_own_tag_names_the_attempt(self) -> None:
        assert report("email.sent", tags={"attempt": ATTEMPT.id, "type": "email.bounced"}).attempt == ATTEMPT.id

    @pytest.mark.parametrize(
        ("bounce", "kind", "suppress"),
        [
            ({"type": "Permanent", "subType": "General"}, EventKind.BOUNCED, "hard_bounce"),
            ({"type": "permanent"}, EventKind.BOUNCED, "hard_bounce"),
            ({"type": "Permanent", "subType": "ContentRejected"}, EventKind.BOUNCED, None),
            ({"type": "Permanent", "subType": "MessageTooLarge"}, EventKind.BOUNCED, None),
            ({"type": "Undetermined", "subType": "Undetermined"}, EventKind.NOT_REACHED, None),
            ({"type": "Transient", "subType": "General"}, EventKind.NOT_REACHED, None),
            ({"type": "Huh"}, EventKind.UNKNOWN, None),
            ({}, EventKind.UNKNOWN, None),
            ("Permanent", EventKind.UNKNOWN, None),
        ],
    )
    def test_bounces_are_hard_or_soft(self, bounce: object, kind: EventKind, suppress: str | None) -> None:
        event = report("email.bounced", bounce=bounce)

        assert (event.kind, event.suppress) == (kind, suppress)

    @pytest.mark.parametrize(
        ("reason", "suppress"), [("previous_complaint", "complaint"), ("previous_bounce", "hard_bounce"), ("huh", None)]
    )
    def test_a_suppressed_mail_failed(self, reason: str, suppress: str | None) -> None:
        event = report("email.suppressed", suppressed={"reason": reason})

        assert (event.kind, event.suppress, event.error_code) == (EventKind.FAILED, suppress, reason)

    @pytest.mark.parametrize("type_", ["email.opened", "email.clicked", "email.received", "email.huh", "email."])
    def test_other_events_change_nothing(self, type_: str) -> None:
        event = report(type_)

        assert (event.kind, event.provider_status, event.suppress) == (EventKind.UNKNOWN, type_, None)

    def test_every_published_event_is_read(self) -> None:
        kinds = {name: report(name).kind for name in SPEC["webhooks"]}

        unknown = {name for name, kind in kinds.items() if kind is EventKind.UNKNOWN}
        assert unknown == {"email.opened", "email.clicked", "email.bounced"}  # the last for want of a bounce

    def test_an_event_about_no_mail_is_kept(self) -> None:
        event = report("contact.updated", email_id=None)

        assert (event.kind, event.provider_message_id, event.attempt) == (EventKind.UNKNOWN, None, None)

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"null",
            b"{}",
            b'{"type": 1.5}',
            b'{"type": "email.sent"}',
            b'{"type": "email.sent", "data": []}',
        ],
    )
    def test_what_names_no_message_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            resend().parse_webhook(resend_webhook(body))

    def test_repetitions_are_one_event_and_other_calls_are_not(self) -> None:
        first, again, other = (report("email.sent", call_id) for call_id in ("msg_1", "msg_1", "msg_2"))

        assert first == again
        assert first.dedupe_key == "msg_1"
        assert other.dedupe_key == "msg_2"


def vector(**headers: str) -> WebhookRequest:
    body = RESEND_VECTOR["raw_body"].encode()
    return WebhookRequest("POST", "https://a.example/", Headers({**RESEND_VECTOR["headers"], **headers}), body)


class TestSignature:
    def test_of_the_vendors_vector_is_believed(self) -> None:
        for request in (vector(), vector(**{"svix-signature": RESEND_VECTOR["second_signature_header_for_rotation"]})):
            [event] = resend().parse_webhook(request)

            assert (event.kind, event.dedupe_key) == (EventKind.DELIVERED, RESEND_VECTOR["headers"]["svix-id"])

    @pytest.mark.parametrize(
        ("header", "value"),
        [
            ("svix-id", "msg_other"),
            ("svix-id", ""),
            ("svix-timestamp", "1796055641"),
            ("svix-timestamp", ""),
            ("svix-signature", ""),
            ("svix-signature", RESEND_VECTOR["headers"]["svix-signature"].removeprefix("v1,")),
            ("svix-signature", RESEND_VECTOR["headers"]["svix-signature"].replace("v1,", "v2,")),
            ("svix-signature", RESEND_VECTOR["headers"]["svix-signature"].lower()),
            ("svix-signature", "v1,no base64 v1, , v1"),
            ("svix-signature", "v1,é"),
        ],
    )
    def test_covers_id_time_and_body(self, header: str, value: str) -> None:
        changed = replace(vector(), body=vector().body.replace(b"delivered", b"complained"))

        for forged in (vector(**{header: value}), changed):
            with pytest.raises(InvalidSignature):
                resend().parse_webhook(forged)

    def test_is_over_the_bytes_as_they_came(self) -> None:
        with pytest.raises(InvalidSignature):
            resend().parse_webhook(replace(vector(), body=json.dumps(json.loads(vector().body)).encode()))

    @pytest.mark.parametrize("secret", ["", "whsec_", "whsec_no base64", "whsec_é", RESEND_SECRET[:-4]])
    def test_is_not_made_with_another_secret(self, secret: str) -> None:
        account = resend().account
        other = Resend(replace(account, credentials={**account.credentials, "webhook_secret": secret}))

        with pytest.raises(InvalidSignature):
            other.parse_webhook(vector())

    def test_secret_may_come_without_its_prefix(self) -> None:
        account = resend().account
        bare = {**account.credentials, "webhook_secret": RESEND_SECRET.removeprefix("whsec_")}

        assert Resend(replace(account, credentials=bare)).parse_webhook(vector())

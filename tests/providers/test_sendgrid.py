"""Only what is odd about SendGrid."""

from __future__ import annotations

import base64
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
    Attachment,
    CannotTell,
    DeliveryEvent,
    EventKind,
    Found,
    Mail,
    NextPage,
    NotThere,
    SendResult,
)
from providers.sendgrid import SendGrid
from providers.sendgrid.records import KEPT, received_id
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, case, http_file, payload
from tests.providers.samples.sendgrid import API_KEY, PRIVATE_KEY, sendgrid, sendgrid_webhook, signed_with

MESSAGE = SAMPLES["sendgrid"].message
SENT = SAMPLES["sendgrid"].sent
MESSAGE_ID = "Xj5LmNkWSOqRbdvOpR34BA"
LOGGED_ID = f"{MESSAGE_ID}.recvd-85abf8d92c-3qfgp-2-7890E356-43C.0"
SPEC = json.loads((Path(__file__).parent / "specs" / "sendgrid.json").read_text())
PDF = Attachment("Rechnung – März.pdf", "application/pdf", b"%PDF-1.7\r\n\0")
LOGO = Attachment("logo.png", "image/png", b"\x89PNG", content_id="logo")


def schema(document: str, name: str) -> dict[str, Any]:
    """A published shape that takes no fields but its own."""
    components = SPEC[document]["components"]
    return {**components["schemas"][name], "additionalProperties": False, "components": components}


def fields(adapter: SendGrid | None = None, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((adapter or sendgrid()).send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    jsonschema.validate(body, schema("mail", "Send"))
    return body


class TestSendRequest:
    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("sendgrid/send-request.json"))

        sent = fields()

        assert set(sent) == set(recorded) - {"categories"}
        assert sent["personalizations"] == [
            {"to": [{"email": MESSAGE.to}], "custom_args": {"landfall_attempt": ATTEMPT.id}}
        ]
        assert sent["from"] == {"email": "no-reply@notify.example.com"}
        assert [part["type"] for part in sent["content"]] == [part["type"] for part in recorded["content"]]
        assert sent["headers"] == {"X-Attempt-Id": ATTEMPT.id}
        # What is not said here is as somebody has set it up at SendGrid.
        assert {name: tracked["enable"] for name, tracked in sent["tracking_settings"].items()} == dict.fromkeys(
            ("click_tracking", "open_tracking", "subscription_tracking"), False
        )

    def test_headers(self) -> None:
        request = sendgrid().send_request(MESSAGE, ATTEMPT)

        assert (request.method, request.url) == ("POST", "https://api.sendgrid.com/v3/mail/send")
        assert request.headers == {
            "Accept": "application/json",
            "Authorization": f"Bearer {API_KEY}",
            "Content-Type": "application/json",
        }

    def test_dlr_metadata_overwrites_event_our_argument_has_a_name_of_its_own(self) -> None:
        """What travels comes back beside their own fields; "attempt" is one of those."""
        own = {
            name for schema in SPEC["logs"]["components"]["schemas"].values() for name in schema.get("properties", ())
        }

        [person] = fields()["personalizations"]

        assert "attempt" in own
        assert set(person["custom_args"]).isdisjoint(own)

    def test_a_sender_may_have_a_name(self) -> None:
        sent = fields(sendgrid(**{"from": "Müller, Söhne <no-reply@notify.example.com>"}))

        assert sent["from"] == {"email": "no-reply@notify.example.com", "name": "Müller, Söhne"}

    def test_carries_all_that_a_mail_has(self) -> None:
        mail = Mail("Ana Pereira", "help@example.com", (PDF, LOGO), "https://notify.example.com/u/1?a=b")

        sent = fields(mail=mail)

        assert sent["personalizations"][0]["to"] == [{"email": MESSAGE.to, "name": "Ana Pereira"}]
        assert sent["reply_to"] == {"email": "help@example.com"}
        assert sent["headers"] == {
            "X-Attempt-Id": ATTEMPT.id,
            "List-Unsubscribe": "<https://notify.example.com/u/1?a=b>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
        pdf, logo = sent["attachments"]
        assert base64.b64decode(pdf.pop("content")) == PDF.content
        assert pdf == {"type": "application/pdf", "filename": "Rechnung – März.pdf", "disposition": "attachment"}
        assert (logo["disposition"], logo["content_id"]) == ("inline", "logo")

    @pytest.mark.parametrize("breaks", ["\r\nBcc: x@example.org", "\nx", "\rx", "\0x", "\x85x", "\u2028x"])
    def test_no_line_break_gets_into_a_header(self, breaks: str) -> None:
        mail = Mail(f"Ana{breaks}", attachments=(Attachment(f"a{breaks}", f"text/plain{breaks}", b"x"),))

        sent = fields(subject=f"Your order{breaks}", mail=mail)

        [file], [person] = sent["attachments"], sent["personalizations"][0]["to"]
        for text in (sent["subject"], person["name"], file["filename"], file["type"]):
            assert len(text.splitlines()) == 1
            assert "\0" not in text
        assert person["email"] == MESSAGE.to

    @pytest.mark.parametrize(
        "mail",
        [
            Mail(reply_to="a@x.example\r\nBcc: b@x.example"),
            Mail(reply_to="a@x.example, b@x.example"),
            Mail(unsubscribe_url="https://x.example/\r\nBcc: b@x.example"),
            Mail(unsubscribe_url="https://x.example/>, <mailto:b@x.example"),
            Mail(attachments=(Attachment("a", "image/png", b"x", content_id="a>\r\nX: b@x.example"),)),
        ],
    )
    def test_what_would_break_a_header_is_refused(self, mail: Mail) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            fields(mail=mail)

        assert "x.example" not in str(caught.value)

    def test_half_an_emoji_in_a_name_is_replaced(self) -> None:
        assert fields(mail=Mail("Ana \ud83d"))["personalizations"][0]["to"][0]["name"].startswith("Ana")

    def test_a_domain_beyond_ascii_is_the_one_that_was_meant(self) -> None:
        assert fields(to="ana@straße.example")["personalizations"][0]["to"] == [{"email": "ana@xn--strae-oqa.example"}]

    def test_an_empty_part_is_left_out(self) -> None:
        assert [part["type"] for part in fields(html=None)["content"]] == ["text/plain"]
        assert [part["type"] for part in fields(html="")["content"]] == ["text/plain"]
        assert [part["type"] for part in fields(text="")["content"]] == ["text/html"]

    @pytest.mark.parametrize(
        "to", ["a@x.example,b@x.example", "a@x.example b@x.example", "A <a@x.example>", "a@x.example\r\n"]
    )
    def test_an_address_never_becomes_two(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            sendgrid().send_request(replace(MESSAGE, to=to), ATTEMPT)

        assert "x.example" not in str(caught.value)

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            SendGrid(replace(sendgrid().account, settings={})).send_request(MESSAGE, ATTEMPT)


def refusal(status: int, *named: object, **headers: str) -> ProviderError:
    body = {"errors": [{"message": "about ana.pereira@example.net", "field": field, "help": None} for field in named]}
    with pytest.raises(ProviderError) as caught:
        sendgrid().send_result(answer(status, body, **headers))
    assert "ana.pereira" not in str(caught.value)
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        assert sendgrid().send_result(http_file("sendgrid/send-response-202.http", payload)) == SendResult(MESSAGE_ID)

    def test_a_success_without_an_id_is_unclear(self) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            sendgrid().send_result(answer(202))

    @pytest.mark.parametrize(
        ("status", "file", "expected", "code"),
        [
            (400, "error-400", errors.InvalidRecipient, "personalizations.0.to.0.email"),
            (401, "error-401", errors.AuthenticationFailed, ""),
            (403, "error-403-unverified-sender", errors.SenderNotAllowed, "from"),
            (413, "error-413", errors.InvalidRequest, ""),
        ],
    )
    def test_recorded_refusals(self, status: int, file: str, expected: type[ProviderError], code: str) -> None:
        with pytest.raises(ProviderError) as caught:
            sendgrid().send_result(answer(status, payload(f"sendgrid/{file}.json")))

        error = caught.value
        assert (type(error), error.code, error.http_status, error.suppress) == (expected, code, status, None)

    @pytest.mark.parametrize(
        ("status", "named", "expected"),
        [
            (400, ["personalizations.12.to"], errors.InvalidRecipient),
            (400, ["personalizations.0.to.0.name"], errors.InvalidRequest),
            (400, ["personalizations.0.to.0.email", "content.0.value"], errors.InvalidRequest),
            (400, ["personalizations.0.to.0.email", None], errors.InvalidRequest),
            (400, ["personalizations.0.to.0.email", "from.email"], errors.SenderNotAllowed),
            (400, ["from.email"], errors.SenderNotAllowed),
            (400, ["reply_to.email"], errors.InvalidRequest),
            (400, [None], errors.InvalidRequest),
            (400, [5], errors.InvalidRequest),
            (403, [None], errors.AuthenticationFailed),
            (401, ["personalizations.0.to.0.email"], errors.AuthenticationFailed),
            (404, [None], errors.InvalidRequest),
            (405, [None], errors.InvalidRequest),
            (406, [None], errors.InvalidRequest),
            (413, ["personalizations.0.to"], errors.InvalidRequest),
            (429, [None], errors.RateLimited),
            (418, ["from"], errors.UnknownRefusal),
            (400, [], errors.UnknownRefusal),
            (500, ["from"], errors.OutcomeUnknown),
            (503, ["personalizations.0.to"], errors.OutcomeUnknown),
        ],
    )
    def test_the_field_tells_whose_fault_it_is(
        self, status: int, named: list[object], expected: type[ProviderError]
    ) -> None:
        assert type(refusal(status, *named)) is expected

    @pytest.mark.parametrize("field", ["ana.pereira@example.net", "null", "x" * 60, "Ana Pereira"])
    def test_only_a_field_of_their_kind_reaches_the_logs(self, field: str) -> None:
        assert refusal(400, field).code == ""

    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ({"Date": "Mon, 30 Nov 2026 16:20:30 GMT", "X_RateLimit_Reset": "1796055660"}, 30.0),
            ({"Date": "Mon, 30 Nov 2026 16:22:30 GMT", "X_RateLimit_Reset": "1796055660"}, 0.0),
            ({"X_RateLimit_Reset": "1796055660"}, None),
            ({"Date": "Mon, 30 Nov 2026 16:20:30 GMT", "X_RateLimit_Reset": "9999999999"}, None),
            ({"Date": "Mon, 30 Nov 2026 16:20:30 GMT", "X_RateLimit_Reset": "soon"}, None),
            ({"Date": "Mon, 30 Nov 2026 16:20:30 GMT", "X_RateLimit_Reset": "1796055660", "Retry_After": "7"}, 7.0),
        ],
    )
    def test_a_limit_says_when_it_ends(self, headers: dict[str, str], expected: float | None) -> None:
        assert refusal(429, None, **headers).retry_after_seconds == expected

    def test_a_limit_as_recorded(self) -> None:
        with pytest.raises(errors.RateLimited) as caught:
            sendgrid().send_result(http_file("sendgrid/error-429.http", payload))

        assert caught.value.retry_after_seconds is None  # its Date is missing


def found(body: Any, status: int = 200, **changes: Any) -> Any:
    return sendgrid().find_result(answer(status, json.dumps(body)), replace(SENT, **changes))


def entry(id: str = LOGGED_ID, made_at: object = "2027-01-15T10:00:01Z") -> dict[str, Any]:
    [recorded] = json.loads(payload("sendgrid/logs-search-response.json"))["messages"]
    return {**recorded, "sg_message_id": id, "sg_message_id_created_at": made_at}


def mail(**changes: Any) -> dict[str, Any]:
    recorded = json.loads(payload("sendgrid/logs-message-response.json"))
    return {**recorded, "custom_args": {"landfall_attempt": ATTEMPT.id}, **changes}


class TestFind:
    def test_searches_by_recipient_and_time(self) -> None:
        request = sendgrid().find_request(SENT)

        asked = json.loads(request.body)
        assert (request.method, request.url) == ("POST", "https://api.sendgrid.com/v3/logs")
        jsonschema.validate(asked, schema("logs", "EmailLogsGetMessagesByFilterRequest"))
        assert asked["query"] == (
            "to_email = 'ana.pereira@example.net' AND sg_message_id_created_at > TIMESTAMP \"2027-01-15T09:58:00Z\""
            ' AND sg_message_id_created_at < TIMESTAMP "2027-01-15T10:05:10Z"'
        )

    def test_a_quote_ends_no_text(self) -> None:
        sent = replace(SENT, message=replace(MESSAGE, to="o'brien@example.net"))

        assert json.loads(sendgrid().find_request(sent).body)["query"].startswith(
            "to_email = 'o''brien@example.net' AND "
        )

    def test_opens_the_mail_made_nearest_to_the_call(self) -> None:
        near, far = entry("b.recvd-1"), entry("a.recvd-1", "2027-01-15T10:04:00Z")

        assert found({"messages": [far, entry("c.recvd-1", "huh"), near]}) == NextPage("b.recvd-1")

    def test_asks_for_one_mail(self) -> None:
        request = sendgrid().find_request(SENT, LOGGED_ID)

        assert (request.method, request.url, request.body) == (
            "GET",
            f"https://api.sendgrid.com/v3/logs/{LOGGED_ID}",
            b"",
        )

    def test_found(self) -> None:
        result = found(mail())

        assert isinstance(result, Found)
        assert result.provider_message_id == MESSAGE_ID
        assert [(event.kind, event.attempt) for event in result.events] == [
            (EventKind.ACCEPTED, ATTEMPT.id),
            (EventKind.DELIVERED, ATTEMPT.id),
        ]

    def test_events_have_the_ids_of_webhooks_and_neither_text_nor_address(self) -> None:
        told = json.loads(payload("sendgrid/logs-message-response.json"))["events"][1]
        [reported] = sendgrid().parse_webhook(sendgrid_webhook([told]))

        event = found(mail()).events[1]

        assert event.dedupe_key == reported.dedupe_key
        assert set(json.loads(event.raw)) == set(KEPT)
        assert b"ana.pereira" not in event.raw

    def test_not_there(self) -> None:
        assert found({"messages": []}) == NotThere()

    @pytest.mark.parametrize("arguments", [{}, None, [], {"landfall_attempt": "other-1"}, {"attempt": ATTEMPT.id}])
    def test_somebody_elses_mail_is_not_ours(self, arguments: object) -> None:
        assert isinstance(found(mail(custom_args=arguments)), CannotTell)

    def test_a_mail_that_belongs_to_another_attempt_is_not_ours(self) -> None:
        owned = frozenset({MESSAGE_ID})

        assert found({"messages": [entry()]}, owned_ids=owned) == NotThere()
        assert isinstance(found(mail(), owned_ids=owned), CannotTell)
        assert found({"messages": [entry(), entry("other.recvd-1")]}, owned_ids=owned) == NextPage("other.recvd-1")

    def test_where_our_numbering_is_lost_any_attempt_counts(self) -> None:
        later = mail(custom_args={"landfall_attempt": f"{ATTEMPT.message}-7"})

        assert isinstance(found(later), CannotTell)
        assert isinstance(found(later, any_attempt=True), Found)
        assert isinstance(found(mail(custom_args={"landfall_attempt": "f" * 32 + "-1"}), any_attempt=True), CannotTell)

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (200, {"messages": None}),
            (200, {"messages": [5]}),
            (200, {"messages": [{}]}),
            (200, {"messages": [entry(), {"sg_message_id": 5}]}),
            (200, {"messages": [entry(f"{number}.recvd-1") for number in range(50)]}),  # and perhaps more
            (200, []),
            (200, {}),
            (403, {"errors": []}),
            (404, {"errors": []}),
            (429, {"errors": []}),
        ],
    )
    def test_an_answer_that_is_no_complete_list_says_nothing(self, status: int, body: Any) -> None:
        assert isinstance(found(body, status), CannotTell)


def report(**event: Any) -> DeliveryEvent:
    content = {"sg_event_id": "e1", "sg_message_id": LOGGED_ID, "timestamp": 1796055636, "email": MESSAGE.to, **event}
    [told] = sendgrid().parse_webhook(sendgrid_webhook([content]))
    return told


class TestWebhook:
    def test_recorded(self) -> None:
        """A batch mixes mails and events; what machines do, and a second thought, change nothing."""
        events = sendgrid().parse_webhook(sendgrid_webhook(json.loads(payload("sendgrid/events.json"))))

        assert [(event.provider_status, event.kind, event.suppress, event.error_code) for event in events] == [
            ("processed", EventKind.ACCEPTED, None, ""),
            ("deferred", EventKind.SENT, None, ""),
            ("delivered", EventKind.DELIVERED, None, ""),
            ("open", EventKind.UNKNOWN, None, ""),
            ("click", EventKind.UNKNOWN, None, ""),
            ("bounce", EventKind.BOUNCED, "hard_bounce", "5.1.1"),
            ("bounce", EventKind.NOT_REACHED, None, "4.7.0"),
            ("dropped", EventKind.FAILED, "hard_bounce", "Bounced Address"),
            ("spamreport", EventKind.COMPLAINED, "complaint", ""),
            ("unsubscribe", EventKind.OPTED_OUT, "opted_out", ""),
            ("group_unsubscribe", EventKind.OPTED_OUT, None, ""),
            ("group_resubscribe", EventKind.UNKNOWN, None, ""),
        ]
        assert {event.provider_message_id for event in events} == {MESSAGE_ID}
        assert {event.attempt for event in events} == {None}  # another sender's names
        assert events[0].occurred_at == datetime(2026, 11, 30, 16, 20, 31, tzinfo=UTC)
        assert len({event.dedupe_key for event in events}) == len(events)

    def test_our_own_argument_names_the_attempt(self) -> None:
        """The "attempt" of a delay is how often they have tried."""
        event = report(event="deferred", attempt="1", landfall_attempt=ATTEMPT.id)

        assert (event.attempt, event.kind) == (ATTEMPT.id, EventKind.SENT)

    @pytest.mark.parametrize(
        ("bounce", "kind", "suppress"),
        [
            ({"type": "bounce", "status": "5.1.1"}, EventKind.BOUNCED, "hard_bounce"),
            ({"type": "bounce", "status": "5.1.10"}, EventKind.BOUNCED, "hard_bounce"),
            ({"type": "Bounce", "bounce_classification": "Invalid Address"}, EventKind.BOUNCED, "hard_bounce"),
            ({"type": "bounce", "status": "5.7.1"}, EventKind.BOUNCED, None),
            ({"type": "bounce", "status": "5.1.8"}, EventKind.BOUNCED, None),  # the sender's address
            (
                {"type": "bounce", "status": "5.2.2", "bounce_classification": "Mailbox Unavailable"},
                EventKind.BOUNCED,
                None,
            ),
            ({"type": "bounce", "status": "5.1.1", "bounce_classification": "Reputation"}, EventKind.BOUNCED, None),
            ({"type": "bounce", "bounce_classification": "Unclassified"}, EventKind.BOUNCED, None),
            ({"type": "bounce"}, EventKind.BOUNCED, None),
            (
                {"type": "blocked", "status": "5.1.1", "bounce_classification": "Invalid Address"},
                EventKind.NOT_REACHED,
                None,
            ),
            ({"type": "huh"}, EventKind.UNKNOWN, None),
            ({}, EventKind.UNKNOWN, None),
        ],
    )
    def test_bounces_are_hard_or_soft(self, bounce: dict[str, str], kind: EventKind, suppress: str | None) -> None:
        event = report(event="bounce", **bounce)

        assert (event.kind, event.suppress) == (kind, suppress)

    @pytest.mark.parametrize(
        ("reason", "kind", "suppress"),
        [
            ("Bounced Address", EventKind.FAILED, "hard_bounce"),
            ("Spam Reporting Address", EventKind.FAILED, "complaint"),
            ("Unsubscribed Address", EventKind.FAILED, "opted_out"),
            ("expired", EventKind.EXPIRED, None),
            ("Invalid", EventKind.FAILED, None),
            ("Spam Content", EventKind.FAILED, None),
            ("Recipient List over Package Quota", EventKind.FAILED, None),
            ("something new", EventKind.FAILED, None),
            (None, EventKind.FAILED, None),
        ],
    )
    def test_dropped_is_never_delivered(self, reason: str | None, kind: EventKind, suppress: str | None) -> None:
        event = report(event="dropped", reason=reason)

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, reason or "")

    def test_a_reason_with_an_address_is_no_code(self) -> None:
        assert report(event="dropped", reason="about ana.pereira@example.net").error_code == ""

    def test_the_accounts_own_event_is_kept_for_a_person(self) -> None:
        [event] = sendgrid().parse_webhook(sendgrid_webhook(json.loads(payload("sendgrid/account-change.json"))))

        assert (event.kind, event.provider_status) == (EventKind.UNKNOWN, "account_status_change")
        assert (event.error_code, event.provider_message_id, event.attempt) == ("compliance_suspend", None, None)

    def test_an_event_without_an_id_is_the_same_each_time(self) -> None:
        first, again, other = (
            report(event="delivered", sg_event_id=None, timestamp=time) for time in (1796055636, 1796055636, 1796055637)
        )

        assert first.dedupe_key == again.dedupe_key != other.dedupe_key

    @pytest.mark.parametrize("body", [b"", b"{}", b"null", b"<html>"])
    def test_what_is_no_list_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            sendgrid().parse_webhook(sendgrid_webhook(body))

    @pytest.mark.parametrize(
        ("id", "received"),
        [
            (LOGGED_ID, MESSAGE_ID),
            ("14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0", "14c5d75ce93.dfd.64b469"),
            ("Kp3v.0", "Kp3v"),
            ("Kp3v", "Kp3v"),
            ("", None),
            (".recvd-1", None),
            (5, None),
        ],
    )
    def test_a_mails_id_begins_with_that_of_its_request(self, id: object, received: str | None) -> None:
        assert received_id(id) == received


class TestBatchWithBadMembers:
    """The case dlr-sendgrid-batch-with-bad-members. Its sender called the attempt `send_id`."""

    @pytest.fixture
    def events(self) -> list[DeliveryEvent]:
        body = case("dlr-sendgrid-batch-with-bad-members/events.json").replace(b'"send_id"', b'"landfall_attempt"')
        return sendgrid().parse_webhook(sendgrid_webhook(body))

    def test_every_member_is_read_or_counted(self, events: list[DeliveryEvent]) -> None:
        assert [(event.kind, event.attempt, event.suppress) for event in events] == [
            (EventKind.DELIVERED, "snd_A1", None),
            (EventKind.BOUNCED, "snd_A2", "hard_bounce"),
            (EventKind.BOUNCED, None, "hard_bounce"),
            (EventKind.UNKNOWN, None, None),
            (EventKind.UNKNOWN, None, None),
            (EventKind.DELIVERED, "snd_A5", None),
            (EventKind.DELIVERED, "snd_A1", None),
        ]
        assert events[3].provider_status == "account_status_change"
        assert json.loads(events[4].raw) == "not an object"
        assert events[5].occurred_at == datetime(2027, 1, 15, 10, 0, tzinfo=UTC)  # a time in quotes

    def test_a_repetition_is_one(self, events: list[DeliveryEvent]) -> None:
        assert events[6].dedupe_key == events[0].dedupe_key
        assert len({event.dedupe_key for event in events}) == len(events) - 1

    def test_ids_are_those_of_the_answers_as_a_whole(self, events: list[DeliveryEvent]) -> None:
        answers = json.loads(case("dlr-sendgrid-batch-with-bad-members/send_response_headers.json"))

        for event in (events[0], events[5]):
            assert event.provider_message_id == answers[event.attempt]["X-Message-Id"]
        assert events[0].provider_message_id != events[5].provider_message_id
        assert [event.provider_message_id for event in events[1:3]] == [None, None]


VECTORS = [
    (
        json.loads(payload("sendgrid/signature-vector.json"))["verification_key_as_shown_in_dashboard"],
        json.loads(payload("sendgrid/signature-vector.json"))["headers"],
        base64.b64decode(json.loads(payload("sendgrid/signature-vector.json"))["raw_body_base64"]),
        3,
    ),
    (
        json.loads(case("sig-sendgrid-crlf-between-events/vectors.json"))["public_key"],
        json.loads(case("sig-sendgrid-crlf-between-events/vectors.json"))["headers"],
        case("sig-sendgrid-crlf-between-events/body.bin"),
        2,
    ),
]


@pytest.mark.parametrize(("public_key", "headers", "body", "count"), VECTORS, ids=["vector", "crlf-between-events"])
class TestSignature:
    """The case sig-sendgrid-crlf-between-events, and a vector checked by the vendor's own library."""

    def test_of_the_bytes_as_they_came_is_believed(
        self, public_key: str, headers: dict[str, str], body: bytes, count: int
    ) -> None:
        assert len(sendgrid(public_key).parse_webhook(signed_with(*_proof(headers), body))) == count

    def test_of_anything_else_is_not(self, public_key: str, headers: dict[str, str], body: bytes, count: int) -> None:
        proof, timestamp = _proof(headers)
        assert body.endswith(b"\r\n")

        for changed in (
            json.dumps(json.loads(body)).encode(),
            json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode(),
            body.rstrip(b"\r\n"),
            body.replace(b"\r\n", b"\n"),
            b"\xef\xbb\xbf" + body,
        ):
            with pytest.raises(InvalidSignature):
                sendgrid(public_key).parse_webhook(signed_with(proof, timestamp, changed))
        with pytest.raises(InvalidSignature):
            sendgrid(public_key).parse_webhook(signed_with(proof, str(int(timestamp) + 1), body))

    def test_by_another_key_is_not(self, public_key: str, headers: dict[str, str], body: bytes, count: int) -> None:
        for key in ("", "AAAA", "not base64", PRIVATE_KEY):
            with pytest.raises(InvalidSignature):
                sendgrid(key).parse_webhook(signed_with(*_proof(headers), body))
        with pytest.raises(InvalidSignature):
            sendgrid().parse_webhook(signed_with(*_proof(headers), body))


def _proof(headers: dict[str, str]) -> tuple[str, str]:
    signature, timestamp = headers.values()
    return signature, timestamp


def test_sig_sendgrid_crlf_an_escape_turned_into_its_letter_is_another_body() -> None:
    vector = json.loads(case("sig-sendgrid-crlf-between-events/vectors.json"))
    body = case("sig-sendgrid-crlf-between-events/body.bin")
    changed = body.replace(rb"\u00e9", "é".encode())
    assert changed != body

    with pytest.raises(InvalidSignature):
        sendgrid(vector["public_key"]).parse_webhook(signed_with(*_proof(vector["headers"]), changed))

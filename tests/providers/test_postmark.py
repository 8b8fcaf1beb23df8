"""Only what is odd about Postmark."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import getaddresses
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from providers import errors
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, SenderNotAllowed, UnsupportedFeature
from providers.messages import (
    Attachment,
    CannotTell,
    DeliveryEvent,
    EventKind,
    Found,
    Headers,
    Mail,
    NotThere,
    SendResult,
    WebhookRequest,
)
from providers.postmark import Postmark
from providers.postmark.codes import REFUSALS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, case, payload
from tests.providers.samples.postmark import postmark, postmark_webhook

MESSAGE = SAMPLES["postmark"].message
SENT = SAMPLES["postmark"].sent
PDF = Attachment("Rechnung – März.pdf", "application/pdf", b"%PDF")
LOGO = Attachment("logo.png", "image/png", b"PNG", content_id="logo")
MESSAGE_ID = "b7bc2f4a-e38e-4336-af7d-e6c392c2f817"


def fields(adapter: Postmark, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    return body


class TestSendRequest:
    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("postmark/send-request.json"))

        sent = fields(postmark())

        assert set(sent) == set(recorded) - {"Tag"}
        assert (sent["TrackOpens"], sent["TrackLinks"], sent["MessageStream"]) == (False, "None", "outbound")
        assert sent["Metadata"] == {"attempt": ATTEMPT.id, "message": ATTEMPT.message}
        assert sent["Headers"] == [{"Name": "X-Attempt-Id", "Value": ATTEMPT.id}]
        assert (sent["From"], sent["To"], sent["Subject"]) == ("no-reply@notify.example.com", MESSAGE.to, "Your order")

    def test_headers(self) -> None:
        request = postmark().send_request(MESSAGE, ATTEMPT)

        assert (request.method, request.url) == ("POST", "https://api.postmarkapp.com/email")
        assert request.headers == {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "X-Postmark-Server-Token": "00000000-1111-2222-3333-444444444444",
        }

    def test_other_stream(self) -> None:
        assert fields(postmark(message_stream="broadcast"))["MessageStream"] == "broadcast"

    def test_text_alone(self) -> None:
        assert "HtmlBody" not in fields(postmark(), html=None)
        assert fields(postmark(), subject=None)["Subject"] == ""

    def test_a_subject_is_one_line(self) -> None:
        assert fields(postmark(), subject="a\r\nBcc: x@example.org")["Subject"] == "a Bcc: x@example.org"

    def test_carries_all_that_a_mail_has(self) -> None:
        mail = Mail('Pereira, "Ana"', "help@example.com", (PDF, LOGO), "https://notify.example.com/u/1?a=b")

        sent = fields(postmark(**{"from": "Müller, Söhne <no-reply@notify.example.com>"}), mail=mail)

        assert sent["From"] == '"Müller, Söhne" <no-reply@notify.example.com>'
        assert sent["To"] == f'"Pereira, \\"Ana\\"" <{MESSAGE.to}>'
        assert sent["ReplyTo"] == "help@example.com"
        assert sent["Headers"] == [
            {"Name": "X-Attempt-Id", "Value": ATTEMPT.id},
            {"Name": "List-Unsubscribe", "Value": "<https://notify.example.com/u/1?a=b>"},
            {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"},
        ]
        pdf, logo = sent["Attachments"]
        assert pdf == {"Name": "Rechnung – März.pdf", "Content": "JVBERg==", "ContentType": "application/pdf"}
        assert (logo["Name"], logo["ContentID"]) == ("logo.png", "cid:logo")

    def test_has_nothing_that_a_mail_does_not_have(self) -> None:
        assert not {"ReplyTo", "Attachments"} & fields(postmark()).keys()

    def test_a_name_is_no_second_recipient(self) -> None:
        sent = fields(postmark(), mail=Mail("x@y.example>, <z@y.example"))

        assert getaddresses([sent["To"]]) == [("x@y.example>, <z@y.example", MESSAGE.to)]

    @pytest.mark.parametrize(
        "to",
        ["a@x.example,b@x.example", '"a,b"@x.example', "a@x.example b@x.example", "A <a@x.example>", "a@x.example\r\n"],
    )
    def test_an_address_never_becomes_two(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            postmark().send_request(replace(MESSAGE, to=to), ATTEMPT)

        assert "x.example" not in str(caught.value)

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            Postmark(replace(postmark().account, settings={})).send_request(MESSAGE, ATTEMPT)


class TestSendResult:
    def test_taken(self) -> None:
        assert postmark().send_result(answer(200, payload("postmark/send-response-200.json"))) == SendResult(
            MESSAGE_ID, "OK"
        )

    def test_taken_but_delayed_and_without_a_code(self) -> None:
        body = {"MessageID": MESSAGE_ID, "Message": "Message accepted, but delivery may be delayed."}

        assert postmark().send_result(answer(200, body)) == SendResult(MESSAGE_ID, "")

    def test_a_success_that_hides_a_refusal(self) -> None:
        with pytest.raises(errors.RecipientUnavailable) as caught:
            postmark().send_result(answer(200, payload("postmark/send-response-200-partly-inactive.json")))

        assert caught.value.suppress == "inactive"

    @pytest.mark.parametrize(
        ("status", "file", "expected", "suppress"),
        [
            (401, "error-401-10", errors.AuthenticationFailed, None),
            (422, "error-422-300-invalid-to", errors.InvalidRecipient, None),
            (422, "error-422-405-no-credit", errors.InsufficientBalance, None),
            (422, "error-422-406-inactive", errors.RecipientUnavailable, "inactive"),
        ],
    )
    def test_recorded_refusals(
        self, status: int, file: str, expected: type[ProviderError], suppress: str | None
    ) -> None:
        with pytest.raises(expected) as caught:
            postmark().send_result(answer(status, payload(f"postmark/{file}.json")))

        assert caught.value.suppress == suppress
        assert "old@example.org" not in str(caught.value)

    @pytest.mark.parametrize(
        ("message", "expected"),
        [
            ("Invalid 'To' address: 'x'.", errors.InvalidRecipient),
            ("Error parsing 'To': Illegal email domain 'x' in address 'x@x'.", errors.InvalidRecipient),
            ("Invalid 'From' address: 'x'.", errors.InvalidRequest),
            ("Error parsing 'Reply-To': 'x'.", errors.InvalidRequest),
            ("Zero recipients specified, see 'To'.", errors.InvalidRequest),
            (None, errors.InvalidRequest),
        ],
    )
    def test_code_300_is_about_the_address_or_about_us(
        self, message: str | None, expected: type[ProviderError]
    ) -> None:
        for code in (300, "300"):
            with pytest.raises(expected):
                postmark().send_result(answer(422, {"ErrorCode": code, "Message": message}))

    @pytest.mark.parametrize("code", REFUSALS)
    def test_codes_are_read_before_the_status_and_as_text_too(self, code: int) -> None:
        for written in (code, str(code)):
            with pytest.raises(REFUSALS[code]) as caught:
                postmark().send_result(answer(422, {"ErrorCode": written}))
            assert caught.value.code == str(code)

    @pytest.mark.parametrize(
        ("status", "body", "expected"),
        [
            (422, {"ErrorCode": 401}, errors.SenderNotAllowed),  # a sender not confirmed, no matter of credentials
            (422, {"ErrorCode": 413}, errors.SenderNotAllowed),
            (413, {}, errors.InvalidRequest),
            (415, {}, errors.InvalidRequest),
            (422, {"ErrorCode": 100}, errors.Unavailable),
            (503, {}, errors.Unavailable),
            (503, {"ErrorCode": 503}, errors.Unavailable),
            (500, {"ErrorCode": 500}, errors.OutcomeUnknown),
            (502, {}, errors.OutcomeUnknown),
            (504, {}, errors.OutcomeUnknown),
            (429, {"ErrorCode": 429}, errors.RateLimited),
            (422, {"ErrorCode": 9999}, errors.UnknownRefusal),
            (422, {}, errors.UnknownRefusal),
            (200, {"ErrorCode": 406}, errors.RecipientUnavailable),
            (200, {"ErrorCode": 9999, "MessageID": MESSAGE_ID}, errors.OutcomeUnknown),
            (200, {"ErrorCode": 0}, errors.OutcomeUnknown),
            (200, {"ErrorCode": 0, "MessageID": 5}, errors.OutcomeUnknown),
        ],
    )
    def test_codes_and_statuses_are_two_spaces(
        self, status: int, body: dict[str, Any], expected: type[ProviderError]
    ) -> None:
        with pytest.raises(expected):
            postmark().send_result(answer(status, body))


def search(total: object, *messages: Any) -> Any:
    return postmark().find_result(answer(200, json.dumps({"TotalCount": total, "Messages": messages})), SENT)


def record(**changes: Any) -> dict[str, Any]:
    template = json.loads(payload("postmark/message-search-response.json"))["Messages"][0]
    return {**template, "Metadata": {"attempt": ATTEMPT.id, "message": ATTEMPT.message}, **changes}


class TestFind:
    def test_searches_by_our_attempt_id(self) -> None:
        url = urlsplit(postmark().find_request(SENT).url)

        assert (url.hostname, url.path) == ("api.postmarkapp.com", "/messages/outbound")
        assert parse_qs(url.query) == {
            "count": ["20"],
            "offset": ["0"],
            "metadata_attempt": [ATTEMPT.id],
            "messagestream": ["outbound"],
        }

    def test_found(self) -> None:
        found = search(1, record())

        assert isinstance(found, Found)
        assert found.provider_message_id == MESSAGE_ID
        assert [(event.kind, event.attempt) for event in found.events] == [(EventKind.SENT, ATTEMPT.id)]

    @pytest.mark.parametrize("total", [0, "0"])
    def test_not_there(self, total: object) -> None:
        assert search(total) == NotThere()

    def test_somebody_elses_message_is_not_ours(self) -> None:
        """As if the filter had been ignored."""
        for metadata in ({"attempt": "other-1"}, {}, None, {"send_id": ATTEMPT.id}):
            assert isinstance(search(1, record(Metadata=metadata)), CannotTell)
        owned = replace(SENT, owned_ids=frozenset({MESSAGE_ID}))
        body = json.dumps({"TotalCount": 1, "Messages": [record()]})
        assert isinstance(postmark().find_result(answer(200, body), owned), CannotTell)

    def test_where_our_numbering_is_lost_it_searches_by_the_message(self) -> None:
        query = parse_qs(urlsplit(postmark().find_request(replace(SENT, any_attempt=True)).url).query)

        assert query["metadata_message"] == [ATTEMPT.message]
        assert "metadata_attempt" not in query

    def test_where_our_numbering_is_lost_any_attempt_counts_that_we_do_not_know_of(self) -> None:
        sent = replace(SENT, any_attempt=True, owned_ids=frozenset({MESSAGE_ID}))
        other = record(MessageID="another", Metadata={"attempt": f"{ATTEMPT.message}-7", "message": ATTEMPT.message})

        def found(*messages: Any) -> Any:
            return postmark().find_result(
                answer(200, json.dumps({"TotalCount": len(messages), "Messages": messages})), sent
            )

        assert found(record(), other).provider_message_id == "another"
        assert found(record()) == NotThere()
        foreign = record(MessageID="another", Metadata={"message": "f" * 32})
        assert isinstance(found(foreign), CannotTell)

    @pytest.mark.parametrize("total", [None, 1, "", True, -1])
    def test_an_empty_list_that_does_not_count_zero_says_nothing(self, total: object) -> None:
        assert isinstance(search(total), CannotTell)

    @pytest.mark.parametrize(("status", "body"), [(200, "<html>"), (200, "{}"), (200, "[]"), (401, "{}"), (500, "{}")])
    def test_an_answer_that_is_no_list_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(postmark().find_result(answer(status, body), SENT), CannotTell)


def details(**changes: Any) -> list[DeliveryEvent]:
    message = {**json.loads(payload("postmark/message-details-response.json")), **changes}
    return postmark().status_result(answer(200, json.dumps(message)))


class TestStatus:
    def test_recorded(self) -> None:
        status, delivered = details()

        assert (status.kind, status.provider_status) == (EventKind.SENT, "Sent")
        assert (delivered.kind, delivered.provider_message_id) == (EventKind.DELIVERED, MESSAGE_ID)
        assert delivered.occurred_at == datetime(2026, 11, 30, 16, 20, 34, tzinfo=UTC)

    def test_an_unchanged_poll_is_the_same_events(self) -> None:
        assert [event.dedupe_key for event in details()] == [event.dedupe_key for event in details(Tag="changed")]

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            ("Queued", EventKind.ACCEPTED),
            ("processed", EventKind.ACCEPTED),
            ("Scheduled", EventKind.ACCEPTED),
            ("Sent", EventKind.SENT),
            ("Blocked", EventKind.FAILED),
            ("Failed", EventKind.FAILED),
            ("Huh", EventKind.UNKNOWN),
        ],
    )
    def test_status(self, status: str, kind: EventKind) -> None:
        [event] = details(Status=status, MessageEvents=[])

        assert event.kind is kind

    @pytest.mark.parametrize(
        ("report", "kind", "suppress"),
        [
            ({"Type": "Delivered"}, EventKind.DELIVERED, None),
            ({"Type": "Transient"}, EventKind.SENT, None),
            ({"Type": "Bounced", "Details": {"Summary": "smtp;550"}}, EventKind.NOT_REACHED, None),
            ({"Type": "Opened"}, EventKind.UNKNOWN, None),
            ({"Type": "LinkClicked"}, EventKind.UNKNOWN, None),
            ({"Type": 5}, EventKind.UNKNOWN, None),
            (
                {
                    "Type": "SubscriptionChanged",
                    "Details": {"SuppressSending": "True", "SuppressionReason": "HardBounce"},
                },
                EventKind.BOUNCED,
                "hard_bounce",
            ),
            ({"Type": "SubscriptionChanged", "Details": {"SuppressSending": False}}, EventKind.UNKNOWN, None),
            ({"Type": "SubscriptionChanged"}, EventKind.UNKNOWN, None),
        ],
    )
    def test_events(self, report: dict[str, Any], kind: EventKind, suppress: str | None) -> None:
        [event] = details(Status=None, MessageEvents=[report, "no report"])

        assert (event.kind, event.suppress) == (kind, suppress)

    def test_the_status_holds_neither_text_nor_address(self) -> None:
        raw = details()[0].raw

        assert b"ana.pereira" not in raw
        assert b"shipped" not in raw

    @pytest.mark.parametrize(
        ("status", "body"), [(404, "{}"), (422, '{"ErrorCode": 701}'), (200, "<html>"), (200, "{}")]
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert postmark().status_result(answer(status, body)) == []

    def test_asks_for_one_message(self) -> None:
        assert postmark().status_request(MESSAGE_ID).url == (
            f"https://api.postmarkapp.com/messages/outbound/{MESSAGE_ID}/details"
        )


def report(**fields: Any) -> DeliveryEvent:
    [event] = postmark().parse_webhook(postmark_webhook({"MessageID": MESSAGE_ID, **fields}))
    return event


class TestWebhook:
    @pytest.mark.parametrize(
        ("file", "kind", "suppress"),
        [
            ("webhook-delivery", EventKind.DELIVERED, None),
            ("webhook-bounce-hard", EventKind.BOUNCED, "hard_bounce"),
            ("webhook-bounce-soft", EventKind.NOT_REACHED, None),
            ("webhook-bounce-transient", EventKind.SENT, None),
            ("webhook-spam-complaint", EventKind.COMPLAINED, "complaint"),
            ("webhook-subscription-change", EventKind.OPTED_OUT, "opted_out"),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, suppress: str | None) -> None:
        [event] = postmark().parse_webhook(postmark_webhook(payload(f"postmark/{file}.json")))

        assert (event.kind, event.suppress, event.provider_message_id) == (kind, suppress, MESSAGE_ID)
        assert event.occurred_at is not None
        assert event.attempt is None  # recorded from another sender, whose metadata has other names

    @pytest.mark.parametrize(
        ("type_", "kind", "suppress"),
        [
            ("HardBounce", EventKind.BOUNCED, "hard_bounce"),
            ("BadEmailAddress", EventKind.BOUNCED, "hard_bounce"),
            ("SoftBounce", EventKind.NOT_REACHED, None),
            ("Undeliverable", EventKind.NOT_REACHED, None),
            ("Transient", EventKind.SENT, None),
            ("DnsError", EventKind.SENT, None),
            ("SpamNotification", EventKind.COMPLAINED, "complaint"),
            ("SpamComplaint", EventKind.COMPLAINED, "complaint"),
            ("Unsubscribe", EventKind.OPTED_OUT, None),
            ("AutoResponder", EventKind.UNKNOWN, None),  # a holiday reply
            ("ChallengeVerification", EventKind.UNKNOWN, None),
            ("Subscribe", EventKind.UNKNOWN, None),
            ("AddressChange", EventKind.UNKNOWN, None),
            ("Unknown", EventKind.UNKNOWN, None),
            ("Blocked", EventKind.FAILED, None),
            ("DMARCPolicy", EventKind.FAILED, None),
            ("hardbounce", EventKind.BOUNCED, "hard_bounce"),
            ("", EventKind.UNKNOWN, None),
            (None, EventKind.UNKNOWN, None),
            ("Huh", EventKind.UNKNOWN, None),
        ],
    )
    def test_bounces(self, type_: str | None, kind: EventKind, suppress: str | None) -> None:
        event = report(RecordType="Bounce", Type=type_, TypeCode=7, BouncedAt="2026-11-30T16:20:35Z")

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, "7")

    @pytest.mark.parametrize(
        ("change", "kind", "suppress"),
        [
            ({"SuppressSending": True, "SuppressionReason": "HardBounce"}, EventKind.BOUNCED, "hard_bounce"),
            ({"SuppressSending": True, "SuppressionReason": "SpamComplaint"}, EventKind.COMPLAINED, "complaint"),
            ({"SuppressSending": True, "SuppressionReason": "ManualSuppression"}, EventKind.OPTED_OUT, "opted_out"),
            ({"SuppressSending": True, "SuppressionReason": "Huh"}, EventKind.UNKNOWN, None),
            ({"SuppressSending": False, "SuppressionReason": "HardBounce"}, EventKind.UNKNOWN, None),
            ({"SuppressSending": None}, EventKind.UNKNOWN, None),
            ({}, EventKind.UNKNOWN, None),
        ],
    )
    def test_subscription_changes(self, change: dict[str, Any], kind: EventKind, suppress: str | None) -> None:
        event = report(RecordType="SubscriptionChange", ChangedAt="2026-11-30T18:05:00Z", **change)

        assert (event.kind, event.suppress) == (kind, suppress)

    @pytest.mark.parametrize(
        ("stream", "reason", "kind"),
        [
            ("outbound", "ManualSuppression", EventKind.OPTED_OUT),
            ("newsletter", "ManualSuppression", EventKind.UNKNOWN),
            ("newsletter", "HardBounce", EventKind.BOUNCED),
            ("newsletter", "SpamComplaint", EventKind.COMPLAINED),
        ],
    )
    def test_who_unsubscribed_from_another_stream_still_wants_this_one(
        self, stream: str, reason: str, kind: EventKind
    ) -> None:
        change = {"RecordType": "SubscriptionChange", "SuppressSending": True, "SuppressionReason": reason}

        assert report(**change, MessageStream=stream).kind is kind

    @pytest.mark.parametrize("record_type", ["Open", "Click", "Inbound", "Huh"])
    def test_other_records_change_nothing(self, record_type: str) -> None:
        assert report(RecordType=record_type).kind is EventKind.UNKNOWN

    def test_dlr_postmark_unsubscribe_bounce(self) -> None:
        [event] = postmark().parse_webhook(postmark_webhook(case("dlr-postmark-unsubscribe-bounce/webhook.json")))

        assert (event.kind, event.suppress, event.provider_status) == (EventKind.OPTED_OUT, None, "Unsubscribe")

    def test_dlr_metadata_overwrites_event_only_our_own_name_counts(self) -> None:
        metadata = json.loads(case("dlr-metadata-overwrites-event/request.json"))["metadata"]

        event = report(
            RecordType="Delivery", DeliveredAt="2027-01-15T10:00:03Z", Metadata={**metadata, "attempt": ATTEMPT.id}
        )

        assert (event.kind, event.attempt, event.suppress) == (EventKind.DELIVERED, ATTEMPT.id, None)
        assert event.provider_message_id == MESSAGE_ID

    def test_text_lone_surrogate_is_stored_and_applied(self) -> None:
        half = json.loads(case("text-lone-surrogate/webhook.json"))["operator"]

        event = report(RecordType="Delivery", Details=half, Metadata={half: half, "attempt": half}, DeliveredAt=half)

        assert (event.kind, event.attempt, event.occurred_at) == (EventKind.DELIVERED, None, None)
        assert b"\\ud83d" in event.raw

    def test_dlr_invalid_utf8_is_no_json(self) -> None:
        body = case("dlr-invalid-utf8/callback.json").strip()[:-1] + b',"RecordType":"Delivery","MessageID":"1"}'

        with pytest.raises(MalformedWebhook):
            postmark().parse_webhook(postmark_webhook(body))

    @pytest.mark.parametrize(
        "body", [b"", b"[]", b"null", b"{}", b'{"RecordType": "Delivery"}', b'{"RecordType": null, "MessageID": "1"}']
    )
    def test_what_names_no_message_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            postmark().parse_webhook(postmark_webhook(body))

    def test_a_suppression_made_by_hand_names_no_message(self) -> None:
        event = report(
            RecordType="SubscriptionChange", MessageID=None, SuppressSending=True, SuppressionReason="ManualSuppression"
        )

        assert (event.kind, event.provider_message_id, event.attempt) == (EventKind.OPTED_OUT, None, None)

    def test_repetitions_are_one_event_and_other_reports_are_not(self) -> None:
        reports: list[dict[str, Any]] = [
            {"RecordType": "Delivery", "Recipient": "a@x.example", "DeliveredAt": "2026-11-30T16:20:34Z"},
            {"RecordType": "Delivery", "Recipient": "b@x.example", "DeliveredAt": "2026-11-30T16:20:34Z"},
            {"RecordType": "Delivery", "Recipient": "a@x.example", "DeliveredAt": "2026-11-30T16:20:35Z"},
            {
                "RecordType": "Bounce",
                "ID": 4323372036854775807,
                "Email": "a@x.example",
                "BouncedAt": "2026-11-30T16:20:34Z",
            },
            {
                "RecordType": "Bounce",
                "ID": 4323372036854775806,
                "Email": "a@x.example",
                "BouncedAt": "2026-11-30T16:20:34Z",
            },
            {"RecordType": "Open", "Recipient": "a@x.example"},
            {"RecordType": "Open", "Recipient": "a@x.example", "Platform": "WebMail"},
        ]

        keys = [report(**fields).dedupe_key for fields in reports * 2]

        assert keys[:7] == keys[7:]
        assert len(set(keys)) == 7

    def test_is_refused_with_a_status_that_does_not_stop_the_retries(self) -> None:
        assert Postmark.refused_webhook_status == 401

    def test_is_believed_with_user_and_password_only(self) -> None:
        genuine = postmark_webhook({"RecordType": "Delivery", "MessageID": MESSAGE_ID})

        for authorization in (
            "Basic cG0tdXNlcjp3cm9uZw==",
            "Basic d3Jvbmc6cG0tcGFzcy05ZjJj",
            "Basic Og==",
            "Bearer x",
            "",
        ):
            with pytest.raises(InvalidSignature):
                postmark().parse_webhook(replace(genuine, headers=Headers({"authorization": authorization})))
        assert postmark().parse_webhook(
            WebhookRequest("POST", genuine.url, {"AUTHORIZATION": genuine.headers["authorization"]}, genuine.body)
        )


class TestBatch:
    def test_puts_the_single_requests_into_one_list(self) -> None:
        first, second = (
            postmark().send_request(MESSAGE, replace(ATTEMPT, id=f"{ATTEMPT.message}-{number}")) for number in (1, 2)
        )

        batch = postmark().batch_request([first, second])

        assert batch.url == "https://api.postmarkapp.com/email/batch"
        assert json.loads(batch.body) == [json.loads(first.body), json.loads(second.body)]
        assert batch.headers == first.headers

    @pytest.mark.parametrize("code", [300, 406, 429, 9999])
    def test_a_refusal_in_a_batch_means_what_it_means_alone(self, code: int) -> None:
        said = json.dumps({"ErrorCode": code, "Message": "No."})

        [in_batch] = postmark().batch_answers(answer(200, f"[{said}]"), 1)

        refusals = []
        for one in (in_batch, answer(422, said)):
            with pytest.raises(ProviderError) as caught:
                postmark().send_result(one)
            refusals.append((type(caught.value), caught.value.code, caught.value.suppress))
        assert refusals[0] == refusals[1]

    def test_says_of_each_message_what_it_would_have_been_told_alone(self) -> None:
        taken, inactive = postmark().batch_answers(answer(200, payload("postmark/batch-response-200-mixed.json")), 2)

        assert postmark().send_result(taken).provider_message_id == "b7bc2f4a-e38e-4336-af7d-e6c392c2f817"
        with pytest.raises(errors.RecipientUnavailable):
            postmark().send_result(inactive)

    @pytest.mark.parametrize(("status", "body"), [(401, '{"ErrorCode": 10}'), (429, "{}"), (500, "<html>")])
    def test_a_refusal_of_the_whole_call_is_one_of_each_message(self, status: int, body: str) -> None:
        refused = answer(status, body)

        assert postmark().batch_answers(refused, 3) == [refused] * 3

    @pytest.mark.parametrize("body", ["", "{}", "[]", "[1, 2]", '[{"ErrorCode": 0}]', "<html>"])
    def test_an_answer_that_does_not_tell_of_each_proves_nothing(self, body: str) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            postmark().batch_answers(answer(200, body), 2)

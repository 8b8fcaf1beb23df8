"""Only what is odd about Courier."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import errors
from providers.courier import Courier
from providers.courier.codes import BY_STATUS, STATUSES
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, UnsupportedFeature
from providers.messages import (
    Attachment,
    AttemptRef,
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    Headers,
    Mail,
    NextPage,
    NotThere,
    SendResult,
    WebhookRequest,
)
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, payload
from tests.providers.samples.courier import SECRET, VECTOR, courier, courier_webhook

SAMPLE = SAMPLES["courier"]
MESSAGE = SAMPLE.message
MESSAGE_ID = "1-674b3b5f-4f27670f6304f465462695f2"
SPEC = json.loads((Path(__file__).parent / "specs" / "courier-derived.json").read_text())
SCHEMAS = SPEC["components"]["schemas"]
PDF = Attachment("Rechnung – März.pdf", "application/pdf", b"%PDF-1.7\r\n\0")
LOGO = Attachment("logo.png", "image/png", b"\x89PNG", content_id="logo")


def fields(adapter: Courier | None = None, **changes: Any) -> dict[str, Any]:
    request = (adapter or courier()).send_request(replace(MESSAGE, **changes), ATTEMPT)
    body: dict[str, Any] = json.loads(request.body)
    jsonschema.validate(body, {**SCHEMAS["SendMessage"], "additionalProperties": False})
    properties = SCHEMAS["SendMessage"]["properties"]["message"]["properties"]
    assert set(body["message"]) <= set(properties)
    for name in ("routing", "metadata", "timeout"):
        assert set(body["message"][name]) <= set(properties[name]["properties"])
    message: dict[str, Any] = body["message"]
    return message


def override(adapter: Courier | None = None, **changes: Any) -> dict[str, Any]:
    mail: dict[str, Any] = fields(adapter, **changes)["channels"]["email"]["override"]
    return mail


class TestSendRequest:
    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("courier/send-request.json"))["message"]

        sent = fields()

        assert sent["routing"] == recorded["routing"]
        assert set(sent["metadata"]) == set(recorded["metadata"])
        assert set(recorded) - set(sent) == {"template"}

    def test_headers(self) -> None:
        request = courier().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key="key-7"))

        assert (request.method, request.url) == ("POST", "https://api.courier.com/send")
        assert request.headers == {
            "Accept": "application/json",
            "Authorization": "Bearer pk_prod_EXAMPLE",
            "Content-Type": "application/json",
            "Idempotency-Key": "key-7",
        }

    def test_always_carries_a_key(self) -> None:
        assert courier().send_request(MESSAGE, ATTEMPT).headers["Idempotency-Key"] == ATTEMPT.id

    def test_a_key_is_not_trusted_to_its_last_hour(self) -> None:
        assert 0 < Courier.key_life_seconds <= 23 * 60 * 60

    def test_attempt_and_message_are_tags(self) -> None:
        assert fields()["metadata"] == {"trace_id": ATTEMPT.id, "tags": [ATTEMPT.id, ATTEMPT.message]}

    def test_their_tries_end_soon_however_long_it_is_useful(self) -> None:
        for seconds in (1, 300, 10**6, None):
            assert fields(useful_seconds=seconds)["timeout"] == {"message": 60_000}

    def test_the_mail_is_ours_in_all_its_parts(self) -> None:
        assert override() == {
            "subject": "Your order",
            "text": "Shipped.",
            "html": "<p>Shipped.</p>",
            "from": "no-reply@notify.example.com",
            "tracking": {"open": False},
        }
        assert "html" not in override(html=None)

    def test_of_a_sender_that_is_not_set_theirs_is_the_mails(self) -> None:
        assert "from" not in override(courier(**{"from": ""}))
        assert override(courier(**{"from": "Shop, Inc. <a@x.example>"}))["from"] == '"Shop, Inc." <a@x.example>'

    @given(text=st.text())
    def test_nothing_is_read_into_a_text(self, text: str) -> None:
        """Their content is a template: what recipients' names and the like may hold never becomes a part of one."""
        sent, harmless = fields(text=text, subject=text, html=text), fields()

        for name in set(harmless) - {"data", "channels"}:
            assert sent[name] == harmless[name]
        assert sent["content"] == {"title": "{{subject}}", "body": "{{text}}"}
        assert sent["data"] == {name: sent["channels"]["email"]["override"][name] for name in ("subject", "text")}

    def test_a_vendor_may_be_pinned(self) -> None:
        assert fields(courier(provider="sendgrid"))["channels"]["email"]["providers"] == ["sendgrid"]
        assert "providers" not in fields(courier(provider=""))["channels"]["email"]

    def test_files_and_where_answers_go(self) -> None:
        sent = override(mail=Mail(reply_to="help@example.com", attachments=(PDF,)))

        assert sent["reply_to"] == "help@example.com"
        assert sent["attachments"] == [
            {"filename": PDF.name, "contentType": "application/pdf", "data": "JVBERi0xLjcNCgA="}
        ]

    @pytest.mark.parametrize("vendor", ["", "sendgrid", "resend"])
    def test_files_are_not_lost_by_a_vendor_that_may_not_get_them(self, vendor: str) -> None:
        with pytest.raises(UnsupportedFeature):
            override(courier(provider=vendor), mail=Mail(attachments=(PDF,)))

    def test_pictures_and_links_to_unsubscribe_are_anothers(self) -> None:
        for mail in (Mail(attachments=(LOGO,)), Mail(unsubscribe_url="https://example.com/u/1")):
            with pytest.raises(UnsupportedFeature):
                override(mail=mail)

    @pytest.mark.parametrize("to", ["a@x.example,b@x.example", "A <a@x.example>", "a@x.example\r\n"])
    def test_an_address_never_becomes_two(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature):
            fields(to=to)


def refusal(status: int, body: object, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        courier().send_result(answer(status, json.dumps(body), **headers))
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        recorded = payload("courier/send-response-202.json")
        path = SPEC["paths"]["/send"]["post"]["responses"]["202"]["content"]["application/json"]["schema"]
        jsonschema.validate(json.loads(recorded), path)

        assert courier().send_result(answer(202, recorded)) == SendResult(MESSAGE_ID)

    @pytest.mark.parametrize("status", BY_STATUS)
    def test_a_refusal_of_theirs_is_told_by_its_status(self, status: int) -> None:
        error = refusal(status, json.loads(payload("courier/error-400.json")))

        assert (type(error), error.http_status, error.suppress) == (BY_STATUS[status], status, None)
        assert str(error) == f"HTTP {status}"

    @pytest.mark.parametrize("body", [None, [], {}, {"error": "x"}, {"message": 5}])
    @pytest.mark.parametrize(
        ("status", "expected"), [(402, errors.UnknownRefusal), (409, errors.UnknownRefusal), (429, errors.RateLimited)]
    )
    def test_one_in_another_shape_is_somebody_elses(
        self, status: int, expected: type[ProviderError], body: object
    ) -> None:
        assert type(refusal(status, body)) is expected

    def test_a_running_first_call_proves_nothing(self) -> None:
        assert type(refusal(409, {"message": "x"})) is errors.OutcomeUnknown

    def test_a_limit_without_a_wait_means_a_minute(self) -> None:
        assert refusal(429, {"message": "x"}).retry_after_seconds == 60.0
        assert refusal(429, {"message": "x"}, Retry_After="7").retry_after_seconds == 7.0
        assert refusal(503, {"message": "x"}).retry_after_seconds is None

    @pytest.mark.parametrize("body", [{}, {"requestId": None}, {"requestId": ""}, {"requestId": 7}])
    def test_a_success_without_an_id_is_unclear(self, body: dict[str, Any]) -> None:
        assert type(refusal(202, body)) is errors.OutcomeUnknown


def record(id: str = MESSAGE_ID, status: str = "DELIVERED", **more: Any) -> dict[str, Any]:
    return {"id": id, "status": status, **more}


def found(*results: Any, sent: Any = SAMPLE.sent, status: int = 200, **paging: Any) -> FindResult:
    page = {"paging": {"cursor": None, "more": False, **paging}, "results": list(results)}
    return courier().find_result(answer(status, page), sent)


class TestFind:
    def test_asks_for_the_messages_own_tag(self) -> None:
        """A repeat goes under its first attempt, so whatever attempt is in question was perhaps another one on the wire."""
        url = urlsplit(courier().find_request(SAMPLE.sent, "next&page").url)

        assert url.path == "/messages"
        assert parse_qs(url.query) == {"tags": [ATTEMPT.message], "cursor": ["next&page"]}
        allowed = {parameter["name"] for parameter in SPEC["paths"]["/messages"]["get"]["parameters"]}
        assert set(parse_qs(url.query)) <= allowed

    def test_recorded(self) -> None:
        result = courier().find_result(answer(200, payload("courier/messages-list-response.json")), SAMPLE.sent)

        assert isinstance(result, Found)
        assert (result.provider_message_id, result.events[0].kind) == (MESSAGE_ID, EventKind.DELIVERED)

    def test_what_belongs_to_an_earlier_attempt_is_not_this_one(self) -> None:
        sent = replace(SAMPLE.sent, owned_ids=frozenset({"1-a"}))

        assert found(record("1-a"), sent=sent) == NotThere()
        assert getattr(found(record("1-a"), record("1-b"), sent=sent), "provider_message_id", "") == "1-b"

    def test_there_is_more(self) -> None:
        assert found(more=True, cursor="c2") == NextPage("c2")
        assert isinstance(found(more=True), CannotTell)

    def test_not_there(self) -> None:
        assert found() == NotThere()

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (200, {"results": []}),
            (200, {"paging": {"more": False}}),
            (200, {"paging": {}, "results": []}),
            (200, {"paging": {"more": False}, "results": ["x"]}),
            (200, {"paging": {"more": False}, "results": [{"id": "1-a"}]}),
            (200, {"paging": {"more": False}, "results": [{"status": "SENT"}]}),
            (404, {"paging": {"more": False}, "results": []}),
            (401, {"message": "Unauthorized"}),
        ],
    )
    def test_an_answer_that_is_no_complete_list_says_nothing(self, status: int, body: dict[str, Any]) -> None:
        assert isinstance(courier().find_result(answer(status, body), SAMPLE.sent), CannotTell)


def polled(**changes: Any) -> list[DeliveryEvent]:
    return courier().status_result(answer(200, json.loads(payload("courier/message-get-response.json")) | changes))


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert courier().status_request(MESSAGE_ID).url == f"https://api.courier.com/messages/{MESSAGE_ID}"

    def test_recorded(self) -> None:
        [event] = polled()

        assert (event.kind, event.provider_status, event.error_code) == (EventKind.DELIVERED, "DELIVERED", "")
        assert (event.provider_message_id, event.attempt) == (MESSAGE_ID, None)
        assert event.occurred_at == datetime.fromtimestamp(1796055634.126, UTC)

    def test_every_published_status_has_a_meaning(self) -> None:
        published = {status.lower() for status in SCHEMAS["MessageDetails"]["properties"]["status"]["enum"]}

        assert published - set(STATUSES) == {"simulated"}
        assert set(STATUSES) - published == {"processed", "failed"}  # in their guide alone

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            ("ENQUEUED", EventKind.ACCEPTED),
            ("THROTTLED", EventKind.ACCEPTED),
            ("SENT", EventKind.SENT),
            ("OPENED", EventKind.DELIVERED),
            ("clicked", EventKind.DELIVERED),
            ("UNROUTABLE", EventKind.FAILED),
            ("FILTERED", EventKind.FAILED),
            ("CANCELED", EventKind.FAILED),
            ("SIMULATED", EventKind.UNKNOWN),
            ("HUH", EventKind.UNKNOWN),
        ],
    )
    def test_status(self, status: str, kind: EventKind) -> None:
        [event] = polled(status=status, reason="BOUNCED", error="550 5.1.1")  # which count beside one status only

        assert (event.kind, event.suppress) == (kind, None)

    @pytest.mark.parametrize(
        ("reason", "error", "kind", "suppress", "code"),
        [
            ("BOUNCED", "550 5.1.1 user unknown", EventKind.BOUNCED, "hard_bounce", "BOUNCED/5.1.1"),
            ("bounced", "550-5.1.10 no such", EventKind.BOUNCED, "hard_bounce", "bounced/5.1.10"),
            ("BOUNCED", "550 5.7.1 blocked", EventKind.BOUNCED, None, "BOUNCED/5.7.1"),
            ("BOUNCED", "550 5.1.1 or 5.7.1", EventKind.BOUNCED, None, "BOUNCED/5.1.1"),
            ("BOUNCED", "452 4.2.2 full", EventKind.NOT_REACHED, None, "BOUNCED/4.2.2"),
            ("BOUNCED", "4.2.2, then 5.2.2", EventKind.BOUNCED, None, "BOUNCED/4.2.2"),
            ("BOUNCED", "by 15.1.1.4", EventKind.BOUNCED, None, "BOUNCED"),
            ("BOUNCED", None, EventKind.BOUNCED, None, "BOUNCED"),
            ("PROVIDER_ERROR", "550 5.1.1", EventKind.NOT_REACHED, None, "PROVIDER_ERROR/5.1.1"),
            ("FAILED", None, EventKind.NOT_REACHED, None, "FAILED"),
            ("UNSUBSCRIBED", None, EventKind.FAILED, None, "UNSUBSCRIBED"),
            ("OPT_IN_REQUIRED", None, EventKind.FAILED, None, "OPT_IN_REQUIRED"),
            ("NO_PROVIDERS", None, EventKind.FAILED, None, "NO_PROVIDERS"),
            ("to ana@example.net", None, EventKind.FAILED, None, ""),
            (None, None, EventKind.FAILED, None, ""),
        ],
    )
    def test_undeliverable_for_good_or_not(
        self, reason: str | None, error: str | None, kind: EventKind, suppress: str | None, code: str
    ) -> None:
        for place in ({"error": error, "providers": None}, {"providers": [{"error": error}, "x"]}):
            [event] = polled(status="UNDELIVERABLE", reason=reason, **place)

            assert (event.kind, event.suppress, event.error_code) == (kind, suppress, code)

    def test_holds_neither_text_nor_address(self) -> None:
        [event] = polled(recipient="ana@example.net", error="to ana@example.net", content="secret")

        assert b"ana" not in event.raw
        assert b"secret" not in event.raw

    @pytest.mark.parametrize(
        ("status", "body"), [(404, '{"message": "x"}'), (200, "<html>"), (200, "{}"), (200, '{"id": "1-a"}')]
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert courier().status_result(answer(status, body)) == []


def heard(body: bytes | dict[str, Any], sent_at: str = "1796055640123") -> DeliveryEvent:
    [event] = courier().parse_webhook(courier_webhook(body, sent_at))
    return event


class TestWebhook:
    @pytest.mark.parametrize(
        ("file", "kind", "suppress"),
        [
            ("sent", EventKind.SENT, None),
            ("delivered", EventKind.DELIVERED, None),
            ("undeliverable", EventKind.BOUNCED, "hard_bounce"),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, suppress: str | None) -> None:
        event = heard(payload(f"courier/webhook-{file}.json"))

        assert (event.kind, event.suppress, event.provider_message_id) == (kind, suppress, MESSAGE_ID)

    def test_and_a_status_that_is_asked_for_are_one_event(self) -> None:
        """They have no ids, so message and status make one."""
        [asked] = polled()

        assert heard(payload("courier/webhook-delivered.json")).dedupe_key == asked.dedupe_key
        assert heard(payload("courier/webhook-sent.json")).dedupe_key != asked.dedupe_key

    @pytest.mark.parametrize("sent_at", ["0", "1796055640123", "99999999999999", "-1", "now"])
    def test_tells_the_same_however_old_it_is_or_seems(self, sent_at: str) -> None:
        body = payload("courier/webhook-delivered.json")

        assert heard(body, sent_at) == heard(body)

    def test_about_something_else_is_kept(self) -> None:
        event, other = heard({"type": "audiences:updated", "data": {}}), heard({"type": "audiences:updated"})

        assert (event.kind, event.provider_status, event.provider_message_id) == (
            EventKind.UNKNOWN,
            "audiences:updated",
            None,
        )
        assert event.dedupe_key != other.dedupe_key

    @pytest.mark.parametrize(
        "body",
        [
            *(b"", b"[]", b"{}", b'{"type": 1.5}', b'{"type": "message:updated"}'),
            b'{"type": "message:updated", "data": []}',
            b'{"type": "message:updated", "data": {"id": "1-a"}}',
            b'{"type": "message:updated", "data": {"status": "SENT"}}',
        ],
    )
    def test_what_names_no_message_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            heard(body)


def vector(signature: str | None = None, body: bytes | None = None) -> WebhookRequest:
    header = VECTOR["headers"]["courier-signature"] if signature is None else signature
    return WebhookRequest(
        "POST", "https://a.example/", Headers({"Courier-Signature": header}), body or VECTOR["raw_body"].encode()
    )


class TestSignature:
    def test_of_the_vector_is_believed(self) -> None:
        for written in (None, VECTOR["headers"]["courier-signature"].replace(",", ", ")):
            [event] = courier().parse_webhook(vector(written))

            assert event.kind is EventKind.DELIVERED

    @pytest.mark.parametrize(
        "change",
        [
            lambda header: header.replace("t=1796055640123", "t=1796055640124"),
            lambda header: header.replace("t=1796055640123,", ""),
            lambda header: header.replace("signature=", "v1="),
            lambda header: header.upper(),
            lambda header: header[:-1],
            lambda header: header + "0",
            lambda header: "t=1796055640123,signature=",
            lambda header: "t=1796055640123,signature=é",
            lambda header: ",,=,=",
            lambda header: "",
        ],
    )
    def test_covers_the_time(self, change: Any) -> None:
        with pytest.raises(InvalidSignature):
            courier().parse_webhook(vector(change(VECTOR["headers"]["courier-signature"])))

    def test_is_over_the_bytes_as_they_came(self) -> None:
        for body in (json.dumps(json.loads(VECTOR["raw_body"])), VECTOR["raw_body"].replace("DELIVERED", "SENT")):
            with pytest.raises(InvalidSignature):
                courier().parse_webhook(vector(body=body.encode()))

    @pytest.mark.parametrize("changes", [{"secret": ""}, {"sent_at": ""}])
    def test_is_none_without_a_secret_or_a_time(self, changes: dict[str, str]) -> None:
        request = courier_webhook(payload("courier/webhook-sent.json"), **changes)

        with pytest.raises(InvalidSignature):
            courier(webhook_secret=changes.get("secret", SECRET)).parse_webhook(request)

    @pytest.mark.parametrize("secret", ["", SECRET[:-1], SECRET.upper(), "é"])
    def test_is_not_made_with_another_secret(self, secret: str) -> None:
        with pytest.raises(InvalidSignature):
            courier(webhook_secret=secret).parse_webhook(vector())

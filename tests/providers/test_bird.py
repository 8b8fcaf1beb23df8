"""Only what is odd about Bird."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema
import pytest

from providers import errors
from providers.bird import Bird
from providers.bird.codes import FAILURES, STATUSES
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, SenderNotAllowed, UnsupportedFeature
from providers.messages import (
    AttemptRef,
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    Headers,
    InboundMessage,
    NextPage,
    NotThere,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, payload
from tests.providers.samples.bird import BIRD_SECRET, BIRD_VECTOR, bird, bird_webhook

SAMPLE = SAMPLES["bird"]
MESSAGE = SAMPLE.message
MESSAGE_ID = "sms_01krdgeqcxet5s7t44vh8rt9mg"
URL = "https://eu1.platform.bird.com/v1/sms/messages"
SPEC = json.loads((Path(__file__).parent / "specs" / "bird-derived.json").read_text())
MODELS = SPEC["$defs"]


def fits(content: Any, model: str, *, is_closed: bool = False) -> bool:
    schema = {**MODELS[model], "$defs": MODELS}
    jsonschema.validate(content, {**schema, "additionalProperties": False} if is_closed else schema)
    return True


def fields(adapter: Bird, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    return body


class TestSendRequest:
    def test_fits_the_published_schema(self) -> None:
        assert fits(fields(bird()), "SMSMessageSendRequest", is_closed=True)

    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("bird/send_request.json"))["body"]

        sent = fields(bird(category="authentication"))

        del recorded["tags"]  # for what comes up often; an attempt id never does twice
        assert sent == {**recorded, "metadata": {"attempt": ATTEMPT.id}}

    def test_headers(self) -> None:
        request = bird().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key="key-7"))

        assert (request.method, request.url) == ("POST", URL)
        assert request.headers == {
            "Accept": "application/json",
            "Authorization": "Bearer bk_eu1_EXAMPLE000000000000",
            "Content-Type": "application/json",
            "Idempotency-Key": "key-7",
        }

    def test_without_a_key_none_is_made_up(self) -> None:
        assert "Idempotency-Key" not in bird().send_request(MESSAGE, ATTEMPT).headers

    def test_a_repeated_call_is_the_same_to_the_byte(self) -> None:
        """From an adapter of its own, as after a restart, and when the message is useful for less time than before."""
        attempt = AttemptRef(ATTEMPT.id, key="key-7")

        first = bird().send_request(MESSAGE, attempt)
        again = bird().send_request(replace(MESSAGE, useful_seconds=1), attempt)

        assert (again.url, again.headers, again.body) == (first.url, first.headers, first.body)

    def test_a_key_is_not_trusted_to_its_last_minutes(self) -> None:
        assert Bird.key_life_seconds < 3 * 60 * 60

    @pytest.mark.parametrize(
        ("api_key", "host"),
        [
            ("bk_us1_x", "us1.platform.bird.com"),
            ("bm_ap12_x", "ap12.platform.bird.com"),
            ("bk_eu1_x", "eu1.platform.bird.com"),
            ("x_us1_x", "eu1.platform.bird.com"),
            ("bk_us1.evil.example/_x", "eu1.platform.bird.com"),
            ("bk_usa_x", "eu1.platform.bird.com"),
        ],
    )
    def test_the_key_names_the_region(self, api_key: str, host: str) -> None:
        account = bird().account
        adapter = Bird(replace(account, credentials={**account.credentials, "api_key": api_key}))

        assert urlsplit(adapter.send_request(MESSAGE, ATTEMPT).url).netloc == host

    def test_the_accounts_own_address_outranks_the_region(self) -> None:
        account = bird().account
        credentials = {**account.credentials, "api_key": "bk_us1_x"}
        adapter = Bird(replace(account, credentials=credentials, base_url="http://127.0.0.1:1/"))

        assert adapter.send_request(MESSAGE, ATTEMPT).url == "http://127.0.0.1:1/v1/sms/messages"

    @pytest.mark.parametrize(("country", "sender"), [("US", "+15005550006"), ("DE", "Landfall"), ("FR", "38000")])
    def test_sends_by_whom_the_country_takes(self, country: str, sender: str) -> None:
        adapter = bird(senders={"DE": "Landfall", "FR": 38000})

        assert fields(adapter, country=country)["from"] == sender
        assert fits(fields(adapter, country=country), "SMSMessageSendRequest", is_closed=True)

    @pytest.mark.parametrize("settings", [{}, {"senders": {"DE": "Landfall"}}])
    def test_needs_a_sender(self, settings: dict[str, Any]) -> None:
        adapter = Bird(replace(bird().account, settings=settings))

        with pytest.raises(SenderNotAllowed):
            adapter.send_request(replace(MESSAGE, country="US"), ATTEMPT)

    def test_texts_are_transactional_if_nothing_else_is_said(self) -> None:
        assert fields(bird())["category"] == "transactional"
        assert fields(bird(category="marketing"))["category"] == "marketing"

    def test_drops_nothing_in_silence(self) -> None:
        for changes in ({"subject": "x"}, {"html": "<p>x"}):
            with pytest.raises(UnsupportedFeature):
                fields(bird(), **changes)


def refusal(status: int, body: Any = "", **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        bird().send_result(answer(status, body, **headers))
    return caught.value


def told(status: int, **error: Any) -> ProviderError:
    return refusal(status, {"error": {"message": "for +14155550100", "request_id": "req_1", **error}})


class TestSendResult:
    def test_taken(self) -> None:
        recorded = payload("bird/send_response_202.json")

        assert fits(json.loads(recorded), "SMSMessage")
        assert bird().send_result(answer(202, recorded)) == SendResult(MESSAGE_ID, "accepted", 1)

    @pytest.mark.parametrize("segments", [None, [], {}, {"count": None}, {"count": 0}])
    def test_taken_without_a_word_on_segments(self, segments: object) -> None:
        assert bird().send_result(answer(202, {"id": "sms_1", "segments": segments})) == SendResult("sms_1")

    # Types by HTTP status, as in the SDK.
    @pytest.mark.parametrize(
        ("status", "type_", "expected"),
        [
            (400, "bad_request_error", errors.InvalidRequest),
            (401, "auth_error", errors.AuthenticationFailed),
            (402, "billing_error", errors.InsufficientBalance),
            (403, "permission_error", errors.AuthenticationFailed),
            (404, "not_found_error", errors.InvalidRequest),
            (409, "conflict_error", errors.OutcomeUnknown),
            (412, "precondition_error", errors.InvalidRequest),
            (413, "payload_too_large_error", errors.ContentRejected),
            (421, "misdirected_error", errors.AuthenticationFailed),
            (422, "validation_error", errors.InvalidRequest),
            (429, "rate_limit_error", errors.RateLimited),
            (500, "internal_error", errors.OutcomeUnknown),
            (501, "not_implemented_error", errors.Unavailable),
            (503, "service_unavailable_error", errors.Unavailable),
        ],
    )
    def test_every_listed_type(self, status: int, type_: str, expected: type[ProviderError]) -> None:
        error = told(status, type=type_, code="E98765", name="BrandNew")

        assert type(error) is expected
        assert (error.http_status, error.suppress) == (status, None)
        assert type(refusal(status, {"type": type_})) is expected  # without its envelope

    # Names and codes, as in the vendor's documents.
    @pytest.mark.parametrize(
        ("status", "code", "name", "type_", "expected"),
        [
            (422, "E01001", "ValidationError", "validation_error", errors.InvalidRequest),
            (400, "E01002", "InvalidRequest", "bad_request_error", errors.InvalidRequest),
            (409, "E01004", "RequestInProgress", "conflict_error", errors.OutcomeUnknown),
            (409, "E01005", "IdempotencyKeyReuse", "conflict_error", errors.OutcomeUnknown),
            (409, None, "RequestInProgress", None, errors.OutcomeUnknown),
            (409, None, "IdempotencyKeyReuse", None, errors.OutcomeUnknown),
            (422, "E98765", "SMSInvalidRecipient", "validation_error", errors.InvalidRecipient),
            (422, "E98765", "SMSSenderNotConfigured", "validation_error", errors.SenderNotAllowed),
            (422, "E98765", "SMSNoEligibleSender", "validation_error", errors.SenderNotRegistered),
            (422, "E98765", "SenderCategoryNotPermitted", "validation_error", errors.SenderNotRegistered),
            (422, "E98765", "SMSUnsupportedFeature", "validation_error", errors.InvalidRequest),
            (503, "E98765", "IdempotencyUnavailable", "service_unavailable_error", errors.Unavailable),
        ],
    )
    def test_every_listed_name(
        self, status: int, code: str | None, name: str, type_: str | None, expected: type[ProviderError]
    ) -> None:
        error = told(status, code=code, name=name, type=type_)

        assert type(error) is expected
        assert error.suppress is None
        assert error.code in (code, name)

    @pytest.mark.parametrize(
        ("param", "expected"),
        [
            ("to", errors.InvalidRecipient),
            ("from", errors.SenderNotAllowed),
            ("text", errors.ContentRejected),
            ("category", errors.InvalidRequest),
            ("to[0]", errors.InvalidRequest),
            (None, errors.InvalidRequest),
            (["to"], errors.InvalidRequest),
        ],
    )
    def test_the_field_tells_whose_fault_it_is(self, param: object, expected: type[ProviderError]) -> None:
        details = [{"param": "metadata", "message": "?"}, {"param": param, "message": "?"}, "?"]

        assert type(told(422, type="validation_error", code="E01001", param=param)) is expected
        assert type(told(422, type="validation_error", code="E01001", details=details)) is expected
        assert type(told(422, type="validation_error", code="E98765", details=details)) is expected

    def test_a_field_says_nothing_of_other_errors(self) -> None:
        assert type(told(402, type="billing_error", param="to")) is errors.InsufficientBalance
        assert type(told(422, type="validation_error", name="SMSSenderNotConfigured", param="to")) is (
            errors.SenderNotAllowed
        )

    def test_recorded_refusal(self) -> None:
        error = refusal(422, payload("bird/error_422_details.json").decode())

        assert (type(error), error.code, str(error)) == (errors.InvalidRecipient, "E01001", "HTTP 422, E01001")

    @pytest.mark.parametrize("name", ["RequestInProgress", "IdempotencyKeyReuse"])
    def test_a_conflict_of_keys_proves_nothing(self, name: str) -> None:
        """Neither that the first call sent nor that it did not: above all it is no reason to send afresh."""
        assert type(told(409, name=name, type="conflict_error")) is errors.OutcomeUnknown

    @pytest.mark.parametrize("status", [408, 500, 502, 504, 302])
    def test_an_unclear_status_is_unclear_whatever_is_told(self, status: int) -> None:
        for name in ("SMSInvalidRecipient", "RateLimitExceeded"):
            assert type(told(status, name=name, type="validation_error")) is errors.OutcomeUnknown

    @pytest.mark.parametrize(
        "error", [{"type": "brand_new_error", "code": "E98765", "name": "BrandNew"}, {}, {"code": 5}, {"name": ["x"]}]
    )
    def test_an_unlisted_error_is_an_unknown_refusal(self, error: dict[str, Any]) -> None:
        assert type(told(422, **error)) is errors.UnknownRefusal
        assert type(told(409, **error)) is errors.UnknownRefusal

    def test_a_limit_says_how_long_to_wait(self) -> None:
        error = refusal(429, {"error": {"type": "rate_limit_error"}}, retry_after="7")

        assert (type(error), error.retry_after_seconds) == (errors.RateLimited, 7.0)

    @pytest.mark.parametrize("name", ["+14155550100", "Ana Pereira", "x" * 60, 7, "ana@example.net"])
    def test_only_a_word_of_their_kind_reaches_the_logs(self, name: object) -> None:
        error = told(422, name=name, code=name, type=name)

        assert (error.code, str(error)) == ("", "HTTP 422")

    @pytest.mark.parametrize("body", ["[]", "{}", '{"id": null}', '{"id": 7}', '{"error": {"type": "auth_error"}}', ""])
    def test_a_success_without_an_id_is_unclear(self, body: str) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            bird().send_result(answer(202, body))


def record(**changes: Any) -> dict[str, Any]:
    """One of their records of a message like ours, made one second after the call began."""
    template = json.loads(payload("bird/send_response_202.json"))
    return {**template, "metadata": {"attempt": ATTEMPT.id}, "created_at": _time(1), **changes}


def other(seconds: float, **changes: Any) -> dict[str, Any]:
    return record(**{"id": f"sms_{seconds}", "metadata": {"attempt": "x"}, "created_at": _time(seconds), **changes})


def _time(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat()


def find(*messages: Any, sent: SentMessage | None = None, **page: Any) -> FindResult:
    body = {"data": messages, "next_cursor": None, **page}
    return bird().find_result(answer(200, json.dumps(body)), sent or SAMPLE.sent)


class TestFind:
    def test_asks_for_the_recipient(self) -> None:
        url = bird().find_request(SAMPLE.sent).url

        assert url.partition("?")[0] == URL
        assert dict(parse_qsl(urlsplit(url).query)) == {"to": "+14155550100", "direction": "outbound"}

    def test_turns_to_their_cursor(self) -> None:
        url = bird().find_request(SAMPLE.sent, "a&to=b").url

        assert dict(parse_qsl(urlsplit(url).query))["starting_after"] == "a&to=b"
        assert dict(parse_qsl(urlsplit(url).query))["to"] == "+14155550100"

    def test_our_attempt_in_the_metadata_decides(self) -> None:
        found = find(other(2), record())

        assert isinstance(found, Found)
        assert found.provider_message_id == MESSAGE_ID
        assert [event.kind for event in found.events] == [EventKind.ACCEPTED]

    @pytest.mark.parametrize("changes", [{"text": "?"}, {"from": "?"}, {"to": "?"}, {"created_at": _time(-9999)}])
    def test_nothing_else_does(self, changes: dict[str, Any]) -> None:
        assert isinstance(find(record(**changes)), Found)

    def test_another_attempt_is_ours_only_if_our_books_are_older(self) -> None:
        second = record(metadata={"attempt": f"{ATTEMPT.message}-2"})
        sent = replace(SAMPLE.sent, any_attempt=True)

        assert find(second) == NotThere()
        assert isinstance(find(second, sent=sent), Found)
        assert find(second, sent=replace(sent, owned_ids=frozenset({MESSAGE_ID}))) == NotThere()

    @pytest.mark.parametrize("metadata", [None, {}, "x"])
    def test_one_that_has_lost_its_metadata_may_be_ours(self, metadata: object) -> None:
        assert isinstance(find(record(metadata=metadata)), CannotTell)
        assert isinstance(find(record(metadata=metadata, created_at=None)), CannotTell)
        assert isinstance(find(record(metadata=metadata, created_at=_time(-2))), CannotTell)
        assert find(record(metadata=metadata, created_at=_time(-3))) == NotThere()
        assert find(record(metadata={"client_ref": "x"})) == NotThere()

    def test_turns_the_page_until_it_reaches_back_to_before_the_call(self) -> None:
        assert find(other(2), other(1), next_cursor="c") == NextPage("c")
        assert find(next_cursor="c") == NextPage("c")
        assert find(other(2), other(-2), next_cursor="c") == NextPage("c")  # their clock may be behind ours
        assert find(other(2), other(-3), next_cursor="c") == NotThere()
        assert find(other(2)) == NotThere()
        assert find() == NotThere()

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (200, "<html>"),
            (200, "{}"),
            (200, '{"data": {}}'),
            (200, '{"data": []}'),
            (500, '{"data": [], "next_cursor": null}'),
            (404, "{}"),
        ],
    )
    def test_an_answer_that_is_no_whole_list_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(bird().find_result(answer(status, body), SAMPLE.sent), CannotTell)

    def test_the_event_holds_neither_text_nor_number(self) -> None:
        found = find(record(text="Your code"))

        assert isinstance(found, Found)
        assert b"Your code" not in found.events[0].raw
        assert b"14155550100" not in found.events[0].raw


def failure(code: str) -> dict[str, Any]:
    return {"code": code, "description": "for +14155550100", "occurred_at": "2026-01-15T10:00:04Z"}


def polled(**changes: Any) -> list[DeliveryEvent]:
    return bird().status_result(answer(200, record(**changes)))


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert bird().status_request(MESSAGE_ID).url == f"{URL}/{MESSAGE_ID}"

    def test_every_published_status_has_a_meaning(self) -> None:
        assert set(MODELS["SMSMessageStatus"]["enum"]) - {"received"} == set(STATUSES)

    def test_every_published_failure_has_a_meaning(self) -> None:
        assert set(MODELS["SMSErrorCode"]["enum"]) - {"unknown"} == set(FAILURES)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            ("scheduled", EventKind.ACCEPTED),
            ("accepted", EventKind.ACCEPTED),
            ("sent", EventKind.SENT),
            ("delivered", EventKind.DELIVERED),
            ("Delivered", EventKind.DELIVERED),
            ("undelivered", EventKind.NOT_REACHED),
            ("failed", EventKind.FAILED),
            ("rejected", EventKind.FAILED),
            ("canceled", EventKind.FAILED),
            ("expired", EventKind.EXPIRED),
            ("received", EventKind.UNKNOWN),
            ("huh", EventKind.UNKNOWN),
        ],
    )
    def test_status(self, status: str, kind: EventKind) -> None:
        [event] = polled(status=status)

        assert (event.kind, event.provider_status, event.provider_message_id) == (kind, status, MESSAGE_ID)

    @pytest.mark.parametrize(
        ("changes", "second"),
        [
            ({"status": "sent", "sent_at": "2026-01-15T10:00:01Z"}, 1),
            ({"status": "delivered", "sent_at": "2026-01-15T10:00:01Z", "delivered_at": "2026-01-15T10:00:03Z"}, 3),
            ({"status": "failed", "last_error": failure("unreachable")}, 4),
        ],
    )
    def test_tells_when(self, changes: dict[str, Any], second: int) -> None:
        assert polled(**changes)[0].occurred_at == datetime(2026, 1, 15, 10, 0, second, tzinfo=UTC)

    def test_a_failure_with_its_code(self) -> None:
        [event] = polled(status="failed", last_error=failure("recipient_opted_out"))

        assert (event.kind, event.error_code, event.suppress) == (EventKind.FAILED, "recipient_opted_out", "opted_out")
        assert b"14155550100" not in event.raw

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        assert polled()[0].dedupe_key == polled(cost={"amount": "0.01"})[0].dedupe_key
        assert polled()[0].dedupe_key != polled(status="sent")[0].dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"),
        [(404, '{"error": {"type": "not_found_error"}}'), (200, "<html>"), (200, '{"id": "sms_1"}'), (500, "")],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert bird().status_result(answer(status, body)) == []


def content(type_: str, **data: Any) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(payload("bird/callback_delivered.json"))
    ours = {"metadata": {"attempt": ATTEMPT.id}}
    return {**recorded, "type": type_, "data": {**recorded["data"], **ours, **data}}


def report(type_: str, call_id: str = "msg_1", **data: Any) -> DeliveryEvent:
    [event] = bird().parse_webhook(bird_webhook(content(type_, **data), call_id))
    return event


MODEL_NAMES = {
    "sms.accepted": "EventSMSAccepted",
    "sms.sent": "EventSMSSent",
    "sms.delivered": "EventSMSDelivered",
    "sms.undelivered": "EventSMSUndelivered",
    "sms.failed": "EventSMSFailed",
    "sms.rejected": "EventSMSRejected",
    "sms.expired": "EventSMSExpired",
}


class TestWebhook:
    def test_recorded(self) -> None:
        body = payload("bird/callback_delivered.json")

        [event] = bird().parse_webhook(bird_webhook(body))

        assert fits(json.loads(body), "EventSMSDelivered")
        assert (event.kind, event.provider_status) == (EventKind.DELIVERED, "sms.delivered")
        assert (event.provider_message_id, event.error_code, event.suppress) == (MESSAGE_ID, "", None)
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert event.attempt is None  # recorded from another sender, whose metadata has other names
        assert event.raw == body

    @pytest.mark.parametrize("type_", MODEL_NAMES)
    def test_every_published_event_is_read(self, type_: str) -> None:
        data = {"error": failure("unreachable"), "segments": {"count": 1, "encoding": "GSM_7BIT", "characters": 19}}

        assert fits(content(type_, **data), MODEL_NAMES[type_])
        event = report(type_, **data)
        assert event.kind is not EventKind.UNKNOWN
        assert event.attempt == ATTEMPT.id

    def test_the_published_events_are_these(self) -> None:
        assert set(MODELS["SMSEventType"]["enum"]) == set(MODEL_NAMES)

    # The vendor's failure codes, as in its models, with "undelivered", "failed" and "rejected".
    @pytest.mark.parametrize(
        ("code", "undelivered", "failed", "suppress"),
        [
            ("invalid_destination", EventKind.FAILED, EventKind.FAILED, "invalid"),
            ("landline_unreachable", EventKind.FAILED, EventKind.FAILED, "unreachable"),
            ("blocked_by_recipient", EventKind.FAILED, EventKind.FAILED, "opted_out"),
            ("recipient_opted_out", EventKind.FAILED, EventKind.FAILED, "opted_out"),
            ("unreachable", EventKind.NOT_REACHED, EventKind.NOT_REACHED, None),
            ("provider_unavailable", EventKind.NOT_REACHED, EventKind.NOT_REACHED, None),
            ("blocked_by_carrier", EventKind.FAILED, EventKind.FAILED, None),
            ("blocked_by_fraud_protection", EventKind.FAILED, EventKind.FAILED, None),
            ("content_rejected", EventKind.FAILED, EventKind.FAILED, None),
            ("sender_unregistered", EventKind.FAILED, EventKind.FAILED, None),
            ("insufficient_balance", EventKind.FAILED, EventKind.FAILED, None),
            ("unknown", EventKind.NOT_REACHED, EventKind.FAILED, None),
            ("brand_new", EventKind.NOT_REACHED, EventKind.FAILED, None),
        ],
    )
    def test_failures(self, code: str, undelivered: EventKind, failed: EventKind, suppress: str | None) -> None:
        error = failure(code)

        for type_, kind in (
            ("sms.undelivered", undelivered),
            ("sms.failed", failed),
            ("sms.rejected", EventKind.FAILED),
        ):
            event = report(type_, error=error)
            assert (event.kind, event.suppress, event.error_code) == (kind, suppress, code)

    @pytest.mark.parametrize("error", [None, "unreachable", [], {}, {"code": None}])
    def test_a_failure_without_a_code(self, error: object) -> None:
        assert report("sms.undelivered", error=error).kind is EventKind.NOT_REACHED
        assert report("sms.failed", error=error).kind is EventKind.FAILED

    @pytest.mark.parametrize("type_", ["sms.delivered", "sms.sent", "sms.expired"])
    def test_only_a_failure_suppresses(self, type_: str) -> None:
        assert report(type_, error=failure("recipient_opted_out")).suppress is None

    @pytest.mark.parametrize("type_", ["sms.huh", "sms.", "SMS.HUH"])
    def test_an_unknown_event_changes_nothing(self, type_: str) -> None:
        event = report(type_, error=failure("recipient_opted_out"))

        assert (event.kind, event.provider_status, event.suppress) == (EventKind.UNKNOWN, type_, None)

    @pytest.mark.parametrize("type_", ["email.delivered", "sms_suppression.created", "delivered", "voice_call.failed"])
    def test_an_event_about_no_sms_is_kept(self, type_: str) -> None:
        event = report(type_, sms_id=None, metadata=None)

        assert (event.kind, event.provider_message_id, event.attempt) == (EventKind.UNKNOWN, None, None)

    def test_dlr_metadata_overwrites_event_only_our_own_name_counts(self) -> None:
        metadata = json.loads(case("dlr-metadata-overwrites-event/request.json"))["metadata"]

        event = report(
            "sms.delivered", metadata={**metadata, "attempt": ATTEMPT.id}, tags=[{"name": "type", "value": "x"}]
        )

        assert (event.kind, event.attempt, event.provider_message_id) == (EventKind.DELIVERED, ATTEMPT.id, MESSAGE_ID)

    def test_dlr_invalid_utf8_is_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            bird().parse_webhook(bird_webhook(case("dlr-invalid-utf8/callback.json")))

    def test_text_lone_surrogate_is_stored_and_applied(self) -> None:
        operator = json.loads(case("text-lone-surrogate/webhook.json"))["operator"]

        event = report("sms.delivered", carrier=operator, error={"code": operator})

        assert (event.kind, event.error_code) == (EventKind.DELIVERED, "�")

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"null",
            b"{}",
            b'{"type": 1.5}',
            b'{"type": "sms.sent"}',
            b'{"type": "sms.sent", "data": []}',
            b'{"type": "sms.sent", "data": {"sms_id": 5}}',
        ],
    )
    def test_what_names_no_message_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            bird().parse_webhook(bird_webhook(body))

    def test_repetitions_are_one_event_and_other_calls_are_not(self) -> None:
        first, again, another = (report("sms.sent", call_id) for call_id in ("msg_1", "msg_1", "msg_2"))

        assert first == again
        assert first.dedupe_key == "msg_1"
        assert another.dedupe_key == "msg_2"


INCOMING = content("sms.received", **{"from": "+14155550100", "to": "+15005550006", "text": "STOP \ud83d"})


class TestIncoming:
    def test_is_read(self) -> None:
        request = bird_webhook(INCOMING, "msg_9")

        received_at = datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert bird().parse_inbound(request) == [
            InboundMessage("msg_9", "+14155550100", "+15005550006", "STOP �", received_at, request.body)
        ]

    def test_is_no_report_and_a_report_is_no_message(self) -> None:
        assert bird().parse_webhook(bird_webhook(INCOMING)) == []
        assert bird().parse_inbound(bird_webhook(payload("bird/callback_delivered.json"))) == []

    def test_without_text_is_empty(self) -> None:
        [message] = bird().parse_inbound(bird_webhook(content("sms.received", text=None)))

        assert message.text == ""

    @pytest.mark.parametrize("changes", [{"from": None}, {"to": ""}, {"text": ["x"]}])
    def test_without_its_parts_is_malformed(self, changes: dict[str, Any]) -> None:
        with pytest.raises(MalformedWebhook):
            bird().parse_inbound(bird_webhook(content("sms.received", **changes)))

    def test_without_a_signature_is_not_believed(self) -> None:
        with pytest.raises(InvalidSignature):
            bird().parse_inbound(replace(bird_webhook(INCOMING), headers={}))


def vector(**headers: str) -> WebhookRequest:
    return WebhookRequest(
        "POST", "https://a.example/", Headers({**BIRD_VECTOR["headers"], **headers}), BIRD_VECTOR["body"].encode()
    )


def secured(secret: str) -> Bird:
    account = bird().account
    return Bird(replace(account, credentials={**account.credentials, "webhook_secret": secret}))


SKEW = json.loads(case("sig-clock-skew-both-ways/vectors.json"))


def skewed(sent_at: str, signature: str) -> WebhookRequest:
    headers = {"webhook-id": SKEW["svix_id"], "webhook-timestamp": sent_at, "webhook-signature": signature}
    return WebhookRequest("POST", "https://a.example/", headers, case("sig-clock-skew-both-ways/body.json"))


class TestSignature:
    def test_of_the_vendors_vector_is_believed(self) -> None:
        [event] = bird().parse_webhook(vector())

        assert (event.kind, event.dedupe_key) == (EventKind.DELIVERED, BIRD_VECTOR["headers"]["webhook-id"])

    @pytest.mark.parametrize(
        ("header", "value"),
        [
            ("webhook-id", "msg_other"),
            ("webhook-id", ""),
            ("webhook-timestamp", "1768471204"),
            ("webhook-timestamp", ""),
            ("webhook-signature", ""),
            ("webhook-signature", BIRD_VECTOR["headers"]["webhook-signature"].removeprefix("v1,")),
            ("webhook-signature", BIRD_VECTOR["headers"]["webhook-signature"].replace("v1,", "v2,")),
            ("webhook-signature", BIRD_VECTOR["headers"]["webhook-signature"].lower()),
            ("webhook-signature", "v1,no base64 v1, , v1"),
            ("webhook-signature", "v1,é"),
        ],
    )
    def test_covers_id_time_and_body(self, header: str, value: str) -> None:
        changed = replace(vector(), body=vector().body.replace(b"delivered", b"failed"))

        for forged in (vector(**{header: value}), changed):
            with pytest.raises(InvalidSignature):
                bird().parse_webhook(forged)

    def test_is_over_the_bytes_as_they_came(self) -> None:
        with pytest.raises(InvalidSignature):
            bird().parse_webhook(replace(vector(), body=json.dumps(json.loads(vector().body)).encode()))

    @pytest.mark.parametrize("secret", ["", "whsec_", "whsec_no base64", "whsec_é", BIRD_SECRET[:-4]])
    def test_is_not_made_with_another_secret(self, secret: str) -> None:
        with pytest.raises(InvalidSignature):
            secured(secret).parse_webhook(vector())

    def test_is_not_made_with_no_secret_at_all(self) -> None:
        with pytest.raises(InvalidSignature):
            secured("").parse_webhook(bird_webhook(content("sms.sent"), secret="whsec_"))

    def test_secret_may_come_without_its_prefix(self) -> None:
        assert secured(BIRD_SECRET.removeprefix("whsec_")).parse_webhook(vector())

    @pytest.mark.parametrize("offset", SKEW["by_offset"])
    def test_sig_clock_skew_both_ways_has_no_age(self, offset: str) -> None:
        """A call played again is a repetition of an event on file: its id is signed. So no clock is asked, ours or theirs."""
        sent = SKEW["by_offset"][offset]

        assert secured(SKEW["secret"]).parse_webhook(skewed(sent["svix-timestamp"], sent["svix-signature"]))

    @pytest.mark.parametrize("sent_at", SKEW["malformed_timestamps"])
    def test_sig_clock_skew_both_ways_another_time_is_not_signed(self, sent_at: str) -> None:
        with pytest.raises(InvalidSignature):
            secured(SKEW["secret"]).parse_webhook(skewed(sent_at, SKEW["by_offset"]["0"]["svix-signature"]))

    @pytest.mark.parametrize("signatures", SKEW["junk_lists"])
    def test_sig_clock_skew_both_ways_the_right_one_counts_in_any_place(self, signatures: str) -> None:
        assert secured(SKEW["secret"]).parse_webhook(skewed("1800007200", signatures))

"""Only what is odd about MessageBird's REST API."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from providers import errors
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, SenderNotAllowed, UnsupportedFeature
from providers.messagebird import MessageBird
from providers.messages import (
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    Headers,
    InboundMessage,
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, payload
from tests.providers.samples.messagebird import (
    MESSAGEBIRD_URL,
    MESSAGEBIRD_VECTOR,
    SIGNING_KEY,
    messagebird,
    messagebird_get,
    messagebird_post,
    token,
)

SAMPLE = SAMPLES["messagebird"]
MESSAGE = SAMPLE.message
MESSAGE_ID = "e8077d803532c0b5937c639b60216938"


def fields(adapter: MessageBird, message: OutgoingMessage = MESSAGE) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(message, ATTEMPT).body)
    return body


class TestSendRequest:
    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("messagebird/send_request.json"))

        sent = fields(messagebird())

        assert sent == {**recorded, "reference": ATTEMPT.id, "reportUrl": MESSAGEBIRD_URL}

    def test_headers(self) -> None:
        request = messagebird().send_request(MESSAGE, ATTEMPT)

        assert (request.method, request.url) == ("POST", "https://rest.messagebird.com/messages")
        assert request.headers == {
            "Accept": "application/json",
            "Authorization": "AccessKey live_EXAMPLE0000000000000",
            "Content-Type": "application/json",
        }

    @pytest.mark.parametrize(
        ("useful", "validity"), [(None, None), (-5, 1), (0, 1), (300, 300), (172_800, 172_800), (10**6, 172_800)]
    )
    def test_is_valid_as_long_as_it_is_useful(self, useful: int | None, validity: int | None) -> None:
        assert fields(messagebird(), replace(MESSAGE, useful_seconds=useful)).get("validity") == validity

    def test_without_a_callback_address_none_is_named(self) -> None:
        adapter = MessageBird(replace(messagebird().account, callback_url=None))

        assert "reportUrl" not in fields(adapter)

    @pytest.mark.parametrize(
        ("country", "originator"), [("US", "15005550006"), ("DE", "Landfall"), ("FR", "38000"), ("GB", "441632960000")]
    )
    def test_sends_by_whom_the_country_takes(self, country: str, originator: str) -> None:
        adapter = messagebird(
            **{"from": "+15005550006", "senders": {"DE": "Landfall", "FR": 38000, "GB": "+441632960000"}}
        )

        assert fields(adapter, replace(MESSAGE, country=country))["originator"] == originator

    def test_a_sender_for_other_countries_is_none(self) -> None:
        with pytest.raises(SenderNotAllowed):
            fields(messagebird(senders={"DE": "Landfall"}), replace(MESSAGE, country="US"))

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            fields(MessageBird(replace(messagebird().account, settings={})))

    def test_drops_nothing_in_silence(self) -> None:
        for message in (replace(MESSAGE, subject="x"), replace(MESSAGE, html="<p>x")):
            with pytest.raises(UnsupportedFeature):
                fields(messagebird(), message)


def refusal(status: int, *told: Any, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        messagebird().send_result(answer(status, {"errors": list(told)}, **headers))
    return caught.value


def about(code: object, parameter: object = None) -> dict[str, object]:
    return {"code": code, "description": "for +14155550100", "parameter": parameter}


# The vendor's list, as in its documents.
CODES = {
    2: errors.AuthenticationFailed,
    9: errors.InvalidRequest,
    10: errors.InvalidRequest,
    20: errors.InvalidRequest,
    21: errors.InvalidRequest,
    25: errors.InsufficientBalance,
    98: errors.InvalidRequest,
    99: errors.OutcomeUnknown,
}


class TestSendResult:
    def test_taken(self) -> None:
        taken = messagebird().send_result(answer(201, payload("messagebird/send_response_201.json")))

        assert taken == SendResult(MESSAGE_ID, "sent", 1)

    @pytest.mark.parametrize("recipients", [None, [], {}, {"items": None}, {"items": [None]}, {"items": []}])
    def test_taken_without_a_word_on_the_recipient(self, recipients: object) -> None:
        assert messagebird().send_result(answer(201, {"id": "x", "recipients": recipients})) == SendResult("x")

    @pytest.mark.parametrize(
        ("status", "file", "expected"),
        [
            (401, "error_401_2", errors.AuthenticationFailed),
            (422, "error_422_9", errors.InvalidRecipient),
            (422, "error_422_10", errors.SenderNotAllowed),
            (422, "error_422_25", errors.InsufficientBalance),
        ],
    )
    def test_recorded_refusals(self, status: int, file: str, expected: type[ProviderError]) -> None:
        recorded = json.loads(payload(f"messagebird/{file}.json"))

        error = refusal(status, *recorded["errors"])

        assert type(error) is expected
        assert (error.code, error.http_status, error.suppress) == (str(recorded["errors"][0]["code"]), status, None)
        assert recorded["errors"][0]["description"] not in str(error)

    @pytest.mark.parametrize("code", CODES)
    def test_every_listed_code_is_certain_with_a_4xx_and_unclear_with_a_5xx(self, code: int) -> None:
        assert type(refusal(422, about(code))) is CODES[code]
        assert type(refusal(422, about(str(code)))) is CODES[code]
        assert type(refusal(500, about(code))) is errors.OutcomeUnknown
        assert type(refusal(429, about(code))) is errors.RateLimited

    @pytest.mark.parametrize("code", [9, 10])
    @pytest.mark.parametrize(
        ("parameter", "expected"),
        [
            ("recipients", errors.InvalidRecipient),
            ("recipient", errors.InvalidRecipient),
            ("originator", errors.SenderNotAllowed),
            ("body", errors.ContentRejected),
            ("validity", errors.InvalidRequest),
            ("reportUrl", errors.InvalidRequest),
            (None, errors.InvalidRequest),
            ({"recipients": 1}, errors.InvalidRequest),
        ],
    )
    def test_the_parameter_tells_whose_fault_it_is(
        self, code: int, parameter: object, expected: type[ProviderError]
    ) -> None:
        error = refusal(422, about(code, parameter))

        assert (type(error), error.suppress) == (expected, None)

    def test_a_parameter_says_nothing_with_other_codes(self) -> None:
        assert type(refusal(422, about(25, "recipients"))) is errors.InsufficientBalance

    def test_the_first_known_code_counts(self) -> None:
        error = refusal(422, "?", about(7777), about(25), about(9, "recipients"))

        assert (type(error), error.code) == (errors.InsufficientBalance, "25")

    @pytest.mark.parametrize("code", [7777, "7777", None, True, 9.5, [9], "9" * 5000])
    def test_an_unlisted_code_is_an_unknown_refusal(self, code: object) -> None:
        assert type(refusal(422, about(code))) is errors.UnknownRefusal

    @pytest.mark.parametrize("status", [500, 502, 503, 504])
    def test_a_5xx_is_unclear(self, status: int) -> None:
        assert type(refusal(status, about(99))) is errors.OutcomeUnknown

    def test_a_limit_says_how_long_to_wait(self) -> None:
        assert refusal(429, about(21), retry_after="7").retry_after_seconds == 7.0

    def test_no_address_reaches_the_logs(self) -> None:
        error = refusal(422, about(9, "recipients"))

        assert "1415" not in f"{error} {error.code} {error.detail}"

    @pytest.mark.parametrize("body", ["[]", "{}", '{"id": null}', '{"id": 5}', '{"errors": [{"code": 9}]}', ""])
    def test_a_success_that_names_no_message_is_unclear(self, body: str) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            messagebird().send_result(answer(201, body))


def record(**changes: Any) -> dict[str, Any]:
    """One of their records of a message like ours, made one second after the call began."""
    template = json.loads(payload("messagebird/send_response_201.json"))
    return {**template, "reference": ATTEMPT.id, "createdDatetime": _time(1), **changes}


def other(seconds: float, **changes: Any) -> dict[str, Any]:
    return record(id=f"id{seconds}", reference="another", createdDatetime=_time(seconds), **changes)


def _time(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat()


def find(*messages: Any, sent: SentMessage | None = None, **page: Any) -> FindResult:
    body = {"offset": 0, "limit": 100, "count": len(messages), "totalCount": len(messages), "items": messages, **page}
    return messagebird().find_result(answer(200, json.dumps(body)), sent or SAMPLE.sent)


class TestFind:
    def test_asks_for_the_newest_without_any_filter(self) -> None:
        assert messagebird().find_request(SAMPLE.sent).url == "https://rest.messagebird.com/messages?limit=100&offset=0"

    @pytest.mark.parametrize(("page", "offset"), [("100", 100), ("-1", 0), ("x", 0), ("0&limit=1", 0), ("", 0)])
    def test_turns_to_a_number_only(self, page: str, offset: int) -> None:
        assert messagebird().find_request(SAMPLE.sent, page).url.endswith(f"/messages?limit=100&offset={offset}")

    def test_the_reference_decides(self) -> None:
        found = find(other(2), record())

        assert isinstance(found, Found)
        assert found.provider_message_id == MESSAGE_ID
        assert [event.kind for event in found.events] == [EventKind.SENT]

    @pytest.mark.parametrize("changes", [{"body": "?"}, {"originator": "?"}, {"createdDatetime": _time(-9999)}])
    def test_nothing_else_does(self, changes: dict[str, Any]) -> None:
        assert isinstance(find(record(**changes)), Found)

    def test_another_attempt_is_not_ours(self) -> None:
        assert find(record(reference=f"{ATTEMPT.message}-2")) == NotThere()
        assert find(record(reference=f"{ATTEMPT.id}0")) == NotThere()

    def test_another_attempt_is_ours_if_our_books_are_older(self) -> None:
        sent = replace(SAMPLE.sent, any_attempt=True)

        assert isinstance(find(record(reference=f"{ATTEMPT.message}-2"), sent=sent), Found)
        assert find(record(), sent=replace(sent, owned_ids=frozenset({MESSAGE_ID}))) == NotThere()

    @pytest.mark.parametrize("reference", [None, ""])
    def test_one_that_has_lost_its_reference_may_be_ours(self, reference: object) -> None:
        lost = record(reference=reference)

        assert isinstance(find(lost), CannotTell)
        assert isinstance(find({**lost, "createdDatetime": None}), CannotTell)
        assert isinstance(find({**lost, "createdDatetime": _time(-2)}), CannotTell)
        assert find({**lost, "createdDatetime": _time(-3)}) == NotThere()
        assert find({**lost, "recipients": {"items": [{"recipient": 14155550199}]}}) == NotThere()
        assert find({**lost, "direction": "mo"}) == NotThere()

    def test_turns_the_page_until_it_reaches_back_to_before_the_call(self) -> None:
        assert find(other(2), other(1), totalCount=5) == NextPage("2")
        assert find(other(2), other(1), totalCount=5, offset=3) == NotThere()
        assert find(other(2), other(-2), totalCount=5) == NextPage("2")  # their clock may be behind ours
        assert find(other(2), other(-3), totalCount=5) == NotThere()
        assert find() == NotThere()

    def test_a_list_in_another_order_proves_nothing(self) -> None:
        assert isinstance(find(other(-3), other(1)), CannotTell)

    @pytest.mark.parametrize(
        "page", [{"totalCount": None}, {"offset": None}, {"offset": -1}, {"offset": 10**20}, {"totalCount": "many"}]
    )
    def test_a_list_of_unknown_length_proves_nothing(self, page: dict[str, Any]) -> None:
        assert isinstance(find(other(1), **page), CannotTell)

    def test_an_empty_page_of_a_longer_list_proves_nothing(self) -> None:
        assert isinstance(find(totalCount=5), CannotTell)

    @pytest.mark.parametrize(
        ("status", "body"), [(200, "<html>"), (200, "{}"), (200, '{"items": {}}'), (500, '{"items": []}'), (404, "{}")]
    )
    def test_an_answer_that_is_no_list_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(messagebird().find_result(answer(status, body), SAMPLE.sent), CannotTell)

    def test_the_event_holds_neither_text_nor_number(self) -> None:
        found = find(record())

        assert isinstance(found, Found)
        assert b"Your code" not in found.events[0].raw
        assert b"14155550100" not in found.events[0].raw


def polled(**recipient: Any) -> list[DeliveryEvent]:
    items = [{"recipient": 14155550100, "statusDatetime": "2026-01-15T10:00:03+00:00", **recipient}]
    return messagebird().status_result(answer(200, record(recipients={"items": items})))


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert messagebird().status_request(MESSAGE_ID).url == f"https://rest.messagebird.com/messages/{MESSAGE_ID}"

    def test_recorded(self) -> None:
        [event] = messagebird().status_result(answer(200, payload("messagebird/send_response_201.json")))

        assert (event.kind, event.provider_message_id, event.provider_status) == (EventKind.SENT, MESSAGE_ID, "sent")
        assert event.occurred_at == datetime(2026, 1, 15, 10, tzinfo=UTC)

    def test_a_failure_with_its_code(self) -> None:
        [event] = polled(status="delivery_failed", statusErrorCode=103)

        assert (event.kind, event.error_code, event.suppress) == (EventKind.FAILED, "103", "opted_out")

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        [first], [second] = polled(status="sent"), polled(status="sent", statusDatetime="2026-01-15T10:09:00+00:00")
        [other] = polled(status="delivered")

        assert first.dedupe_key == second.dedupe_key != other.dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"), [(404, '{"errors": [{"code": 20}]}'), (200, "<html>"), (200, '{"id": "x"}'), (500, "")]
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert messagebird().status_result(answer(status, body)) == []


def report(**changes: str) -> DeliveryEvent:
    told = {"id": MESSAGE_ID, "recipient": "14155550100", "reference": ATTEMPT.id, "status": "sent", **changes}
    [event] = messagebird().parse_webhook(messagebird_get(told))
    return event


class TestReceipts:
    def test_recorded(self) -> None:
        query = payload("messagebird/callback_delivered.txt")

        [event] = messagebird().parse_webhook(messagebird_get(query))

        assert (event.kind, event.provider_message_id, event.provider_status) == (
            EventKind.DELIVERED,
            MESSAGE_ID,
            "delivered",
        )
        assert (event.attempt, event.error_code, event.suppress) == ("ntf-0001-a1", "", None)
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert event.raw == query

    @pytest.mark.parametrize(
        ("status", "code", "kind", "suppress"),
        [
            ("scheduled", "", EventKind.ACCEPTED, None),
            ("sent", "", EventKind.SENT, None),
            ("buffered", "", EventKind.SENT, None),
            ("delivered", "", EventKind.DELIVERED, None),
            ("DELIVERED", "0", EventKind.DELIVERED, None),
            ("expired", "", EventKind.EXPIRED, None),
            ("expired", "27", EventKind.EXPIRED, None),
            ("delivery_failed", "", EventKind.FAILED, None),
            ("delivery_failed", "0", EventKind.FAILED, None),
            ("delivery_failed", "1", EventKind.FAILED, "unreachable"),
            ("delivery_failed", "2", EventKind.FAILED, None),
            ("delivery_failed", "5", EventKind.FAILED, None),
            ("delivery_failed", "8", EventKind.NOT_REACHED, None),
            ("delivery_failed", "11", EventKind.FAILED, None),
            ("delivery_failed", "26", EventKind.NOT_REACHED, None),
            ("delivery_failed", "27", EventKind.NOT_REACHED, None),
            ("delivery_failed", "31", EventKind.NOT_REACHED, None),
            ("delivery_failed", "34", EventKind.FAILED, None),
            ("delivery_failed", "103", EventKind.FAILED, "opted_out"),
            ("delivery_failed", "99999", EventKind.FAILED, None),
            ("delivered", "103", EventKind.DELIVERED, None),
            ("sent", "1", EventKind.SENT, None),
            ("huh", "103", EventKind.UNKNOWN, None),
        ],
    )
    def test_meaning(self, status: str, code: str, kind: EventKind, suppress: str | None) -> None:
        event = report(status=status, **{"statusErrorCode": code} if code else {})

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, "" if code == "0" else code)
        assert (event.attempt, event.provider_status) == (ATTEMPT.id, status)

    def test_a_reason_counts_where_there_is_no_code(self) -> None:
        unavailable = {"status": "delivery_failed", "statusReason": "unavailable subscriber"}

        assert report(**unavailable).kind is EventKind.NOT_REACHED
        assert report(**unavailable, statusErrorCode="0").kind is EventKind.NOT_REACHED
        assert report(**unavailable, statusErrorCode="1").kind is EventKind.FAILED
        assert report(status="delivery_failed", statusReason="unknown subscriber").kind is EventKind.FAILED

    def test_dlr_unknown_words_and_probes_an_unknown_word_changes_nothing(self) -> None:
        event = report(status="huh")

        assert (event.kind, event.provider_status, event.suppress) == (EventKind.UNKNOWN, "huh", None)

    def test_dlr_unknown_words_and_probes_new_fields_change_nothing(self) -> None:
        new = {"price[amount]": "0.00225", "messagePartCount": "1", "Foo": "", "datacoding": "plain"}

        assert report(status="delivered", **new).kind is EventKind.DELIVERED

    def test_dlr_invalid_utf8_is_read_all_the_same(self) -> None:
        theirs = case("dlr-invalid-utf8/query.txt").split()[1].partition(b"?")[2]
        query = theirs.replace(b"messageId=", b"id=") + b"&reference=" + ATTEMPT.id.encode()

        [event] = messagebird().parse_webhook(messagebird_get(query))

        assert (event.kind, event.attempt, event.raw) == (EventKind.DELIVERED, ATTEMPT.id, query)
        assert b"%E9" in event.raw

    @pytest.mark.parametrize("missing", [{"id": ""}, {"status": ""}, {"id": "x" * 201}, {"id": "\0"}])
    def test_without_id_or_status_it_is_malformed(self, missing: dict[str, str]) -> None:
        with pytest.raises(MalformedWebhook):
            report(**missing)

    def test_a_call_without_parameters_is_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            messagebird().parse_webhook(messagebird_get({}))

    def test_by_post_it_is_read_from_the_form(self) -> None:
        [event] = messagebird().parse_webhook(messagebird_post({"id": MESSAGE_ID, "status": "delivered"}))

        assert (event.kind, event.raw) == (EventKind.DELIVERED, f"id={MESSAGE_ID}&status=delivered".encode())

    def test_repetitions_are_one_event_and_other_reports_are_not(self) -> None:
        reports: list[dict[str, str]] = [
            {"status": "sent"},
            {"status": "sent", "statusDatetime": "2026-01-15T10:00:03+00:00"},
            {"status": "delivered"},
            {"status": "delivery_failed"},
            {"status": "delivery_failed", "statusErrorCode": "27"},
            {"status": "delivered", "id": "another"},
        ]
        keys = [report(**told).dedupe_key for told in reports * 2]

        assert keys[:6] == keys[6:]
        assert len(set(keys)) == 6


INCOMING = {
    "id": "3b53c137369242138120d6b0b2122607",
    "recipient": "15005550006",
    "originator": "14155550100",
    "body": "Grüße 😭",
    "createdDatetime": "2027-01-15T10:00:00+00:00",
}
TO_SHORT_CODE = {
    "mid": "77",
    "shortcode": "51515",
    "originator": "14155550100",
    "message": "stop",
    "receive_datetime": "20270115100000",
}


class TestIncoming:
    def test_is_read(self) -> None:
        request = messagebird_post(INCOMING)

        assert messagebird().parse_inbound(request) == [
            InboundMessage(INCOMING["id"], "+14155550100", "+15005550006", "Grüße 😭", NOW, request.body)
        ]

    def test_to_a_short_code_is_read(self) -> None:
        request = messagebird_post(TO_SHORT_CODE)

        assert messagebird().parse_inbound(request) == [
            InboundMessage("77", "+14155550100", "51515", "stop", NOW, request.body)
        ]

    def test_by_get_is_read(self) -> None:
        [message] = messagebird().parse_inbound(messagebird_get(INCOMING))

        assert (message.text, message.sender) == ("Grüße 😭", "+14155550100")
        assert message.raw.startswith(b"id=3b53")

    def test_is_no_report_and_a_report_is_no_message(self) -> None:
        told = messagebird_get(payload("messagebird/callback_delivered.txt"))

        assert messagebird().parse_webhook(messagebird_post(INCOMING)) == []
        assert messagebird().parse_inbound(told) == []

    @pytest.mark.parametrize("time", ["", "soon", "20271315100000"])
    def test_at_an_unreadable_time_is_kept(self, time: str) -> None:
        [message] = messagebird().parse_inbound(messagebird_post({**INCOMING, "createdDatetime": time}))

        assert message.received_at is None

    def test_a_sender_in_words_stays_as_it_is(self) -> None:
        [message] = messagebird().parse_inbound(messagebird_post({**INCOMING, "originator": "Bank\0"}))

        assert message.sender == "Bank�"

    def test_without_an_id_is_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            messagebird().parse_inbound(messagebird_post({**INCOMING, "id": ""}))

    def test_without_a_signature_is_not_believed(self) -> None:
        with pytest.raises(InvalidSignature):
            messagebird().parse_inbound(replace(messagebird_post(INCOMING), headers={}))


def keyed(signing_key: str) -> MessageBird:
    account = messagebird().account
    return MessageBird(replace(account, credentials={**account.credentials, "signing_key": signing_key}))


def get(url: str, proof: str) -> WebhookRequest:
    return WebhookRequest("GET", url, Headers({"messagebird-signature-jwt": proof}), b"")


URL = MESSAGEBIRD_VECTOR["url"]
VALUE = MESSAGEBIRD_VECTOR["value"]


class TestSignature:
    def test_of_the_vendors_vector_is_believed(self) -> None:
        [event] = messagebird().parse_webhook(get(URL, VALUE))

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, "ntf-0001-a1")

    @pytest.mark.parametrize("digest", ["HS256", "HS384", "HS512"])
    def test_may_use_any_of_three_digests(self, digest: str) -> None:
        assert messagebird().parse_webhook(get(URL, token(URL, digest=digest)))

    @pytest.mark.parametrize(
        "url",
        [
            URL.replace("status=delivered", "status=delivery_failed"),
            URL.replace("https", "http"),
            URL + "&statusErrorCode=103",
            URL.partition("?")[0],
            "",
            "https://[",
        ],
    )
    def test_covers_the_address_with_its_query(self, url: str) -> None:
        with pytest.raises(InvalidSignature):
            messagebird().parse_webhook(get(url, VALUE))

    def test_with_or_without_the_default_port(self) -> None:
        with_port = URL.replace(".com/", ".com:443/")

        for signed, called in ((with_port, URL), (URL, with_port)):
            assert messagebird().parse_webhook(get(called, token(signed)))

    def test_does_not_carry_a_body_that_it_does_not_cover(self) -> None:
        with pytest.raises(InvalidSignature):
            messagebird().parse_webhook(replace(get(URL, VALUE), body=b"status=delivery_failed"))

    def test_covers_the_body(self) -> None:
        request = messagebird_post(INCOMING)

        for body in (request.body + b"&x=", request.body.replace(b"1415", b"1416"), b""):
            with pytest.raises(InvalidSignature):
                messagebird().parse_inbound(replace(request, body=body))

    @pytest.mark.parametrize(
        "claims",
        [
            {"iss": None},
            {"iss": "messagebird"},
            {"url_hash": None},
            {"url_hash": ""},
            {"url_hash": 5},
            {"payload_hash": "0" * 64},
            {"payload_hash": ["x"]},
        ],
    )
    def test_needs_the_right_claims(self, claims: dict[str, Any]) -> None:
        with pytest.raises(InvalidSignature):
            messagebird().parse_webhook(get(URL, token(URL, **claims)))

    @pytest.mark.parametrize("claims", [{"nbf": 4102444800}, {"exp": 1}, {"nbf": None, "exp": None}])
    def test_has_no_age(self, claims: dict[str, Any]) -> None:
        """A call played again is a repetition of an event on file, since what it says is in the signed address."""
        assert messagebird().parse_webhook(get(URL, token(URL, **claims)))

    def test_is_not_made_by_nobody(self) -> None:
        header, claims, _ = VALUE.split(".")
        unsigned = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")

        for forged in (f"{unsigned}.{claims}.", f"{header}.{claims}.", f"{header}.{claims}", f"{unsigned}.{claims}"):
            with pytest.raises(InvalidSignature):
                messagebird().parse_webhook(get(URL, forged))

    @pytest.mark.parametrize("alg", ["HS1", "hs256", "RS256", "", None, 256, ["HS256"], {}])
    def test_is_not_made_by_another_digest(self, alg: object) -> None:
        _, claims, proof = VALUE.split(".")
        header = base64.urlsafe_b64encode(json.dumps({"alg": alg}).encode()).decode().rstrip("=")

        with pytest.raises(InvalidSignature):
            messagebird().parse_webhook(get(URL, f"{header}.{claims}.{proof}"))

    @pytest.mark.parametrize(
        "proof", ["", ".", "..", "...", "a.b.c", "é.é.é", VALUE[:-1], VALUE + "=", " " + VALUE, "\udc00"]
    )
    def test_nonsense_is_not_believed(self, proof: str) -> None:
        with pytest.raises(InvalidSignature):
            messagebird().parse_webhook(get(URL, proof))

    @pytest.mark.parametrize("key", ["another", SIGNING_KEY.upper()])
    def test_is_not_made_with_another_key(self, key: str) -> None:
        with pytest.raises(InvalidSignature):
            keyed(key).parse_webhook(get(URL, VALUE))

    def test_is_not_made_with_no_key_at_all(self) -> None:
        with pytest.raises(InvalidSignature):
            keyed("").parse_webhook(get(URL, token(URL, key="")))

    def test_is_needed(self) -> None:
        with pytest.raises(InvalidSignature):
            messagebird().parse_webhook(replace(get(URL, VALUE), headers={}))

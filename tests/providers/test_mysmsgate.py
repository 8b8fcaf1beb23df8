"""Only what is odd about MySMSGate."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from providers import errors
from providers.errors import AccountError, MalformedWebhook, ProviderError, UnsupportedFeature
from providers.messages import (
    AttemptRef,
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    NotThere,
    SendResult,
    SentMessage,
)
from providers.mysmsgate import MySmsGate
from providers.mysmsgate.words import STATUSES, WORDS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, http_file, payload
from tests.providers.samples.mysmsgate import mysmsgate, mysmsgate_webhook

MESSAGE = SAMPLES["mysmsgate"].message
SENT = SAMPLES["mysmsgate"].sent
PHONE = "22222222-0000-4000-8000-000000000001"
PHONES = ["phone-a", "phone-b", "phone-c"]


def fields(adapter: MySmsGate, attempt: AttemptRef = ATTEMPT, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), attempt).body)
    return body


class TestSendRequest:
    @pytest.mark.parametrize(
        ("file", "settings"),
        [
            ("send_request", {"from": PHONE, "slot": 0}),
            ("send_request", {"from": PHONE, "slot": "0", "text_field": "message"}),
            ("send_request_text", {"from": PHONE, "text_field": "text"}),
        ],
    )
    def test_is_the_recorded_one(self, file: str, settings: dict[str, Any]) -> None:
        assert fields(mysmsgate(**settings)) == json.loads(payload(f"mysmsgate/{file}.json"))

    def test_by_itself_says_no_more_than_it_must(self) -> None:
        request = mysmsgate().send_request(MESSAGE, ATTEMPT)

        assert json.loads(request.body) == {"to": "+14155550100", "message": "Your code is 123456"}
        assert (request.method, request.url) == ("POST", "https://mysmsgate.net/api/v1/send")
        assert request.headers == {
            "Accept": "application/json",
            "Authorization": "Bearer msg-key-0123456789",
            "Content-Type": "application/json",
        }

    @pytest.mark.parametrize(("setting", "is_sent"), [(True, True), (False, False), (None, False)])
    def test_names_the_attempt_where_the_setting_says_so(self, setting: bool | None, is_sent: bool) -> None:
        sent = fields(mysmsgate(send_client_message_id=setting))

        assert sent.get("client_message_id") == (ATTEMPT.id if is_sent else None)

    @pytest.mark.parametrize(
        ("settings", "country", "phone"),
        [
            ({}, "DE", None),
            ({"from": "phone-a"}, "DE", "phone-a"),
            ({"senders": {"DE": "phone-b"}}, "DE", "phone-b"),
            ({"senders": {"DE": "phone-b"}, "from": "phone-a"}, "PL", "phone-a"),
            ({"senders": {"DE": "phone-b"}, "devices": ["phone-c"]}, "DE", "phone-b"),
            ({"senders": {"DE": "phone-b"}, "devices": ["phone-c"]}, "PL", "phone-c"),
            ({"from": "phone-a", "devices": ["phone-c"]}, "PL", "phone-a"),
            ({"devices": []}, "PL", None),
        ],
    )
    def test_goes_through_the_phone(self, settings: dict[str, Any], country: str, phone: str | None) -> None:
        assert fields(mysmsgate(**settings), country=country).get("device_id") == phone

    @pytest.mark.parametrize("slot", [0, 1, "0", "1"])
    def test_goes_through_the_slot(self, slot: Any) -> None:
        assert fields(mysmsgate(slot=slot))["slot"] == int(slot)

    @pytest.mark.parametrize(
        "settings",
        [
            {"slot": 2},
            {"slot": "first"},
            {"slot": True},
            {"text_field": "body"},
            {"devices": "phone-a"},
            {"devices": [""]},
            {"devices": [7]},
        ],
    )
    def test_a_wrong_setting_is_ours_to_mend(self, settings: dict[str, Any]) -> None:
        with pytest.raises(AccountError):
            mysmsgate(**settings).send_request(MESSAGE, ATTEMPT)

    def test_drops_nothing_in_silence(self) -> None:
        with pytest.raises(UnsupportedFeature):
            mysmsgate().send_request(replace(MESSAGE, subject="x"), ATTEMPT)
        with pytest.raises(UnsupportedFeature):
            mysmsgate().send_request(replace(MESSAGE, html="<p>x"), ATTEMPT)

    def test_text_code_with_leading_zero_stays_text(self) -> None:
        assert fields(mysmsgate(), text="012345")["message"] == "012345"


class TestTurns:
    def test_all_phones_have_theirs(self) -> None:
        adapter = mysmsgate(devices=PHONES)

        turns = Counter(fields(adapter, AttemptRef(f"{number:032x}-1"))["device_id"] for number in range(600))

        assert set(turns) == set(PHONES)
        assert min(turns.values()) > 150

    def test_a_message_keeps_its_phone(self) -> None:
        """Whatever its attempt's number, and in an adapter of its own, as after a restart."""
        for number in range(20):
            chosen = {
                fields(mysmsgate(devices=PHONES), AttemptRef(f"{number:032x}-{attempt}"))["device_id"]
                for attempt in range(1, 8)
            }

            assert len(chosen) == 1

    def test_are_the_same_on_every_machine(self) -> None:
        turns = [fields(mysmsgate(devices=PHONES), AttemptRef(f"{n:032x}-1"))["device_id"][-1] for n in range(8)]

        assert "".join(turns) == "ccabbbaa"


def refusal(status: int, body: Any, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        mysmsgate().send_result(answer(status, body, **headers))
    return caught.value


class TestSendResult:
    @pytest.mark.parametrize("status", [200, 201, 202])
    def test_taken(self, status: int) -> None:
        recorded = payload("mysmsgate/send_response_202.json")

        assert mysmsgate().send_result(answer(status, recorded)) == SendResult("12345", "pending")

    @pytest.mark.parametrize(
        ("body", "id"),
        [
            ({"id": 12345}, "12345"),
            ({"id": "0012"}, "0012"),
            ({"sms_id": "1E9", "id": 7}, "1E9"),
            ({"success": False, "sms_id": 5}, "5"),
        ],
    )
    def test_an_id_may_be_a_number_or_a_text(self, body: dict[str, Any], id: str) -> None:
        assert mysmsgate().send_result(answer(202, body)).provider_message_id == id

    @pytest.mark.parametrize("body", ["", "<html>Just a moment...", "[]", "{}", '{"success": true}', '{"id": true}'])
    def test_a_success_that_names_no_message_is_unclear(self, body: str) -> None:
        assert type(refusal(202, body)) is errors.OutcomeUnknown

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("no device online", errors.Unavailable),
            ("Phone is OFFLINE", errors.Unavailable),
            ("Insufficient balance", errors.InsufficientBalance),
            ("Not enough credits", errors.InsufficientBalance),
            ("Monthly quota reached", errors.InsufficientBalance),
            ("quota of the device reached", errors.InsufficientBalance),
            ("not a phone number", errors.RouteRejected),
            ("something else", errors.UnknownRefusal),
            ("", errors.UnknownRefusal),
        ],
    )
    def test_a_text_tells_where_nothing_else_does(self, text: str, expected: type[ProviderError]) -> None:
        for status in (400, 404, 409, 422):
            for name in ("error", "message", "detail", "reason"):
                error = refusal(status, {"success": False, name: text})

                assert type(error) is expected
                assert (error.code, error.suppress) == ("", None)
                assert not text or text not in str(error)
        assert type(refusal(200, {"success": False, "error": text})) is expected

    def test_every_word_is_tried_above(self) -> None:
        assert set(WORDS) == {"balance", "credit", "quota", "device", "offline", "number"}

    def test_the_error_speaks_before_the_message_which_may_be_ours(self) -> None:
        assert type(refusal(400, {"error": "huh", "message": "Your balance is low"})) is errors.UnknownRefusal

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (401, errors.AuthenticationFailed),
            (403, errors.AuthenticationFailed),
            (402, errors.InsufficientBalance),
            (429, errors.RateLimited),
            (500, errors.OutcomeUnknown),
            (503, errors.OutcomeUnknown),
        ],
    )
    def test_a_status_tells_more_than_a_text(self, status: int, expected: type[ProviderError]) -> None:
        assert type(refusal(status, {"success": False, "error": "huh"})) is expected
        if status != 402:
            assert type(refusal(status, payload("mysmsgate/error.json"))) is expected

    @pytest.mark.parametrize("status", [200, 403, 503])
    def test_a_challenge_page_is_no_refusal_of_the_message(self, status: int) -> None:
        page = http_file("http-html-instead-of-json/a_503.http")

        with pytest.raises((errors.OutcomeUnknown, AccountError)):
            mysmsgate().send_result(replace(page, status=status))

    def test_only_text_is_read_in_an_error(self) -> None:
        assert type(refusal(400, {"error": {"text": "device"}, "detail": ["device"]})) is errors.UnknownRefusal


def record(**changes: Any) -> dict[str, Any]:
    """One of their records of a message like ours, made five seconds after the call began."""
    [template] = json.loads(payload("mysmsgate/history_200.json"))["history"]
    return {**template, "status": "sent", "created_at": _time(5), **changes}


def older(**changes: Any) -> dict[str, Any]:
    """A record from before the call, to somebody else."""
    return record(**{"id": 1, "phone_to": "+14155550199", "created_at": _time(-3), **changes})


def _time(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def find(*records: Any, sent: SentMessage = SENT) -> FindResult:
    return mysmsgate().find_result(answer(200, json.dumps({"history": records})), sent)


class TestFind:
    def test_asks_for_the_newest(self) -> None:
        url = urlsplit(mysmsgate().find_request(SENT, "https://evil.example/?x=1").url)

        assert (url.netloc, url.path) == ("mysmsgate.net", "/api/v1/history")
        assert dict(parse_qsl(url.query)) == {"direction": "out", "limit": "200"}

    def test_waits_until_records_appear(self) -> None:
        assert MySmsGate.look_up_delay_seconds == 15.0

    def test_recorded(self) -> None:
        sent = replace(SENT, began_at=datetime(2026, 1, 15, 10, 0, tzinfo=UTC))

        found = mysmsgate().find_result(answer(200, payload("mysmsgate/history_200.json")), sent)

        assert isinstance(found, Found)
        assert found.provider_message_id == "12345"
        assert [event.kind for event in found.events] == [EventKind.FAILED]

    def test_one_to_this_number_in_this_time_is_ours(self) -> None:
        found = find(record(id=2, phone_to="+14155550199"), record(), older())

        assert isinstance(found, Found)
        assert found.provider_message_id == "12345"

    @pytest.mark.parametrize(("seconds", "is_found"), [(-3, False), (-2, True), (0, True), (70, True), (71, False)])
    def test_only_what_was_made_in_the_time_of_the_call(self, seconds: int, is_found: bool) -> None:
        assert isinstance(find(record(created_at=_time(seconds)), older()), Found) == is_found

    @pytest.mark.parametrize("created_at", ["2027-01-15T10:00:05", "2027-01-15T11:00:05+01:00", _time(5)])
    def test_a_time_without_a_zone_is_utc(self, created_at: str) -> None:
        assert isinstance(find(record(created_at=created_at)), Found)

    @pytest.mark.parametrize("number", ["+14155550100", "14155550100", "+1 415 555-0100", 14155550100])
    def test_a_number_is_its_digits(self, number: Any) -> None:
        assert isinstance(find(record(phone_to=number)), Found)

    def test_what_belongs_to_another_attempt_is_not_ours(self) -> None:
        sent = replace(SENT, owned_ids=frozenset({"12345"}))

        assert find(record(), older(), sent=sent) == NotThere()
        assert isinstance(find(record(), record(id="6"), sent=sent), Found)

    def test_several_like_ours_are_nobodys(self) -> None:
        assert isinstance(find(record(), record(id=6)), CannotTell)

    @pytest.mark.parametrize(
        "changes",
        [
            {"phone_to": None},
            {"created_at": None},
            {"created_at": "soon"},
            {"id": None},
            {"source": "phone"},
            {"source": "dashboard"},
        ],
    )
    def test_one_that_does_not_tell_all_may_be_ours(self, changes: dict[str, Any]) -> None:
        assert isinstance(find(record(**changes), older()), CannotTell)

    @pytest.mark.parametrize("source", [None, "api", "API"])
    def test_one_sent_by_api_is_ours(self, source: str | None) -> None:
        assert isinstance(find(record(source=source)), Found)

    def test_is_not_there_only_if_the_page_reaches_back_to_before_the_call(self) -> None:
        later = record(id=2, phone_to="+14155550199")

        assert find(later, older()) == NotThere()
        assert find(older()) == NotThere()
        assert isinstance(find(later, older(created_at=_time(-2))), CannotTell)
        assert isinstance(find(later), CannotTell)
        assert isinstance(find(), CannotTell)

    def test_a_page_that_begins_with_the_oldest_may_end_too_early(self) -> None:
        assert isinstance(find(older(), record(id=2, phone_to="+14155550199")), CannotTell)

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (200, "<html>Just a moment..."),
            (200, "{}"),
            (200, '{"history": {}}'),
            (200, '{"history": [[]]}'),
            (200, "[]"),
            (500, '{"history": []}'),
            (403, "<html>"),
        ],
    )
    def test_an_answer_that_is_no_history_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(mysmsgate().find_result(answer(status, body), SENT), CannotTell)

    def test_the_event_holds_neither_text_nor_number(self) -> None:
        found = find(record(error_message="about +14155550100", text="Your code"))

        assert isinstance(found, Found)
        assert b"4155550100" not in found.events[0].raw
        assert b"Your code" not in found.events[0].raw


def polled(body: Any) -> list[DeliveryEvent]:
    return mysmsgate().status_result(answer(200, body))


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert mysmsgate().status_request("12345").url == "https://mysmsgate.net/api/v1/sms?id=12345"
        assert mysmsgate().status_request("a&b=c#d").url == "https://mysmsgate.net/api/v1/sms?id=a%26b%3Dc%23d"

    def test_recorded(self) -> None:
        [event] = polled(payload("mysmsgate/get_sms_200.json"))

        assert (event.kind, event.provider_status, event.provider_message_id) == (EventKind.SENT, "sent", "12345")

    @pytest.mark.parametrize(
        "body",
        [
            {"id": 5, "state": "delivered"},
            {"id": 5, "sms": {"status": "delivered"}},
            {"sms": {"id": 5, "status": "DELIVERED"}},
            {"success": True, "sms": {"sms_id": "5", "state": "delivered"}},
        ],
    )
    def test_is_read_wherever_it_stands(self, body: dict[str, Any]) -> None:
        [event] = polled(body)

        assert (event.kind, event.provider_message_id) == (EventKind.DELIVERED, "5")

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            ("pending", EventKind.ACCEPTED),
            ("sending", EventKind.ACCEPTED),
            ("sent", EventKind.SENT),
            ("delivered", EventKind.DELIVERED),
            ("failed", EventKind.FAILED),
            ("error", EventKind.FAILED),
            ("huh", EventKind.UNKNOWN),
        ],
    )
    def test_status(self, status: str, kind: EventKind) -> None:
        for written in (status, status.upper()):
            [event] = polled({"id": 5, "status": written})

            assert (event.kind, event.suppress) == (kind, None)
        assert (status in STATUSES) == (kind is not EventKind.UNKNOWN)

    def test_an_unchanged_poll_is_the_same_event_wherever_it_was_told(self) -> None:
        found = find(record(id=5))

        assert isinstance(found, Found)
        assert found.events[0].dedupe_key == polled({"id": 5, "status": "SENT"})[0].dedupe_key
        assert found.events[0].dedupe_key != polled({"id": 6, "status": "sent"})[0].dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (404, '{"error": "x"}'),
            (200, "<html>"),
            (200, "{}"),
            (200, '{"status": "sent"}'),
            (200, '{"id": 5}'),
            (200, '{"id": 5, "sms": []}'),
            (500, '{"id": 5, "status": "sent"}'),
        ],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert mysmsgate().status_result(answer(status, body)) == []


def report(**changes: Any) -> list[DeliveryEvent]:
    content = {**json.loads(payload("mysmsgate/callback_sent.json")), **changes}
    return mysmsgate().parse_webhook(mysmsgate_webhook(content))


class TestWebhook:
    @pytest.mark.parametrize(
        ("file", "kind"),
        [
            ("pending", EventKind.ACCEPTED),
            ("sent", EventKind.SENT),
            ("delivered", EventKind.DELIVERED),
            ("failed", EventKind.FAILED),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind) -> None:
        [event] = mysmsgate().parse_webhook(mysmsgate_webhook(payload(f"mysmsgate/callback_{file}.json")))

        assert (event.kind, event.provider_status) == (kind, file.upper())
        assert (event.provider_message_id, event.attempt) == ("12345", "ntf-0001-a1")
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert event.suppress is None

    def test_proves_nothing_so_the_product_asks(self) -> None:
        assert not MySmsGate.signs_webhooks

    def test_repetitions_are_one_event_and_others_are_not(self) -> None:
        [first], [again], [later], [other], [next_one] = (
            report(),
            report(status="sent"),
            report(timestamp="2026-01-15T10:00:04Z"),
            report(message_id="6"),
            report(status="DELIVERED"),
        )

        assert first.dedupe_key == again.dedupe_key
        assert len({event.dedupe_key for event in (first, later, other, next_one)}) == 4

    def test_dlr_unknown_words_change_nothing(self) -> None:
        [event] = report(status="huh", new_field={"a": 1})

        assert (event.kind, event.provider_status) == (EventKind.UNKNOWN, "huh")

    @pytest.mark.parametrize(("name", "value"), [("sms_id", 7), ("id", "7")])
    def test_an_id_may_have_another_name(self, name: str, value: Any) -> None:
        [event] = report(message_id=None, **{name: value})

        assert event.provider_message_id == "7"

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b" \n",
            b'{"event": "ping"}',
            b'{"type": "webhook.test", "message_id": "1", "status": "DELIVERED"}',
            b'{"event": "sms.received", "id": 7, "from": "+14155550100", "text": "STOP"}',
            b'{"event": "incomingMessage", "phone_from": "+14155550100", "status": "received"}',
            b'{"from": "+14155550100", "to": "+15005550006", "text": "STOP"}',
        ],
    )
    def test_probes_pings_and_texts_that_come_in_are_no_reports(self, body: bytes) -> None:
        assert mysmsgate().parse_webhook(mysmsgate_webhook(body)) == []
        assert mysmsgate().parse_inbound(mysmsgate_webhook(body)) == []

    def test_an_event_name_that_only_sounds_like_a_test_is_none(self) -> None:
        [event] = report(event="latest.shipping")

        assert event.kind is EventKind.SENT

    @pytest.mark.parametrize(
        "body",
        [
            b"<html>",
            b"[]",
            b"null",
            b"{}",
            b'{"status": "SENT"}',
            b'{"message_id": "1"}',
            b'{"message_id": "1", "status": 1.5}',
        ],
    )
    def test_what_names_no_message_or_status_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            mysmsgate().parse_webhook(mysmsgate_webhook(body))

    def test_text_lone_surrogate_is_no_obstacle(self) -> None:
        [event] = report(text="ok \ud83d")

        assert event.kind is EventKind.SENT

    def test_dlr_invalid_utf8_is_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            mysmsgate().parse_webhook(mysmsgate_webhook(case("dlr-invalid-utf8/callback.json")))

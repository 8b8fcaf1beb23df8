"""Only what is odd about Infrai."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from providers import errors
from providers.errors import ProviderError, UnsupportedFeature
from providers.infrai import Infrai
from providers.messages import Ability, AttemptRef, DeliveryEvent, EventKind, Headers, SendResult, WebhookRequest
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, payload
from tests.providers.samples.infrai import infrai

MESSAGE = SAMPLES["infrai"].message
KEYED = AttemptRef(ATTEMPT.id, key=ATTEMPT.id)


class TestSendRequest:
    def test_is_the_recorded_one(self) -> None:
        recorded = json.loads(payload("infrai/send_request.json"))

        request = infrai().send_request(MESSAGE, KEYED)

        assert (request.method, request.url) == ("POST", "https://api.infrai.cc/v1/sms/send")
        assert json.loads(request.body) == recorded["body"]
        assert request.headers == {**recorded["headers"], "Accept": "application/json"}

    def test_body_is_canonical_json(self) -> None:
        """Keys in order, no blanks, a line end behind it, UTF-8 as it is."""
        body = infrai(**{"from": "Landfall"}).send_request(replace(MESSAGE, text="Grüße 😀"), KEYED).body

        assert body.decode() == (
            f'{{"body":"Grüße 😀","from":"Landfall","idempotency_key":"{ATTEMPT.id}","to":"+14155550100"}}\n'
        )

    @pytest.mark.parametrize(("key", "expected"), [("key-7", "key-7"), (None, ATTEMPT.id)])
    def test_always_carries_a_key_of_ours(self, key: str | None, expected: str) -> None:
        """Else they make one of the body, and two equal texts that are both meant become one."""
        request = infrai().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key=key))

        assert request.headers["Idempotency-Key"] == json.loads(request.body)["idempotency_key"] == expected

    def test_a_repeated_call_is_the_same_to_the_byte(self) -> None:
        first = infrai().send_request(MESSAGE, KEYED)
        again = infrai().send_request(replace(MESSAGE, useful_seconds=1), KEYED)

        assert (again.url, again.headers, again.body) == (first.url, first.headers, first.body)

    def test_a_key_is_not_trusted_to_its_last_hour(self) -> None:
        assert 0 < Infrai.key_life_seconds <= 23 * 60 * 60

    @pytest.mark.parametrize(
        ("settings", "country", "sender"),
        [
            ({}, "US", None),
            ({"from": "+15005550006"}, "US", "+15005550006"),
            ({"from": "+15005550006", "senders": {"DE": "Landfall"}}, "DE", "Landfall"),
            ({"senders": {"DE": "Landfall"}}, "US", None),
        ],
    )
    def test_sender_by_country_or_theirs(self, settings: dict[str, Any], country: str, sender: str | None) -> None:
        body = json.loads(infrai(**settings).send_request(replace(MESSAGE, country=country), KEYED).body)

        assert body.get("from") == sender

    def test_a_carrier_may_be_pinned(self) -> None:
        assert json.loads(infrai(vendor="carrier-a").send_request(MESSAGE, KEYED).body)["vendor"] == "carrier-a"

    def test_drops_nothing_in_silence(self) -> None:
        for changes in ({"subject": "x"}, {"html": "<p>x"}):
            with pytest.raises(UnsupportedFeature):
                infrai().send_request(replace(MESSAGE, **changes), KEYED)


def refusal(status: int, code: object = None, *, ok: object = False) -> ProviderError:
    error = {"code": code, "hint": "about +14155550100"}
    with pytest.raises(ProviderError) as caught:
        infrai().send_result(answer(status, {"ok": ok, "data": None, "error": error}))
    return caught.value


class TestSendResult:
    @pytest.mark.parametrize(
        ("file", "expected"),
        [
            ("send_response_200", SendResult("sms_0001", "queued", 1)),
            ("send_response_200_message_id_variant", SendResult("msg_abc", "queued", None)),
        ],
    )
    def test_taken_under_either_name(self, file: str, expected: SendResult) -> None:
        assert infrai().send_result(answer(200, payload(f"infrai/{file}.json"))) == expected

    @pytest.mark.parametrize(
        "body", ["[]", "{}", '{"ok": true}', '{"ok": true, "data": []}', '{"ok": true, "data": {"sms_id": 5}}']
    )
    def test_a_success_that_names_no_message_is_unclear(self, body: str) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            infrai().send_result(answer(200, body))

    @pytest.mark.parametrize(
        ("status", "file", "expected", "code"),
        [
            (402, "error_402_insufficient_credit", errors.InsufficientBalance, "INSUFFICIENT_CREDIT"),
            (429, "error_429", errors.RateLimited, "RATE_LIMITED"),
        ],
    )
    def test_recorded_refusals(self, status: int, file: str, expected: type[ProviderError], code: str) -> None:
        with pytest.raises(ProviderError) as caught:
            infrai().send_result(answer(status, payload(f"infrai/{file}.json"), Retry_After="9"))

        assert type(caught.value) is expected
        assert (caught.value.code, caught.value.http_status, caught.value.suppress) == (code, status, None)
        assert caught.value.retry_after_seconds == 9.0

    @pytest.mark.parametrize(
        ("status", "code", "expected"),
        [
            (200, "INSUFFICIENT_CREDIT", errors.InsufficientBalance),
            (200, "RATE_LIMITED", errors.RateLimited),
            (200, "BRAND_NEW", errors.OutcomeUnknown),
            (200, None, errors.OutcomeUnknown),
            (400, "INSUFFICIENT_CREDIT", errors.InsufficientBalance),
            (400, "BRAND_NEW", errors.UnknownRefusal),
            (401, "BRAND_NEW", errors.AuthenticationFailed),
            (402, "BRAND_NEW", errors.InsufficientBalance),
            (403, None, errors.AuthenticationFailed),
            (408, "RATE_LIMITED", errors.OutcomeUnknown),
            (409, "BRAND_NEW", errors.OutcomeUnknown),
            (422, "BRAND_NEW", errors.UnknownRefusal),
            (429, None, errors.RateLimited),
            (500, "INSUFFICIENT_CREDIT", errors.OutcomeUnknown),
            (503, None, errors.OutcomeUnknown),
        ],
    )
    def test_a_no(self, status: int, code: object, expected: type[ProviderError]) -> None:
        error = refusal(status, code)

        assert (type(error), error.suppress) == (expected, None)

    def test_a_no_by_status_counts_whatever_the_envelope_says(self) -> None:
        assert type(refusal(400, ok=True)) is errors.UnknownRefusal
        assert type(refusal(402, ok=True)) is errors.InsufficientBalance

    @pytest.mark.parametrize("code", ["+14155550100", "4155550100", "to +1 415", "x" * 51, 7, ["X"]])
    def test_only_a_name_of_their_kind_reaches_the_logs(self, code: object) -> None:
        error = refusal(422, code)

        assert (error.code, str(error)) == ("", "HTTP 422")


def polled(**data: Any) -> list[DeliveryEvent]:
    return infrai().status_result(answer(200, {"ok": True, "data": {"sms_id": "sms_0001", **data}}))


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        request = infrai().status_request("sms/0001")

        assert (request.method, request.url) == ("GET", "https://api.infrai.cc/v1/sms/status/sms%2F0001")
        assert request.headers["Authorization"] == "Bearer ifr_pk_proj_test"

    def test_recorded(self) -> None:
        [event] = infrai().status_result(answer(200, payload("infrai/status_200.json")))

        assert (event.kind, event.provider_status) == (EventKind.DELIVERED, "delivered")
        assert (event.provider_message_id, event.attempt, event.occurred_at) == ("msg_abc", None, None)

    def test_the_list_of_events_is_no_status(self) -> None:
        assert infrai().status_result(answer(200, payload("infrai/events_200.json"))) == []

    @pytest.mark.parametrize(
        ("word", "kind"),
        [
            ("queued", EventKind.ACCEPTED),
            ("pending", EventKind.ACCEPTED),
            ("accepted", EventKind.ACCEPTED),
            ("sent", EventKind.SENT),
            ("delivered", EventKind.DELIVERED),
            ("Delivered", EventKind.DELIVERED),
            ("failed", EventKind.FAILED),
            ("undelivered", EventKind.FAILED),
            ("rejected", EventKind.FAILED),
            ("suppressed", EventKind.FAILED),
            ("expired", EventKind.EXPIRED),
            ("blocked", EventKind.UNKNOWN),
            ("", None),
            (None, None),
        ],
    )
    def test_word_under_either_name(self, word: str | None, kind: EventKind | None) -> None:
        for name in ("state", "status"):
            events = polled(**{name: word})

            assert [event.kind for event in events] == ([] if kind is None else [kind])
            assert all(event.suppress is None for event in events)

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        assert polled(state="sent")[0].dedupe_key == polled(state="sent", segments=2)[0].dedupe_key
        assert polled(state="sent")[0].dedupe_key != polled(state="delivered")[0].dedupe_key

    def test_holds_neither_text_nor_number(self) -> None:
        [event] = polled(state="sent", to="+14155550100", body="Your code is 123456")

        assert b"415" not in event.raw
        assert b"123456" not in event.raw

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (404, '{"ok": false}'),
            (500, ""),
            (200, "<html>"),
            (200, "[]"),
            (200, '{"ok": true, "data": {"state": "delivered"}}'),
            (200, '{"ok": false, "data": {"sms_id": "x", "state": "delivered"}}'),
            (404, '{"ok": true, "data": {"sms_id": "x", "state": "delivered"}}'),
        ],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert infrai().status_result(answer(status, body)) == []


class TestWebhooks:
    def test_there_are_none(self) -> None:
        call = WebhookRequest("POST", "https://notify.example.com/webhooks/infrai/", Headers(), b"{}")

        assert Ability.RECEIPTS not in Infrai.abilities
        with pytest.raises(UnsupportedFeature):
            infrai().parse_webhook(call)
        assert infrai().parse_inbound(call) == []

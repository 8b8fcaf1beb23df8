"""Only what is odd about Telnyx."""

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
    AttemptRef,
    DeliveryEvent,
    EventKind,
    Headers,
    InboundMessage,
    SendResult,
    WebhookRequest,
)
from providers.telnyx import Telnyx
from providers.telnyx.codes import FAILURES, PHONE_NUMBERS, REFUSALS, STATUSES, SUPPRESS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, case, payload
from tests.providers.samples.telnyx import TELNYX_VECTOR, telnyx, telnyx_webhook

MESSAGE = SAMPLES["telnyx"].message
MESSAGE_ID = "40385f64-5717-4562-b3fc-2c963f66afa6"
PROFILE = "83d2343b-553f-4c5f-b8c8-fd27004f94bf"
SPEC = json.loads((Path(__file__).parent / "specs" / "telnyx-derived.json").read_text())
PUBLISHED_FIELDS = {name.rstrip("_") for name in SPEC["request_fields"]} - {"idempotency_key"}

# From the vendor's error reference, by what it tells to do.
LISTED: dict[type[ProviderError], tuple[int, ...]] = {
    errors.RateLimited: (10011, 40318, 40020),
    errors.Unavailable: (40006, 40011, 40002, 40016, 40018, 40320, 40005, 40014),
    errors.OutcomeUnknown: (10007, 10008, 10012),
    errors.AuthenticationFailed: (10009, 10010, 20012, 20013, 20014),
    errors.InsufficientBalance: (20100, 40333),
    errors.InvalidRequest: (10003, 10004, 10015),
    errors.RecipientOptedOut: (40300,),
    errors.RecipientUnavailable: (40001,),
    errors.InvalidRecipient: (40012, 40310),
    errors.RouteRejected: (40004, 40008, 40301, 40319),
    errors.ContentRejected: (40009, 40302, 40304, 40316, 40317, 40322, 40328, 40015, 40017),
    errors.SenderNotAllowed: (
        *(40003, 40013, 40305, 40306, 40307, 40308, 40325, 40311, 40312, 40313, 40314),
        *(40315, 40321, 40323, 40019, 40100, 40150, 40151, 40155),
    ),
    errors.SenderNotRegistered: (40010, 40309, 40329, 40330, 40331),
}
CODES = [(code, error) for error, listed in LISTED.items() for code in listed]


def fields(adapter: Telnyx, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    return body


class TestSendRequest:
    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("telnyx/send_request.json"))
        request = telnyx().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key="ntf-0001-a1"))

        own = {"webhook_url": f"https://notify.example.com/webhooks/telnyx/?attempt={ATTEMPT.id}"}
        assert json.loads(request.body) == recorded["body"] | own
        assert set(request.headers) == set(recorded["headers"]) | {"Accept"}
        assert request.headers["Idempotency-Key"] == recorded["headers"]["Idempotency-Key"]
        assert request.headers["Authorization"] == "Bearer KEY0123456789"
        assert (request.method, request.url) == ("POST", "https://api.telnyx.com/v2/messages")

    def test_has_published_fields_only(self) -> None:
        assert set(fields(telnyx())) <= PUBLISHED_FIELDS

    def test_without_a_key_none_is_made_up(self) -> None:
        assert "Idempotency-Key" not in telnyx().send_request(MESSAGE, ATTEMPT).headers

    def test_a_repeated_call_is_the_same_to_the_byte(self) -> None:
        """From an adapter of its own, as after a restart, and when the message is useful for less time than before."""
        attempt = AttemptRef(ATTEMPT.id, key="key-7")

        first = telnyx().send_request(MESSAGE, attempt)
        again = telnyx().send_request(replace(MESSAGE, useful_seconds=1), attempt)

        assert (again.url, again.headers, again.body) == (first.url, first.headers, first.body)

    def test_a_key_is_not_trusted_to_its_last_hour(self) -> None:
        assert Telnyx.key_life_seconds <= 23 * 60 * 60

    def test_a_key_of_ours_is_one_of_theirs(self) -> None:
        """1 to 255 letters, digits, hyphens, underscores, colons."""
        assert ATTEMPT.id.replace("-", "").isalnum()
        assert len(ATTEMPT.id) <= 255

    @pytest.mark.parametrize(
        ("settings", "country", "expected"),
        [
            ({"from": "+15005550006"}, "US", {"from": "+15005550006"}),
            ({"from": "+15005550006", "senders": {"DE": "Shop"}}, "DE", {"from": "Shop"}),
            ({"from": "+15005550006", "senders": {"DE": "Shop"}}, "FR", {"from": "+15005550006"}),
            ({"messaging_profile_id": PROFILE}, "US", {"messaging_profile_id": PROFILE}),
            (
                {"senders": {"DE": "Shop"}, "messaging_profile_id": PROFILE},
                "DE",
                {"from": "Shop", "messaging_profile_id": PROFILE},
            ),
        ],
    )
    def test_sender(self, settings: dict[str, Any], country: str, expected: dict[str, str]) -> None:
        sent = fields(telnyx(**settings), country=country)

        assert {name: sent[name] for name in ("from", "messaging_profile_id") if name in sent} == expected

    @pytest.mark.parametrize(("settings", "country"), [({"senders": {}}, ""), ({"senders": {"DE": "Shop"}}, "FR")])
    def test_needs_a_sender(self, settings: dict[str, Any], country: str) -> None:
        with pytest.raises(SenderNotAllowed):
            telnyx(**settings).send_request(replace(MESSAGE, country=country), ATTEMPT)

    def test_without_an_address_for_reports_the_profile_decides(self) -> None:
        adapter = Telnyx(replace(telnyx().account, callback_url=None))

        assert not {"webhook_url", "use_profile_webhooks"} & set(fields(adapter))

    def test_drops_nothing_in_silence(self) -> None:
        with pytest.raises(UnsupportedFeature):
            telnyx().send_request(replace(MESSAGE, subject="x"), ATTEMPT)
        with pytest.raises(UnsupportedFeature):
            telnyx().send_request(replace(MESSAGE, html="<p>x"), ATTEMPT)

    def test_text_code_with_leading_zero_stays_text(self) -> None:
        assert fields(telnyx(), text="012345")["text"] == "012345"


def refusal(status: int, *told: Any, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        telnyx().send_result(answer(status, {"errors": list(told)}, **headers))
    return caught.value


def fault(code: Any, pointer: str | None = None) -> dict[str, Any]:
    told = {"code": str(code), "title": "t", "detail": "about +14155550100"}
    return told if pointer is None else told | {"source": {"pointer": pointer}}


class TestSendResult:
    def test_taken(self) -> None:
        recorded = payload("telnyx/send_response_200.json")

        assert telnyx().send_result(answer(200, recorded)) == SendResult(MESSAGE_ID, "queued", 1)

    def test_recorded_answers_fit_the_published_schema(self) -> None:
        for file in ("send_response_200", "get_200_delivered"):
            jsonschema.validate(json.loads(payload(f"telnyx/{file}.json"))["data"], SPEC["response_data_schema"])

    @pytest.mark.parametrize(
        ("status", "file", "expected", "suppress"),
        [
            (400, "error_400_40310", errors.InvalidRecipient, "invalid"),
            (400, "error_400_40318", errors.RateLimited, None),
            (400, "error_400_40333", errors.InsufficientBalance, None),
            (401, "error_401_10009", errors.AuthenticationFailed, None),
            (409, "error_409_40300", errors.RecipientOptedOut, "opted_out"),
            (429, "error_429_10011", errors.RateLimited, None),
        ],
    )
    def test_recorded_refusals(
        self, status: int, file: str, expected: type[ProviderError], suppress: str | None
    ) -> None:
        with pytest.raises(ProviderError) as caught:
            telnyx().send_result(answer(status, payload(f"telnyx/{file}.json")))

        error = caught.value
        assert type(error) is expected
        assert (error.code, error.http_status, error.suppress) == (file[-5:], status, suppress)
        assert "invented" not in str(error)

    @pytest.mark.parametrize(("code", "expected"), CODES)
    def test_every_listed_code_is_certain_with_a_4xx_and_unclear_with_a_5xx(
        self, code: int, expected: type[ProviderError]
    ) -> None:
        assert type(refusal(400, fault(code))) is expected
        unclear = refusal(500, fault(code))
        assert (type(unclear), unclear.suppress) == (errors.OutcomeUnknown, None)

    def test_no_code_is_forgotten_here(self) -> None:
        assert {code for code, _ in CODES} == set(REFUSALS)

    @pytest.mark.parametrize(
        ("code", "pointer", "expected"),
        [
            (10002, "/to", errors.InvalidRecipient),
            (10016, "/to", errors.InvalidRecipient),
            (10016, "/from", errors.SenderNotAllowed),
            (10016, None, errors.UnknownRefusal),
            (10002, "/cc", errors.UnknownRefusal),
        ],
    )
    def test_a_bad_number_is_whose_the_pointer_says(
        self, code: int, pointer: str | None, expected: type[ProviderError]
    ) -> None:
        for status in (400, 422):
            error = refusal(status, fault(code, pointer))

            assert type(error) is expected
            assert error.suppress is None
        assert code in PHONE_NUMBERS

    def test_the_parameter_will_do_for_the_pointer(self) -> None:
        told = {"code": "10002", "title": "t", "source": {"parameter": "to"}}

        assert type(refusal(400, told)) is errors.InvalidRecipient

    def test_of_several_errors_the_one_we_know_counts(self) -> None:
        error = refusal(400, fault(49999), fault(40310))

        assert (type(error), error.code) == (errors.InvalidRecipient, "40310")

    @pytest.mark.parametrize("status", [400, 404, 418])
    def test_an_unlisted_code_is_an_unknown_refusal(self, status: int) -> None:
        for code in (49999, 10099, "abc", None):
            assert type(refusal(status, fault(code))) is errors.UnknownRefusal

    @pytest.mark.parametrize("status", [409, 422])
    def test_a_conflict_of_keys_proves_nothing(self, status: int) -> None:
        """Neither that the first call sent nor that it did not: above all it is no reason to send afresh."""
        assert type(refusal(status, fault(10099))) is errors.OutcomeUnknown
        assert type(refusal(status, fault(10012))) is errors.OutcomeUnknown
        assert type(refusal(status, fault(49999))) is errors.UnknownRefusal  # about the message, so about no key

    def test_a_402_is_about_money(self) -> None:
        assert type(refusal(402, fault(99999))) is errors.InsufficientBalance

    def test_a_block_of_a_day_is_waited_out(self) -> None:
        assert refusal(400, fault(40020)).retry_after_seconds == 24 * 60 * 60
        assert refusal(400, fault(40020), Retry_After="60").retry_after_seconds == 60
        assert refusal(500, fault(40020)).retry_after_seconds is None

    @pytest.mark.parametrize("body", ["{}", "[]", '{"data": []}', '{"data": {}}', '{"data": {"id": 7}}', '{"id": "1"}'])
    def test_a_success_that_names_no_message_is_unclear(self, body: str) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            telnyx().send_result(answer(200, body))

    def test_only_a_number_reaches_the_logs(self) -> None:
        error = refusal(400, {"code": "+14155550100", "title": "x"}, fault(40310))

        assert "+1415" not in f"{error} {error.code}"


def polled(status: str | None = None, *told: Any, **changes: Any) -> list[DeliveryEvent]:
    record = {**json.loads(payload("telnyx/get_200_delivered.json"))["data"], **changes}
    if status is not None:
        record["to"][0]["status"] = status
    return telnyx().status_result(answer(200, {"data": {**record, "errors": list(told)}}))


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert telnyx().status_request(MESSAGE_ID).url == f"https://api.telnyx.com/v2/messages/{MESSAGE_ID}"

    def test_recorded(self) -> None:
        [event] = telnyx().status_result(answer(200, payload("telnyx/get_200_delivered.json")))

        assert (event.kind, event.provider_status) == (EventKind.DELIVERED, "delivered")
        assert (event.provider_message_id, event.error_code) == (MESSAGE_ID, "")
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, 123000, tzinfo=UTC)

    def test_every_published_status_has_a_meaning(self) -> None:
        published = SPEC["response_data_schema"]["$defs"]["To"]["properties"]["status"]["anyOf"][0]["enum"]

        assert set(published) == set(STATUSES)

    @pytest.mark.parametrize(
        ("status", "code", "kind", "suppress"),
        [
            ("queued", None, EventKind.ACCEPTED, None),
            ("sending", None, EventKind.ACCEPTED, None),
            ("sent", None, EventKind.SENT, None),
            ("delivered", None, EventKind.DELIVERED, None),
            ("Delivered", None, EventKind.DELIVERED, None),
            ("read", None, EventKind.DELIVERED, None),
            ("delivered", 40001, EventKind.DELIVERED, None),
            ("expired", None, EventKind.EXPIRED, None),
            ("delivery_unconfirmed", None, EventKind.SENT, None),
            ("delivery_failed", None, EventKind.FAILED, None),
            ("delivery_failed", 49999, EventKind.FAILED, None),
            ("delivery_failed", 40008, EventKind.FAILED, None),
            ("sending_failed", 40010, EventKind.FAILED, None),
            ("delivery_failed", 40001, EventKind.FAILED, "unreachable"),
            ("delivery_failed", 40012, EventKind.FAILED, "invalid"),
            ("sending_failed", 40310, EventKind.FAILED, "invalid"),
            ("sending_failed", 40300, EventKind.FAILED, "opted_out"),
            ("delivery_failed", 40005, EventKind.EXPIRED, None),
            ("sending_failed", 40014, EventKind.EXPIRED, None),
            *(
                (status, code, EventKind.NOT_REACHED, None)
                for status in ("sending_failed", "delivery_failed")
                for code in (40002, 40004, 40006, 40011, 40016, 40018, 40020, 40318, 40320)
            ),
            ("huh", None, EventKind.UNKNOWN, None),
            ("huh", 40001, EventKind.UNKNOWN, None),
        ],
    )
    def test_status(self, status: str, code: int | None, kind: EventKind, suppress: str | None) -> None:
        told = [] if code is None else [fault(code)]

        [event] = polled(status, *told)

        assert (event.kind, event.suppress) == (kind, suppress)
        assert event.error_code == ("" if code is None else str(code))

    def test_no_failure_that_passes_suppresses(self) -> None:
        assert not set(FAILURES) & set(SUPPRESS)

    def test_a_warning_is_not_the_cause(self) -> None:
        [event] = polled("delivery_failed", fault(40328), fault(40012))

        assert event.error_code == "40012"

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        assert polled()[0].dedupe_key == polled(cost={"amount": "0.0102", "currency": "USD"})[0].dedupe_key
        assert polled()[0].dedupe_key != polled("sent")[0].dedupe_key

    def test_holds_neither_text_nor_number(self) -> None:
        raw = polled()[0].raw

        assert b"Your code" not in raw
        assert b"+1415" not in raw

    @pytest.mark.parametrize(
        ("status", "body"),
        [(404, '{"errors": []}'), (200, "<html>"), (200, "{}"), (200, '{"data": {"id": "1"}}'), (500, "")],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert telnyx().status_result(answer(status, body)) == []


def recorded(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(payload(f"telnyx/{name}.json"))
    return content


def report(name: str = "callback_sent", **event: Any) -> DeliveryEvent:
    content = recorded(name)
    content["data"] |= event
    [parsed] = telnyx().parse_webhook(telnyx_webhook(content))
    return parsed


class TestReceipts:
    @pytest.mark.parametrize(
        ("file", "kind", "status", "code", "suppress"),
        [
            ("callback_sent", EventKind.SENT, "sent", "", None),
            ("callback_finalized_delivered", EventKind.DELIVERED, "delivered", "", None),
            ("callback_finalized_delivery_unconfirmed", EventKind.SENT, "delivery_unconfirmed", "", None),
            (
                "callback_finalized_delivery_failed_40001",
                EventKind.FAILED,
                "delivery_failed",
                "40001",
                "unreachable",
            ),
            ("callback_finalized_sending_failed_40010", EventKind.FAILED, "sending_failed", "40010", None),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, status: str, code: str, suppress: str | None) -> None:
        event = report(file)

        assert (event.kind, event.provider_status, event.error_code, event.suppress) == (kind, status, code, suppress)
        assert (event.provider_message_id, event.attempt) == (MESSAGE_ID, "42")
        assert event.dedupe_key == recorded(file)["data"]["id"]
        assert event.occurred_at == datetime.fromisoformat(recorded(file)["data"]["occurred_at"])

    def test_recorded_ones_fit_the_published_schema(self) -> None:
        for name in ("callback_sent", "callback_finalized_delivered", "callback_finalized_sending_failed_40010"):
            jsonschema.validate(recorded(name)["data"]["payload"], SPEC["response_data_schema"])

    def test_the_attempt_is_the_one_that_is_signed(self) -> None:
        """The address of a call is not: whoever plays a genuine one again could name any attempt in it."""
        genuine = telnyx_webhook(recorded("callback_sent"))

        [event] = telnyx().parse_webhook(replace(genuine, url="https://notify.example.com/webhooks/telnyx/?attempt=43"))

        assert event.attempt == "42"

    def test_an_event_without_an_id_has_one_of_its_own(self) -> None:
        keys = [
            report("callback_sent", id=None).dedupe_key,
            report("callback_sent", id=None).dedupe_key,
            report("callback_finalized_delivered", id=None).dedupe_key,
            report("callback_sent", id=None, occurred_at="2026-01-15T10:00:02.000+00:00").dedupe_key,
        ]

        assert keys[0] == keys[1]
        assert len(set(keys)) == 3

    def test_dlr_unknown_words_change_nothing(self) -> None:
        content = recorded("callback_sent")
        content["data"]["payload"]["to"][0]["status"] = "huh"

        [event] = telnyx().parse_webhook(telnyx_webhook(content))

        assert (event.kind, event.provider_status) == (EventKind.UNKNOWN, "huh")

    def test_dlr_new_fields_do_not_matter(self) -> None:
        extra = {f"new_{index}": {"a": [index]} for index in range(10)}
        content = recorded("callback_finalized_delivered")
        content |= extra
        content["data"] |= extra
        content["data"]["payload"] |= extra

        [event] = telnyx().parse_webhook(telnyx_webhook(content))

        assert event.kind is EventKind.DELIVERED

    def test_an_event_about_no_message_is_kept(self) -> None:
        event = report("callback_sent", event_type="10dlc.campaign.update", payload={"status": "x"})

        assert (event.kind, event.provider_status, event.attempt) == (EventKind.UNKNOWN, "10dlc.campaign.update", None)

    def test_dlr_metadata_never_steers(self) -> None:
        """Nothing that a client may choose, such as tags, is read."""
        content = recorded("callback_sent")
        content["data"]["payload"]["tags"] = ["event_type:message.finalized", "status:delivered"]

        [event] = telnyx().parse_webhook(telnyx_webhook(content))

        assert event.kind is EventKind.SENT

    def test_text_lone_surrogate_is_no_obstacle(self) -> None:
        content = recorded("callback_finalized_delivered")
        content["data"]["payload"]["text"] = "ok \ud83d"

        [event] = telnyx().parse_webhook(telnyx_webhook(content))

        assert event.kind is EventKind.DELIVERED

    def test_dlr_invalid_utf8_is_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            telnyx().parse_webhook(telnyx_webhook(case("dlr-invalid-utf8/callback.json")))

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"{}",
            b'{"data": []}',
            b'{"data": {"event_type": 1.5}}',
            b'{"data": {"event_type": "message.sent"}}',
            b'{"data": {"event_type": "message.sent", "payload": {"id": "1"}}}',
            b'{"data": {"event_type": "message.sent", "payload": {"id": "1", "to": [{}]}}}',
            b'{"data": {"event_type": "message.sent", "payload": {"to": [{"status": "sent"}]}}}',
        ],
    )
    def test_what_names_no_message_or_status_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            telnyx().parse_webhook(telnyx_webhook(body))


class TestInbound:
    def test_recorded(self) -> None:
        body = payload("telnyx/inbound_received.json")

        assert telnyx().parse_inbound(telnyx_webhook(body)) == [
            InboundMessage(
                dedupe_key="84cca175-9755-4859-b67f-4730d7f58aa3",
                sender="+14155550100",
                recipient="+15005550006",
                text="STOP",
                received_at=datetime(2026, 1, 15, 20, 16, 7, 503000, tzinfo=UTC),
                raw=body,
            )
        ]

    def test_is_no_report(self) -> None:
        assert telnyx().parse_webhook(telnyx_webhook(payload("telnyx/inbound_received.json"))) == []

    def test_a_report_is_no_text(self) -> None:
        assert telnyx().parse_inbound(telnyx_webhook(payload("telnyx/callback_sent.json"))) == []

    @pytest.mark.parametrize("text", [None, 5, {}])
    def test_a_picture_has_no_text(self, text: Any) -> None:
        content = recorded("inbound_received")
        content["data"]["payload"]["text"] = text

        [message] = telnyx().parse_inbound(telnyx_webhook(content))

        assert message.text == ""

    @pytest.mark.parametrize("missing", ["id", "from", "to"])
    def test_without_its_essentials_is_malformed(self, missing: str) -> None:
        content = recorded("inbound_received")
        del content["data"]["payload"][missing]

        with pytest.raises(MalformedWebhook):
            telnyx().parse_inbound(telnyx_webhook(content))

    def test_must_be_signed(self) -> None:
        for parse in (telnyx().parse_inbound, telnyx().parse_webhook):
            genuine = telnyx_webhook(payload("telnyx/inbound_received.json"))
            with pytest.raises(InvalidSignature):
                parse(replace(genuine, body=genuine.body.replace(b"STOP", b"START")))


def vector(body: bytes | None = None, **headers: str) -> WebhookRequest:
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    given = Headers({**TELNYX_VECTOR["headers"], **changed})
    return WebhookRequest("POST", "https://a.example/", given, body or TELNYX_VECTOR["body"].encode())


SIGNATURE = TELNYX_VECTOR["headers"]["telnyx-signature-ed25519"]


class TestSignature:
    def test_of_the_vendors_vector_is_believed(self) -> None:
        [event] = telnyx().parse_webhook(vector())

        assert (event.kind, event.provider_message_id) == (EventKind.DELIVERED, MESSAGE_ID)

    @pytest.mark.parametrize(
        "headers",
        [
            {"telnyx_timestamp": "1768471204"},
            {"telnyx_timestamp": ""},
            {"telnyx_timestamp": " 1768471203"},
            {"telnyx_timestamp": "+1768471203"},
            {"telnyx_timestamp": "１７６８４７１２０３"},
            {"telnyx_timestamp": "\ud83d"},
            {"telnyx_signature_ed25519": ""},
            {"telnyx_signature_ed25519": "no base64"},
            {"telnyx_signature_ed25519": "é"},
            {"telnyx_signature_ed25519": SIGNATURE[:-4]},
            {"telnyx_signature_ed25519": SIGNATURE.lower()},
            {"telnyx_signature_ed25519": SIGNATURE[4:] + SIGNATURE[:4]},
            {"telnyx_signature_ed25519": f"{SIGNATURE},{SIGNATURE}"},
        ],
    )
    def test_covers_time_and_is_one(self, headers: dict[str, str]) -> None:
        with pytest.raises(InvalidSignature):
            telnyx().parse_webhook(vector(**headers))

    def test_covers_the_bytes_as_they_came(self) -> None:
        body = TELNYX_VECTOR["body"].encode()

        for changed in (
            body.replace(b'"delivered"', b'"delivery_failed"'),
            json.dumps(json.loads(body)).encode(),
            body + b"\n",
        ):
            with pytest.raises(InvalidSignature):
                telnyx().parse_webhook(vector(changed))

    @pytest.mark.parametrize("missing", ["telnyx-signature-ed25519", "telnyx-timestamp"])
    def test_needs_both_headers(self, missing: str) -> None:
        headers = Headers({name: value for name, value in TELNYX_VECTOR["headers"].items() if name != missing})

        with pytest.raises(InvalidSignature):
            telnyx().parse_webhook(replace(vector(), headers=headers))

    @pytest.mark.parametrize(
        "key", ["", "no base64", "é", TELNYX_VECTOR["public_key_base64"][:-4], "A" * 43 + "=", "BBBB" * 10 + "BBA="]
    )
    def test_is_not_made_with_another_key(self, key: str) -> None:
        account = telnyx().account
        other = Telnyx(replace(account, credentials={**account.credentials, "webhook_public_key": key}))

        with pytest.raises(InvalidSignature):
            other.parse_webhook(vector())

    def test_sig_clock_skew_is_not_looked_at(self) -> None:
        """Their repetitions are signed afresh, and a call played again is one more repetition of its event."""
        bodies = [telnyx_webhook(recorded("callback_sent"), sent_at) for sent_at in ("1", "1768471203", "9999999999")]

        keys = {event.dedupe_key for body in bodies for event in telnyx().parse_webhook(body)}

        assert len(keys) == 1

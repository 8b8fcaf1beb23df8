"""Only what is odd about Vonage's SMS API; looking up is tested with the Messages API."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jsonschema
import pytest

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRequest,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import (
    AttemptRef,
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    Headers,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.vonage_sms import VonageSms
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, case, payload
from tests.providers.samples.vonage_sms import (
    SMS_CREDENTIALS,
    SMS_SECRET,
    SMS_URL,
    SMS_VECTORS,
    receipt_by_form,
    receipt_by_get,
    receipt_by_json,
    vonage_sms,
)

MESSAGE = SAMPLES["vonage_sms"].message
SENT = SAMPLES["vonage_sms"].sent
ID = "0A0000000123ABCD1"
SPEC = json.loads((Path(__file__).parent / "specs" / "vonage-sms.json").read_text())


def form(adapter: VonageSms, message: OutgoingMessage = MESSAGE) -> dict[str, str]:
    return dict(parse_qsl(adapter.send_request(message, ATTEMPT).body.decode(), strict_parsing=True))


def of_text(text: str) -> tuple[str, str]:
    """The alphabet and what follows the attempt id in the reference."""
    sent = form(vonage_sms(), replace(MESSAGE, text=text))
    assert sent["client-ref"].startswith(ATTEMPT.id)
    return sent["type"], sent["client-ref"].removeprefix(ATTEMPT.id)


class TestSendRequest:
    def test_fits_the_published_schema(self) -> None:
        fields: dict[str, Any] = {**form(vonage_sms()), "api_key": "abcd1234"}  # which is in a header instead
        fields |= {"ttl": int(fields["ttl"]), "status-report-req": fields["status-report-req"] == "1"}

        jsonschema.validate(fields, {**SPEC["components"]["schemas"]["NewMessage"], "additionalProperties": False})

    def test_is_the_recorded_one(self) -> None:
        recorded = dict(parse_qsl(payload("vonage_sms/send_request.txt").decode().split("\n")[-1]))

        assert form(vonage_sms()) == recorded | {"client-ref": ATTEMPT.id, "callback": SMS_URL}

    def test_goes_out_with_key_and_secret_in_a_header(self) -> None:
        request = vonage_sms().send_request(MESSAGE, ATTEMPT)

        assert request.url == "https://rest.nexmo.com/sms/json"
        assert request.headers["Authorization"] == f"Basic {base64.b64encode(b'abcd1234:abcdef0123456789').decode()}"

    def test_asks_for_no_receipt_where_none_can_come(self) -> None:
        adapter = VonageSms(replace(vonage_sms().account, callback_url=None))

        assert not {"callback", "status-report-req"} & set(form(adapter))

    @pytest.mark.parametrize(
        ("useful", "ttl"), [(None, None), (-5, "20000"), (20, "20000"), (300, "300000"), (10**6, "604800000")]
    )
    def test_is_valid_as_long_as_it_is_useful(self, useful: int | None, ttl: str | None) -> None:
        assert form(vonage_sms(), replace(MESSAGE, useful_seconds=useful)).get("ttl") == ttl  # milliseconds

    @pytest.mark.parametrize(
        ("text", "alphabet", "suffix"),
        [
            ("a" * 160, "text", ""),
            ("a" * 161, "text", "-2"),
            ("a" * 306, "text", "-2"),
            ("a" * 307, "text", "-3"),
            ("€" * 80, "text", ""),
            ("€" * 80 + "a", "text", "-2"),
            ("a" * 152 + "€" * 77, "text", "-3"),  # an escape pair is not cut: 152, 152 and 2 septets
            ("größer", "text", ""),
            ("ç", "unicode", ""),
            ("“quoted”", "unicode", ""),
            ("ж" * 70, "unicode", ""),
            ("ж" * 71, "unicode", "-2"),
            ("😭" * 35, "unicode", ""),
            ("😭" * 36, "unicode", "-2"),
            ("😭" * 67, "unicode", "-3"),  # 33 to a part
            ("", "text", ""),
        ],
    )
    def test_names_the_alphabet_and_carries_the_number_of_parts(self, text: str, alphabet: str, suffix: str) -> None:
        assert of_text(text) == (alphabet, suffix)

    def test_a_reference_is_no_longer_than_theirs_may_be(self) -> None:
        long = replace(MESSAGE, text="ж" * 1600)
        request = vonage_sms().send_request(long, AttemptRef(f"{'f' * 32}-9999"))

        assert len(dict(parse_qsl(request.body.decode()))["client-ref"]) <= 40

    def test_comes_from_the_sender_of_the_country(self) -> None:
        adapter = vonage_sms(senders={"GB": "Landfall"})

        assert form(adapter, replace(MESSAGE, country="GB"))["from"] == "Landfall"
        assert form(adapter, replace(MESSAGE, country="US"))["from"] == "15005550006"

    def test_names_the_registration_in_india_only(self) -> None:
        adapter = vonage_sms(entity_id="11014563", content_id="11074575")
        indian = form(adapter, replace(MESSAGE, country="IN"))

        assert (indian["entity-id"], indian["content-id"]) == ("11014563", "11074575")
        assert "entity-id" not in form(adapter)

    def test_drops_nothing_in_silence(self) -> None:
        for message in (replace(MESSAGE, subject="x"), replace(MESSAGE, html="<p>x")):
            with pytest.raises(UnsupportedFeature):
                vonage_sms().send_request(message, ATTEMPT)

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            VonageSms(replace(vonage_sms().account, settings={})).send_request(MESSAGE, ATTEMPT)


# From the vendor's list of statuses.
STATUSES: dict[type[ProviderError], tuple[int, ...]] = {
    RateLimited: (1, 10),
    InvalidRequest: (2, 3, 22, 23),
    AuthenticationFailed: (4, 8, 11, 14, 32),
    OutcomeUnknown: (5,),
    RouteRejected: (6,),
    RecipientOptedOut: (7,),
    InsufficientBalance: (9,),
    ContentRejected: (12,),
    SenderNotAllowed: (29,),
    SenderNotRegistered: (15,),
    RecipientUnavailable: (33,),
    UnknownRefusal: (13, 16, 99, 999),  # not in it
}


def parts(*statuses: Any, count: object = None) -> dict[str, Any]:
    """An answer with a part for each status."""
    messages = [
        {"status": status, "message-id": f"0A{number}"} if str(status) == "0" else {"status": status, "error-text": "?"}
        for number, status in enumerate(statuses)
    ]
    return {"message-count": str(len(messages)) if count is None else count, "messages": messages}


def refused(body: Any, status: int = 200, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        vonage_sms().send_result(answer(status, body, **headers))
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        taken = vonage_sms().send_result(answer(200, payload("vonage_sms/send_response_200.json")))

        assert taken == SendResult(ID, segments=1)

    def test_taken_in_parts(self) -> None:
        taken = vonage_sms().send_result(answer(200, payload("vonage_sms/send_response_200_two_parts.json")))

        assert taken == SendResult(f"{ID},0A0000000123ABCD2", segments=2)

    def test_keeps_as_many_ids_as_can_be_kept(self) -> None:
        ids = [f"{number:032x}" for number in range(24)]
        messages = [{"status": "0", "message-id": id} for id in ids]

        taken = vonage_sms().send_result(answer(200, {"message-count": "24", "messages": messages}))

        assert taken == SendResult(",".join(ids[:6]), segments=24)
        assert len(taken.provider_message_id or "") <= 200

    @pytest.mark.parametrize(
        ("file", "expected", "suppress", "wait"),
        [
            ("status_1", RateLimited, None, 0.25),
            ("status_4", AuthenticationFailed, None, None),
            ("status_7", RecipientOptedOut, "opted_out", None),
            ("status_9", InsufficientBalance, None, None),
            ("status_15", SenderNotRegistered, None, None),
        ],
    )
    def test_recorded_refusals_come_with_200(
        self, file: str, expected: type[ProviderError], suppress: str | None, wait: float | None
    ) -> None:
        error = refused(payload(f"vonage_sms/send_response_200_{file}.json"))

        assert (type(error), error.code, error.http_status) == (expected, file.removeprefix("status_"), 200)
        assert (error.suppress, error.retry_after_seconds) == (suppress, wait)

    @pytest.mark.parametrize(
        ("status", "expected"), [(status, error) for error, statuses in STATUSES.items() for status in statuses]
    )
    def test_every_listed_status(self, status: int, expected: type[ProviderError]) -> None:
        for written in (str(status), status):
            error = refused(parts(written))

            assert (type(error), error.code) == (expected, str(status))
            assert error.suppress == {7: "opted_out", 33: "unreachable"}.get(status)

    def test_every_published_status_is_listed(self) -> None:
        published = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 22, 23, 29, 32, 33}

        assert published == {code for error, codes in STATUSES.items() if error is not UnknownRefusal for code in codes}

    def test_recorded_partial_failure_is_unclear(self) -> None:
        error = refused(payload("vonage_sms/send_response_200_partial_failure.json"))

        assert (type(error), error.code, error.suppress) == (OutcomeUnknown, "1", None)
        assert "1 of 2 parts" in error.detail
        assert error.retry_after_seconds is None

    @pytest.mark.parametrize("statuses", [("0", "7"), ("7", "0"), ("0", "0", "33"), ("5", "0"), ("99", "0")])
    def test_whatever_part_failed_the_others_are_on_their_way(self, statuses: tuple[str, ...]) -> None:
        error = refused(parts(*statuses))

        assert (type(error), error.suppress) == (OutcomeUnknown, None)

    def test_where_all_parts_failed_the_first_tells_why(self) -> None:
        assert type(refused(parts("1", "1"))) is RateLimited
        assert type(refused(parts("7", "1"))) is RecipientOptedOut
        assert type(refused(parts("1", "5"))) is OutcomeUnknown  # an internal error may have sent

    @pytest.mark.parametrize(
        "body",
        [
            "[]",
            "{}",
            {"messages": []},
            {"messages": {}},
            {"messages": ["0"]},
            parts(""),
            parts(None),
            parts("x"),
            parts(True),
            parts("0", None),
            parts("0", count="2"),
            parts("1", count="2"),
            {"message-count": "1", "messages": [{"status": "0"}]},
            {"message-count": "1", "messages": [{"status": "0", "message-id": 5}]},
            {"message-count": "2", "messages": [{"status": "0", "message-id": "a"}, {"status": "0"}]},
        ],
    )
    def test_an_answer_that_does_not_tell_of_all_is_unclear(self, body: Any) -> None:
        assert type(refused(body)) is OutcomeUnknown

    @pytest.mark.parametrize(
        ("text", "headers", "wait"),
        [
            ("please wait [ 250 ] and retry", {}, 0.25),
            ("please wait [1000] and retry", {}, 1.0),
            ("please wait [ 250 ] and retry", {"Retry_After": "3"}, 3.0),
            ("please wait", {}, None),
            (None, {}, None),
        ],
    )
    def test_reads_how_long_to_wait(self, text: str | None, headers: dict[str, str], wait: float | None) -> None:
        body = {"message-count": "1", "messages": [{"status": "1", "error-text": text}]}

        assert refused(body, **headers).retry_after_seconds == wait

    def test_http_counts_before_what_the_body_says(self) -> None:
        assert type(refused(parts("0"), status=429)) is RateLimited
        assert type(refused(parts("0"), status=500)) is OutcomeUnknown
        assert type(refused(parts("7"), status=401)) is AuthenticationFailed


def record(part: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "message_id": f"0C{part}",
        "client_ref": ATTEMPT.id,
        "to": "14155550100",
        "status": "delivered",
        "error_code": "0",
        "date_finalized": "2027-01-15T10:00:03+0000",
        **changes,
    }


def report(*records: Any, **changes: Any) -> dict[str, Any]:
    return {"request_status": "SUCCESS", "items_count": len(records), "records": list(records), **changes}


def find(*records: Any, sent: SentMessage = SENT) -> FindResult:
    return vonage_sms().find_result(answer(200, report(*records)), sent)


def status(*records: Any) -> DeliveryEvent:
    [event] = vonage_sms().status_result(answer(200, report(*records)))
    return event


THREE = f"{ATTEMPT.id}-3"


class TestLookUp:
    def test_asks_the_reports_of_sms(self) -> None:
        search = urlsplit(vonage_sms().find_request(SENT).url)
        single = urlsplit(vonage_sms().status_request("0C1,0C2").url)

        assert (search.netloc, search.path) == ("api.nexmo.com", "/v2/reports/records")
        assert dict(parse_qsl(search.query))["product"] == "SMS"
        assert dict(parse_qsl(single.query))["id"] == "0C1,0C2"

    def test_is_found_by_its_reference(self) -> None:
        found = find(record(2, client_ref=f"{ATTEMPT.message}-2"), record())

        assert isinstance(found, Found)
        assert found.provider_message_id == "0C1"
        assert [event.kind for event in found.events] == [EventKind.DELIVERED]
        assert find(record(2, client_ref=f"{ATTEMPT.message}-2")) == NotThere()

    def test_parts_are_found_together(self) -> None:
        found = find(*(record(part, client_ref=THREE) for part in (1, 2, 3)))

        assert isinstance(found, Found)
        assert found.provider_message_id == "0C1,0C2,0C3"
        assert [event.kind for event in found.events] == [EventKind.DELIVERED]

    def test_parts_that_belong_to_another_attempt_are_not_ours(self) -> None:
        sent = replace(SENT, owned_ids=frozenset({"0C1,0C2,0C3"}))

        assert find(*(record(part, client_ref=THREE) for part in (1, 2, 3)), sent=sent) == NotThere()

    def test_several_attempts_are_nobodys(self) -> None:
        sent = replace(SENT, any_attempt=True)
        others = [record(part, client_ref=f"{ATTEMPT.message}-2-3") for part in (4, 5)]

        assert isinstance(find(record(client_ref=THREE), *others, sent=sent), CannotTell)
        assert isinstance(find(*others, sent=sent), Found)

    @pytest.mark.parametrize(
        ("statuses", "kind"),
        [
            (("delivered", "delivered", "delivered"), EventKind.DELIVERED),
            (("delivered", "delivered"), EventKind.SENT),  # the third is not on record yet
            (("delivered", "buffered", "delivered"), EventKind.SENT),
            (("delivered", "failed", "delivered"), EventKind.FAILED),
            (("failed", "expired", "delivered"), EventKind.FAILED),
            (("delivered", "expired", "buffered"), EventKind.EXPIRED),
            (("delivered", "unknown", "delivered"), EventKind.UNKNOWN),
        ],
    )
    def test_it_is_delivered_when_all_its_parts_are(self, statuses: tuple[str, ...], kind: EventKind) -> None:
        records = [record(part, client_ref=THREE, status=word) for part, word in enumerate(statuses)]

        for order in itertools.permutations(records):
            assert status(*order).kind is kind

    def test_more_parts_than_were_expected_have_to_be_delivered_too(self) -> None:
        assert status(record(1), record(2, status="buffered")).kind is EventKind.SENT
        assert status(record(1), record(2)).kind is EventKind.DELIVERED

    def test_a_part_on_record_twice_is_one_part(self) -> None:
        records = [record(part, client_ref=THREE) for part in (1, 2)]

        assert status(*records, records[0]).kind is EventKind.SENT

    def test_progress_of_parts_is_news(self) -> None:
        keys = [
            status(*(record(part, client_ref=THREE, status=word) for part, word in enumerate(words))).dedupe_key
            for words in (("delivered", "buffered", "accepted"), ("delivered",) * 3, ("delivered",) * 3)
        ]

        assert keys[0] != keys[1] == keys[2]

    def test_says_how_many_parts_arrived(self) -> None:
        event = status(
            *(record(part, client_ref=THREE, status=word) for part, word in enumerate(("delivered", "failed")))
        )

        assert event.provider_status == "failed, 1 of 3 delivered"
        assert b"14155550100" not in event.raw

    def test_an_answer_that_cannot_be_read_says_nothing(self) -> None:
        for code, body in (
            (403, report(record())),
            (200, "<html>"),
            (200, report(record(status=None))),
            (200, report()),
        ):
            assert vonage_sms().status_result(answer(code, body)) == []


def receipt(**changes: str) -> dict[str, str]:
    template = json.loads(payload("vonage_sms/callback_delivered.json"))
    return {**template, "client-ref": ATTEMPT.id, **changes}


def told(fields: dict[str, str], adapter: VonageSms | None = None) -> DeliveryEvent:
    [event] = (adapter or vonage_sms()).parse_webhook(receipt_by_form(fields))
    return event


class TestReceipts:
    @pytest.mark.parametrize(
        ("word", "code", "kind", "suppress"),
        [
            ("accepted", "0", EventKind.SENT, None),
            ("buffered", "0", EventKind.SENT, None),
            ("delivered", "0", EventKind.DELIVERED, None),
            ("Delivered", "0", EventKind.DELIVERED, None),
            ("expired", "1", EventKind.EXPIRED, None),
            ("unknown", "0", EventKind.UNKNOWN, None),
            ("huh", "9", EventKind.UNKNOWN, None),
            ("delivered", "9", EventKind.DELIVERED, None),
            ("failed", "1", EventKind.UNKNOWN, None),
            ("failed", "99", EventKind.UNKNOWN, None),
            ("failed", "2", EventKind.NOT_REACHED, None),
            ("rejected", "7", EventKind.NOT_REACHED, None),
            ("failed", "8", EventKind.NOT_REACHED, None),
            ("failed", "3", EventKind.FAILED, "unreachable"),
            ("rejected", "9", EventKind.FAILED, "opted_out"),
            *(("failed", code, EventKind.FAILED, None) for code in ("", "0", "4", "5", "6", "10", "11", "12", "13")),
            *(("rejected", code, EventKind.FAILED, None) for code in ("14", "15", "50", "51", "52", "53", "54", "777")),
        ],
    )
    def test_meaning(self, word: str, code: str, kind: EventKind, suppress: str | None) -> None:
        event = told(receipt(status=word, **{"err-code": code}))

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, "" if code == "0" else code)
        assert (event.attempt, event.provider_message_id, event.provider_status) == (ATTEMPT.id, ID, word)
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)

    def test_every_published_status_is_known(self) -> None:
        published = SPEC["components"]["schemas"]["DeliveryReceipt"]["properties"]["status"]["x-possible-values"]

        for word in set(published) - {"unknown"}:
            assert told(receipt(status=word)).kind is not EventKind.UNKNOWN

    @pytest.mark.parametrize("arrives", [receipt_by_get, receipt_by_form, receipt_by_json])
    def test_comes_by_any_of_three_ways(self, arrives: Any) -> None:
        call = arrives(receipt())

        [event] = vonage_sms().parse_webhook(call)

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, ATTEMPT.id)
        assert event.raw == (call.body or urlsplit(call.url).query.encode())
        assert event == replace(told(receipt()), raw=event.raw)

    def test_recorded_get(self) -> None:
        target = payload("vonage_sms/dlr_delivered_get.txt").split()[1].partition(b"?")[2]

        [event] = vonage_sms().parse_webhook(receipt_by_get(target))

        assert (event.kind, event.provider_message_id) == (EventKind.DELIVERED, ID)

    def test_dlr_invalid_utf8_is_read_all_the_same(self) -> None:
        target = case("dlr-invalid-utf8/query.txt").split()[1].partition(b"?")[2]
        as_bytes = receipt_by_get(target)
        as_letters = receipt_by_get(target.replace(b"%E9", b"%C3%A9"))
        proof = as_letters.url.rpartition("&sig=")[2]

        for call in (as_bytes, replace(as_bytes, url=f"{as_bytes.url.rpartition('=')[0]}={proof}")):
            [event] = vonage_sms().parse_webhook(call)

            assert (event.kind, event.provider_message_id) == (EventKind.DELIVERED, "0C0000000000B1")
            assert b"%E9" in event.raw

    @pytest.mark.parametrize("changes", [{"messageId": ""}, {"messageId": "x" * 201}, {"status": ""}])
    def test_without_id_or_status_it_is_malformed(self, changes: dict[str, str]) -> None:
        with pytest.raises(MalformedWebhook):
            told(receipt(**changes))

    def test_repetitions_are_one_event_and_other_receipts_are_not(self) -> None:
        receipts = [
            receipt(),
            receipt(messageId="0A2"),
            receipt(status="buffered"),
            receipt(scts="2601151001"),
            receipt(**{"err-code": "2"}, status="failed"),
        ]
        later = {"message-timestamp": "2026-01-15 11:00:00", "timestamp": "1768474803", "nonce": "x"}

        keys = [told(fields).dedupe_key for fields in receipts]

        assert [told(fields | later).dedupe_key for fields in receipts] == keys
        assert len(set(keys)) == 5

    def test_ids_stay_as_they_are(self) -> None:
        for id in json.loads(case("dlr-ids-that-look-like-numbers/input.json"))["receipts"]:
            assert told(receipt(messageId=id)).provider_message_id == id

    @pytest.mark.parametrize(
        "own", ["ntf-0007-a1", "", f"{ATTEMPT.id}-", f"{ATTEMPT.id}-x", f"{ATTEMPT.id}-2-2", f"x{THREE}"]
    )
    def test_a_reference_that_is_not_ours_counts_no_parts(self, own: str) -> None:
        event = told(receipt(**{"client-ref": own}))

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, own or None)


RECEIPTS = json.loads(case("dlr-parts-disagree/receipts.json"))
RANKS = (EventKind.SENT, EventKind.NOT_REACHED, EventKind.EXPIRED, EventKind.FAILED, EventKind.DELIVERED)


class TestParts:
    """The case dlr-parts-disagree: of three parts, the middle one fails."""

    def test_dlr_parts_disagree_the_answer_names_all_parts(self) -> None:
        taken = vonage_sms().send_result(answer(200, case("dlr-parts-disagree/send_response.json")))

        assert taken == SendResult("0C0000000000A1,0C0000000000A2,0C0000000000A3", segments=3)

    def test_dlr_parts_disagree_a_hole_is_a_failure_in_every_order(self) -> None:
        events = [told({**fields, "client-ref": THREE}) for fields in RECEIPTS]

        assert [event.kind for event in events] == [EventKind.SENT, EventKind.FAILED, EventKind.SENT]
        for order in itertools.permutations(events * 2, 3):
            highest = max((event.kind for event in order), key=RANKS.index)
            assert highest is not EventKind.DELIVERED
        assert max((event.kind for event in events), key=RANKS.index) is EventKind.FAILED
        assert len({event.dedupe_key for event in events}) == 3
        assert {event.attempt for event in events} == {ATTEMPT.id}

    def test_dlr_parts_disagree_the_reason_tells_of_the_part(self) -> None:
        event = told({**RECEIPTS[1], "client-ref": THREE})

        assert (event.provider_status, event.error_code) == ("failed, one of 3 parts", "2")
        assert event.provider_message_id == "0C0000000000A2"

    def test_dlr_parts_disagree_nothing_asks_for_the_whole_text_again(self) -> None:
        """A phone that is off would have it sent once more, were it the only part."""
        failed = {**RECEIPTS[1], "client-ref": THREE}

        assert told(failed).kind is EventKind.FAILED
        assert told({**failed, "client-ref": ATTEMPT.id}).kind is EventKind.NOT_REACHED

    def test_dlr_parts_disagree_the_look_up_agrees(self) -> None:
        records = [
            record(
                message_id=fields["messageId"], client_ref=THREE, status=fields["status"], error_code=fields["err-code"]
            )
            for fields in RECEIPTS
        ]

        event = status(*records)

        assert (event.kind, event.error_code) == (EventKind.FAILED, "2")
        assert event.provider_status == "failed, 2 of 3 delivered"

    def test_other_words_of_a_part_mean_what_they_mean(self) -> None:
        for word, code, kind in (
            ("expired", "1", EventKind.EXPIRED),
            ("rejected", "9", EventKind.FAILED),
            ("failed", "1", EventKind.UNKNOWN),
            ("buffered", "0", EventKind.SENT),
        ):
            assert told(receipt(status=word, **{"err-code": code, "client-ref": THREE})).kind is kind


INBOUND = {
    "msisdn": "14155550100",
    "to": "15005550006",
    "messageId": ID,
    "text": "STOP",
    "type": "text",
    "keyword": "STOP",
    "api-key": "abcd1234",
    "message-timestamp": "2026-01-15 10:00:00",
}


class TestInbound:
    @pytest.mark.parametrize("arrives", [receipt_by_get, receipt_by_form, receipt_by_json])
    def test_is_read_and_is_no_receipt(self, arrives: Any) -> None:
        call = arrives(INBOUND)

        [text] = vonage_sms().parse_inbound(call)

        assert (text.sender, text.recipient, text.text) == ("+14155550100", "+15005550006", "STOP")
        assert (text.dedupe_key, text.received_at) == (ID, datetime(2026, 1, 15, 10, 0, tzinfo=UTC))
        assert b"STOP" in text.raw
        assert vonage_sms().parse_webhook(call) == []

    def test_a_receipt_is_none(self) -> None:
        assert vonage_sms().parse_inbound(receipt_by_form(receipt())) == []

    def test_data_that_is_no_text_is_none_of_both(self) -> None:
        binary = {**INBOUND, "data": "0011", "type": "binary"}
        call = receipt_by_form({name: value for name, value in binary.items() if name != "text"})

        assert vonage_sms().parse_inbound(call) == []
        assert vonage_sms().parse_webhook(call) == []

    def test_a_forged_one_is_not_believed(self) -> None:
        call = receipt_by_form(INBOUND)

        with pytest.raises(InvalidSignature):
            vonage_sms().parse_inbound(replace(call, body=call.body.replace(b"STOP", b"STAY")))


PARAMETERS = SMS_VECTORS["params_without_sig"]
METHODS = {**SMS_VECTORS["sig"], "md5_hash": SMS_VECTORS["sig"]["md5_hash_not_hmac"]}
METHODS.pop("md5_hash_not_hmac")


def believes(call: WebhookRequest, secret: str = SMS_SECRET, **settings: str) -> bool:
    account = vonage_sms(**settings).account
    adapter = VonageSms(replace(account, credentials={**SMS_CREDENTIALS, "signature_secret": secret}))
    try:
        return bool(adapter.parse_webhook(call))
    except InvalidSignature:
        return False


def by_form(fields: dict[str, str]) -> WebhookRequest:
    return WebhookRequest("POST", SMS_URL, Headers(), urlencode(fields).encode())


class TestSignature:
    @pytest.mark.parametrize("method", METHODS)
    def test_vectors(self, method: str) -> None:
        signed = {**PARAMETERS, "sig": METHODS[method]}
        calls = [
            by_form(signed),
            WebhookRequest("GET", f"{SMS_URL}?{urlencode(signed)}", Headers(), b""),
            WebhookRequest("POST", SMS_URL, Headers(), json.dumps(signed).encode()),
        ]

        for call in calls:
            assert believes(call, signature_method=method)
            assert not believes(call, "another", signature_method=method)

    @pytest.mark.parametrize("method", METHODS)
    def test_any_hmac_is_right_where_no_method_is_named_but_no_plain_hash(self, method: str) -> None:
        assert believes(by_form({**PARAMETERS, "sig": METHODS[method]})) == (method != "md5_hash")

    def test_only_the_method_that_is_named(self) -> None:
        for named, used in itertools.permutations(METHODS, 2):
            assert not believes(by_form({**PARAMETERS, "sig": METHODS[used]}), signature_method=named)

    @pytest.mark.parametrize("method", ["", "none", "sha256", "HMAC_SHA256"])
    def test_a_method_that_is_none_makes_nothing_right(self, method: str) -> None:
        for proof in (*METHODS.values(), ""):
            assert not believes(by_form({**PARAMETERS, "sig": proof}), signature_method=method)

    def test_capitals_do_not_matter(self) -> None:
        assert believes(by_form({**PARAMETERS, "sig": METHODS["hmac_sha256"].upper()}))

    def test_separators_in_values_are_signed_as_underscores(self) -> None:
        fields = receipt(**{"client-ref": "a&b=c"})
        plain = receipt(**{"client-ref": "a_b_c"})

        call = receipt_by_form(fields)

        assert believes(call)
        assert call.body.rpartition(b"=")[2] == receipt_by_form(plain).body.rpartition(b"=")[2]

    @pytest.mark.parametrize(
        "changes",
        [{"status": "failed"}, {"messageId": "0A2"}, {"timestamp": "1"}, {"nonce": "x"}, {"more": ""}, {"sig": ""}],
    )
    def test_a_change_is_not_believed(self, changes: dict[str, str]) -> None:
        assert not believes(by_form({**PARAMETERS, "sig": METHODS["hmac_sha256"], **changes}))

    def test_a_missing_signature_is_not_believed(self) -> None:
        assert not believes(by_form(PARAMETERS))
        assert not believes(WebhookRequest("GET", SMS_URL, Headers(), b""))

    def test_what_is_added_is_signed_or_nothing_is(self) -> None:
        call = by_form({**PARAMETERS, "sig": METHODS["hmac_sha256"]})

        for more in (b"&status=failed", b"&err-code=9", b"&x"):
            assert not believes(replace(call, body=call.body + more))
            assert not believes(replace(call, body=more[1:] + b"&" + call.body))

    def test_the_query_of_a_post_says_nothing(self) -> None:
        call = by_form({**PARAMETERS, "sig": METHODS["hmac_sha256"]})
        [event] = vonage_sms().parse_webhook(replace(call, url=f"{SMS_URL}?status=failed&client-ref={THREE}"))

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, "ntf-0001-a1")

    @pytest.mark.parametrize("digest", ["md5", "sha256"])
    def test_signed_with_no_secret_at_all(self, digest: str) -> None:
        text = SMS_VECTORS["string_to_sign"].encode()
        proof = hmac.new(b"", text, digest).hexdigest()

        assert not believes(by_form({**PARAMETERS, "sig": proof}), secret="")
        hashed = hashlib.md5(text).hexdigest()
        assert not believes(by_form({**PARAMETERS, "sig": hashed}), secret="", signature_method="md5_hash")

    def test_numbers_in_json_are_signed_as_they_are_written(self) -> None:
        fields: dict[str, Any] = {**receipt(), "err-code": 0, "price": None, "nested": {"a": [1, True]}}

        [event] = vonage_sms().parse_webhook(receipt_by_json(fields))

        assert (event.kind, event.error_code) == (EventKind.DELIVERED, "")


def test_says_what_nobody_could_check() -> None:
    assert all(sentence.endswith(".") for sentence in VonageSms.unverified)

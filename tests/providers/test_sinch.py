"""Only what is odd about Sinch."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema
import pytest

from providers import errors
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, UnsupportedFeature
from providers.messages import (
    Ability,
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
from providers.sinch import Sinch
from providers.sinch.codes import ABORTS, REFUSALS, STATUSES
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, http_file, payload
from tests.providers.samples.sinch import SINCH_PLAN, SINCH_SECRET, SINCH_URL, sinch, sinch_webhook

MESSAGE = SAMPLES["sinch"].message
SENT = SAMPLES["sinch"].sent
BATCH_ID = "01FC66621XXXXX119Z8PMV1QPQ"
BATCHES_URL = f"https://us.sms.api.sinch.com/xms/v1/{SINCH_PLAN}/batches"
SPECS = Path(__file__).parent / "specs"
OLDER = json.loads((SPECS / "sinch.json").read_text())
NEWER = json.loads((SPECS / "sinch-derived.json").read_text())


def fits(content: Any, model: str) -> None:
    """Hold against the models of the vendor's SDK, with no field that they do not have."""
    schema = {**NEWER["$defs"][model], "additionalProperties": False, "$defs": NEWER["$defs"]}
    jsonschema.validate(content, schema)


def fields(adapter: Sinch, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    return body


def at_the_last_moment(adapter: Sinch, **changes: Any) -> dict[str, Any]:
    """What leaves in the end."""
    request = adapter.send_request(replace(MESSAGE, **changes), ATTEMPT)
    body: dict[str, Any] = json.loads(adapter.authorize(request, NOW).body)
    return body


class TestSendRequest:
    @pytest.mark.parametrize("text", ["Your code is 123456", "Hello ${name}"])
    def test_fits_the_published_schemas(self, text: str) -> None:
        sent = at_the_last_moment(sinch(), text=text)

        fits(sent, "TextRequest")
        if "parameters" not in sent:  # which the older document lacks
            schema = {**OLDER["components"]["schemas"]["sendBatchObject"], "additionalProperties": False}
            jsonschema.validate(sent, {**schema, "components": OLDER["components"]})

    def test_is_the_recorded_one_with_our_names(self) -> None:
        recorded = json.loads(payload("sinch/send_request.json"))
        del recorded["max_number_of_message_parts"]  # we set no limit
        ours = {"client_reference": ATTEMPT.id, "callback_url": SINCH_URL, "expire_at": "2027-01-15T10:05:00.000Z"}

        assert at_the_last_moment(sinch()) == recorded | ours

    def test_is_posted_with_the_token(self) -> None:
        request = sinch().authorize(sinch().send_request(MESSAGE, ATTEMPT), NOW)

        assert (request.method, request.url) == ("POST", BATCHES_URL)
        assert request.headers == {
            "Authorization": "Bearer token-000000000000000000000001",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }

    @pytest.mark.parametrize(
        ("settings", "base_url", "host"),
        [
            ({}, None, "us.sms.api.sinch.com"),
            ({"region": "eu"}, None, "eu.sms.api.sinch.com"),
            ({"region": "evil.example/"}, None, "us.sms.api.sinch.com"),
            ({"region": "eu"}, "http://127.0.0.1:8001", "127.0.0.1:8001"),
        ],
    )
    def test_goes_to_the_region_of_the_account(self, settings: dict[str, str], base_url: str | None, host: str) -> None:
        account = replace(sinch().account, settings=settings, base_url=base_url)

        assert urlsplit(Sinch(account).send_request(MESSAGE, ATTEMPT).url).netloc == host

    @pytest.mark.parametrize(
        ("settings", "country", "sender"),
        [
            ({"from": "+15005550006"}, "DE", "15005550006"),
            ({"from": "+15005550006", "senders": {"DE": "Landfall"}}, "DE", "Landfall"),
            ({"senders": {"DE": "Landfall"}}, "US", None),  # the plan has one of its own
        ],
    )
    def test_names_the_sender_for_the_country(self, settings: dict[str, Any], country: str, sender: str | None) -> None:
        assert fields(sinch(**settings), country=country).get("from") == sender

    def test_without_an_address_for_reports_none_are_asked_for(self) -> None:
        """To ask and name no address is refused: missing_callback_url."""
        sent = fields(Sinch(replace(sinch().account, callback_url=None)))

        assert (sent["delivery_report"], sent.get("callback_url")) == ("none", None)

    @pytest.mark.parametrize(
        ("useful", "seconds"),
        [(None, None), (-5, 30), (0, 30), (30, 30), (300, 300), (259199, 259199), (259200, None), (10**6, None)],
    )
    def test_expires_when_it_is_useful_no_more(self, useful: int | None, seconds: int | None) -> None:
        """Counted from the call; three days are their default and their most."""
        expire_at = at_the_last_moment(sinch(), useful_seconds=useful).get("expire_at")

        assert (expire_at and datetime.fromisoformat(expire_at)) == (seconds and NOW + timedelta(seconds=seconds))

    def test_nothing_else_is_added_at_the_last_moment(self) -> None:
        described = sinch().send_request(MESSAGE, ATTEMPT)

        leaving = sinch().authorize(described, NOW)

        assert json.loads(leaving.body) == json.loads(described.body) | {"expire_at": "2027-01-15T10:05:00.000Z"}
        assert (leaving.url, leaving.method) == (described.url, described.method)
        for question in (sinch().find_request(SENT), sinch().status_request(BATCH_ID)):
            assert sinch().authorize(question, NOW) == question

    @pytest.mark.parametrize(
        ("text", "body"),
        [
            ("costs $5 {net}", "costs $5 {net}"),
            ("Hello ${name}", "Hello ${dollar}{name}"),
            ("$${a}${", "$${dollar}{a}${dollar}{"),
        ],
    )
    def test_a_text_that_looks_like_a_template_stays_as_it_is(self, text: str, body: str) -> None:
        sent = fields(sinch(), text=text)

        assert sent["body"] == body
        assert sent.get("parameters") == (None if text == body else {"dollar": {"default": "$"}})
        assert sent["body"].replace("${dollar}", "$") == text

    @pytest.mark.parametrize("changes", [{"subject": "x"}, {"html": "<p>x"}])
    def test_drops_nothing_in_silence(self, changes: dict[str, str]) -> None:
        with pytest.raises(UnsupportedFeature):
            sinch().send_request(replace(MESSAGE, **changes), ATTEMPT)

    def test_our_reference_fits_their_field(self) -> None:
        limit = OLDER["components"]["schemas"]["sendBatchObject"]["properties"]["client_reference"]["maxLength"]

        assert len(f"{'f' * 32}-9999") <= limit

    def test_many_messages_are_no_batch_of_theirs(self) -> None:
        """One reference and one text for all numbers of a batch: reports could not be told apart."""
        assert Ability.BATCH not in Sinch.abilities
        with pytest.raises(UnsupportedFeature):
            sinch().batch_request([sinch().send_request(MESSAGE, ATTEMPT)] * 2)


def refusal(status: int, body: Any = b"") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        sinch().send_result(answer(status, body))
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        recorded = payload("sinch/send_response_201.json")

        assert sinch().send_result(answer(201, recorded)) == SendResult(BATCH_ID)
        fits(json.loads(recorded), "TextResponse")

    @pytest.mark.parametrize(
        ("status", "file", "expected", "suppress"),
        [
            (400, "error_400_constraint", errors.InvalidRequest, None),
            (400, "error_400_format", errors.InvalidRecipient, "invalid"),
            (403, "error_403_missing_callback_url", errors.InvalidRequest, None),
        ],
    )
    def test_recorded_refusals(
        self, status: int, file: str, expected: type[ProviderError], suppress: str | None
    ) -> None:
        recorded = json.loads(payload(f"sinch/{file}.json"))

        error = refusal(status, recorded)

        assert type(error) is expected
        assert (error.code, error.http_status, error.suppress) == (recorded["code"], status, suppress)
        assert recorded["text"] not in str(error)

    @pytest.mark.parametrize(
        ("file", "expected"),
        [
            ("error_401.txt", errors.AuthenticationFailed),
            ("error_429.txt", errors.RateLimited),
            ("error_503.txt", errors.OutcomeUnknown),
        ],
    )
    def test_recorded_refusals_without_a_body(self, file: str, expected: type[ProviderError]) -> None:
        with pytest.raises(expected):
            sinch().send_result(http_file(f"sinch/{file}", payload))

    # Sinch's names as its documents have them, written a second time.
    @pytest.mark.parametrize(
        ("status", "name", "expected"),
        [
            (400, "syntax_invalid_json", errors.InvalidRequest),
            (400, "syntax_invalid_parameter_format", errors.InvalidRequest),
            (400, "syntax_constraint_violation", errors.InvalidRequest),
            (403, "unknown_group", errors.InvalidRequest),
            (403, "unknown_campaign", errors.SenderNotAllowed),
            (403, "missing_callback_url", errors.InvalidRequest),
        ],
    )
    def test_names(self, status: int, name: str, expected: type[ProviderError]) -> None:
        error = refusal(status, {"code": name, "text": "x"})

        assert (type(error), error.code) == (expected, name)
        assert type(refusal(500, {"code": name, "text": "parameter 'to[0]'"})) is errors.OutcomeUnknown

    def test_every_name_in_our_table_is_in_theirs(self) -> None:
        syntax = {"syntax_invalid_json", "syntax_invalid_parameter_format", "syntax_constraint_violation"}

        assert set(REFUSALS) == syntax | {"unknown_group", "unknown_campaign", "missing_callback_url"}

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("The format of parameter 'to[0]' is invalid; value '+1' is not a valid MSISDN.", errors.InvalidRecipient),
            ("The format of parameter 'from' is invalid", errors.SenderNotAllowed),
            ("The format of parameter 'expire_at' is invalid", errors.InvalidRequest),
            ("The format of parameter 'goto[0]' is invalid", errors.InvalidRequest),
            (None, errors.InvalidRequest),
        ],
    )
    def test_a_wrong_format_is_the_fault_of_the_parameter_it_names(
        self, text: str | None, expected: type[ProviderError]
    ) -> None:
        published = OLDER["paths"]["/xms/v1/{service_plan_id}/batches"]["post"]["responses"]["400"]
        example = published["content"]["application/json"]["example"]

        assert type(refusal(400, example)) is errors.InvalidRecipient
        assert type(refusal(400, {"code": "syntax_invalid_parameter_format", "text": text})) is expected

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (400, errors.UnknownRefusal),
            (401, errors.AuthenticationFailed),
            (403, errors.AuthenticationFailed),
            (404, errors.UnknownRefusal),
            (405, errors.InvalidRequest),
            (415, errors.InvalidRequest),
            (429, errors.RateLimited),
            (500, errors.OutcomeUnknown),
            (503, errors.OutcomeUnknown),
        ],
    )
    def test_an_unlisted_name_is_judged_by_the_status(self, status: int, expected: type[ProviderError]) -> None:
        assert type(refusal(status, {"code": "brand_new", "text": "x"})) is expected

    @pytest.mark.parametrize("code", [401, 404, "+14155550100", "Ana", "x" * 51, None])
    def test_only_a_name_of_their_kind_reaches_the_logs(self, code: object) -> None:
        error = refusal(400, {"code": code, "text": "about +14155550100"})

        assert (type(error), error.code) == (errors.UnknownRefusal, "")
        assert "1415" not in str(error)

    @pytest.mark.parametrize("body", ["[]", "{}", '{"id": null}', '{"id": 7}', '{"id": ""}'])
    def test_a_success_without_an_id_is_unclear(self, body: str) -> None:
        assert type(refusal(201, body)) is errors.OutcomeUnknown


def batch(reference: str | None = ATTEMPT.id, **changes: Any) -> dict[str, Any]:
    """One of their batches, under our reference."""
    [template] = json.loads(payload("sinch/list_batches_200_by_client_reference.json"))["batches"]
    return {**template, "client_reference": reference, **changes}


def find(*batches: Any, sent: SentMessage = SENT, **changes: Any) -> FindResult:
    page = {"count": len(batches), "page": 0, "page_size": 100, "batches": batches} | changes
    return sinch().find_result(answer(200, json.dumps(page)), sent)


ANY_ATTEMPT = replace(SENT, any_attempt=True)


class TestFind:
    def test_asks_for_our_reference_since_before_the_call(self) -> None:
        """Without a date they look back a day only, and we may ask later than that."""
        url = urlsplit(sinch().find_request(SENT).url)

        assert url.geturl().partition("?")[0] == BATCHES_URL
        assert dict(parse_qsl(url.query)) == {
            "client_reference": ATTEMPT.id,
            "start_date": "2027-01-15T09:00:00.000Z",
            "page": "0",
            "page_size": "100",
        }
        assert set(dict(parse_qsl(url.query))) <= set(NEWER["list_batches_query"])

    def test_asks_by_time_where_the_number_of_the_attempt_is_not_certain(self) -> None:
        query = dict(parse_qsl(urlsplit(sinch().find_request(ANY_ATTEMPT, "3").url).query))

        assert query == {"start_date": "2027-01-15T09:00:00.000Z", "page": "3", "page_size": "100"}

    def test_recorded(self) -> None:
        recorded = payload("sinch/list_batches_200_by_client_reference.json")
        sent = replace(SENT, attempt=AttemptRef("ntf-0001-a1"))

        assert sinch().find_result(answer(200, recorded), sent) == Found(BATCH_ID)

    def test_recorded_empty(self) -> None:
        recorded = payload("sinch/list_batches_200_empty.json")

        assert sinch().find_result(answer(200, recorded), SENT) == NotThere()

    @pytest.mark.parametrize("reference", ["ntf-0001-a1", ATTEMPT.id[:-1] + "2", "", None, 7])
    def test_a_list_of_others_has_ignored_our_reference_and_tells_nothing(self, reference: Any) -> None:
        """As a server would that does not know the filter."""
        assert isinstance(find(batch(reference)), CannotTell)
        assert find(batch(reference, id="other"), batch()) == Found(BATCH_ID)

    def test_what_belongs_to_another_attempt_is_not_ours(self) -> None:
        owned = frozenset({BATCH_ID})

        assert isinstance(find(batch(), sent=replace(SENT, owned_ids=owned)), CannotTell)
        assert find(batch(), batch(id="b2"), sent=replace(SENT, owned_ids=owned)) == Found("b2")
        assert find(batch(), sent=replace(ANY_ATTEMPT, owned_ids=owned)) == NotThere()

    def test_any_attempt_of_the_message_will_do(self) -> None:
        assert find(batch("else-1"), batch(ATTEMPT.message + "-7", id="b7"), sent=ANY_ATTEMPT) == Found("b7")
        assert find(batch("else-1"), sent=ANY_ATTEMPT) == NotThere()
        assert find(batch(None), sent=ANY_ATTEMPT) == NotThere()

    def test_turns_the_page_while_there_is_more(self) -> None:
        others = [batch("else-1")] * 100

        assert find(*others, count=250, sent=ANY_ATTEMPT) == NextPage("1")
        assert find(*others, count=250, page=1, sent=ANY_ATTEMPT) == NextPage("2")
        assert find(*others[:50], count=250, page=2, sent=ANY_ATTEMPT) == NotThere()

    @pytest.mark.parametrize("sent", [SENT, ANY_ATTEMPT])
    def test_a_list_that_counts_more_than_it_shows_says_nothing(self, sent: SentMessage) -> None:
        assert isinstance(find(count=1, sent=sent), CannotTell)

    @pytest.mark.parametrize("item", ["x", None, {}, {"id": 7}, {"id": "", "client_reference": ATTEMPT.id}])
    def test_a_batch_without_an_id_says_nothing(self, item: Any) -> None:
        assert isinstance(find(item), CannotTell)
        assert isinstance(find(item, sent=ANY_ATTEMPT), CannotTell)

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (200, "<html>"),
            (200, "{}"),
            (200, '{"batches": []}'),
            (200, '{"batches": {}, "count": 0}'),
            (200, '{"batches": [], "count": null}'),
            (404, '{"batches": [], "count": 0}'),
            (500, '{"batches": [], "count": 0}'),
        ],
    )
    def test_an_answer_that_is_no_list_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(sinch().find_result(answer(status, body), SENT), CannotTell)


class TestStatus:
    def test_asks_for_the_report_of_one_batch(self) -> None:
        assert sinch().status_request(BATCH_ID).url == f"{BATCHES_URL}/{BATCH_ID}/delivery_report?type=full"

    def test_recorded(self) -> None:
        recorded = json.loads(payload("sinch/delivery_report_full_200.json"))

        [event] = sinch().status_result(answer(200, recorded))

        assert (event.kind, event.provider_status, event.error_code) == (EventKind.DELIVERED, "Delivered", "")
        assert (event.provider_message_id, event.attempt) == (BATCH_ID, "ntf-0001-a1")
        assert b"14155550100" not in event.raw
        fits(recorded, "BatchDeliveryReport")

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        recorded = json.loads(payload("sinch/delivery_report_full_200.json"))
        changed = json.loads(json.dumps(recorded).replace("Delivered", "Dispatched"))

        [[first], [again], [other]] = (
            sinch().status_result(answer(200, body)) for body in (recorded, recorded, changed)
        )

        assert first.dedupe_key == again.dedupe_key != other.dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (404, ""),
            (200, "<html>"),
            (200, '{"batch_id": "b1"}'),
            (200, '{"batch_id": "b1", "statuses": []}'),
            (200, '{"batch_id": "b1", "statuses": null}'),
            (200, '{"statuses": [{"code": 0, "status": "Delivered"}]}'),
            (500, '{"type": "delivery_report_sms", "batch_id": "b1", "statuses": [{"status": "Delivered"}]}'),
        ],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert sinch().status_result(answer(status, body)) == []


def report(status: str, code: object = 0, **changes: Any) -> DeliveryEvent:
    template = json.loads(payload("sinch/callback_recipient_delivered.json"))
    [event] = sinch().parse_webhook(sinch_webhook(template | {"status": status, "code": code} | changes))
    return event


# Sinch's tables as its documents have them, written a second time.
FINAL_AND_NOT = [
    ("Queued", 400, EventKind.ACCEPTED),
    ("Dispatched", 401, EventKind.SENT),
    ("Delivered", 0, EventKind.DELIVERED),
    ("Unknown", 1, EventKind.SENT),
    ("Rejected", 402, EventKind.FAILED),
    ("Deleted", 1, EventKind.FAILED),
    ("Failed", 5, EventKind.FAILED),
    ("Cancelled", 407, EventKind.FAILED),
    ("Expired", 406, EventKind.EXPIRED),
    ("Aborted", 402, EventKind.FAILED),
]
ABORTED = [
    *((code, EventKind.FAILED) for code in (402, 405, 407, 408, 410, 411, 412, 413, 414, 415, 416, 417, 418)),
    (403, EventKind.NOT_REACHED),
    (404, EventKind.NOT_REACHED),
    (406, EventKind.EXPIRED),
]


class TestReceipts:
    @pytest.mark.parametrize(
        ("file", "kind", "status", "code"),
        [
            ("queued_400", EventKind.ACCEPTED, "Queued", ""),
            ("dispatched_401", EventKind.SENT, "Dispatched", ""),
            ("delivered", EventKind.DELIVERED, "Delivered", ""),
            ("aborted_404", EventKind.NOT_REACHED, "Aborted", "404"),
            ("expired_406", EventKind.EXPIRED, "Expired", "406"),
            ("failed_5", EventKind.FAILED, "Failed", "5"),
            ("rejected_402", EventKind.FAILED, "Rejected", "402"),
            ("unknown_1", EventKind.SENT, "Unknown", "1"),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, status: str, code: str) -> None:
        recorded = payload(f"sinch/callback_recipient_{file}.json")

        [event] = sinch().parse_webhook(sinch_webhook(recorded))

        assert (event.kind, event.provider_status, event.error_code, event.suppress) == (kind, status, code, None)
        assert (event.provider_message_id, event.attempt) == (BATCH_ID, "ntf-0001-a1")
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, 123000, tzinfo=UTC)
        fits(json.loads(recorded), "RecipientDeliveryReport")

    def test_recorded_summary(self) -> None:
        [event] = sinch().parse_webhook(sinch_webhook(payload("sinch/callback_summary.json")))

        assert (event.kind, event.attempt, event.occurred_at) == (EventKind.DELIVERED, "ntf-0001-a1", None)

    @pytest.mark.parametrize(("status", "code", "kind"), FINAL_AND_NOT)
    def test_statuses_however_they_are_written(self, status: str, code: int, kind: EventKind) -> None:
        for written in (status, status.upper(), status.lower()):
            event = report(written, code)

            assert (event.kind, event.provider_status, event.suppress) == (kind, written, None)

    def test_every_status_is_in_their_table(self) -> None:
        published = NEWER["$defs"]["RecipientDeliveryReport"]["properties"]["status"]["anyOf"][0]["enum"]

        assert {status.lower() for status in published} == set(STATUSES)
        assert {status.lower() for status, _, _ in FINAL_AND_NOT} == set(STATUSES)

    @pytest.mark.parametrize(("code", "kind"), ABORTED)
    def test_codes_of_what_was_aborted(self, code: int, kind: EventKind) -> None:
        assert (report("Aborted", code).kind, report("Aborted", str(code)).kind) == (kind, kind)
        assert report("Aborted", code).error_code == str(code)

    def test_every_code_is_in_their_table(self) -> None:
        published = NEWER["$defs"]["RecipientDeliveryReport"]["properties"]["code"]["anyOf"][0]["enum"]

        assert set(published) - {400, 401} == set(ABORTS) == {code for code, _ in ABORTED}

    @pytest.mark.parametrize("code", [15, 60, 62, 64, 152, 300, 310, 321, 349, 500, 9999, None, "x", True])
    def test_codes_of_networks_are_for_good(self, code: object) -> None:
        for status in ("Failed", "Rejected", "Aborted"):
            event = report(status, code)

            assert (event.kind, event.suppress) == (EventKind.FAILED, None)

    @pytest.mark.parametrize(("code", "kind"), [(401, EventKind.SENT), (403, EventKind.NOT_REACHED)])
    def test_codes_are_no_http_statuses(self, code: int, kind: EventKind) -> None:
        """401 is on its way and 403 may be tried again: nobody's credentials are wrong."""
        assert report("Dispatched" if code == 401 else "Aborted", code).kind is kind

    def test_a_404_of_a_network_is_not_theirs(self) -> None:
        assert report("Failed", 404).kind is EventKind.FAILED

    def test_an_unknown_word_changes_nothing(self) -> None:
        event = report("Huh", 404, new_field={"a": 1})

        assert (event.kind, event.provider_status) == (EventKind.UNKNOWN, "Huh")

    def test_an_unknown_type_changes_nothing(self) -> None:
        event = report("Delivered", type="brand_new_report")

        assert (event.kind, event.provider_message_id) == (EventKind.UNKNOWN, BATCH_ID)

    def test_dlr_invalid_utf8_is_no_json_and_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            sinch().parse_webhook(sinch_webhook(case("dlr-invalid-utf8/callback.json").strip()))

    def test_text_lone_surrogate_is_stored_and_applied(self) -> None:
        body = case("text-lone-surrogate/webhook.json").strip()

        [event] = sinch().parse_webhook(sinch_webhook(body))

        assert (event.kind, event.raw) == (EventKind.DELIVERED, body)
        assert event.provider_message_id == "01FC66621XXXXX119Z8PMV1QPU"

    def test_dlr_metadata_overwrites_event_only_the_signed_reference_names_the_attempt(self) -> None:
        metadata = json.loads(case("dlr-metadata-overwrites-event/request.json"))["metadata"]
        call = sinch_webhook(json.loads(payload("sinch/callback_recipient_delivered.json")) | {"metadata": metadata})

        [event] = sinch().parse_webhook(replace(call, url=f"{call.url}?attempt=someone-else"))

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, "ntf-0001-a1")

    def test_without_a_reference_it_is_matched_by_its_id(self) -> None:
        event = report("Delivered", client_reference=None)

        assert (event.attempt, event.provider_message_id) == (None, BATCH_ID)

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"null",
            b"{}",
            b'{"batch_id": "b1", "status": "Delivered"}',
            b'{"type": "recipient_delivery_report_sms"}',
            b'{"type": "recipient_delivery_report_sms", "batch_id": "b1"}',
            b'{"type": "recipient_delivery_report_sms", "batch_id": "b1", "status": ""}',
            b'{"type": "recipient_delivery_report_sms", "batch_id": 7, "status": "Delivered"}',
            b'{"type": "delivery_report_sms", "batch_id": "b1", "statuses": []}',
            b'{"type": "delivery_report_sms", "batch_id": "b1", "statuses": "Delivered"}',
        ],
    )
    def test_what_names_no_batch_or_no_status_is_malformed(self, body: bytes) -> None:
        with pytest.raises(MalformedWebhook):
            sinch().parse_webhook(sinch_webhook(body))

    def test_repetitions_are_one_event_and_other_reports_are_not(self) -> None:
        reports: list[dict[str, Any]] = [
            {"status": "Dispatched", "code": 401},
            {"status": "Delivered", "code": 0},
            {"status": "Delivered", "code": 0, "at": "2026-01-15T10:00:04.000Z"},
            {"status": "Failed", "code": 5},
            {"status": "Failed", "code": 6},
            {"status": "Failed", "code": 6, "batch_id": "b2"},
        ]
        keys = [report(**fields).dedupe_key for fields in reports * 2]

        assert keys[:6] == keys[6:]
        assert len(set(keys)) == 6


class TestInbound:
    def test_recorded(self) -> None:
        call = sinch_webhook(payload("sinch/inbound.json"))

        [message] = sinch().parse_inbound(call)

        received_at = datetime(2026, 1, 15, 10, 1, tzinfo=UTC)
        assert message == InboundMessage(
            "01FC66621XXXXX119Z8PMV1QPX", "+14155550100", "+15005550006", "STOP", received_at, call.body
        )
        assert sinch().parse_webhook(call) == []

    @pytest.mark.parametrize("type_", ["mo_binary", "mo_media"])
    def test_other_than_text_is_neither_text_nor_report(self, type_: str) -> None:
        call = sinch_webhook({"type": type_, "id": "1", "body": "AAAA"})

        assert sinch().parse_inbound(call) == sinch().parse_webhook(call) == []

    def test_a_report_is_no_text(self) -> None:
        assert sinch().parse_inbound(sinch_webhook(payload("sinch/callback_recipient_delivered.json"))) == []

    @pytest.mark.parametrize("changes", [{"id": None}, {"id": 5}, {"body": None}])
    def test_without_id_or_text_it_is_malformed(self, changes: dict[str, Any]) -> None:
        with pytest.raises(MalformedWebhook):
            sinch().parse_inbound(sinch_webhook(json.loads(payload("sinch/inbound.json")) | changes))

    def test_must_be_genuine(self) -> None:
        forged = sinch_webhook(payload("sinch/inbound.json"), secret="another")

        for read in (sinch().parse_inbound, sinch().parse_webhook):
            with pytest.raises(InvalidSignature):
                read(forged)


VECTOR = json.loads(payload("sinch/signature_vector.json"))


def vector(**headers: str) -> WebhookRequest:
    given = {**VECTOR["headers"], **{name.replace("_", "-"): value for name, value in headers.items()}}
    return WebhookRequest("POST", SINCH_URL, Headers(given), VECTOR["body"].encode())


def keyed(**credentials: str) -> Sinch:
    account = sinch().account
    rest = {name: account.credentials[name] for name in Sinch.credential_names}
    return Sinch(replace(account, credentials=rest | credentials))


def basic(user: str, password: str) -> WebhookRequest:
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    body = payload("sinch/callback_recipient_delivered.json")
    return WebhookRequest("POST", SINCH_URL, Headers({"Authorization": f"Basic {encoded}"}), body)


class TestProof:
    def test_of_the_vendors_vector_is_believed(self) -> None:
        [event] = keyed(webhook_secret=VECTOR["secret"]).parse_webhook(vector())

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, "ntf-0001-a1")

    @pytest.mark.parametrize(
        "headers",
        [
            {"x_sinch_webhook_signature": ""},
            {"x_sinch_webhook_signature": "é"},
            {"x_sinch_webhook_signature": VECTOR["headers"]["x-sinch-webhook-signature"].lower()},
            {"x_sinch_webhook_signature_nonce": "01FJA8B4A7BM43YGWSG9GBV068"},
            {"x_sinch_webhook_signature_nonce": ""},
            {"x_sinch_webhook_signature_timestamp": "1768471204"},
            {"x_sinch_webhook_signature_timestamp": ""},
        ],
    )
    def test_covers_body_nonce_and_time(self, headers: dict[str, str]) -> None:
        with pytest.raises(InvalidSignature):
            sinch().parse_webhook(vector(**headers))

    def test_is_over_the_bytes_as_they_came(self) -> None:
        for body in (json.dumps(json.loads(vector().body)).encode(), vector().body + b"\n", b""):
            with pytest.raises(InvalidSignature):
                sinch().parse_webhook(replace(vector(), body=body))

    @pytest.mark.parametrize("secret", ["", "another", SINCH_SECRET[:-1]])
    def test_is_not_made_with_another_secret(self, secret: str) -> None:
        for request in (vector(), sinch_webhook(vector().body, secret="")):
            with pytest.raises(InvalidSignature):
                keyed(webhook_secret=secret).parse_webhook(request)

    def test_may_be_user_and_password_where_there_is_no_secret(self) -> None:
        adapter = keyed(webhook_user="sinch", webhook_password="p4ss")

        assert adapter.parse_webhook(basic("sinch", "p4ss"))
        for request in (basic("sinch", "other"), basic("", ""), vector()):
            with pytest.raises(InvalidSignature):
                adapter.parse_webhook(request)

    def test_is_no_password_where_there_is_a_secret(self) -> None:
        adapter = keyed(webhook_secret=SINCH_SECRET, webhook_user="sinch", webhook_password="p4ss")

        with pytest.raises(InvalidSignature):
            adapter.parse_webhook(basic("sinch", "p4ss"))

    def test_without_either_nothing_is_believed(self) -> None:
        for request in (basic("", ""), vector(), sinch_webhook(b"{}", secret="")):
            with pytest.raises(InvalidSignature):
                keyed().parse_webhook(request)

    def test_a_webhook_that_is_not_believed_comes_again(self) -> None:
        """Sinch calls again after a 5xx, for almost a day; any 4xx but 429 loses the report for good."""
        assert Sinch.refused_webhook_status == 503

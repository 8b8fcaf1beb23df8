"""Only what is odd about Plivo."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from providers import errors
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, SenderNotAllowed, UnsupportedFeature
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
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.plivo import Plivo
from providers.plivo.codes import FAILURES, STATES, SUPPRESS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, payload
from tests.providers.samples.plivo import (
    NONCE,
    PLIVO_TOKEN,
    PLIVO_URL,
    plivo,
    plivo_headers,
    plivo_signature,
    plivo_webhook,
)

MESSAGE = SAMPLES["plivo"].message
SENT = SAMPLES["plivo"].sent
UUID = "5b40a428-bfc7-4daf-9d06-726c558bf3b8"
MESSAGES_URL = "https://api.plivo.com/v1/Account/MAXXXXXXXXXXXXXXXXXX/Message/"
PUBLIC_URL = "https://notify.example.com/webhooks/plivo/"


def fields(adapter: Plivo, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(adapter.send_request(replace(MESSAGE, **changes), ATTEMPT).body)
    return body


class TestSendRequest:
    def test_is_the_recorded_one_with_our_address(self) -> None:
        recorded = json.loads(payload("plivo/send_request.json"))
        del recorded["log"]  # as they do by themselves

        assert fields(plivo()) == recorded | {"url": f"{PUBLIC_URL}?attempt={ATTEMPT.id}"}

    def test_is_posted_with_id_and_token(self) -> None:
        request = plivo().send_request(MESSAGE, ATTEMPT)

        basic = base64.b64encode(f"MAXXXXXXXXXXXXXXXXXX:{PLIVO_TOKEN}".encode()).decode()
        assert (request.method, request.url) == ("POST", MESSAGES_URL)
        assert request.headers == {
            "Authorization": f"Basic {basic}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }

    @pytest.mark.parametrize(
        ("settings", "country", "sender"),
        [
            ({"from": "+15005550006"}, "DE", {"src": "15005550006"}),
            ({"from": "Landfall"}, "DE", {"src": "Landfall"}),
            ({"from": "+15005550006", "senders": {"DE": "Landfall"}}, "DE", {"src": "Landfall"}),
            ({"from": "+15005550006", "senders": {"DE": "Landfall"}}, "US", {"src": "15005550006"}),
            ({"powerpack_uuid": "pp-1"}, "US", {"powerpack_uuid": "pp-1"}),
            ({"powerpack_uuid": "pp-1", "senders": {"DE": "Landfall"}}, "DE", {"src": "Landfall"}),
        ],
    )
    def test_names_a_sender_or_a_powerpack_and_never_both(
        self, settings: dict[str, Any], country: str, sender: dict[str, str]
    ) -> None:
        sent = fields(plivo(**settings), country=country)

        assert {name: sent[name] for name in ("src", "powerpack_uuid") if name in sent} == sender

    @pytest.mark.parametrize("settings", [{"senders": {"DE": "Landfall"}}, {"v3_only": True}])
    def test_needs_a_sender(self, settings: dict[str, Any]) -> None:
        with pytest.raises(SenderNotAllowed):
            plivo(**settings).send_request(replace(MESSAGE, country="US"), ATTEMPT)

    @pytest.mark.parametrize(
        ("useful", "expiry"), [(None, None), (-5, 5), (0, 5), (300, 300), (10799, 10799), (10**6, 10799)]
    )
    def test_is_valid_as_long_as_it_is_useful(self, useful: int | None, expiry: int | None) -> None:
        assert fields(plivo(), useful_seconds=useful).get("message_expiry") == expiry

    def test_without_an_address_for_reports_none_are_asked_for(self) -> None:
        sent = fields(Plivo(replace(plivo().account, callback_url=None)))

        assert not {"url", "method"} & set(sent)

    def test_a_number_never_becomes_two(self) -> None:
        with pytest.raises(UnsupportedFeature) as caught:
            plivo().send_request(replace(MESSAGE, to="+14155550100<14155550101"), ATTEMPT)

        assert "1415" not in str(caught.value)

    @pytest.mark.parametrize("changes", [{"subject": "x"}, {"html": "<p>x"}])
    def test_drops_nothing_in_silence(self, changes: dict[str, str]) -> None:
        with pytest.raises(UnsupportedFeature):
            plivo().send_request(replace(MESSAGE, **changes), ATTEMPT)


def refusal(status: int, body: Any, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        plivo().send_result(answer(status, body, **headers))
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        assert plivo().send_result(answer(202, payload("plivo/send_response_202.json"))) == SendResult(UUID)

    def test_taken_though_other_numbers_are_none(self) -> None:
        taken = plivo().send_result(answer(202, payload("plivo/send_response_202_some_invalid.json")))

        assert taken == SendResult(UUID)

    @pytest.mark.parametrize("uuids", [{"message_uuid": []}, {"message_uuid": None}, {}])
    def test_taken_for_nobody_since_the_number_is_none(self, uuids: dict[str, Any]) -> None:
        recorded = json.loads(payload("plivo/send_response_202_some_invalid.json"))
        del recorded["message_uuid"]

        error = refusal(202, {**recorded, **uuids})

        assert type(error) is errors.InvalidRecipient
        assert (error.suppress, error.http_status) == ("invalid", 202)
        assert "1415" not in str(error)

    @pytest.mark.parametrize(
        "body",
        [
            {"message_uuid": []},
            {"message_uuid": [], "invalid_number": []},
            {"message_uuid": [7, None, ""]},
            {"message_uuid": UUID},
            {"message": "message(s) queued"},
            {"error": "insufficient credit"},
            "[]",
        ],
    )
    def test_a_success_that_names_no_message_is_unclear(self, body: Any) -> None:
        assert type(refusal(202, body)) is errors.OutcomeUnknown

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (400, errors.UnknownRefusal),
            (401, errors.AuthenticationFailed),
            (403, errors.SenderNotRegistered),
            (404, errors.UnknownRefusal),
            (429, errors.RateLimited),
            (500, errors.OutcomeUnknown),
        ],
    )
    def test_recorded_refusals(self, status: int, expected: type[ProviderError]) -> None:
        error = refusal(status, payload(f"plivo/error_{status}.json"))

        assert type(error) is expected
        assert (error.code, error.http_status, error.suppress) == ("", status, None)
        assert "invented" not in str(error)

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (402, errors.InsufficientBalance),
            (405, errors.InvalidRequest),
            (409, errors.UnknownRefusal),
            (422, errors.UnknownRefusal),
            (502, errors.OutcomeUnknown),
            (503, errors.OutcomeUnknown),
        ],
    )
    def test_refusals_by_status(self, status: int, expected: type[ProviderError]) -> None:
        assert type(refusal(status, {"error": "x"})) is expected

    @pytest.mark.parametrize("status", [400, 402, 403, 429])
    def test_want_of_credit_is_told_by_its_text(self, status: int) -> None:
        assert type(refusal(status, {"error": "Insufficient Credit"})) is errors.InsufficientBalance

    def test_want_of_credit_excuses_no_5xx(self) -> None:
        assert type(refusal(500, {"error": "Insufficient Credit"})) is errors.OutcomeUnknown

    @pytest.mark.parametrize("error", [{"dst": ["x"]}, ["x"], None, 7])
    def test_an_error_may_be_no_text(self, error: Any) -> None:
        assert type(refusal(400, {"error": error})) is errors.UnknownRefusal


def record(seconds: float = 1, **changes: Any) -> dict[str, Any]:
    """One of their records of a message like ours, made one second after the call began."""
    template = json.loads(payload("plivo/list_200_reconcile.json"))["objects"][0]
    made_at = (NOW + timedelta(seconds=seconds)).isoformat(" ")
    return {**template, "message_time": made_at, **changes}


def find(*records: Any, sent: SentMessage = SENT, adapter: Plivo | None = None, **meta: Any) -> FindResult:
    body = {"objects": records, "meta": {"limit": 20, "next": None, "offset": 0, "total_count": len(records)} | meta}
    return (adapter or plivo()).find_result(answer(200, json.dumps(body)), sent)


class TestFind:
    def test_asks_for_the_number_and_the_time_of_the_call(self) -> None:
        request = plivo().find_request(SENT)

        assert request.url.partition("?")[0] == MESSAGES_URL
        assert dict(parse_qsl(urlsplit(request.url).query)) == {
            "to_number": "+14155550100",
            "message_direction": "outbound",
            "message_time__gte": "2027-01-15 09:59:58",
            "message_time__lte": "2027-01-15 10:01:11",
            "limit": "20",
            "offset": "0",
        }

    def test_asks_in_their_time_zone(self) -> None:
        began_at = datetime.fromisoformat("2027-01-15T11:00:00.9+01:00")

        query = dict(parse_qsl(urlsplit(plivo().find_request(replace(SENT, began_at=began_at)).url).query))

        assert query["message_time__gte"] == "2027-01-15 09:59:58"
        assert query["message_time__lte"] == "2027-01-15 10:01:11"

    @pytest.mark.parametrize(
        ("link", "offset"),
        [
            ("/v1/Account/MA/Message/?limit=20&offset=40", "40"),
            ("https://evil.example/?offset=20&to_number=1", "20"),
            ("/v1/Account/MA/Message/?limit=20", "0"),
            ("/v1/Account/MA/Message/?offset=-1", "0"),
        ],
    )
    def test_of_a_link_only_the_offset_counts(self, link: str, offset: str) -> None:
        first, next_ = (urlsplit(plivo().find_request(SENT, page).url) for page in (None, link))

        assert dict(parse_qsl(next_.query)) == dict(parse_qsl(first.query)) | {"offset": offset}
        assert next_.netloc == "api.plivo.com"

    def test_recorded(self) -> None:
        began_at = datetime(2026, 1, 15, 10, 0, 0, 400_000, tzinfo=UTC)  # their times are cut to whole seconds
        sent = SentMessage(MESSAGE, ATTEMPT, began_at, deadline_seconds=10)

        found = plivo().find_result(answer(200, payload("plivo/list_200_reconcile.json")), sent)

        assert isinstance(found, Found)
        assert found.provider_message_id == UUID
        assert [event.kind for event in found.events] == [EventKind.SENT]

    def test_one_like_ours_is_ours(self) -> None:
        others = [
            record(to_number="14155550101"),
            record(from_number="15005550007"),
            record(message_direction="inbound"),
        ]

        assert isinstance(find(*others, record()), Found)

    @pytest.mark.parametrize(("seconds", "is_found"), [(-3, False), (-2, True), (0, True), (70, True), (71, False)])
    def test_only_what_was_made_in_the_time_of_the_call(self, seconds: int, is_found: bool) -> None:
        assert isinstance(find(record(seconds)), Found) == is_found

    def test_what_belongs_to_another_attempt_is_not_ours(self) -> None:
        sent = replace(SENT, owned_ids=frozenset({UUID}))

        assert find(record(), sent=sent) == NotThere()
        assert isinstance(find(record(), record(message_uuid="u2"), sent=sent), Found)

    def test_several_to_one_number_are_nobodys(self) -> None:
        """Their records hold no text."""
        assert isinstance(find(record(), record(message_uuid="u2")), CannotTell)

    @pytest.mark.parametrize(
        "changes",
        [
            {"message_uuid": None},
            {"message_time": None},
            {"message_time": "soon"},
            {"to_number": "1415555XXXX"},
            {"to_number": None},
        ],
    )
    def test_one_that_lacks_something_may_be_ours(self, changes: dict[str, Any]) -> None:
        assert isinstance(find(record(**changes)), CannotTell)

    def test_what_is_no_record_may_be_ours(self) -> None:
        assert isinstance(find("huh"), CannotTell)

    @pytest.mark.parametrize(
        ("settings", "sender"),
        [
            ({"from": "Land-Fall"}, "LANDFALL"),
            ({"from": "+15005550006"}, "+15005550006"),
            ({"from": "+15005550006"}, None),
            ({"powerpack_uuid": "pp-1"}, "19998887777"),
        ],
    )
    def test_senders_are_compared_as_they_write_them(self, settings: dict[str, str], sender: str | None) -> None:
        assert isinstance(find(record(from_number=sender), adapter=plivo(**settings)), Found)

    def test_a_next_page_without_an_address_says_nothing(self) -> None:
        assert isinstance(find(next=[1]), CannotTell)

    def test_turns_the_page_while_nothing_is_found(self) -> None:
        link = "/v1/Account/MA/Message/?limit=20&offset=20"

        assert find(record(to_number="1"), next=link) == NextPage(link)
        assert isinstance(find(record(), next=link), CannotTell)  # there may be another behind it
        assert find() == NotThere()

    @pytest.mark.parametrize("meta", [{"total_count": 5}, {"total_count": None}, {"offset": 20, "total_count": 25}])
    def test_a_list_that_is_not_complete_says_nothing(self, meta: dict[str, Any]) -> None:
        assert isinstance(find(**meta), CannotTell)

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (200, "<html>"),
            (200, "{}"),
            (200, '{"objects": []}'),
            (200, '{"objects": {}, "meta": {"total_count": 0}}'),
            (429, '{"error": "too many requests"}'),
            (500, '{"objects": [], "meta": {"total_count": 0}}'),
        ],
    )
    def test_an_answer_that_is_no_list_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(plivo().find_result(answer(status, body), SENT), CannotTell)


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert plivo().status_request(UUID).url == f"{MESSAGES_URL}{UUID}/"

    @pytest.mark.parametrize(
        ("file", "kind", "code"),
        [("get_200_delivered", EventKind.DELIVERED, ""), ("get_200_undelivered_80", EventKind.NOT_REACHED, "80")],
    )
    def test_recorded(self, file: str, kind: EventKind, code: str) -> None:
        [event] = plivo().status_result(answer(200, payload(f"plivo/{file}.json")))

        assert (event.kind, event.error_code, event.provider_message_id) == (kind, code, UUID)
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert b"14155550100" not in event.raw

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        once = json.loads(payload("plivo/get_200_delivered.json"))
        later = {**once, "total_amount": "0.01", "message_updated_time": "2026-01-15 10:09:00+00:00", "api_id": "x"}

        [first], [second] = (plivo().status_result(answer(200, body)) for body in (once, later))

        assert first.dedupe_key == second.dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"),
        [(404, '{"error": "not found"}'), (200, "<html>"), (200, '{"message_uuid": "x"}'), (500, "")],
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert plivo().status_result(answer(status, body)) == []


def report(**fields: str) -> DeliveryEvent:
    [event] = plivo().parse_webhook(plivo_webhook(urlencode({"MessageUUID": UUID, **fields}).encode()))
    return event


# Plivo's table as its documents have it, written a second time: code, what it means, why the number must not be used again.
TABLE = [
    ("10", EventKind.FAILED, None),
    ("20", EventKind.NOT_REACHED, None),
    ("30", EventKind.FAILED, None),
    ("40", EventKind.FAILED, None),
    ("50", EventKind.FAILED, "invalid"),
    ("60", EventKind.FAILED, None),
    ("70", EventKind.FAILED, "unreachable"),
    ("80", EventKind.NOT_REACHED, None),
    ("90", EventKind.FAILED, None),
    ("100", EventKind.FAILED, "unreachable"),
    ("110", EventKind.FAILED, None),
    ("200", EventKind.FAILED, "opted_out"),
    ("201", EventKind.FAILED, None),
    ("300", EventKind.NOT_REACHED, None),
    ("420", EventKind.EXPIRED, None),
    ("450", EventKind.FAILED, None),
    ("900", EventKind.FAILED, None),
    ("910", EventKind.FAILED, None),
    ("1000", EventKind.NOT_REACHED, None),
]


class TestReceipts:
    @pytest.mark.parametrize(
        ("file", "kind", "code", "suppress"),
        [
            ("queued", EventKind.ACCEPTED, "", None),
            ("sent", EventKind.SENT, "", None),
            ("delivered", EventKind.DELIVERED, "", None),
            ("undelivered", EventKind.NOT_REACHED, "80", None),
            ("failed", EventKind.FAILED, "200", "opted_out"),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, code: str, suppress: str | None) -> None:
        [event] = plivo().parse_webhook(plivo_webhook(payload(f"plivo/callback_{file}.txt")))

        assert (event.kind, event.error_code, event.suppress) == (kind, code, suppress)
        assert (event.attempt, event.provider_message_id, event.provider_status) == (ATTEMPT.id, UUID, file)
        assert event.occurred_at is None  # their times have no zone

    @pytest.mark.parametrize(("code", "kind", "suppress"), TABLE)
    @pytest.mark.parametrize("status", ["failed", "undelivered", "Rejected"])
    def test_codes(self, status: str, code: str, kind: EventKind, suppress: str | None) -> None:
        event = report(Status=status, ErrorCode=code)

        assert (event.kind, event.error_code, event.suppress) == (kind, code, suppress)

    def test_every_code_in_our_table_is_in_theirs(self) -> None:
        assert {str(code) for code in (*FAILURES, *SUPPRESS)} == {code for code, _, _ in TABLE}

    @pytest.mark.parametrize("code", ["", "000", "0", "451", "99999", "abc", "5" * 60])
    def test_without_a_known_code_a_failure_is_for_good(self, code: str) -> None:
        event = report(Status="failed", ErrorCode=code)

        assert (event.kind, event.suppress) == (EventKind.FAILED, None)

    @pytest.mark.parametrize("status", ["queued", "sent", "delivered", "read", "huh"])
    def test_a_code_makes_no_failure_of_anything_else(self, status: str) -> None:
        event = report(Status=status, ErrorCode="50")

        assert event.kind is STATES.get(status, EventKind.UNKNOWN)
        assert event.suppress is None

    def test_dlr_unknown_words_and_probes_an_unknown_word_changes_nothing(self) -> None:
        event = report(Status="huh", Foo="bar")

        assert (event.kind, event.provider_status) == (EventKind.UNKNOWN, "huh")

    def test_dlr_invalid_utf8_is_read_all_the_same(self) -> None:
        body = case("dlr-invalid-utf8/callback.form").strip()
        in_utf_8 = urlencode(parse_qsl(body.decode(), encoding="latin-1")).encode()

        for signed in (body, in_utf_8):
            request = WebhookRequest("POST", PLIVO_URL, plivo_headers(plivo_signature(PLIVO_URL, signed)), body)
            [event] = plivo().parse_webhook(request)

            assert (event.kind, event.raw) == (EventKind.DELIVERED, body)
            assert event.provider_message_id == "5b40a428-bfc7-4daf-9d06-726c558bf3c1"

    def test_dlr_metadata_overwrites_event_only_the_signed_url_names_the_attempt(self) -> None:
        metadata = json.loads(case("dlr-metadata-overwrites-event/request.json"))["metadata"]

        event = report(Status="sent", attempt="someone-else", **{name: str(v) for name, v in metadata.items()})

        assert (event.kind, event.attempt, event.provider_message_id) == (EventKind.SENT, ATTEMPT.id, UUID)

    @pytest.mark.parametrize(
        "fields", [{"MessageUUID": ""}, {"Status": ""}, {"MessageUUID": "x" * 201}, {"MessageUUID": "\0"}]
    )
    def test_without_id_or_status_it_is_malformed(self, fields: dict[str, str]) -> None:
        with pytest.raises(MalformedWebhook):
            report(**{"Status": "sent", **fields})

    def test_repetitions_are_one_event_and_other_reports_are_not(self) -> None:
        reports = [
            {"Status": "sent", "Sequence": "2"},
            {"Status": "delivered", "Sequence": "3"},
            {"Status": "delivered", "Sequence": "3", "DeliveryReportTime": "2026-01-15 10:00:03.000000"},
            {"Status": "delivered", "Sequence": "3", "PartInfo": "2 of 2"},
            {"Status": "undelivered", "Sequence": "3", "ErrorCode": "80"},
            {"Status": "undelivered", "Sequence": "3", "ErrorCode": "50"},
            {"Status": "undelivered", "Sequence": "4", "ErrorCode": "50"},
        ]
        keys = [report(**fields).dedupe_key for fields in reports * 2]

        assert keys[:7] == keys[7:]
        assert len(set(keys)) == 7

    def test_by_get(self) -> None:
        url = f"{PLIVO_URL}&{payload('plivo/callback_delivered.txt').decode()}"
        headers = plivo_headers(plivo_signature(url, method="GET"))

        [event] = plivo().parse_webhook(WebhookRequest("GET", url, headers, b""))

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, ATTEMPT.id)
        assert b"MessageUUID=" in event.raw


class TestInbound:
    def test_recorded(self) -> None:
        body = payload("plivo/inbound.txt")
        call = plivo_webhook(body, PUBLIC_URL)

        [message] = plivo().parse_inbound(call)

        uuid = "5b40a428-bfc7-4daf-9d06-726c558bf3c9"
        assert message == InboundMessage(uuid, "+14155550100", "+15005550006", "STOP", None, body)
        assert plivo().parse_webhook(call) == []

    def test_short_codes_and_names_stay_as_they_are(self) -> None:
        body = urlencode({"From": "ACME", "To": "12345", "Text": "", "MessageUUID": "u1"}).encode()

        [message] = plivo().parse_inbound(plivo_webhook(body))

        assert (message.sender, message.recipient, message.text) == ("ACME", "12345", "")

    def test_a_report_is_no_text(self) -> None:
        assert plivo().parse_inbound(plivo_webhook(payload("plivo/callback_delivered.txt"))) == []
        assert plivo().parse_inbound(plivo_webhook(case("dlr-invalid-utf8/callback.form").strip())) == []

    def test_without_an_id_it_is_malformed(self) -> None:
        with pytest.raises(MalformedWebhook):
            plivo().parse_inbound(plivo_webhook(b"From=14155550100&Text=STOP"))

    def test_must_be_genuine(self) -> None:
        forged = replace(plivo_webhook(payload("plivo/inbound.txt")), url=PUBLIC_URL)

        for read in (plivo().parse_inbound, plivo().parse_webhook):
            with pytest.raises(InvalidSignature):
                read(forged)


VECTORS = json.loads(payload("plivo/signature_vectors.json"))


def keyed(auth_token: str, **settings: Any) -> Plivo:
    account = plivo(**settings).account
    return Plivo(replace(account, credentials={"auth_id": "MA1", "auth_token": auth_token}))


def vector(name: str, **headers: str) -> WebhookRequest:
    recorded = VECTORS[name]
    form = urlencode(recorded.get("params", {"MessageUUID": UUID, "Status": "delivered"}))
    version = "V2" if name == "plivo_v2" else "V3"
    given = {
        f"X-Plivo-Signature-{version}": recorded["signature"],
        f"X-Plivo-Signature-{version}-Nonce": recorded["nonce"],
        "Content-Type": "application/x-www-form-urlencoded",
        **headers,
    }
    if name == "plivo_v3_get":
        return WebhookRequest("GET", f"{recorded['url']}?{form}", Headers(given), b"")
    return WebhookRequest("POST", recorded["url"], Headers(given), form.encode())


class TestSignature:
    @pytest.mark.parametrize("name", VECTORS)
    def test_of_the_vendors_vectors_is_believed(self, name: str) -> None:
        [event] = keyed(VECTORS[name]["auth_token"]).parse_webhook(vector(name))

        assert event.kind is EventKind.DELIVERED
        assert event.attempt == ("42" if name == "plivo_v3_post" else None)

    @pytest.mark.parametrize("name", [name for name in VECTORS if name != "plivo_v2"])
    def test_covers_everything_in_version_3(self, name: str) -> None:
        genuine = vector(name)
        wrong_nonce = vector(name, **{"X-Plivo-Signature-V3-Nonce": "12345678901234567891"})
        for forged in (
            replace(
                genuine, body=genuine.body.replace(b"delivered", b"sent"), url=genuine.url.replace("delivered", "sent")
            ),
            replace(
                genuine, body=genuine.body and genuine.body + b"&x=", url=genuine.url + ("" if genuine.body else "&x=")
            ),
            replace(genuine, url=genuine.url.replace("/plivo/", "/other/")),
            replace(genuine, url=genuine.url.replace("https", "http")),
            replace(genuine, url=genuine.url + ("&" if "?" in genuine.url else "?") + "attempt=43"),
            wrong_nonce,
        ):
            with pytest.raises(InvalidSignature):
                keyed(VECTORS[name]["auth_token"]).parse_webhook(forged)

    @pytest.mark.parametrize("name", ["plivo_v3_post", "plivo_v3_post_no_query"])
    def test_of_a_form_says_nothing_of_a_query(self, name: str) -> None:
        with pytest.raises(InvalidSignature):
            keyed(VECTORS[name]["auth_token"]).parse_webhook(replace(vector(name), method="GET"))

    def test_of_a_query_says_nothing_of_a_form(self) -> None:
        genuine = vector("plivo_v3_get")
        by_post = replace(genuine, method="POST")

        with pytest.raises(InvalidSignature):
            keyed(PLIVO_TOKEN).parse_webhook(replace(by_post, body=b"MessageUUID=u1&Status=delivered"))
        with pytest.raises(MalformedWebhook):  # the same address, and nothing in its form
            keyed(PLIVO_TOKEN).parse_webhook(by_post)

    def test_may_be_one_of_several(self) -> None:
        right = VECTORS["plivo_v3_post"]["signature"]
        for given in (f"wrong,{right}", f"{right}, wrong", f" {right} "):
            assert keyed(PLIVO_TOKEN).parse_webhook(vector("plivo_v3_post", **{"X-Plivo-Signature-V3": given}))

        for given in (",", "wrong,wrong", right + "x", right.lower(), f"{right};x", "é"):
            with pytest.raises(InvalidSignature):
                keyed(PLIVO_TOKEN).parse_webhook(vector("plivo_v3_post", **{"X-Plivo-Signature-V3": given}))

    def test_is_never_looked_for_among_very_many(self) -> None:
        given = "wrong," * 1000 + VECTORS["plivo_v3_post"]["signature"]

        with pytest.raises(InvalidSignature):
            keyed(PLIVO_TOKEN).parse_webhook(vector("plivo_v3_post", **{"X-Plivo-Signature-V3": given}))

    def test_with_an_empty_key_is_not_believed(self) -> None:
        body = b"MessageUUID=u1&Status=delivered"
        headers = plivo_headers(plivo_signature(PLIVO_URL, body, key=""))

        with pytest.raises(InvalidSignature):
            keyed("").parse_webhook(WebhookRequest("POST", PLIVO_URL, headers, body))

    def test_of_version_2_says_nothing_where_there_is_one_of_version_3(self) -> None:
        both = vector("plivo_v2", **{"X-Plivo-Signature-V3": "wrong", "X-Plivo-Signature-V3-Nonce": NONCE})

        with pytest.raises(InvalidSignature):
            keyed(PLIVO_TOKEN).parse_webhook(both)

    def test_of_version_2_can_be_turned_down(self) -> None:
        """It is over the address alone: it says nothing of what is reported."""
        with pytest.raises(InvalidSignature):
            keyed(PLIVO_TOKEN, v3_only=True).parse_webhook(vector("plivo_v2"))
        assert keyed(PLIVO_TOKEN, v3_only=True).parse_webhook(vector("plivo_v3_post"))

    @pytest.mark.parametrize(
        "headers",
        [
            {"X-Plivo-Signature-V2": "wrong"},
            {"X-Plivo-Signature-V2": ""},
            {"X-Plivo-Signature-V2-Nonce": "1"},
            {"X-Plivo-Signature-V2-Nonce": ""},
        ],
    )
    def test_of_version_2_must_be_right(self, headers: dict[str, str]) -> None:
        with pytest.raises(InvalidSignature):
            keyed(PLIVO_TOKEN).parse_webhook(vector("plivo_v2", **headers))

    def test_sig_repeated_and_empty_parameters(self) -> None:
        body = case("sig-repeated-and-empty-parameters/body.form").strip()
        body = body.replace(b"MessageSid=", b"MessageUUID=").replace(b"MessageStatus=", b"Status=")  # Plivo's names
        told = b"MessageUUID=SM000000000000000000000000000000e1&Status=delivered&AccountSid=x"
        right = plivo_headers(plivo_signature(PLIVO_URL, body))

        [event] = plivo().parse_webhook(WebhookRequest("POST", PLIVO_URL, right, body))

        assert event.kind is EventKind.DELIVERED
        for wrong in (told, body.replace(b"&ToCity=", b""), body.replace(b"&Address=%2B18330000000", b"", 1)):
            with pytest.raises(InvalidSignature):
                plivo().parse_webhook(
                    WebhookRequest("POST", PLIVO_URL, plivo_headers(plivo_signature(PLIVO_URL, wrong)), body)
                )

    @pytest.mark.parametrize(
        "signature",
        [
            "ORSNrZYyt6PLf+RGCs534dYUPbBDfvz72cr+MAS0R/0=",  # over UTF-8
            "lXMrGt+4oc7ik2h9vMV3+7YoMHiSR0Ep+X3bS0lEQJc=",  # made by the SDK for Python 4.63.0
        ],
    )
    def test_of_letters_beyond_ascii_encoded_once_or_twice(self, signature: str) -> None:
        body = b"From=14155550100&To=15005550006&Text=Gr%C3%BC%C3%9Fe+%F0%9F%98%AD&MessageUUID=u1"
        call = WebhookRequest("POST", PUBLIC_URL, plivo_headers(signature), body)

        [message] = plivo().parse_inbound(call)

        assert message.text == "Grüße 😭"
        with pytest.raises(InvalidSignature):
            plivo().parse_inbound(replace(call, body=body.replace(b"%BC", b"%B6")))

    def test_with_or_without_the_default_port(self) -> None:
        body, with_port = b"MessageUUID=u1&Status=sent", PLIVO_URL.replace(".com/", ".com:443/")

        for signed_url, called_url in ((with_port, PLIVO_URL), (PLIVO_URL, with_port)):
            assert plivo().parse_webhook(replace(plivo_webhook(body, signed_url), url=called_url))

    def test_of_a_query_is_over_its_letters(self) -> None:
        url = f"{PUBLIC_URL}?b=x%20y&a=1&a=0"
        proof = plivo_signature(f"{PUBLIC_URL}?a=0&a=1&b=x%20y", b"MessageUUID=u1&Status=sent")

        assert plivo().parse_webhook(WebhookRequest("POST", url, plivo_headers(proof), b"MessageUUID=u1&Status=sent"))

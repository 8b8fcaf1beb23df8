"""Only what is odd about Twilio."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jsonschema
import pytest

from providers import errors
from providers.errors import InvalidSignature, MalformedWebhook, ProviderError, SenderNotAllowed, UnsupportedFeature
from providers.messages import (
    CannotTell,
    EventKind,
    FindResult,
    Found,
    Headers,
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.twilio import Twilio
from providers.twilio.codes import REFUSALS, STATUSES
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, payload
from tests.providers.samples.twilio import AUTH_TOKEN, TWILIO_URL, twilio, twilio_signature, twilio_webhook

MESSAGE = SAMPLES["twilio"].message
SID = "SM00000000000000000000000000000001"
SERVICE = "MG00000000000000000000000000000001"
SPEC = json.loads((Path(__file__).parent / "specs" / "twilio.json").read_text())
MESSAGES_PATH = "/2010-04-01/Accounts/{AccountSid}/Messages.json"


def form(adapter: Twilio, message: OutgoingMessage = MESSAGE) -> dict[str, str]:
    return dict(parse_qsl(adapter.send_request(message, ATTEMPT).body.decode(), strict_parsing=True))


class TestSendRequest:
    @pytest.mark.parametrize("settings", [{}, {"messaging_service_sid": SERVICE}])
    def test_fits_the_published_schema(self, settings: dict[str, str]) -> None:
        body = SPEC["paths"][MESSAGES_PATH]["post"]["requestBody"]["content"]["application/x-www-form-urlencoded"]
        fields: dict[str, Any] = form(twilio(**settings))
        for name, value in fields.items():
            if body["schema"]["properties"][name].get("type") == "integer":
                fields[name] = int(value)

        jsonschema.validate(fields, {**body["schema"], "additionalProperties": False, "components": SPEC["components"]})

    @pytest.mark.parametrize(
        ("file", "settings"),
        [("send_request.txt", {}), ("send_request_messaging_service.txt", {"messaging_service_sid": SERVICE})],
    )
    def test_is_the_recorded_one(self, file: str, settings: dict[str, str]) -> None:
        recorded = dict(parse_qsl(payload(f"twilio/{file}").decode().split("\n")[-1]))

        sent = form(twilio(**settings))

        assert {**sent, "StatusCallback": ""} == {**recorded, "StatusCallback": ""}

    @pytest.mark.parametrize(
        ("settings", "sender"),
        [
            ({"from": SERVICE}, {"MessagingServiceSid": SERVICE}),
            ({"from": "MGM Resorts"}, {"From": "MGM Resorts"}),
            (
                {"from": "+15005550006", "messaging_service_sid": SERVICE},
                {"From": "+15005550006", "MessagingServiceSid": SERVICE},
            ),
            (
                {"from": SERVICE, "messaging_service_sid": SERVICE[:-1] + "2"},
                {"MessagingServiceSid": SERVICE[:-1] + "2"},
            ),
        ],
    )
    def test_a_service_may_stand_for_the_sender(self, settings: dict[str, str], sender: dict[str, str]) -> None:
        fields = form(twilio(**settings))

        assert {name: fields[name] for name in ("From", "MessagingServiceSid") if name in fields} == sender

    def test_authenticates_with_the_api_key_if_there_is_one(self) -> None:
        by_token = twilio().send_request(MESSAGE, ATTEMPT)
        by_key = twilio(api_key_sid="SK1", api_key_secret="s").send_request(MESSAGE, ATTEMPT)

        assert by_token.headers["Authorization"] == _basic(f"AC00000000000000000000000000000001:{AUTH_TOKEN}")
        assert by_key.headers["Authorization"] == _basic("SK1:s")
        assert by_key.url == by_token.url  # the account stays in the path

    @pytest.mark.parametrize(
        ("callback_url", "expected"),
        [
            ("https://a.example/w/", f"https://a.example/w/?attempt={ATTEMPT.id}"),
            ("https://a.example/w/?k=v%20w", f"https://a.example/w/?k=v%20w&attempt={ATTEMPT.id}"),
            ("https://a.example/w/#rc=2", f"https://a.example/w/?attempt={ATTEMPT.id}#rc=2"),
            (None, None),
        ],
    )
    def test_is_called_back_with_the_attempt(self, callback_url: str | None, expected: str | None) -> None:
        adapter = Twilio(replace(twilio().account, callback_url=callback_url))

        assert form(adapter).get("StatusCallback") == expected

    @pytest.mark.parametrize(
        ("useful", "validity"), [(None, None), (-5, "1"), (0, "1"), (300, "300"), (10**6, "36000")]
    )
    def test_is_valid_as_long_as_it_is_useful(self, useful: int | None, validity: str | None) -> None:
        assert form(twilio(), replace(MESSAGE, useful_seconds=useful)).get("ValidityPeriod") == validity

    def test_drops_nothing_in_silence(self) -> None:
        with pytest.raises(UnsupportedFeature):
            twilio().send_request(replace(MESSAGE, subject="x"), ATTEMPT)
        with pytest.raises(UnsupportedFeature):
            twilio().send_request(replace(MESSAGE, html="<p>x"), ATTEMPT)

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            Twilio(replace(twilio().account, settings={})).send_request(MESSAGE, ATTEMPT)


class TestSendResult:
    def test_taken(self) -> None:
        assert twilio().send_result(answer(201, payload("twilio/send_response_201.json"))) == SendResult(
            SID, "queued", 1
        )

    def test_taken_by_a_messaging_service_which_does_not_know_the_segments_yet(self) -> None:
        taken = twilio().send_result(answer(201, payload("twilio/send_response_201_messaging_service.json")))

        assert taken == SendResult(SID, "accepted", None)

    @pytest.mark.parametrize(
        ("status", "file", "expected", "suppress"),
        [
            (400, "error_400_21211_invalid_to", errors.InvalidRecipient, "invalid"),
            (400, "error_400_21614_not_mobile", errors.InvalidRecipient, "invalid"),
            (400, "error_400_21610_unsubscribed", errors.RecipientOptedOut, "opted_out"),
            (401, "error_401_20003_auth", errors.AuthenticationFailed, None),
            (429, "error_429_20429", errors.RateLimited, None),
            (503, "error_503", errors.OutcomeUnknown, None),
        ],
    )
    def test_recorded_refusals(
        self, status: int, file: str, expected: type[ProviderError], suppress: str | None
    ) -> None:
        with pytest.raises(expected) as caught:
            twilio().send_result(answer(status, payload(f"twilio/{file}.json")))

        assert caught.value.code == str(json.loads(payload(f"twilio/{file}.json"))["code"])
        assert (caught.value.http_status, caught.value.suppress) == (status, suppress)

    @pytest.mark.parametrize("code", REFUSALS)
    def test_every_listed_code_is_certain_with_a_4xx_and_unclear_with_a_5xx(self, code: int) -> None:
        with pytest.raises(REFUSALS[code]):
            twilio().send_result(answer(400, {"code": code}))
        with pytest.raises(errors.OutcomeUnknown) as caught:
            twilio().send_result(answer(500, {"code": code}))
        assert caught.value.suppress is None

    @pytest.mark.parametrize("code", [21999, "21999", None, True, 21211.5, [21211], "2" * 5000])
    def test_an_unlisted_code_is_an_unknown_refusal(self, code: Any) -> None:
        with pytest.raises(errors.UnknownRefusal):
            twilio().send_result(answer(400, {"code": code}))

    def test_reads_a_code_given_as_text(self) -> None:
        with pytest.raises(errors.RecipientOptedOut):
            twilio().send_result(answer(400, {"code": "21610"}))

    def test_a_success_that_names_no_message_is_unclear(self) -> None:
        for body in ("[]", "{}", '{"sid": null}', '{"sid": 5}', '{"sid": ""}', '"SM1"'):
            with pytest.raises(errors.OutcomeUnknown):
                twilio().send_result(answer(201, body))


def record(**changes: Any) -> dict[str, Any]:
    """One of their records of a message like ours, made one second after the call began."""
    template = json.loads(payload("twilio/list_200_reconcile.json"))["messages"][0]
    return {**template, "date_created": _mail_date(1), **changes}


def _mail_date(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds))


def find(
    *messages: Any, next_page_uri: Any = None, sent: SentMessage | None = None, adapter: Twilio | None = None
) -> FindResult:
    body = json.dumps({"messages": messages, "next_page_uri": next_page_uri})
    return (adapter or twilio()).find_result(answer(200, body), sent or SAMPLES["twilio"].sent)


class TestFind:
    def test_asks_for_the_recipient_and_the_sender(self) -> None:
        url = urlsplit(twilio().find_request(SAMPLES["twilio"].sent).url)

        assert dict(parse_qsl(url.query)) == {"To": "+14155550100", "From": "+15005550006", "PageSize": "100"}
        known = {parameter["name"] for parameter in SPEC["paths"][MESSAGES_PATH]["get"]["parameters"]}
        assert set(dict(parse_qsl(url.query))) <= known

    def test_asks_for_the_recipient_alone_if_a_service_chooses_the_sender(self) -> None:
        url = urlsplit(twilio(messaging_service_sid=SERVICE).find_request(SAMPLES["twilio"].sent).url)

        assert dict(parse_qsl(url.query)) == {"To": "+14155550100", "PageSize": "100"}

    def test_follows_a_link_on_their_own_host_only(self) -> None:
        link = "https://evil.example/2010-04-01/Accounts/AC9/Messages.json?To=%2B14155550100&PageToken=PAx&Page=1"

        request = twilio().find_request(SAMPLES["twilio"].sent, link)

        assert request.url == (
            "https://api.twilio.com/2010-04-01/Accounts/AC00000000000000000000000000000001/Messages.json"
            "?To=%2B14155550100&PageToken=PAx&Page=1"
        )

    def test_recorded(self) -> None:
        began_at = datetime(2026, 1, 15, 10, 0, 0, 400_000, tzinfo=UTC)  # their times are cut to whole seconds
        sent = SentMessage(MESSAGE, ATTEMPT, began_at, deadline_seconds=10)

        found = twilio().find_result(answer(200, payload("twilio/list_200_reconcile.json")), sent)

        assert isinstance(found, Found)
        assert found.provider_message_id == SID
        assert [event.kind for event in found.events] == [EventKind.SENT]

    def test_one_like_ours_is_ours(self) -> None:
        others = [record(sid="SM2", body="another"), record(sid="SM3", to="+1"), record(sid="SM4", **{"from": "+1"})]

        found = find(*others, record())

        assert isinstance(found, Found)
        assert found.provider_message_id == SID

    def test_line_ends_and_outer_blanks_do_not_matter(self) -> None:
        sent = replace(SAMPLES["twilio"].sent, message=replace(MESSAGE, text=" Table\r\nready \n"))

        assert isinstance(find(record(body="Table\nready"), sent=sent), Found)

    @pytest.mark.parametrize(("seconds", "is_found"), [(-3, False), (-2, True), (0, True), (70, True), (71, False)])
    def test_only_what_was_made_in_the_time_of_the_call(self, seconds: int, is_found: bool) -> None:
        assert isinstance(find(record(date_created=_mail_date(seconds))), Found) == is_found

    def test_what_belongs_to_another_attempt_is_not_ours(self) -> None:
        sent = replace(SAMPLES["twilio"].sent, owned_ids=frozenset({SID}))

        assert find(record(), sent=sent) == NotThere()
        assert isinstance(find(record(), record(sid="SM2"), sent=sent), Found)

    def test_several_like_ours_are_nobodys(self) -> None:
        assert isinstance(find(record(), record(sid="SM2")), CannotTell)

    @pytest.mark.parametrize(
        "changes", [{"body": ""}, {"body": None}, {"date_created": None}, {"date_created": "soon"}]
    )
    def test_one_that_has_lost_its_text_or_date_may_be_ours(self, changes: dict[str, Any]) -> None:
        assert isinstance(find(record(**changes)), CannotTell)

    def test_a_service_chooses_any_sender(self) -> None:
        adapter = twilio(messaging_service_sid=SERVICE)

        assert isinstance(find(record(messaging_service_sid=SERVICE, **{"from": "+1"}), adapter=adapter), Found)
        assert find(record(messaging_service_sid="MG2"), adapter=adapter) == NotThere()

    def test_a_service_in_place_of_the_sender_is_looked_for_as_a_service(self) -> None:
        adapter = twilio(**{"from": SERVICE})

        assert "From" not in dict(parse_qsl(urlsplit(adapter.find_request(SAMPLES["twilio"].sent).url).query))
        assert isinstance(find(record(messaging_service_sid=SERVICE, **{"from": "+1"}), adapter=adapter), Found)

    def test_turns_the_page_until_it_reaches_back_to_before_the_call(self) -> None:
        late, early = record(sid="SM2", to="+1"), record(sid="SM3", to="+1", date_created=_mail_date(-3))

        assert find(late, next_page_uri="/next?Page=1") == NextPage("/next?Page=1")
        assert find(next_page_uri="/next?Page=1") == NextPage("/next?Page=1")
        assert find(late, early, next_page_uri="/next?Page=1") == NotThere()
        assert find(late) == NotThere()

    @pytest.mark.parametrize(
        ("status", "body"),
        [(200, "<html>"), (200, "{}"), (200, '{"messages": {}}'), (200, "[]"), (500, '{"messages": []}'), (404, "{}")],
    )
    def test_an_answer_that_is_no_list_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(twilio().find_result(answer(status, body), SAMPLES["twilio"].sent), CannotTell)

    def test_the_event_holds_no_text(self) -> None:
        found = find(record())

        assert isinstance(found, Found)
        assert b"Your code" not in found.events[0].raw


class TestStatus:
    @pytest.mark.parametrize(
        ("file", "kind", "code"),
        [
            ("fetch_200_delivered", EventKind.DELIVERED, ""),
            ("fetch_200_failed_30034", EventKind.FAILED, "30034"),
            ("fetch_200_undelivered_30003", EventKind.NOT_REACHED, "30003"),
        ],
    )
    def test_recorded(self, file: str, kind: EventKind, code: str) -> None:
        [event] = twilio().status_result(answer(200, payload(f"twilio/{file}.json")))

        assert (event.kind, event.error_code, event.provider_message_id) == (kind, code, SID)
        assert event.occurred_at is not None

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        once = json.loads(payload("twilio/fetch_200_delivered.json"))
        later = {**once, "price": "-0.01", "date_updated": "Thu, 15 Jan 2026 10:09:00 +0000"}

        [first], [second] = (twilio().status_result(answer(200, body)) for body in (once, later))

        assert first.dedupe_key == second.dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"), [(404, '{"code": 20404}'), (200, "<html>"), (200, '{"sid": "SM1"}'), (500, "")]
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert twilio().status_result(answer(status, body)) == []

    def test_asks_for_one_message(self) -> None:
        assert twilio().status_request(SID).url == (
            f"https://api.twilio.com/2010-04-01/Accounts/AC00000000000000000000000000000001/Messages/{SID}.json"
        )


def callback(**fields: str) -> bytes:
    return urlencode({"MessageSid": SID, "AccountSid": "AC00000000000000000000000000000001", **fields}).encode()


class TestReceipts:
    @pytest.mark.parametrize(
        ("status", "code", "kind", "suppress"),
        [
            ("accepted", "", EventKind.ACCEPTED, None),
            ("scheduled", "", EventKind.ACCEPTED, None),
            ("queued", "", EventKind.ACCEPTED, None),
            ("sending", "", EventKind.ACCEPTED, None),
            ("sent", "", EventKind.SENT, None),
            ("delivered", "", EventKind.DELIVERED, None),
            ("DELIVERED", "0", EventKind.DELIVERED, None),
            ("read", "", EventKind.DELIVERED, None),
            ("partially_delivered", "", EventKind.DELIVERED, None),
            ("undelivered", "", EventKind.FAILED, None),
            ("undelivered", "30001", EventKind.NOT_REACHED, None),
            ("undelivered", "30003", EventKind.NOT_REACHED, None),
            ("undelivered", "30009", EventKind.NOT_REACHED, None),
            ("failed", "30008", EventKind.NOT_REACHED, None),
            ("undelivered", "30017", EventKind.NOT_REACHED, None),
            ("failed", "30022", EventKind.NOT_REACHED, None),
            ("failed", "30036", EventKind.EXPIRED, None),
            ("undelivered", "30005", EventKind.FAILED, "unreachable"),
            ("undelivered", "30006", EventKind.FAILED, "unreachable"),
            ("failed", "21610", EventKind.FAILED, "opted_out"),
            ("undelivered", "30004", EventKind.FAILED, None),
            ("undelivered", "30007", EventKind.FAILED, None),
            ("failed", "30034", EventKind.FAILED, None),
            ("failed", "99999", EventKind.FAILED, None),
            ("canceled", "30003", EventKind.FAILED, None),
            ("delivered", "30005", EventKind.DELIVERED, None),
            ("received", "", EventKind.UNKNOWN, None),
        ],
    )
    def test_meaning(self, status: str, code: str, kind: EventKind, suppress: str | None) -> None:
        [event] = twilio().parse_webhook(twilio_webhook(callback(MessageStatus=status, ErrorCode=code)))

        assert (event.kind, event.suppress) == (kind, suppress)
        assert (event.attempt, event.provider_message_id, event.provider_status) == (ATTEMPT.id, SID, status)

    def test_every_published_status_has_a_meaning(self) -> None:
        published = set(SPEC["components"]["schemas"]["message_enum_status"]["enum"])

        assert published - {"receiving", "received"} == set(STATUSES)

    def test_dlr_unknown_words_and_probes_an_unknown_word_changes_nothing(self) -> None:
        body = case("dlr-unknown-words-and-probes/unknown.form")

        [event] = twilio().parse_webhook(twilio_webhook(body))

        assert (event.kind, event.provider_status, event.raw) == (EventKind.UNKNOWN, "huh", body)

    def test_dlr_unknown_words_and_probes_new_fields_change_nothing(self) -> None:
        [event] = twilio().parse_webhook(twilio_webhook(case("dlr-unknown-words-and-probes/new_fields.form")))

        assert (event.kind, event.provider_message_id) == (EventKind.DELIVERED, "SM000000000000000000000000000000c1")

    def test_dlr_invalid_utf8_is_read_all_the_same(self) -> None:
        names = {b"MessageUUID=": b"MessageSid=", b"&Status=": b"&MessageStatus="}  # theirs for the recorded vendor's
        body = case("dlr-invalid-utf8/callback.form").strip()
        for other, theirs in names.items():
            body = body.replace(other, theirs)
        as_letters = callback_in_utf_8(body)

        for signature in (twilio_signature(TWILIO_URL, body), twilio_signature(TWILIO_URL, as_letters)):
            [event] = twilio().parse_webhook(
                WebhookRequest("POST", TWILIO_URL, {"x-twilio-signature": signature}, body)
            )

            assert (event.kind, event.raw) == (EventKind.DELIVERED, body)

    def test_dlr_metadata_overwrites_event_only_the_signed_url_names_the_attempt(self) -> None:
        metadata = json.loads(case("dlr-metadata-overwrites-event/request.json"))["metadata"]
        body = callback(
            MessageStatus="delivered", attempt="someone-else", **{name: str(v) for name, v in metadata.items()}
        )

        [event] = twilio().parse_webhook(twilio_webhook(body))

        assert (event.kind, event.attempt, event.provider_message_id) == (EventKind.DELIVERED, ATTEMPT.id, SID)

    def test_without_an_attempt_in_the_url_it_is_matched_by_its_id(self) -> None:
        [event] = twilio().parse_webhook(twilio_webhook(callback(MessageStatus="sent"), "https://a.example/w/"))

        assert event.attempt is None

    @pytest.mark.parametrize(
        "fields", [{"MessageSid": ""}, {"MessageStatus": ""}, {"MessageSid": "x" * 201}, {"MessageSid": "\0"}]
    )
    def test_without_id_or_status_it_is_malformed(self, fields: dict[str, str]) -> None:
        with pytest.raises(MalformedWebhook):
            twilio().parse_webhook(twilio_webhook(callback(**{"MessageStatus": "sent", **fields})))

    def test_repetitions_are_one_event_and_other_reports_are_not(self) -> None:
        reports = [
            {"MessageStatus": "sent"},
            {"MessageStatus": "delivered"},
            {"MessageStatus": "delivered", "RawDlrDoneDate": "2701151000"},
            {"MessageStatus": "undelivered", "ErrorCode": "30003"},
            {"MessageStatus": "undelivered", "ErrorCode": "30005"},
        ]
        keys = [twilio().parse_webhook(twilio_webhook(callback(**report)))[0].dedupe_key for report in reports * 2]

        assert keys[:5] == keys[5:]
        assert len(set(keys)) == 5


def callback_in_utf_8(body: bytes) -> bytes:
    return urlencode(parse_qsl(body.decode(), encoding="latin-1")).encode()


VECTORS = json.loads(payload("twilio/signature_vectors.json"))
REPEATED = json.loads(case("sig-repeated-and-empty-parameters/vectors.json"))


def keyed(auth_token: str, **credentials: str) -> Twilio:
    return Twilio(
        replace(twilio().account, credentials={"account_sid": "AC1", "auth_token": auth_token, **credentials})
    )


def signed(vector: dict[str, Any], **headers: str) -> WebhookRequest:
    body = vector["body"] if "body" in vector else urlencode(vector["params"])
    content_type = "application/json" if "body" in vector else "application/x-www-form-urlencoded"
    items = {"X-Twilio-Signature": vector["signature"], "Content-Type": content_type, **headers}
    return WebhookRequest("POST", vector["url"], Headers(items), body.encode())


class TestSignature:
    def test_form(self) -> None:
        vector = VECTORS["twilio_form"]

        [event] = keyed(vector["auth_token"]).parse_webhook(signed(vector))

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, "42")

    def test_json(self) -> None:
        vector = VECTORS["twilio_json"]

        [event] = keyed(vector["auth_token"]).parse_webhook(signed(vector))

        assert event.kind is EventKind.DELIVERED

    def test_json_with_another_body(self) -> None:
        vector = VECTORS["twilio_json"]
        request = signed(vector)

        for body in (request.body.replace(b"delivered", b"failed"), request.body + b" ", b""):
            with pytest.raises(InvalidSignature):
                keyed(vector["auth_token"]).parse_webhook(replace(request, body=body))

    def test_json_that_is_none_is_malformed(self) -> None:
        for body in (b"[]", b'{"a": "\x8c"}', b"{"):
            url = f"https://a.example/?bodySHA256={hashlib.sha256(body).hexdigest()}"
            request = WebhookRequest("POST", url, {"X-Twilio-Signature": twilio_signature(url, b"")}, body)
            with pytest.raises(MalformedWebhook):
                twilio().parse_webhook(request)

    def test_text_lone_surrogate_in_json_is_stored_and_applied(self) -> None:
        operator = json.loads(case("text-lone-surrogate/webhook.json"))["operator"]
        body = json.dumps(
            {"MessageSid": SID, "MessageStatus": "delivered", "ErrorCode": operator, operator: "x"}
        ).encode()
        url = f"{TWILIO_URL}&bodySHA256={hashlib.sha256(body).hexdigest()}"
        request = WebhookRequest("POST", url, {"X-Twilio-Signature": twilio_signature(url, b"")}, body)

        [event] = twilio().parse_webhook(request)

        assert (event.kind, event.error_code, event.raw) == (EventKind.DELIVERED, "", body)

    def test_a_body_that_the_signature_does_not_cover_is_not_believed(self) -> None:
        """A signature over the URL alone, as for a GET, must not carry a JSON body."""
        request = WebhookRequest(
            "POST",
            TWILIO_URL,
            {"X-Twilio-Signature": twilio_signature(TWILIO_URL, b""), "Content-Type": "application/json"},
            b'{"MessageSid": "SM1", "MessageStatus": "delivered"}',
        )

        with pytest.raises(InvalidSignature):
            twilio().parse_webhook(request)

    def test_shared_key(self) -> None:
        vector = VECTORS["twilio_form_sharedkey_sha256"]
        request = signed(vector, **{vector["settings_header"]: vector["settings_value"]})

        [event] = keyed("another", webhook_secret=vector["shared_key_secret"]).parse_webhook(request)

        assert event.kind is EventKind.DELIVERED

    @pytest.mark.parametrize(
        "settings", ["key=x,algorithm=HMAC_SHA1", "key=x", "key=x,algorithm=HMAC_MD5", "algorithm=", "="]
    )
    def test_shared_key_with_another_digest(self, settings: str) -> None:
        vector = VECTORS["twilio_form_sharedkey_sha256"]
        adapter = keyed(AUTH_TOKEN, webhook_secret=vector["shared_key_secret"])

        with pytest.raises(InvalidSignature):
            adapter.parse_webhook(signed(vector, **{vector["settings_header"]: settings}))

    def test_shared_key_where_none_is_set(self) -> None:
        vector = VECTORS["twilio_form_sharedkey_sha256"]

        with pytest.raises(InvalidSignature):
            twilio().parse_webhook(signed(vector, **{vector["settings_header"]: vector["settings_value"]}))

    def test_signed_with_no_key_at_all(self) -> None:
        body = callback(MessageStatus="delivered")
        request = replace(
            twilio_webhook(body), headers={"X-Twilio-Signature": twilio_signature(TWILIO_URL, body, key="")}
        )

        with pytest.raises(InvalidSignature):
            keyed("").parse_webhook(request)

    def test_sig_repeated_and_empty_parameters(self) -> None:
        body = case("sig-repeated-and-empty-parameters/body.form").strip()
        request = WebhookRequest("POST", REPEATED["url"], {"X-Twilio-Signature": REPEATED["signature"]}, body)

        [event] = keyed(REPEATED["auth_token"]).parse_webhook(request)

        assert (event.kind, event.attempt) == (EventKind.DELIVERED, "42")
        for wrong in ("wrong_last_value_only", "wrong_blank_dropped"):
            with pytest.raises(InvalidSignature):
                keyed(REPEATED["auth_token"]).parse_webhook(
                    replace(request, headers={"X-Twilio-Signature": REPEATED[wrong]})
                )

    def test_with_or_without_the_default_port(self) -> None:
        body, with_port = callback(MessageStatus="sent"), TWILIO_URL.replace(".com/", ".com:443/")

        for signed_url, called_url in ((with_port, TWILIO_URL), (TWILIO_URL, with_port)):
            assert twilio().parse_webhook(replace(twilio_webhook(body, signed_url), url=called_url))

    @pytest.mark.parametrize(
        "url",
        [
            TWILIO_URL + "0",
            TWILIO_URL.replace("https", "http"),
            TWILIO_URL.replace("twilio/", "other/"),
            "",
            "https://[",
        ],
    )
    def test_another_url(self, url: str) -> None:
        with pytest.raises(InvalidSignature):
            twilio().parse_webhook(replace(twilio_webhook(callback(MessageStatus="sent")), url=url))

    def test_another_body(self) -> None:
        request = twilio_webhook(callback(MessageStatus="sent"))

        for body in (request.body.replace(b"sent", b"read"), request.body + b"&x=", b""):
            with pytest.raises(InvalidSignature):
                twilio().parse_webhook(replace(request, body=body))


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


class TestInbound:
    FIELDS = {
        "MessageSid": SID,
        "SmsStatus": "received",
        "From": "+4915112345678",
        "To": "+15005550006",
        "Body": "Stop please é",
        "NumMedia": "0",
    }

    def call(self, **changes: str) -> WebhookRequest:
        return twilio_webhook(urlencode(self.FIELDS | changes).encode())

    def test_is_read(self) -> None:
        [message] = twilio().parse_inbound(self.call())

        assert (message.dedupe_key, message.sender, message.recipient, message.text) == (
            SID,
            "+4915112345678",
            "+15005550006",
            "Stop please é",
        )

    def test_is_no_report_and_a_report_is_no_text(self) -> None:
        assert twilio().parse_webhook(self.call()) == []
        assert twilio().parse_inbound(twilio_webhook(payload("twilio/callback_delivered.txt"))) == []

    def test_that_was_tampered_with_is_not_believed(self) -> None:
        call = self.call()

        with pytest.raises(InvalidSignature):
            twilio().parse_inbound(replace(call, body=call.body.replace(b"Stop", b"Go")))

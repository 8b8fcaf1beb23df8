"""Only what is odd about Vonage's Messages API, and the look-up in Reports that it shares with the SMS API."""

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
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
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
    Unavailable,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import (
    AttemptRef,
    CannotTell,
    EventKind,
    FindResult,
    Found,
    HttpRequest,
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
)
from providers.vonage import Vonage
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, payload
from tests.providers.samples.vonage import (
    APPLICATION_ID,
    VONAGE_CREDENTIALS,
    VONAGE_URL,
    VONAGE_VECTOR,
    private_key,
    vonage,
    vonage_token,
    vonage_webhook,
)

MESSAGE = SAMPLES["vonage"].message
SENT = SAMPLES["vonage"].sent
UUID = "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"
SPECS = Path(__file__).parent / "specs"
SPEC = json.loads((SPECS / "vonage-messages.json").read_text())
REPORTS_SPEC = json.loads((SPECS / "vonage-reports.json").read_text())


def fields(adapter: Vonage, message: OutgoingMessage = MESSAGE) -> dict[str, Any]:
    return dict(json.loads(adapter.send_request(message, ATTEMPT).body))


class TestSendRequest:
    def test_fits_the_published_schema(self) -> None:
        schemas = json.loads(json.dumps(SPEC["components"]))
        schemas["schemas"]["baseMessageType"]["required"].remove("message")  # what no message has, nor their examples

        for schema in ("Text", "channelOptionsSms"):
            jsonschema.validate(fields(vonage()), {"$ref": f"#/components/schemas/{schema}", "components": schemas})

    def test_is_the_recorded_one(self) -> None:
        recorded = json.loads(payload("vonage/send_request.json"))

        assert fields(vonage()) == recorded | {"client_ref": ATTEMPT.id, "webhook_url": VONAGE_URL}

    def test_goes_out_with_key_and_secret(self) -> None:
        request = vonage().send_request(MESSAGE, ATTEMPT)

        assert request.url == "https://api.nexmo.com/v1/messages"
        assert request.headers["Authorization"] == f"Basic {base64.b64encode(b'abcd1234:abcdef0123456789').decode()}"
        assert vonage().authorize(request, NOW) == request

    def test_asks_for_no_callback_where_none_can_come(self) -> None:
        adapter = Vonage(replace(vonage().account, callback_url=None))

        assert not {"webhook_url", "webhook_version"} & set(fields(adapter))

    @pytest.mark.parametrize(
        ("useful", "ttl"), [(None, None), (-5, 20), (0, 20), (20, 20), (300, 300), (10**6, 604_800)]
    )
    def test_is_valid_as_long_as_it_is_useful(self, useful: int | None, ttl: int | None) -> None:
        assert fields(vonage(), replace(MESSAGE, useful_seconds=useful)).get("ttl") == ttl  # seconds

    def test_comes_from_the_sender_of_the_country(self) -> None:
        adapter = vonage(senders={"GB": "Landfall"})

        assert fields(adapter, replace(MESSAGE, country="GB"))["from"] == "Landfall"
        assert fields(adapter, replace(MESSAGE, country="US"))["from"] == "15005550006"

    def test_names_the_registration_in_india_only(self) -> None:
        adapter = vonage(entity_id="1101456324675322134", content_id="1107457532145798767")

        assert fields(adapter, replace(MESSAGE, country="IN"))["sms"] == {
            "encoding_type": "auto",
            "entity_id": "1101456324675322134",
            "content_id": "1107457532145798767",
        }
        assert fields(adapter)["sms"] == {"encoding_type": "auto"}

    def test_a_reference_is_no_longer_than_theirs_may_be(self) -> None:
        assert len(AttemptRef(f"{'f' * 32}-99999").id) <= 40

    def test_drops_nothing_in_silence(self) -> None:
        for message in (
            replace(MESSAGE, subject="x"),
            replace(MESSAGE, html="<p>x"),
            replace(MESSAGE, text="x" * 1001),
        ):
            with pytest.raises(UnsupportedFeature):
                vonage().send_request(message, ATTEMPT)

    def test_a_longer_text_may_be_allowed(self) -> None:
        assert fields(vonage(text_limit=3200), replace(MESSAGE, text="x" * 3200))["text"] == "x" * 3200
        assert fields(vonage(), replace(MESSAGE, text="x" * 1000))["text"] == "x" * 1000

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            Vonage(replace(vonage().account, settings={})).send_request(MESSAGE, ATTEMPT)


def by_application(pem: str | None = None) -> Vonage:
    return vonage({"application_id": APPLICATION_ID, "private_key": pem or private_key()})


def token_of(request: HttpRequest) -> list[Any]:
    scheme, _, token = request.headers["Authorization"].partition(" ")
    assert scheme == "Bearer"
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]


class TestToken:
    def test_is_the_applications_and_of_now(self) -> None:
        adapter = by_application()
        bare = adapter.send_request(MESSAGE, ATTEMPT)

        request = adapter.authorize(bare, NOW)

        header, claims = token_of(request)
        signed, _, signature = request.headers["Authorization"].removeprefix("Bearer ").rpartition(".")
        key = load_pem_private_key(private_key().encode(), None).public_key()
        assert isinstance(key, RSAPublicKey)
        key.verify(base64.urlsafe_b64decode(signature + "=="), signed.encode(), PKCS1v15(), SHA256())
        assert header == {"alg": "RS256", "typ": "JWT"}
        assert claims == {
            "application_id": APPLICATION_ID,
            "iat": 1800007200,
            "exp": 1800007500,
            "jti": claims["jti"],
        }
        assert "Authorization" not in bare.headers
        assert (request.method, request.url, request.body) == (bare.method, bare.url, bare.body)

    def test_is_the_same_for_the_same_call_at_the_same_time_only(self) -> None:
        adapter = by_application()
        request = adapter.send_request(MESSAGE, ATTEMPT)
        other = adapter.send_request(MESSAGE, AttemptRef(f"{ATTEMPT.message}-2"))

        ids = [
            token_of(adapter.authorize(asked, at))[1]["jti"]
            for asked, at in ((request, NOW), (other, NOW), (request, NOW + timedelta(milliseconds=1)))
        ]

        assert adapter.authorize(request, NOW) == by_application().authorize(request, NOW)
        assert len(set(ids)) == 3

    def test_is_not_needed_where_key_and_secret_are_given(self) -> None:
        adapter = by_application()

        for request in (adapter.find_request(SENT), adapter.status_request(UUID)):
            assert request.headers["Authorization"].startswith("Basic ")
            assert adapter.authorize(request, NOW) == request

    @pytest.mark.parametrize("missing", ["application_id", "private_key"])
    def test_needs_both_of_its_credentials(self, missing: str) -> None:
        both = {"application_id": APPLICATION_ID, "private_key": private_key()}

        assert "Authorization" in vonage(both | {missing: ""}).send_request(MESSAGE, ATTEMPT).headers

    def test_a_key_that_is_none_is_a_fault_of_the_account(self) -> None:
        curve = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

        for pem in ("pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", curve.decode()):
            adapter = by_application(pem)
            with pytest.raises(AuthenticationFailed) as caught:
                adapter.authorize(adapter.send_request(MESSAGE, ATTEMPT), NOW)
            assert pem not in str(caught.value)


# From the vendor's list of codes, by what is to be done.
CODES: dict[type[ProviderError], tuple[int, ...]] = {
    RateLimited: (1000, 1241),
    OutcomeUnknown: (1030, 1320),
    Unavailable: (1100, 1180, 1220, 1230),
    InvalidRequest: (1010, 1020, 1021, 1130, 1150),
    SenderNotAllowed: (1140, 1160, 1340, 1350, 1370),
    SenderNotRegistered: (1022, 1120),
    AuthenticationFailed: (1060, 1080, 1110),
    InsufficientBalance: (1070,),
    ContentRejected: (1090, 1210),
    RouteRejected: (1040, 1200, 1250),
    InvalidRecipient: (1170,),
    RecipientUnavailable: (1190, 1260, 1270, 1280, 1290, 1300, 1310),
    RecipientOptedOut: (1050, 1240),
    UnknownRefusal: (1330, 1360),
}
BY_CODE = [(code, error) for error, codes in CODES.items() for code in codes]
SUPPRESSED = {1050: "opted_out", 1170: "invalid", 1190: "unreachable", 1240: "opted_out"}


def refusal(link: str, **more: Any) -> dict[str, Any]:
    return {"type": f"https://developer.vonage.com/api-errors{link}", "title": "?", **more}


def refused(status: int, body: Any, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        vonage().send_result(answer(status, body, **headers))
    return caught.value


class TestSendResult:
    def test_taken(self) -> None:
        assert vonage().send_result(answer(202, payload("vonage/send_response_202.json"))) == SendResult(UUID)

    @pytest.mark.parametrize(
        ("status", "file", "expected", "code"),
        [
            (401, "error_401", AuthenticationFailed, "unauthorized"),
            (402, "error_402_low_balance", InsufficientBalance, "low-balance"),
            (422, "error_422_invalid_params", InvalidRecipient, "1150"),
            (429, "error_429_throttled", RateLimited, "1010"),
            (500, "error_500", OutcomeUnknown, "1000"),
        ],
    )
    def test_recorded_refusals(self, status: int, file: str, expected: type[ProviderError], code: str) -> None:
        error = refused(status, payload(f"vonage/{file}.json"))

        assert (type(error), error.code, error.http_status, error.suppress) == (expected, code, status, None)

    @pytest.mark.parametrize(("code", "expected"), BY_CODE)
    def test_every_listed_code(self, code: int, expected: type[ProviderError]) -> None:
        error = refused(422, refusal(f"/messages#{code}"))

        assert (type(error), error.code, error.suppress) == (expected, str(code), SUPPRESSED.get(code))

    @pytest.mark.parametrize(("code", "expected"), BY_CODE)
    def test_no_code_outdoes_a_status_that_is_clear(self, code: int, expected: type[ProviderError]) -> None:
        body = refusal(f"/messages#{code}")

        for status, kind in (
            (429, RateLimited),
            (401, AuthenticationFailed),
            (402, InsufficientBalance),
            (500, OutcomeUnknown),
            (503, OutcomeUnknown),
            (408, OutcomeUnknown),
        ):
            error = refused(status, body)
            assert type(error) is kind
            assert error.suppress is None or kind is expected

    def test_the_code_may_be_the_title(self) -> None:
        for body in ({"title": "1240"}, {"title": 1240}, {"type": "https://a.example/", "title": "1240"}):
            assert type(refused(422, body)) is RecipientOptedOut

    @pytest.mark.parametrize(
        ("parameters", "expected"),
        [
            (["to"], InvalidRecipient),
            (["from"], SenderNotAllowed),
            (["ttl"], InvalidRequest),
            (["to", "from"], InvalidRequest),
            ([], InvalidRequest),
        ],
    )
    def test_one_wrong_parameter_tells_whose_fault_it_is(
        self, parameters: list[str], expected: type[ProviderError]
    ) -> None:
        wrong = [{"name": name, "reason": "invalid value"} for name in parameters]

        assert type(refused(422, refusal("/messages#1150", invalid_parameters=wrong))) is expected
        assert type(refused(422, refusal("/messages#1240", invalid_parameters=wrong))) is RecipientOptedOut

    @pytest.mark.parametrize(
        ("status", "link", "expected"),
        [
            (422, "#invalid-json", InvalidRequest),
            (403, "/#unprovisioned", AuthenticationFailed),
            (403, "/messages#1120", SenderNotRegistered),
            (422, "/messages#1999", UnknownRefusal),
            (409, "/messages#something-new", UnknownRefusal),
            (422, "", UnknownRefusal),
        ],
    )
    def test_by_name_or_not_at_all(self, status: int, link: str, expected: type[ProviderError]) -> None:
        assert type(refused(status, refusal(link))) is expected

    @pytest.mark.parametrize(
        "body",
        [{"type": 5, "title": []}, {"type": "#" + "x" * 60}, {"invalid_parameters": "to"}, {"invalid_parameters": [1]}],
    )
    def test_a_strange_refusal_is_an_unknown_one(self, body: dict[str, Any]) -> None:
        error = refused(422, body)

        assert (type(error), error.code) == (UnknownRefusal, "")

    def test_a_success_that_names_no_message_is_unclear(self) -> None:
        for body in ("[]", "{}", '{"message_uuid": null}', '{"message_uuid": 5}', '{"message_uuid": ""}'):
            assert type(refused(202, body)) is OutcomeUnknown


def record(**changes: Any) -> dict[str, Any]:
    """One of their records of a message like ours."""
    [template] = json.loads(payload("vonage/reports_lookup_200.json"))["records"]
    return {**template, "client_ref": ATTEMPT.id, **changes}


def report(*records: Any, **changes: Any) -> dict[str, Any]:
    return {"request_status": "SUCCESS", "items_count": len(records), "records": list(records), **changes}


def find(*records: Any, sent: SentMessage = SENT, **changes: Any) -> FindResult:
    return vonage().find_result(answer(200, report(*records, **changes)), sent)


def query(request: HttpRequest) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(request.url).query, strict_parsing=True))


class TestFind:
    def test_asks_for_what_was_taken_in_the_time_of_the_call(self) -> None:
        request = vonage().find_request(SENT)

        assert request.url.startswith("https://api.nexmo.com/v2/reports/records?")
        assert query(request) == {
            "account_id": "abcd1234",
            "product": "MESSAGES",
            "direction": "outbound",
            "date_start": "2027-01-15T09:59:58Z",
            "date_end": "2027-01-15T10:00:20Z",
        }
        known = {parameter["name"] for parameter in REPORTS_SPEC["paths"]["/v2/reports/records"]["get"]["parameters"]}
        assert set(query(request)) <= known

    def test_asks_for_a_day_at_most_and_then_cannot_tell(self) -> None:
        sent = replace(SENT, deadline_seconds=3 * 24 * 3600)

        assert query(vonage().find_request(sent))["date_end"] == "2027-01-16T09:59:58Z"
        assert isinstance(find(sent=sent), CannotTell)
        assert isinstance(find(record(), sent=sent), Found)

    def test_asks_where_reports_are(self) -> None:
        regional = Vonage(replace(vonage().account, base_url="https://api-eu.vonage.com"))
        elsewhere = Vonage(
            replace(regional.account, settings={"from": "1", "reports_url": "https://reports.example.com/"})
        )

        assert regional.find_request(SENT).url.startswith("https://api-eu.vonage.com/v2/reports/records?")
        assert elsewhere.find_request(SENT).url.startswith("https://reports.example.com/v2/reports/records?")
        assert elsewhere.send_request(MESSAGE, ATTEMPT).url == "https://api-eu.vonage.com/v1/messages"

    def test_follows_a_link_on_their_own_host_only(self) -> None:
        link = "https://evil.example/v2/reports/records?cursor=abc%3D&account_id=abcd1234"

        assert vonage().find_request(SENT, link).url == (
            "https://api.nexmo.com/v2/reports/records?cursor=abc%3D&account_id=abcd1234"
        )

    def test_recorded(self) -> None:
        sent = replace(SENT, attempt=AttemptRef("ntf-0001-a1"))

        found = vonage().find_result(answer(200, payload("vonage/reports_lookup_200.json")), sent)

        assert isinstance(found, Found)
        assert found.provider_message_id == UUID
        assert [(event.kind, event.attempt) for event in found.events] == [(EventKind.DELIVERED, None)]

    def test_ours_is_known_by_its_reference_alone(self) -> None:
        others = [record(message_id="b", client_ref=f"{ATTEMPT.message}-2"), record(message_id="c", client_ref="x")]

        assert isinstance(find(*others, record()), Found)
        assert find(*others) == NotThere()
        assert find() == NotThere()

    def test_after_a_restore_it_may_be_any_attempt_of_the_message_but_only_one(self) -> None:
        sent = replace(SENT, any_attempt=True)
        second, third = (record(message_id=number, client_ref=f"{ATTEMPT.message}-{number}") for number in "23")

        assert isinstance(find(second, sent=sent), Found)
        assert isinstance(find(second, third, sent=sent), CannotTell)
        assert find(record(client_ref=f"{'0' * 32}-1"), sent=sent) == NotThere()

    def test_one_attempt_on_record_twice_is_nobodys(self) -> None:
        assert isinstance(find(record(), record(message_id="b")), CannotTell)
        assert isinstance(find(record(), record(message_id="b"), sent=replace(SENT, owned_ids=frozenset("b"))), Found)

    @pytest.mark.parametrize("reference", [None, "", 5])
    def test_one_to_the_same_number_that_has_lost_its_reference_may_be_ours(self, reference: Any) -> None:
        assert isinstance(find(record(client_ref=reference)), CannotTell)
        assert find(record(client_ref=reference, to="14155550101")) == NotThere()
        assert find(record(client_ref=reference), sent=replace(SENT, owned_ids=frozenset({UUID}))) == NotThere()

    def test_turns_the_page(self) -> None:
        link = {
            "_links": {"self": {"href": "?"}, "next": {"href": "https://api.nexmo.com/v2/reports/records?cursor=a"}}
        }

        assert find(record(client_ref="x"), **link) == NextPage("https://api.nexmo.com/v2/reports/records?cursor=a")
        assert isinstance(find(record(), **link), Found)

    @pytest.mark.parametrize(
        "changes",
        [{"request_status": "TRUNCATED"}, {"request_status": None}, {"items_count": 2}, {"items_count": "1"}],
    )
    def test_a_report_that_is_cut_short_is_no_clear_no(self, changes: dict[str, Any]) -> None:
        assert isinstance(find(record(client_ref="x"), **changes), CannotTell)
        assert isinstance(find(record(), **changes), Found)

    def test_nor_is_one_with_a_record_that_cannot_be_read(self) -> None:
        assert isinstance(find({}), CannotTell)
        assert isinstance(find("x"), CannotTell)

    @pytest.mark.parametrize(
        ("status", "body"),
        [(200, "<html>"), (200, "{}"), (200, '{"records": {}}'), (403, '{"records": []}'), (404, "{}"), (429, "")],
    )
    def test_an_answer_that_is_no_report_says_nothing(self, status: int, body: str) -> None:
        assert isinstance(vonage().find_result(answer(status, body), SENT), CannotTell)


class TestStatus:
    def test_asks_for_one_message(self) -> None:
        assert query(vonage().status_request(UUID)) == {
            "account_id": "abcd1234",
            "product": "MESSAGES",
            "direction": "outbound",
            "id": UUID,
        }

    def test_recorded(self) -> None:
        [event] = vonage().status_result(answer(200, payload("vonage/reports_lookup_200.json")))

        assert (event.kind, event.provider_message_id, event.error_code) == (EventKind.DELIVERED, UUID, "")
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 3, tzinfo=UTC)
        assert b"14155550100" not in event.raw

    @pytest.mark.parametrize(
        ("status", "code", "kind"),
        [
            ("submitted", "0", EventKind.SENT),
            ("rejected", "1180", EventKind.NOT_REACHED),
            ("rejected", "1300", EventKind.FAILED),
            ("new", "", EventKind.UNKNOWN),
        ],
    )
    def test_means_what_a_receipt_means(self, status: str, code: str, kind: EventKind) -> None:
        [event] = vonage().status_result(answer(200, report(record(status=status, error_code=code))))

        assert event.kind is kind

    def test_an_unchanged_poll_is_the_same_event(self) -> None:
        [first], [second], [other] = (
            vonage().status_result(answer(200, report(record(**changes))))
            for changes in ({}, {"total_price": "1"}, {"status": "rejected"})
        )

        assert first.dedupe_key == second.dedupe_key != other.dedupe_key

    @pytest.mark.parametrize(
        ("status", "body"), [(404, "{}"), (200, "<html>"), (200, '{"records": [{"message_id": "a"}]}'), (403, "")]
    )
    def test_an_answer_that_cannot_be_read_says_nothing(self, status: int, body: str) -> None:
        assert vonage().status_result(answer(status, body)) == []


def callback(**changes: Any) -> dict[str, Any]:
    return {**json.loads(payload("vonage/callback_submitted.json")), "client_ref": ATTEMPT.id, **changes}


def failure(code: object) -> dict[str, Any]:
    return {"type": f"https://developer.vonage.com/api-errors/messages#{code}", "title": str(code)}


class TestReceipts:
    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            ("submitted", EventKind.SENT),
            ("delivered", EventKind.DELIVERED),
            ("Delivered", EventKind.DELIVERED),
            ("read", EventKind.DELIVERED),
            ("rejected", EventKind.FAILED),
            ("undeliverable", EventKind.FAILED),
            ("huh", EventKind.UNKNOWN),
        ],
    )
    def test_status(self, status: str, kind: EventKind) -> None:
        [event] = vonage().parse_webhook(vonage_webhook(callback(status=status)))

        assert (event.kind, event.provider_status, event.suppress) == (kind, status, None)
        assert (event.attempt, event.provider_message_id) == (ATTEMPT.id, UUID)
        assert event.occurred_at == datetime(2026, 1, 15, 10, 0, 1, tzinfo=UTC)

    @pytest.mark.parametrize("status", ["rejected", "undeliverable"])
    @pytest.mark.parametrize("code", [code for code, _ in BY_CODE] + [9999])
    def test_every_listed_code(self, status: str, code: int) -> None:
        passing = {1000, 1030, 1100, 1180, 1220, 1230, 1241}
        expected = EventKind.NOT_REACHED if code in passing else EventKind.FAILED
        expected = {1360: EventKind.EXPIRED, 1320: EventKind.UNKNOWN, 1330: EventKind.UNKNOWN}.get(code, expected)

        [event] = vonage().parse_webhook(vonage_webhook(callback(status=status, error=failure(code))))

        assert (event.kind, event.error_code, event.suppress) == (expected, str(code), SUPPRESSED.get(code))

    def test_every_published_status_has_a_meaning(self) -> None:
        published = SPEC["components"]["schemas"]["messageStatusBase"]["properties"]["status"]["enum"]

        for status in published:
            [event] = vonage().parse_webhook(vonage_webhook(callback(status=status)))
            assert event.kind is not EventKind.UNKNOWN

    @pytest.mark.parametrize("error", [None, "1180", {}, {"title": 1180}, {"title": "1180"}, {"type": "x#1180"}])
    def test_the_code_may_be_the_title_or_missing(self, error: Any) -> None:
        [event] = vonage().parse_webhook(vonage_webhook(callback(status="rejected", error=error)))

        has_code = isinstance(error, dict) and bool(error)
        assert event.kind is (EventKind.NOT_REACHED if has_code else EventKind.FAILED)

    def test_a_delivery_with_an_old_error_is_a_delivery(self) -> None:
        [event] = vonage().parse_webhook(vonage_webhook(callback(status="delivered", error=failure(1240))))

        assert (event.kind, event.suppress) == (EventKind.DELIVERED, None)

    @pytest.mark.parametrize(
        "changes", [{"message_uuid": None}, {"message_uuid": "x" * 201}, {"status": ""}, {"status": None}]
    )
    def test_without_id_or_status_it_is_malformed(self, changes: dict[str, Any]) -> None:
        with pytest.raises(MalformedWebhook):
            vonage().parse_webhook(vonage_webhook(callback(**changes)))

    def test_dlr_invalid_utf8_is_kept_for_a_person(self) -> None:
        with pytest.raises(MalformedWebhook):
            vonage().parse_webhook(vonage_webhook(case("dlr-invalid-utf8/callback.json")))

    def test_repetitions_are_one_event_and_other_reports_are_not(self) -> None:
        reports = [
            callback(),
            callback(status="delivered"),
            callback(status="delivered", timestamp="2026-01-15T10:00:09Z"),
            callback(status="rejected", error=failure(1180)),
            callback(status="rejected", error=failure(1240)),
        ]
        keys = [
            vonage().parse_webhook(vonage_webhook(body, iat=issued_at))[0].dedupe_key
            for issued_at in (1768471203, 1768474803)
            for body in reports
        ]

        assert keys[:5] == keys[5:]
        assert len(set(keys)) == 5

    def test_a_reference_of_others_names_no_attempt_of_ours(self) -> None:
        [event] = vonage().parse_webhook(vonage_webhook(callback(client_ref=None)))

        assert event.attempt is None


INBOUND = {
    "channel": "sms",
    "message_uuid": UUID,
    "to": "15005550006",
    "from": "14155550100",
    "timestamp": "2026-01-15T10:00:00Z",
    "text": "STOP",
    "message_type": "text",
    "sms": {"num_messages": "1", "keyword": "STOP"},
}


class TestInbound:
    def test_is_read_and_is_no_receipt(self) -> None:
        call = vonage_webhook(INBOUND)

        [text] = vonage().parse_inbound(call)

        assert (text.sender, text.recipient, text.text) == ("+14155550100", "+15005550006", "STOP")
        assert (text.dedupe_key, text.raw) == (UUID, call.body)
        assert text.received_at == datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
        assert vonage().parse_webhook(call) == []

    def test_names_and_short_codes_stay_as_they_are(self) -> None:
        [text] = vonage().parse_inbound(vonage_webhook({**INBOUND, "from": "Landfall", "to": "72345"}))

        assert (text.sender, text.recipient) == ("Landfall", "72345")

    def test_a_receipt_is_none(self) -> None:
        assert vonage().parse_inbound(vonage_webhook(callback())) == []

    def test_what_came_by_another_channel_is_none(self) -> None:
        assert vonage().parse_inbound(vonage_webhook({**INBOUND, "channel": "whatsapp"})) == []

    def test_a_forged_one_is_not_believed(self) -> None:
        with pytest.raises(InvalidSignature):
            vonage().parse_inbound(replace(vonage_webhook(INBOUND), body=json.dumps(INBOUND | {"text": "x"}).encode()))


TOKENS = json.loads(case("sig-vonage-token-on-another-body/vectors.json"))
SUBMITTED, DELIVERED = (
    case(f"sig-vonage-token-on-another-body/body_{word}.json") for word in ("submitted", "delivered")
)


def believes(token: str, body: bytes, secret: str = TOKENS["secret"], scheme: str = "Bearer") -> bool:
    adapter = vonage({"signature_secret": secret})
    try:
        return bool(
            adapter.parse_webhook(replace(vonage_webhook(body), headers={"authorization": f"{scheme} {token}"}))
        )
    except InvalidSignature:
        return False


class TestSignature:
    def test_vector(self) -> None:
        token = VONAGE_VECTOR["value"].removeprefix("Bearer ")
        body = VONAGE_VECTOR["body"].encode()

        assert believes(token, body, VONAGE_VECTOR["signature_secret"])
        assert not believes(token, body, "another")
        assert not believes(token, body.replace(b"delivered", b"submitted"), VONAGE_VECTOR["signature_secret"])

    def test_sig_vonage_token_on_another_body(self) -> None:
        tokens = TOKENS["tokens"]

        assert believes(tokens["right"], SUBMITTED)
        assert not believes(tokens["right"], DELIVERED)
        assert not believes(tokens["right"], SUBMITTED + b" ")
        assert not believes(tokens["no_hash"], SUBMITTED)
        assert not believes(tokens["for_delivered_alg_none"], DELIVERED)

    def test_sig_vonage_token_on_another_body_an_old_one_for_this_body_tells_nothing_new(self) -> None:
        adapter = vonage({"signature_secret": TOKENS["secret"]})
        calls = [
            replace(vonage_webhook(SUBMITTED), headers={"Authorization": f"Bearer {TOKENS['tokens'][name]}"})
            for name in ("right", "old")
        ]

        assert adapter.parse_webhook(calls[0]) == adapter.parse_webhook(calls[1])

    @pytest.mark.parametrize("algorithm", ["none", "HS512", "RS256", "", "hs256"])
    def test_another_algorithm_is_not_believed(self, algorithm: str) -> None:
        token = vonage_token(VONAGE_VECTOR["claims"], algorithm=algorithm)

        assert not believes(token, VONAGE_VECTOR["body"].encode(), VONAGE_VECTOR["signature_secret"])

    @pytest.mark.parametrize("value", [None, 5, "", ["x"], "0" * 64])
    def test_a_hash_that_is_none_is_not_believed(self, value: Any) -> None:
        with pytest.raises(InvalidSignature):
            vonage().parse_webhook(vonage_webhook(callback(), payload_hash=value))

    @pytest.mark.parametrize("scheme", ["Basic", "", "Token"])
    def test_another_scheme_is_not_believed(self, scheme: str) -> None:
        assert not believes(TOKENS["tokens"]["right"], SUBMITTED, scheme=scheme)

    @pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "é.ü.ß", "e30.e30.", "\ud800.x.y"])
    def test_what_is_no_token_is_not_believed(self, token: str) -> None:
        assert not believes(token, SUBMITTED)

    def test_signed_with_no_secret_at_all(self) -> None:
        token = vonage_token(VONAGE_VECTOR["claims"], secret="")

        assert not believes(token, VONAGE_VECTOR["body"].encode(), secret="")

    def test_without_any_header(self) -> None:
        with pytest.raises(InvalidSignature):
            vonage().parse_webhook(replace(vonage_webhook(callback()), headers={}))

    def test_the_hash_may_be_in_capitals(self) -> None:
        claims = VONAGE_VECTOR["claims"]
        token = vonage_token(claims | {"payload_hash": claims["payload_hash"].upper()})

        assert believes(token, VONAGE_VECTOR["body"].encode(), VONAGE_CREDENTIALS["signature_secret"])


def test_says_what_nobody_could_check() -> None:
    assert all(sentence.endswith(".") for sentence in Vonage.unverified)

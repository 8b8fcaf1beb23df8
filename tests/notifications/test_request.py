"""What a client may ask for: every way to ask wrongly, and what is told about it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notifications.lanes import Priority
from notifications.models import Category, OnUnclear
from notifications.services.mail_fields import HTML_BYTES, SUBJECT_CHARACTERS
from notifications.services.request import (
    BODY_BYTES,
    EXPIRES_AT_DAYS,
    KEY_CHARACTERS,
    METADATA_BYTES,
    NESTING_LEVELS,
    SEND_AT_DAYS,
    SMS_TEXT_CHARACTERS,
    FieldError,
    NewNotification,
    Refused,
    read,
    time_errors,
)

CASES = Path(__file__).parent.parent / "cases"
NOW = datetime(2027, 1, 15, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
NUMBER, MAILBOX, TEXT = "+4915112345678", "ana@example.org", "Table ready"


def checked(fields):
    """A request as it is accepted at NOW."""
    request = read(fields)
    if errors := list(time_errors(request, NOW)):
        raise Refused(errors)
    return request


def a_request(**changes: Any) -> dict[str, Any]:
    """Fields that are accepted: one SMS and one e-mail, and what `changes` says."""
    return {
        "to": {"sms": NUMBER, "email": MAILBOX},
        "content": {"sms": {"text": TEXT}, "email": {"subject": "Your table", "text": TEXT}},
        **changes,
    }


def accepted(**changes: Any) -> NewNotification:
    return checked(a_request(**changes))


def refusal(fields: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        checked(fields)
    return caught.value


def errors(**changes: Any) -> list[FieldError]:
    return refusal(a_request(**changes)).errors


def error(**changes: Any) -> FieldError:
    (only,) = errors(**changes)
    return only


def sms(text: Any) -> dict[str, Any]:
    return {"sms": {"text": text}}


def email(**fields: Any) -> dict[str, Any]:
    return {"email": {"subject": "Your table", **fields}}


def metadata_of(size: int) -> dict[str, str]:
    """Metadata that takes exactly so many bytes as JSON."""
    return {"a": "x" * (size - len(json.dumps({"a": ""})))}


def nested(levels: int, innermost: Any = "x") -> Any:
    for level in range(levels):
        innermost = [innermost] if level % 2 else {"a": innermost}
    return innermost


class TestAGoodRequest:
    def test_has_defaults_for_all_that_it_does_not_say(self):
        request = accepted()

        assert (request.priority, request.category) == (Priority.NORMAL, Category.TRANSACTIONAL)
        assert request.metadata == {}
        assert {
            request.route,
            request.idempotency_key,
            request.reference,
            request.incident,
            request.send_at,
            request.expires_at,
            request.on_unclear,
        } == {None}

    def test_may_say_everything(self):
        request = accepted(
            route="sms-then-email",
            priority="critical",
            category="marketing",
            idempotency_key="k1",
            reference="order 7",
            incident="outage",
            send_at="2027-01-15T12:00:00+01:00",
            expires_at=NOW + DAY,
            on_unclear="hold",
            metadata={"shop": {"table": 7, "tags": ["a", None, True, 1.5]}},
        )

        assert (request.priority, request.on_unclear) == (Priority.CRITICAL, OnUnclear.HOLD)
        assert request.send_at == NOW + timedelta(hours=1)
        assert request.metadata["shop"]["tags"] == ["a", None, True, 1.5]

    def test_has_its_addresses_normalised(self):
        request = accepted(to={"sms": "+49 151 12345678", "email": "Ana@EXAMPLE.org"})

        assert (request.to.sms, request.to.email) == ("+4915112345678", "Ana@example.org")

    @pytest.mark.parametrize(
        "name",
        ["route", "priority", "category", "idempotency_key", "reference", "incident", "send_at", "expires_at",
         "on_unclear", "metadata"],
    )  # fmt: skip
    def test_may_say_null_for_whatever_it_need_not_say(self, name):
        assert accepted(**{name: None}) == accepted()

    def test_may_say_null_for_a_channel(self):
        nulls = accepted(to={"sms": NUMBER, "email": None}, content={**sms(TEXT), "email": None})

        assert nulls == accepted(to={"sms": NUMBER}, content=sms(TEXT))

    @pytest.mark.parametrize("fields", [{"text": "a"}, {"html": "<p>a"}, {"text": "", "html": "<p>a"}])
    def test_has_a_text_or_html_in_its_e_mail(self, fields):
        accepted(content=email(**fields))


class TestAddresses:
    @pytest.mark.parametrize("number", ["", "1415", "+1415", "not a number", "0151 12345678", "+49 30 123456 Ana"])
    def test_that_are_no_phone_numbers_are_refused(self, number):
        found = error(to={"sms": number})

        assert found.field == "to.sms"
        assert found.reason in ("not a phone number", "no number of this length exists there")
        assert "international form" in found.accepted

    @pytest.mark.parametrize("address", ["", "ana", "ana@", "Ana <ana@example.org>"])
    def test_that_are_no_e_mail_addresses_are_refused(self, address):
        found = error(to={"email": address})

        assert found.field == "to.email"
        assert found.reason.startswith("not an e-mail address")
        assert "one e-mail address" in found.accepted

    def test_in_national_form_are_read_in_the_region_of_the_settings(self, settings):
        settings.DEFAULT_REGION = "DE"

        assert accepted(to={"sms": "0151 12345678"}).to.sms == "+4915112345678"


class TestUnknownFields:
    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"colour": "red"}, "colour"),
            ({"to": {"fax": "+4930123456"}}, "to.fax"),
            ({"content": {"fax": {}}}, "content.fax"),
            ({"content": {"sms": {"text": "a", "subject": "b"}}}, "content.sms.subject"),
            ({"content": email(text="a", sender="me")}, "content.email.sender"),
        ],
    )
    def test_are_refused_by_name(self, changes, field):
        found = error(**changes)

        assert found.field == field
        assert found.accepted.startswith("no such field exists")


class TestMissingFields:
    @pytest.mark.parametrize("absent", [{}, {"to": None}], ids=["absent", "null"])
    def test_are_named(self, absent):
        fields = {"content": sms(TEXT)} | absent

        (found,) = refusal(fields).errors

        assert (found.field, found.accepted) == ("to", "this field is required")

    @pytest.mark.parametrize(
        ("content", "field"),
        [
            ({"sms": {}}, "content.sms.text"),
            ({"email": {"text": "a"}}, "content.email.subject"),
            ({"email": {"subject": "a"}}, "content.email"),
            ({"email": {"subject": "a", "text": "", "html": ""}}, "content.email"),
        ],
    )
    def test_of_the_content_are_named(self, content, field):
        assert error(content=content).field == field


# Of each limit: what is just within it, what is just beyond, and the field and words that say so.
LIMITS = [
    pytest.param(
        {"content": sms("x" * SMS_TEXT_CHARACTERS)},
        {"content": sms("x" * (SMS_TEXT_CHARACTERS + 1))},
        ("content.sms.text", "at most 1600 characters"),
        id="SMS text",
    ),
    pytest.param(
        {"content": sms("🍽" * SMS_TEXT_CHARACTERS)},
        {"content": sms("🍽" * (SMS_TEXT_CHARACTERS + 1))},
        ("content.sms.text", "at most 1600 characters"),
        id="SMS text of characters of four bytes",
    ),
    pytest.param(
        {"content": sms("x")}, {"content": sms("")}, ("content.sms.text", "at least 1 character"), id="SMS text, shortest"
    ),
    pytest.param(
        {"content": {"email": {"subject": "x" * SUBJECT_CHARACTERS, "text": "a"}}},
        {"content": {"email": {"subject": "x" * (SUBJECT_CHARACTERS + 1), "text": "a"}}},
        ("content.email.subject", "at most 200 characters"),
        id="subject",
    ),
    pytest.param(
        {"content": {"email": {"subject": "x", "text": "a"}}},
        {"content": {"email": {"subject": "", "text": "a"}}},
        ("content.email.subject", "at least 1 character"),
        id="subject, shortest",
    ),
    *[
        pytest.param(
            {"content": email(**{name: character * (HTML_BYTES // len(character.encode()))})},
            {"content": email(**{name: character * (HTML_BYTES // len(character.encode()) + 1)})},
            ("content.email", "at most 500000 bytes each for `text` and `html`"),
            id=f"e-mail {name} in {character}",
        )
        for name in ("text", "html")
        for character in ("x", "é")
    ],
    *[
        pytest.param(
            {name: "x" * KEY_CHARACTERS},
            {name: "x" * (KEY_CHARACTERS + 1)},
            (name, "at most 200 characters"),
            id=name,
        )
        for name in ("idempotency_key", "reference", "incident")
    ],
    pytest.param(
        {"idempotency_key": "x"}, {"idempotency_key": ""}, ("idempotency_key", "at least 1 character"), id="shortest key"
    ),
    pytest.param({"route": "x" * 100}, {"route": "x" * 101}, ("route", "at most 100 characters"), id="route"),
    pytest.param(
        {"metadata": metadata_of(METADATA_BYTES)},
        {"metadata": metadata_of(METADATA_BYTES + 1)},
        ("metadata", "at most 4096 bytes as JSON"),
        id="metadata",
    ),
    pytest.param(
        {"metadata": nested(NESTING_LEVELS - 1)},
        {"metadata": nested(NESTING_LEVELS)},
        ("metadata", "at most 32 levels"),
        id="nesting",
    ),
    pytest.param(
        {"send_at": NOW + SEND_AT_DAYS * DAY},
        {"send_at": NOW + SEND_AT_DAYS * DAY + SECOND},
        ("send_at", "a moment within 366 days"),
        id="how far ahead",
    ),
    pytest.param(
        {"expires_at": NOW + EXPIRES_AT_DAYS * DAY},
        {"expires_at": NOW + EXPIRES_AT_DAYS * DAY + SECOND},
        ("expires_at", "a moment within 366 days of the sending"),
        id="how long",
    ),
    pytest.param(
        {"send_at": NOW},
        {"send_at": NOW - timedelta(microseconds=1)},
        ("send_at", "a moment from now on, or nothing to send at once"),
        id="how soon",
    ),
]  # fmt: skip


class TestLimits:
    @pytest.mark.parametrize(("within", "beyond", "told"), LIMITS)
    def test_take_what_is_within_them(self, within, beyond, told):
        accepted(**within)

    @pytest.mark.parametrize(("within", "beyond", "told"), LIMITS)
    def test_refuse_what_is_beyond_them_and_name_the_limit(self, within, beyond, told):
        found = error(**beyond)

        assert (found.field, found.accepted) == told

    @pytest.mark.parametrize(("spare", "fields"), [(1, ["filler"]), (0, ["filler"]), (-1, ["request"])])
    def test_hold_for_the_whole_request(self, spare, fields):
        """Nothing that is accepted can be so large, so the filler is a field that is refused by itself."""
        request = {"to": {"sms": NUMBER}, "content": sms("x")}
        names = "tosmscontentsmstextfiller"
        used = len(names) + len(NUMBER) + len("x")

        found = refusal({**request, "filler": "f" * (BODY_BYTES - used - spare)}).errors

        assert [error.field for error in found] == fields

    def test_count_the_bytes_of_the_whole_request_not_its_characters(self):
        assert error(filler="é" * (BODY_BYTES // 2)).field == "request"

    def test_survive_a_request_nested_without_end(self):
        assert error(metadata=nested(50_000)).reason == "is nested too deeply"


class TestPushData:
    def push(self, **data: str) -> dict[str, Any]:
        return {"to": {"push": "fcm:TOKEN"}, "content": {"push": {"text": TEXT, "data": data}}}

    def test_is_for_the_app(self):
        assert accepted(**self.push(table="7")).content.push.data == {"table": "7"}

    def test_push_4096_bytes_not_characters_is_refused_and_never_cut(self):
        ids = json.loads((CASES / "push-4096-bytes-not-characters" / "input.json").read_text())["data"]["ids"]

        told = error(**self.push(ids=json.dumps(ids)))

        assert (told.field, "too large" in told.reason) == ("content.push.data", True)

    def test_may_not_use_the_name_of_the_receipt(self):
        told = error(**self.push(receipt="x"))

        assert (told.field, "receipt" in told.reason) == ("content.push.data", True)


class TestTimes:
    @pytest.mark.parametrize("name", ["send_at", "expires_at"])
    @pytest.mark.parametrize("value", [datetime(2027, 1, 16), "2027-01-16T10:00:00"])  # noqa: DTZ001
    def test_without_a_zone_are_refused(self, name, value):
        found = error(**{name: value})

        assert (found.field, found.reason) == (name, "has no time zone")
        assert "aware datetime" in found.accepted

    @pytest.mark.parametrize("name", ["send_at", "expires_at"])
    @pytest.mark.parametrize(
        "value",
        ["tomorrow", "", "2027-01-16", "1800093600", 1_800_093_600, 1_800_093_600.5, True, [], {}, "2027-13-01T10:00:00Z",
         "2027-01-16T25:00:00Z", "10:00"],
    )  # fmt: skip
    def test_that_are_none_are_refused(self, name, value):
        found = error(**{name: value})

        assert found.field == name
        assert "aware datetime" in found.accepted

    @pytest.mark.parametrize(
        "text",
        ["2027-01-15T11:00:00Z", "2027-01-15T11:00:00+00:00", "2027-01-15T12:30:00+01:30", "2027-01-15T03:00:00-08:00"],
    )
    def test_mean_their_moment_whatever_their_zone(self, text):
        assert accepted(send_at=text).send_at == NOW + timedelta(hours=1)

    def test_may_not_let_the_sending_begin_in_the_past(self):
        assert error(send_at=NOW - SECOND).reason == "lies in the past"

    @pytest.mark.parametrize(
        ("send_at", "expires_at"),
        [
            (None, NOW - DAY),
            (None, NOW),
            (NOW + DAY, NOW + DAY),
            (NOW + DAY, NOW + DAY - SECOND),
            (NOW + DAY, NOW + SECOND),  # later than now is not enough
        ],
    )
    def test_may_not_let_it_expire_before_the_sending_begins(self, send_at, expires_at):
        found = error(send_at=send_at, expires_at=expires_at)

        assert (found.field, found.reason) == ("expires_at", "is not after the sending begins")

    @pytest.mark.parametrize(
        ("send_at", "expires_at"), [(None, NOW + timedelta(microseconds=1)), (NOW + DAY, NOW + DAY + SECOND)]
    )
    def test_may_let_it_expire_any_moment_after_that(self, send_at, expires_at):
        assert accepted(send_at=send_at, expires_at=expires_at).expires_at == expires_at

    @pytest.mark.parametrize("name", ["send_at", "expires_at"])
    @pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
    def test_at_the_ends_of_the_calendar_are_refused_like_others(self, name, text):
        """The first is in the year 10,000 by UTC: PostgreSQL stores it, and no driver of ours can read it again."""
        assert error(**{name: text}).field == name

    def test_are_refused_together(self):
        found = errors(send_at=NOW - SECOND, expires_at=NOW - DAY)

        assert [error.field for error in found] == ["send_at", "expires_at"]


NUL, HALF = "\0", "\ud83d"
# Where a text can stand, with what it is called in the answer; "%" is the text.
PLACES = [
    ({"to": {"sms": "%"}}, "to.sms"),
    ({"to": {"email": "%"}}, "to.email"),
    ({"content": sms("%")}, "content.sms.text"),
    ({"content": email(text="%")}, "content.email.text"),
    ({"content": email(html="%")}, "content.email.html"),
    ({"content": {"email": {"subject": "%", "text": "a"}}}, "content.email.subject"),
    ({"route": "%"}, "route"),
    ({"idempotency_key": "%"}, "idempotency_key"),
    ({"reference": "%"}, "reference"),
    ({"incident": "%"}, "incident"),
    ({"metadata": {"a": "%"}}, "metadata.a"),
    ({"metadata": {"a": {"b": ["c", {"d": "%"}]}}}, "metadata.a.b.1.d"),
    ({"metadata": {"%": 1}}, "metadata.?"),
    ({"metadata": {"a": [{"%": 1}]}}, "metadata.a.0.?"),
    ({"%": 1}, "?"),
]


def put(value: Any, text: str) -> Any:
    """The same with `text` instead of each "%"."""
    if isinstance(value, dict):
        return {put(key, text): put(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [put(item, text) for item in value]
    return text if value == "%" else value


class TestTextsThatCannotBeStored:
    @pytest.mark.parametrize(("place", "field"), PLACES, ids=[field for _, field in PLACES])
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (NUL, "has a NUL character"),
            (HALF, "has half of a surrogate pair"),
            ("\udc00", "has half of a surrogate pair"),
        ],
        ids=["NUL", "high half", "low half"],
    )
    def test_are_refused_wherever_they_stand(self, place, field, text, reason):
        found = error(**put(place, text))

        assert (found.field, found.reason) == (field, reason)

    def test_are_refused_in_the_middle_of_others(self):
        assert error(content=sms(f"ok {HALF} ok")).field == "content.sms.text"

    @pytest.mark.parametrize("half", [0xD800, 0xDBFF, 0xDC00, 0xDFFF], ids=hex)
    def test_are_all_halves_of_pairs(self, half):
        assert error(content=sms(chr(half))).field == "content.sms.text"

    @pytest.mark.parametrize("whole", [0xD7FF, 0xE000, 0x1F37D], ids=hex)
    def test_are_nothing_else(self, whole):
        accepted(content=sms(chr(whole)))

    def test_of_the_field_are_refused_by_name_each(self):
        case = json.loads((CASES / "text-lone-surrogate" / "request.json").read_text())

        found = errors(to={case["channel"]: case["to"]}, content=sms(case["text"]), metadata=case["metadata"])

        assert [error.field for error in found] == ["content.sms.text", "metadata.?"]
        assert {error.accepted for error in found} == {"text that can be written as UTF-8"}

    @pytest.mark.parametrize("text", [NUL, HALF])
    def test_are_told_of_in_words_that_can_be_sent(self, text):
        refused = refusal(a_request(**{f"bad{text}name": 1, "metadata": {text: text}}))

        json.dumps([vars_of(error) for error in refused.errors], ensure_ascii=False).encode()
        assert NUL not in str(refused)


class TestLineBreaks:
    @pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
    @pytest.mark.parametrize(
        ("place", "field"),
        [
            ({"content": {"email": {"subject": "%", "text": "a"}}}, "content.email.subject"),
            ({"reference": "%"}, "reference"),
        ],
        ids=["subject", "reference"],
    )
    def test_are_refused_where_they_could_begin_a_header(self, place, field, line_break):
        found = error(**put(place, f"a{line_break}Bcc: eve@example.org"))

        assert (found.field, found.reason, found.accepted) == (field, "has a line break", "one line")

    def test_are_welcome_in_texts(self):
        accepted(content={"sms": {"text": "a\nb"}, **email(text="a\r\nb")})


class TestWrongTypes:
    @pytest.mark.parametrize(
        ("changes", "field", "what"),
        [
            ({"to": NUMBER}, "to", "an object"),
            ({"to": [NUMBER]}, "to", "an object"),
            ({"to": {"sms": 4915112345678}}, "to.sms", "a string"),
            ({"to": {"sms": [NUMBER]}}, "to.sms", "a string"),
            ({"content": TEXT}, "content", "an object"),
            ({"content": {"sms": TEXT}}, "content.sms", "an object"),
            ({"content": sms(7)}, "content.sms.text", "a string"),
            ({"content": sms(None)}, "content.sms.text", "a string"),
            ({"content": sms(True)}, "content.sms.text", "a string"),
            ({"content": email(text=["a"])}, "content.email.text", "a string"),
            ({"route": 1}, "route", "a string"),
            ({"idempotency_key": 7}, "idempotency_key", "a string"),
            ({"reference": 7.5}, "reference", "a string"),
            ({"incident": {}}, "incident", "a string"),
            ({"metadata": []}, "metadata", "an object"),
            ({"metadata": "a"}, "metadata", "an object"),
            ({"metadata": {"a": float("nan")}}, "metadata", "an object of JSON values"),
            ({"metadata": {"a": float("inf")}}, "metadata", "an object of JSON values"),
            ({"metadata": {"a": {1, 2}}}, "metadata", "an object of JSON values"),
            ({"metadata": {"a": NOW}}, "metadata", "an object of JSON values"),
            ({"priority": 1}, "priority", "'critical', 'high', 'normal' or 'bulk'"),
            ({"category": ["marketing"]}, "category", "'transactional' or 'marketing'"),
        ],
    )
    def test_are_refused_and_the_right_one_is_named(self, changes, field, what):
        found = error(**changes)

        assert (found.field, found.accepted) == (field, what)


class TestUnknownWords:
    @pytest.mark.parametrize(
        ("changes", "what"),
        [
            ({"priority": "urgent"}, "'critical', 'high', 'normal' or 'bulk'"),
            ({"priority": "HIGH"}, "'critical', 'high', 'normal' or 'bulk'"),
            ({"priority": ""}, "'critical', 'high', 'normal' or 'bulk'"),
            ({"category": "news"}, "'transactional' or 'marketing'"),
            ({"on_unclear": "maybe"}, "'send_again' or 'hold'"),
        ],
    )
    def test_are_refused_with_the_words_there_are(self, changes, what):
        found = error(**changes)

        assert ([found.field], found.accepted) == (list(changes), what)


def vars_of(error: FieldError) -> dict[str, str]:
    return {"field": error.field, "reason": error.reason, "accepted": error.accepted}


# Refused for their own sake, or holding private words in the wrong place.
LEAKY = [
    {"to": {"sms": "+4930777777 Ana", "email": "secret-ana@nowhere"}},
    {"to": {"+4930777777": "x", "secret-ana@example.org": "y"}},
    {"to": {"sms": "+4930777777\0", "email": "secret-ana@example.org\ud83d"}},
    {"content": sms("secret word" * 1000)},
    {"content": sms("secret word\0")},
    {"content": {"sms": "secret word"}},
    {"content": {"email": {"subject": "secret word\nBcc: secret-ana@example.org"}}},
    {"content": email(text="secret word" * 100_000)},
    {"reference": "secret word\n"},
    {"send_at": "secret word"},
    {"send_at": "secret word: 10"},
    {"priority": "secret word"},
    {"metadata": {"secret-ana@example.org": "\0"}},
    {"metadata": {"a": "secret word" * 1000}},
]


class TestErrors:
    def test_of_several_fields_are_told_at_once(self):
        found = errors(
            to={"sms": "+1415", "email": "ana", "fax": "1"},
            content={**sms("x" * 1601), **email()},
            priority="urgent",
            send_at="tomorrow",
            reference="a\nb",
            colour="red",
        )

        assert {error.field for error in found} == {
            "to.sms",
            "to.email",
            "to.fax",
            "content.sms.text",
            "content.email",
            "priority",
            "send_at",
            "reference",
            "colour",
        }

    @pytest.mark.parametrize("changes", LEAKY, ids=range(len(LEAKY)))
    def test_have_a_field_a_reason_and_what_is_accepted(self, changes):
        for error in errors(**changes):
            assert all(vars_of(error).values())

    @pytest.mark.parametrize("changes", LEAKY, ids=range(len(LEAKY)))
    def test_never_repeat_an_address_or_a_text(self, changes):
        refused = refusal(a_request(**changes))
        told = str(refused) + json.dumps([vars_of(error) for error in refused.errors])

        assert not [word for word in ("777777", "secret") if word in told]

    def test_are_a_value_error_that_reads_as_a_sentence_each(self):
        refused = refusal(a_request(to={"sms": "+1415"}))

        assert isinstance(refused, ValueError)
        assert str(refused) == (
            "to.sms: no number of this length exists there "
            "(accepted: a phone number in international form, e.g. +4915112345678)"
        )


def fingerprint(body: str) -> str:
    """Of a request as it comes in over HTTP."""
    return checked(json.loads(body)).fingerprint()


def of_the_case(name: str) -> dict[str, Any]:
    """The body of a case, in the words of our API."""
    body = json.loads((CASES / "idem-refusal-must-not-stick" / name).read_text())
    return {"to": {body["channel"]: body["to"]}, "content": {body["channel"]: {"text": body["text"]}}}


BODY = '{"to": {"sms": "+4915112345678"}, "content": {"sms": {"text": "café"}}%s}'


class TestFingerprint:
    def test_is_the_same_for_the_two_bodies_of_the_field(self):
        """Key order, blanks, and é against its escape."""
        first, second = (checked(of_the_case(name)) for name in ("same_1.json", "same_2.json"))

        assert first.fingerprint() == second.fingerprint()

    @pytest.mark.parametrize(
        "same",
        [
            pytest.param('{"content": {"sms": {"text": "café"}}, "to": {"sms": "+4915112345678"}}', id="order of keys"),
            pytest.param(
                ' {"to":{"sms":"+4915112345678"},\n"content":{"sms":{"text":"caf\\u00e9"}}} ', id="blanks and escapes"
            ),
            pytest.param(BODY % ', "reference": null, "send_at": null, "priority": null', id="null is absent"),
            pytest.param(BODY % ', "metadata": {}', id="no metadata is absent"),
            pytest.param(BODY % ', "metadata": {"a": null}', id="null in metadata is absent"),
            pytest.param(BODY % ', "priority": "normal", "category": "transactional"', id="what is usual is absent"),
            pytest.param(BODY.replace("+4915112345678", "+49 151 12345678") % "", id="spelling of the number"),
            pytest.param(BODY % ', "idempotency_key": "k1"', id="its own key"),
        ],
    )
    def test_is_the_same_for_requests_that_mean_the_same(self, same):
        assert fingerprint(same) == fingerprint(BODY % "")

    def test_is_the_same_for_metadata_in_another_order(self):
        bodies = [
            BODY % f', "metadata": {{{pairs}}}'
            for pairs in ('"a": {"c": 1, "d": 2}, "b": 3', '"b": 3, "a": {"d": 2, "c": 1}')
        ]

        assert len({fingerprint(body) for body in bodies}) == 1

    @pytest.mark.parametrize(
        ("one", "other"),
        [("1", "1.0"), ("0", "-0.0"), ("[1, 2]", "[1.0, 2.0]"), ("100", "1e2"), ('{"b": 1}', '{"b": 1.0, "c": null}')],
    )
    def test_is_the_same_for_equal_numbers(self, one, other):
        assert fingerprint(BODY % f', "metadata": {{"a": {one}}}') == fingerprint(
            BODY % f', "metadata": {{"a": {other}}}'
        )

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("1", "true"),
            ("0", "false"),
            ("1", '"1"'),
            ("1", "1.5"),
            ("1", "2"),
            ("[1, 2]", "[2, 1]"),
            ("[1]", "[1, null]"),  # a place in a list is not a field
            ("[]", "{}"),
            ('""', "null"),
            ('"é"', '"e\\u0301"'),  # alike to the eye, not to the letter
            ("9007199254740993", "9007199254740992"),
        ],
    )
    def test_differs_for_values_that_do(self, one, other):
        assert fingerprint(BODY % f', "metadata": {{"a": {one}}}') != fingerprint(
            BODY % f', "metadata": {{"a": {other}}}'
        )

    @pytest.mark.parametrize(
        "changed",
        [
            BODY.replace("5678", "5679") % "",
            BODY.replace("café", "cafe") % "",
            BODY % ', "priority": "high"',
            BODY % ', "category": "marketing"',
            BODY % ', "route": "sms"',
            BODY % ', "reference": "a"',
            BODY % ', "incident": "a"',
            BODY % ', "on_unclear": "hold"',
            BODY % ', "send_at": "2027-01-16T10:00:00Z"',
            BODY % ', "expires_at": "2027-01-16T10:00:00Z"',
            BODY % ', "metadata": {"a": 1}',
        ],
    )
    def test_differs_when_any_field_does(self, changed):
        assert fingerprint(changed) != fingerprint(BODY % "")

    def test_is_a_sha_256_in_hexadecimal(self):
        assert len(bytes.fromhex(fingerprint(BODY % ""))) == 32

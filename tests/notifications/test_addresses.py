"""Addresses: one spelling each, hashed and masked where they must not be read.

The engine's rule for phone numbers: a *possible* number is taken, one of a length that its country has, and nothing is ever guessed or
cut off to make one. The field's cases (tests/cases/num-*) say for each input whether phonenumbers calls it valid.
"""

from __future__ import annotations

import json
from pathlib import Path

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

from notifications.addresses import InvalidAddress, address_hash, country, mask, normalise, redact, redact_answer
from providers.messages import Channel
from providers.transport.base import ANSWER_LIMIT_BYTES

CASES = Path(__file__).parent.parent / "cases"
PHONE_CASES = ("num-pasted-from-chat", "num-mexico-old-mobile-one", "num-renumbered-countries")

OLD_MEXICAN = "has the 1 behind +52 that Mexico abolished in 2019"


def vectors(*, possible: bool) -> list[object]:
    return [
        pytest.param(vector, id=f"{case}-{number}")
        for case in PHONE_CASES
        for number, vector in enumerate(json.loads((CASES / case / "vectors.json").read_text()))
        if vector["possible"] is possible
    ]


def refusal(channel: Channel, address: str, region: str | None = None) -> InvalidAddress:
    with pytest.raises(InvalidAddress) as caught:
        normalise(channel, address, region=region)
    return caught.value


class TestPhoneNumbers:
    @pytest.mark.parametrize("vector", vectors(possible=True))
    def test_of_the_field_are_taken_where_they_are_possible(self, vector):
        assert normalise(Channel.SMS, vector["input"], region=vector["region"]) == vector["e164"]

    @pytest.mark.parametrize("vector", vectors(possible=False))
    def test_of_the_field_are_refused_where_no_number_is_so_long(self, vector):
        is_old = vector["e164"].startswith("+521")

        reason = refusal(Channel.SMS, vector["input"], vector["region"]).reason

        assert reason == (OLD_MEXICAN if is_old else "no number of this length exists there")

    @pytest.mark.parametrize(("text", "region"), [("+52 1 55 1234 5678", None), ("1 55 1234 5678", "MX")])
    def test_with_the_one_that_mexico_abolished_are_told_of_it(self, text, region):
        error = refusal(Channel.SMS, text, region)

        assert (error.reason, error.accepted) == (OLD_MEXICAN, "the number without it")

    @pytest.mark.parametrize(("text", "region"), [("110", "DE"), ("72345", "DE"), (" 72345", "US"), ("3949", "FR")])
    def test_that_are_short_are_refused(self, text, region):
        assert refusal(Channel.SMS, text, region).reason.startswith("is a short number")

    @pytest.mark.parametrize("text", ["110", "72345"])
    def test_that_are_short_are_none_without_a_region(self, text):
        assert refusal(Channel.SMS, text).reason == "not a phone number"

    @pytest.mark.parametrize(
        "pasted",
        [
            "+447400123456",
            " +44 7400 123456\n",
            "+44 (0)7400 123-456",
            "\u202a+447400123456\u202c",  # marks of writing direction around it, as chats copy them
            "\u200e+44\u00a07400\u2011123456",  # no-break blank and hyphen
            "+44 7400\u200b123456",  # a blank of no width
            "\uff0b\uff14\uff14 \uff17\uff14\uff10\uff10 \uff11\uff12\uff13\uff14\uff15\uff16",  # full width
            "+\u0664\u0664 \u0667\u0664\u0660\u0660 \u0661\u0662\u0663\u0664\u0665\u0666",  # Arabic-Indic digits
        ],
        ids=ascii,
    )
    def test_have_one_spelling_however_they_were_pasted(self, pasted):
        assert normalise(Channel.SMS, pasted) == "+447400123456"

    @pytest.mark.parametrize(("region", "expected"), [("DE", "+4915112345678"), ("GB", "+4915112345678")])
    def test_in_international_form_need_no_region_and_ignore_it(self, region, expected):
        assert normalise(Channel.SMS, "+49 151 12345678", region=region) == expected

    def test_in_national_form_are_read_in_the_region_of_the_settings(self):
        assert normalise(Channel.SMS, "0151 12345678", region="DE") == "+4915112345678"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "   ",
            "+",
            "not a number",
            "0151 12345678",  # national, and no region is set
            "0049 151 12345678",  # the prefix for abroad is national, too
            "4915112345678",
            "ana@example.org",
            "+1415",
            "+1 415 555 01000",
            "+999 12345678",
            "+" + "4" * 300,
            "+4915112345678 +4915112345679",
            "+14155550100 / +14155550101",
            "+4930123456 Ana",  # letters are no digits: read as a keypad, this is somebody else's number
            "+1 800 FLOWERS",
            "call +4915112345678",
            "+14155550100 ext. 12",  # nobody can send to an extension, and dropping it reaches somebody else
            "+49 30 123456 #12",
        ],
    )
    def test_that_are_none_are_refused(self, text):
        error = refusal(Channel.SMS, text)

        assert error.reason in ("not a phone number", "no number of this length exists there")
        assert "+4915112345678" in error.accepted

    @pytest.mark.parametrize("text", ["+1415", "+4930123456 Ana", "030 123456"])
    def test_are_not_quoted_when_they_are_refused(self, text):
        error = refusal(Channel.SMS, text)

        assert text not in f"{error} {error.reason} {error.accepted} {error.__cause__}"

    @pytest.mark.parametrize(
        ("channel", "address", "expected"),
        [
            ("sms", "+4915112345678", "DE"),
            ("sms", "+14155550100", "US"),
            ("sms", "+16135550100", "CA"),
            ("sms", "+80012345678", ""),  # free of charge everywhere, at home nowhere
            ("email", "ana@example.de", ""),
        ],
    )
    def test_belong_to_a_country(self, channel, address, expected):
        assert country(channel, address) == expected


CODES = sorted(COUNTRY_CODE_TO_REGION_CODE)


class TestNumbersWrittenOut:
    """What is in E.164 already is not parsed; it must come out as if it were."""

    @staticmethod
    def parsed(text: str) -> tuple[str, str] | None:
        try:
            number = phonenumbers.parse(text)
        except phonenumbers.NumberParseException:
            return None
        if phonenumbers.is_possible_number_with_reason(number) != phonenumbers.ValidationResult.IS_POSSIBLE:
            return None
        region = phonenumbers.region_code_for_number(number) or ""
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164), region * (len(region) == 2)

    @staticmethod
    def read(text: str) -> tuple[str, str] | None:
        try:
            number = normalise(Channel.SMS, text)
        except InvalidAddress:
            return None
        return number, country(Channel.SMS, number)

    @settings(max_examples=1000, deadline=None, database=None)
    @given(st.sampled_from(CODES), st.from_regex(r"[0-9]{2,13}", fullmatch=True))
    def test_are_read_as_the_library_reads_them(self, code, digits):
        text = f"+{code}{digits}"

        assert self.read(text) == self.parsed(text)

    @pytest.mark.parametrize("code", CODES)
    def test_of_every_country_code_and_length_are_too(self, code):
        for first in "0123456789":
            for length in range(3, 13):
                text = f"+{code}{(first + '512345678901')[:length]}"
                assert self.read(text) == self.parsed(text), text


class TestEmailAddresses:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("ana@example.org", "ana@example.org"),
            ("Ana@EXAMPLE.Org", "Ana@example.org"),  # who owns the domain may tell Ana from ana
            ("ana+shop@example.org", "ana+shop@example.org"),
            ("o'neil@example.com", "o'neil@example.com"),
            ("a&b=c@example.com", "a&b=c@example.com"),
            ("ana%41@example.com", "ana%41@example.com"),
            ("ana@xn--strae-oqa.example", "ana@xn--strae-oqa.example"),
        ],
    )
    def test_keep_their_local_part_and_lose_the_case_of_their_domain(self, text, expected):
        assert normalise(Channel.EMAIL, text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "ana",
            "ana@",
            "@example.org",
            "ana@@example.org",
            "ana@example",
            "ana@example..org",
            "ana@-example.org",
            " ana@example.org",
            "ana@example.org\n",
            "ana@example.org\r\nBcc: bob@example.org",
            "<ana@example.org>",
            "Ana <ana@example.org>",
            "ana@example.org, bob@example.org",
            "+4915112345678",
        ],
    )
    def test_that_are_none_are_refused(self, text):
        assert refusal(Channel.EMAIL, text).reason == "not an e-mail address"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            *zip(
                json.loads((CASES / "mail-unicode-local-part" / "input.json").read_text())["to"],
                ["jörg@example.com", "用户@xn--exmple-cua.com"],
                strict=True,
            )
        ],
        ids=ascii,
    )
    def test_mail_unicode_local_part_is_kept_letter_by_letter(self, text, expected):
        assert normalise(Channel.EMAIL, text) == expected

    def test_are_the_same_however_a_letter_is_composed(self):
        assert normalise(Channel.EMAIL, "jo\N{COMBINING DIAERESIS}rg@example.com") == "jörg@example.com"

    @pytest.mark.parametrize("vector", json.loads((CASES / "mail-idn-eszett" / "vectors.json").read_text()), ids=ascii)
    def test_mail_idn_eszett_domains_never_become_those_of_another_owner(self, vector):
        if vector["ascii"] is None:
            assert refusal(Channel.EMAIL, f"ana@{vector['unicode']}").reason == "no domain of this name can exist"
        else:
            assert normalise(Channel.EMAIL, f"ana@{vector['unicode']}") == f"ana@{vector['ascii']}"

    @pytest.mark.parametrize(
        "local",
        [
            *("jö rg", "jörg\N{RIGHT-TO-LEFT OVERRIDE}", "jö\N{ZERO WIDTH SPACE}rg", "jörg\N{NO-BREAK SPACE}"),
            *("jörg,ana", "jörg\n", "jörg\N{LINE SEPARATOR}", "jörg@ana", "<jörg", ".jörg"),
        ],
        ids=ascii,
    )
    def test_beyond_ascii_have_nothing_that_is_invisible_or_could_end_them(self, local):
        assert refusal(Channel.EMAIL, f"{local}@example.org").reason == "not an e-mail address"

    def test_may_have_254_characters_and_no_more(self):
        domain = ".".join(["d" * 60] * 3) + ".org"
        longest = "a" * (254 - len(domain) - 1) + "@" + domain

        assert normalise(Channel.EMAIL, longest) == longest
        assert refusal(Channel.EMAIL, "a" + longest).reason == "not an e-mail address we can send to"
        assert refusal(Channel.EMAIL, "ä" + longest[1:]).reason == "not an e-mail address we can send to"

    @pytest.mark.parametrize("text", ["ana@nowhere", "ana@☃.example"])
    def test_are_not_quoted_when_they_are_refused(self, text):
        error = refusal(Channel.EMAIL, text)

        assert text not in f"{error} {error.reason} {error.accepted}"


class TestAddressHash:
    def test_is_the_same_for_one_address_however_it_was_written(self):
        spellings = ["+447400123456", "+44 7400\u200b123456"]

        assert len({address_hash("sms", normalise(Channel.SMS, text)) for text in spellings}) == 1
        assert address_hash("email", "Ana@example.org") == address_hash("email", "ana@example.org")
        domains = ["straße.example", "xn--strae-oqa.example", "XN--STRAE-OQA.example"]
        assert len({address_hash("email", normalise(Channel.EMAIL, f"ana@{domain}")) for domain in domains}) == 1

    @pytest.mark.parametrize("other", [("email", "bob@example.org"), ("sms", "ana@example.org")])
    def test_differs_by_address_and_by_channel(self, other):
        assert address_hash(*other) != address_hash("email", "ana@example.org")

    def test_differs_for_a_mailbox_with_a_tag(self):
        assert address_hash("email", "ana+shop@example.org") != address_hash("email", "ana@example.org")

    def test_cannot_be_made_without_the_key(self, settings):
        settings.ADDRESS_KEY = b"one"
        first = address_hash("sms", "+447400123456")
        settings.ADDRESS_KEY = b"another"

        assert address_hash("sms", "+447400123456") != first

    def test_is_64_characters_without_the_address(self):
        result = address_hash("sms", "+447400123456")

        assert len(result) == 64
        assert "447400123456" not in result


class TestMask:
    @pytest.mark.parametrize(
        ("address", "expected"),
        [
            ("+4915112345678", "+49…78"),
            ("+14155550100", "+14…00"),
            ("ana@example.org", "a…@example.org"),
            ("a@example.org", "a…@example.org"),
            ("", ""),
        ],
    )
    def test_leaves_enough_to_recognise_and_too_little_to_use(self, address, expected):
        assert mask(address) == expected


class TestRedact:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("The 'To' number +14155550100 is not valid", "The 'To' number … is not valid"),
            ("call 415-555-0100 now", "call … now"),
            ("+49 151 12345678, unknown", "…, unknown"),
            ('{"to": "+14155550100"}', '{"to": "…"}'),
            ("<ana@example.org>: mailbox full", "<…>: mailbox full"),
            ('"ana+shop@example.org"', '"…"'),
            ("ana@example.org and bob@example.org", "… and …"),
            ("ana@example.org,bob@example.org;eve@example.org", "…,…;…"),
            ("to=ana@example.org", "…"),
            ("<jörg@example.org>: 用户@straße.example", "<…>: …"),
        ],
    )
    def test_takes_out_what_looks_like_an_address(self, text, expected):
        assert redact(text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "error 21211",
            "2027-01-15T10:00:00Z",
            "2027-01-15",
            "price 12.50",
            "1.2.3.4",
            "SM0123456789abcdef0123456789abcdef",
            "550e8400-e29b-41d4-a716-446655440000",
        ],
    )
    def test_leaves_codes_times_and_ids_alone(self, text):
        assert redact(text) == text

    def test_takes_out_secrets_wherever_they_stand_whole(self):
        assert redact("body: Table ready!", "Table ready") == "body: …!"
        assert redact("Tables ready", "Table") == "Tables ready"

    def test_reads_a_secret_letter_by_letter(self):
        assert redact("Is it ready? Is it readyy", "ready?") == "Is it … Is it readyy"

    @pytest.mark.parametrize(("secret", "expected"), [("ok", "200 ok"), ("yes", "200 yes"), ("fine", "200 …")])
    def test_leaves_secrets_alone_that_are_so_short_that_every_answer_holds_them(self, secret, expected):
        assert redact(f"200 {secret}", secret) == expected


class TestRedactAnswer:
    @pytest.mark.parametrize("text", ["Table for two\nat eight", 'Table "zwölf"', "Prêt 🍽", "C:\\table\\ready"])
    @pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "as it is"])
    def test_finds_a_text_however_json_writes_it(self, text, escaped):
        body = json.dumps({"body": text, "status": "queued"}, ensure_ascii=escaped).encode()

        assert json.loads(redact_answer(body, text)) == {"body": "…", "status": "queued"}

    def test_finds_an_address_behind_an_escaped_plus(self):
        assert redact_answer(b'{"to": "\\u002B14155550100"}', "+14155550100") == '{"to": "…"}'

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (b"<html>502 for ana@example.org</html>", "<html>502 for …</html>"),
            (b"half an answ\xc3", "half an answ\ufffd"),
            (b"nothing\0", "nothing\ufffd"),
            (b'{"operator": "\\ud83d"}', '{"operator": "?"}'),
            (b"", ""),
        ],
    )
    def test_gives_text_that_can_be_stored_whatever_the_answer_was(self, body, expected):
        assert redact_answer(body) == expected

    @pytest.mark.parametrize("piece", [b"[", b"x", b"1-(", b"1 ", b"@", b"+1"])
    def test_is_done_at_once_with_the_longest_and_oddest_answer(self, piece):
        body = piece * (ANSWER_LIMIT_BYTES // len(piece))

        assert redact_answer(body + b" <ana@example.org>")[-4:] == " <…>"

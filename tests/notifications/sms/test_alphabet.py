"""The alphabet of an SMS: the tables of 3GPP TS 23.038, and texts written and read with them."""

from __future__ import annotations

from collections import Counter
from unicodedata import name

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.sms.alphabet import DEFAULT, ESCAPE, EXTENSION, GSM, Alphabet, NotInAlphabet
from notifications.sms.national import LOCKING, SINGLE, Language
from providers.sandbox import segments as sandbox
from tests.notifications.sms.texts import in_gsm7

ALPHABETS = [
    pytest.param(Alphabet(LOCKING.get(language, DEFAULT), SINGLE[language]), id=language.name.lower())
    for language in Language
]


class TestDefaultTable:
    def test_has_a_character_for_each_septet_but_the_escape(self):
        assert sorted(DEFAULT) == [septet for septet in range(128) if septet != ESCAPE]
        assert len(set(DEFAULT.values())) == 127

    @pytest.mark.parametrize(
        ("septet", "character"),
        [
            (0x00, "@"),
            (0x09, "Ç"),  # the capital: there is no small one
            (0x0A, "\n"),
            (0x0D, "\r"),
            (0x10, "Δ"),
            (0x11, "_"),
            (0x1A, "Ξ"),
            (0x1F, "É"),
            (0x20, " "),
            (0x24, "¤"),
            (0x40, "¡"),
            (0x5F, "§"),
            (0x60, "¿"),
            (0x7F, "à"),
        ],
    )
    def test_puts_characters_where_the_standard_does(self, septet, character):
        assert DEFAULT[septet] == character

    def test_holds_letters_and_digits_where_ascii_does(self):
        ours = {
            septet: character for septet, character in DEFAULT.items() if character.isascii() and character.isalnum()
        }

        assert ours == {ord(character): character for character in ours.values()}
        assert len(ours) == 62

    def test_and_its_extension_are_those_of_the_sandbox(self):
        assert set(DEFAULT.values()) == sandbox.BASIC
        assert set(EXTENSION.values()) == sandbox.EXTENDED


class TestSizes:
    @pytest.mark.parametrize("character", EXTENSION.values(), ids=ascii)
    def test_are_two_behind_an_escape(self, character):
        assert GSM.sizes[character] == 2

    @pytest.mark.parametrize(
        "character", ["°", "\u00a0", "’", "\t", "`", "\u200b", "ç", "á", "Α", "\x1b", "\0"], ids=ascii
    )
    def test_are_none_for_what_the_alphabet_lacks(self, character):
        assert character not in GSM.sizes


class TestCodec:
    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7())
    def test_gives_every_text_of_the_alphabet_back(self, text):
        septets = GSM.encode(text)

        assert GSM.decode(septets) == text
        assert len(septets) == sum(GSM.sizes[character] for character in text)
        assert not septets or max(septets) < 128

    @settings(max_examples=300, deadline=None, database=None)
    @given(st.binary(max_size=200).map(lambda octets: bytes(octet & 0x7F for octet in octets)))
    def test_reads_whatever_septets_come(self, septets):
        text = GSM.decode(septets)

        assert GSM.decode(GSM.encode(text)) == text

    def test_writes_an_escape_before_what_the_extension_holds(self):
        assert GSM.encode("a[€") == bytes([0x61, 0x1B, 0x3C, 0x1B, 0x65])

    @pytest.mark.parametrize(
        ("septets", "text"),
        [
            ([0x61, 0x1B], "a "),  # nothing follows the escape
            ([0x1B, 0x1B, 0x61], " a"),
            ([0x1B, 0x61], "a"),  # nothing there in the extension
            ([0x1B, 0x0A], "\f"),
            ([0x00], "@"),
        ],
    )
    def test_reads_odd_escapes_as_the_standard_says(self, septets, text):
        assert GSM.decode(bytes(septets)) == text

    @pytest.mark.parametrize(("text", "position"), [("82°C", 2), ("’", 0), ("aa\ud83d", 2)], ids=ascii)
    def test_says_which_character_has_no_septet(self, text, position):
        with pytest.raises(NotInAlphabet) as caught:
            GSM.encode(text)

        assert caught.value.position == position
        assert text not in str(caught.value)


class TestNationalTables:
    def test_are_numbered_as_in_the_standard(self):
        assert [(language.value, language.name) for language in Language][:3] == [
            (1, "TURKISH"),
            (2, "SPANISH"),
            (3, "PORTUGUESE"),
        ]
        assert Language.URDU == 13

    def test_are_one_of_each_kind_for_all_but_spanish(self):
        assert SINGLE.keys() == set(Language)
        assert LOCKING.keys() == set(Language) - {Language.SPANISH}

    @pytest.mark.parametrize("alphabet", ALPHABETS)
    def test_give_every_text_of_theirs_back(self, alphabet):
        text = "".join(alphabet.codes)

        assert alphabet.decode(alphabet.encode(text)) == text

    @pytest.mark.parametrize("alphabet", ALPHABETS)
    def test_leave_the_escape_line_feed_return_and_form_feed_where_they_are(self, alphabet):
        assert ESCAPE not in alphabet.locking
        assert ESCAPE not in alphabet.single
        assert (alphabet.locking[0x0A], alphabet.locking[0x0D], alphabet.single[0x0A]) == ("\n", "\r", "\f")

    @pytest.mark.parametrize("language", Language)
    def test_keep_what_the_extension_holds(self, language):
        assert EXTENSION.items() <= SINGLE[language].items()

    @pytest.mark.parametrize("language", LOCKING)
    def test_have_no_character_twice(self, language):
        assert [character for character, count in Counter(LOCKING[language].values()).items() if count > 1] == []

    @pytest.mark.parametrize("language", [language for language in Language if language > Language.PORTUGUESE])
    def test_of_the_indic_languages_hold_one_script_besides_latin(self, language):
        words = {
            name(character).removeprefix("EXTENDED ").split()[0].split("-")[0]
            for table in (LOCKING[language], SINGLE[language])
            for character in table.values()
            if not character.isascii()
        }

        assert words - LATIN_SIGNS <= {"DEVANAGARI", SCRIPTS.get(language, language.name)}

    @pytest.mark.parametrize(
        "language", [language for language in Language if Language.PORTUGUESE < language < Language.URDU]
    )
    def test_of_the_indic_languages_follow_the_order_of_their_block(self, language):
        table = LOCKING[language]
        letters = [ord(table[septet]) for septet in range(0x50) if table.get(septet, "a") > "\u0100"]

        assert letters == sorted(letters)

    @pytest.mark.parametrize(
        ("language", "text"),
        [
            (Language.TURKISH, "Şifreniz: 012345. Işık, ğ, ç, İ"),
            (Language.SPANISH, "Su código llegará mañana. ¿Sí? Único"),
            (Language.PORTUGUESE, "Seu código: 012345. São João, avô, três, ção"),
            (Language.HINDI, "आपका कोड 012345 है"),
            (Language.TAMIL, "உங்கள் குறியீடு 012345"),
            (Language.URDU, "آپ کا کوڈ 012345 ہے"),
        ],
    )
    def test_hold_what_is_written_in_their_language(self, language, text):
        alphabet = Alphabet(LOCKING.get(language, DEFAULT), SINGLE[language])

        assert alphabet.decode(alphabet.encode(text)) == text


LATIN_SIGNS = {"POUND", "YEN", "CURRENCY", "EURO", "INVERTED"}
SCRIPTS = {Language.PUNJABI: "GURMUKHI", Language.HINDI: "DEVANAGARI", Language.URDU: "ARABIC"}

"""Our counting of SMS beside other people's: smsutil, sms-counter, gsm0338 and gsmcodecs, and regex for the clusters.

None of them keeps clusters together, so texts that hold some make as many SMS with us as with them, or more.
"""

from __future__ import annotations

import re
import warnings
from itertools import accumulate

import gsm0338
import gsmcodecs  # noqa: F401  its codecs are known by name from here on
import pytest
import regex
import smsutil
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.sms.alphabet import DEFAULT, EXTENSION, GSM, Alphabet
from notifications.sms.national import LOCKING, SINGLE, Language
from notifications.sms.segments import LIMITS, measure, split
from tests.notifications.sms.texts import CLUSTERS, in_any, in_gsm7

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it is written for a Pydantic of long ago
    from sms.counter import SMSCounter

ENCODINGS = {"gsm0338": "gsm7", "utf_16_be": "ucs2", "GSM_7BIT": "gsm7", "GSM_7BIT_EX": "gsm7", "UTF16": "ucs2"}
CODEC = gsm0338.Codec()

# Cells in which gsmcodecs differs from the other transcriptions of the standard, or all of them from ours; it has an
# apostrophe in the place of the comma. See notifications/sms/national.py.
DISPUTED = {(Language.KANNADA, 0x24), *((language, 0x2C) for language in Language if language > Language.PORTUGUESE)}

many = settings(max_examples=3000, deadline=None, database=None)
loose = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd", "Po", "Sm"]), max_size=400)


def clusters(text: str) -> list[str]:
    return regex.findall(r"\X", text)


def hangs_together(text: str) -> bool:
    return any(len(cluster) > 1 for cluster in clusters(text))


def units(text: str) -> int:
    return len(text.encode("utf-16-be")) // 2


class TestSmsutil:
    @many
    @given(in_gsm7().filter(bool))
    def test_parts_a_text_of_the_alphabet_where_we_do(self, text):
        theirs = smsutil.split(text)

        assert [part.content for part in theirs.parts] == list(split(text))
        assert [part.bytes for part in theirs.parts] == list(measure(text).per_segment)
        assert ENCODINGS[theirs.encoding] == measure(text).encoding

    @many
    @given((in_any() | loose).filter(lambda text: text and "\x1b" not in text))
    def test_parts_other_texts_where_we_do_unless_a_cluster_stands_there(self, text):
        ours, theirs = measure(text), smsutil.split(text)

        assert ENCODINGS[theirs.encoding] == ours.encoding
        assert theirs.total_bytes == ours.units * (2 if ours.encoding == "ucs2" else 1)
        if ours.encoding == "gsm7" or not hangs_together(text):
            assert [part.content for part in theirs.parts] == list(split(text))
        assert ours.segments >= len(theirs.parts)

    @pytest.mark.parametrize("border", range(60, 80))
    @pytest.mark.parametrize("count", range(2, 6))
    def test_agrees_at_the_borders_of_ucs2(self, border, count):
        for text in ("я" * border * count, "🎉" * border * count, "я" + "🎉" * border * count):
            assert [part.content for part in smsutil.split(text).parts] == list(split(text))


class TestSmsCounter:
    @many
    @given(in_gsm7() | loose)
    def test_counts_the_units_that_we_do(self, text):
        theirs, ours = SMSCounter().count(text), measure(text)

        assert ENCODINGS[theirs.encoding] == ours.encoding
        if ours.encoding == "gsm7" or units(text) == len(text):  # it takes a surrogate pair for one unit
            assert theirs.sms_size == ours.units

    @many
    @given(in_gsm7().map(lambda text: re.sub(r"[\f^{}\\[~\]|€]", "x", text)) | loose)
    def test_counts_the_sms_that_we_do_where_nothing_has_to_stay_together(self, text):
        theirs, ours = SMSCounter().count(text), measure(text)
        if text and units(text) == len(text) and (ours.encoding == "gsm7" or not hangs_together(text)):
            if any(character in EXTENSION.values() for character in text):
                return
            assert theirs.segment == ours.segments
            assert theirs.chars_remaining == ours.room


class TestCodecs:
    @many
    @given(in_gsm7())
    def test_write_the_septets_that_we_do(self, text):
        assert CODEC.encode(text)[0] == GSM.encode(text) == text.encode("gsm23.038")

    @pytest.mark.parametrize("septet", range(128))
    def test_read_each_septet_as_we_do(self, septet):
        if septet in DEFAULT:
            assert CODEC.decode(bytes([septet]))[0] == DEFAULT[septet]
        if septet in EXTENSION:
            assert CODEC.decode(bytes([0x1B, septet]))[0] == EXTENSION[septet]

    def test_know_the_characters_that_we_do(self):
        theirs = {chr(code) for code in range(0x10000) if smsutil.codecs.is_valid_gsm(chr(code))}

        assert theirs - {"\x1b"} == GSM.sizes.keys()  # an escape is no character: who would write it means another one

    @pytest.mark.parametrize("language", LOCKING)
    def test_know_the_locking_tables_that_we_do(self, language):
        for septet, character in LOCKING[language].items():
            if (language, septet) not in DISPUTED:
                assert bytes([septet]).decode(f"gsm23.038-{language}-{language}") == character

    @pytest.mark.parametrize("language", SINGLE)
    def test_know_the_single_shift_tables_that_we_do(self, language):
        for septet, character in SINGLE[language].items():
            if (language, character) != (Language.TELUGU, "€"):
                assert bytes([0x1B, septet]).decode(f"gsm23.038-{language}-{language}") == character

    @pytest.mark.parametrize("language", Language)
    def test_know_no_character_that_we_do_not(self, language):
        ours = Alphabet(LOCKING.get(language, DEFAULT), SINGLE[language])
        for code in range(0x10000):
            try:
                chr(code).encode(f"gsm23.038-{language}-{language}")
            except UnicodeEncodeError:
                continue
            assert chr(code) in ours.codes, f"{code:04X}"


class TestRegex:
    """Unicode's own rule for what hangs together, by another implementation."""

    @many
    @given(in_any())
    def test_ends_its_clusters_where_our_parts_end(self, text):
        ends = set(accumulate(map(len, clusters(text)), initial=0))
        end = 0
        for part in split(text)[:-1]:
            end += len(part)
            inside = next(cluster for cluster, last in self.with_ends(text) if last >= end)
            assert end in ends or inside == "\r\n" or units(inside) > LIMITS["ucs2"].joined

    @pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
    def test_takes_our_examples_for_one_character_each(self, cluster):
        assert clusters(cluster) == [cluster]

    @staticmethod
    def with_ends(text: str) -> list[tuple[str, int]]:
        found = clusters(text)
        return list(zip(found, accumulate(map(len, found)), strict=True))

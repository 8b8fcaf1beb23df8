"""Texts that make too many SMS: parted, shortened or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.sms.fit import WORD_CHARACTERS, Fitted, LongTexts, OnLong, TooLong, check, fit, truncate
from notifications.sms.segments import MOST_SEGMENTS, measure, split
from tests.notifications.sms.test_segments import borders
from tests.notifications.sms.texts import CLUSTERS, in_any, in_gsm7

CASES = Path(__file__).parents[2] / "cases"
CUT = json.loads((CASES / "seg-cut-inside-cluster" / "input.json").read_text())
SHORT, LONG = "Table ready", "a" * 400


class TestPolicy:
    @pytest.mark.parametrize("on_long", OnLong)
    def test_leaves_a_text_alone_that_makes_few_enough(self, on_long):
        assert fit(SHORT, LongTexts(on_long, 1)) == Fitted(SHORT, (SHORT,))

    def test_split_parts_a_text_into_its_sms(self):
        assert fit(LONG, LongTexts(OnLong.SPLIT, 3)) == Fitted(LONG, split(LONG))

    def test_refuse_sends_a_text_whole(self):
        assert fit(LONG, LongTexts(OnLong.REFUSE, 3)) == Fitted(LONG, (LONG,))

    def test_truncate_says_that_it_did(self):
        shortened = "a" * 157 + "..."

        assert fit(LONG, LongTexts(OnLong.TRUNCATE, 1)) == Fitted(shortened, (shortened,), is_shortened=True)

    @pytest.mark.parametrize("on_long", [OnLong.SPLIT, OnLong.REFUSE])
    def test_names_the_field_the_count_and_the_limit_of_what_it_refuses(self, on_long):
        with pytest.raises(TooLong) as caught:
            fit(LONG, LongTexts(on_long, 2), field="content.sms.text")

        assert (caught.value.field, caught.value.segments, caught.value.limit) == ("content.sms.text", 3, 2)
        assert str(caught.value) == "content.sms.text: makes 3 SMS (accepted: a text that makes at most 2 SMS)"

    @pytest.mark.parametrize("limit", [0, -1, MOST_SEGMENTS + 1])
    def test_has_a_limit_that_makes_sense(self, limit):
        with pytest.raises(ValueError, match="is no limit"):
            LongTexts(OnLong.SPLIT, limit)


class TestCheck:
    def test_names_the_character_that_makes_a_text_so_long(self):
        with pytest.raises(
            TooLong, match=r"makes 2 SMS, in UCS-2 because of U\+2019 RIGHT SINGLE QUOTATION MARK at position 3"
        ):
            check("Don’t forget your 9 o’clock appointment at the clinic tomorrow, please bring it.", 1)

    def test_does_not_quote_the_text(self):
        with pytest.raises(TooLong) as caught:
            check(f"012345 ’ {LONG}", 1)

        assert "012345" not in f"{caught.value} {caught.value.reason} {caught.value.accepted}"


class TestTruncate:
    @pytest.mark.parametrize(("text", "best"), list(zip(CUT["texts"], CUT["best"], strict=True)))
    def test_cuts_before_the_whole_character(self, text, best):
        assert truncate(text, 1, ellipsis="") == best
        assert truncate(text, 1) == f"{best}..."

    @pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
    @pytest.mark.parametrize("before", range(55, 70))
    def test_leaves_no_half_of_what_a_reader_takes_for_one_character(self, cluster, before):
        text = truncate("я" * before + cluster + "я" * 40, 1)

        assert text.rstrip("я…") in ("", "я" * before + cluster)
        assert text.encode().decode() == text

    def test_prefers_the_end_of_a_word(self):
        text = truncate("Your table is ready. " * 8 + "Ask for Antoinette.", 1)

        assert text == "Your table is ready. " * 7 + "Your table..."

    def test_does_not_leave_half_a_code(self):
        assert truncate("b" * 152 + " 482913 is your code", 1) == "b" * 152 + "..."

    def test_cuts_a_word_that_is_longer_than_it_looks_back(self):
        assert truncate("See https://example.org/" + "a" * 200, 1) == "See https://example.org/" + "a" * 133 + "..."

    def test_takes_one_character_as_the_ellipsis_where_that_costs_nothing(self):
        assert truncate("я" * 71, 1) == "я" * 69 + "…"

    def test_gets_the_room_back_that_a_cut_character_took(self):
        text = truncate("a" * 150 + "👍" + "b" * 100, 1)

        assert text == "a" * 150 + "..."

    def test_leaves_an_ellipsis_of_what_is_one_endless_character(self):
        assert truncate("e" + "\u0301" * 200, 1) == "..."

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_gsm7() | in_any(), st.integers(1, 4))
    def test_makes_no_more_sms_than_allowed(self, text, limit):
        shortened = truncate(text, limit)

        assert measure(shortened).segments <= limit
        assert shortened == text or shortened.endswith(("...", "…"))

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_gsm7() | in_any(), st.integers(1, 4))
    def test_keeps_a_beginning_that_ends_between_characters(self, text, limit):
        kept = truncate(text, limit, ellipsis="").rstrip()

        assert text.startswith(kept)
        assert len(kept) in borders(text) or text[len(kept)].isspace()  # a space goes, whatever it hangs on

    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7() | in_any(), st.integers(1, 3))
    def test_gives_away_no_more_than_a_word(self, text, limit):
        shortened = truncate(text, limit)
        if shortened == text or measure(text).encoding == "ucs2":
            return
        kept = shortened.removesuffix("...")
        rest = text[len(kept) :]
        more = rest[: len(rest) - len(rest.lstrip()) + WORD_CHARACTERS + 1].rstrip()

        assert not more or measure(kept + more + "...").segments > limit

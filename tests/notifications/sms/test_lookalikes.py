"""Characters that look like one of an SMS's alphabet: what is replaced, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from notifications.sms.alphabet import GSM
from notifications.sms.lookalikes import REPLACEMENTS, Plain, Replacement, replace
from notifications.sms.segments import measure
from tests.notifications.sms.texts import in_any, in_gsm7

CASES = Path(__file__).parents[2] / "cases"
INVISIBLE = json.loads((CASES / "seg-invisible-switch" / "vectors.json").read_text())


class TestReplacements:
    def test_are_all_in_the_alphabet(self):
        assert [key for key, plain in REPLACEMENTS.items() if not GSM.sizes.keys() >= set(plain)] == []

    def test_replace_nothing_that_is_in_the_alphabet(self):
        assert REPLACEMENTS.keys() & GSM.sizes.keys() == set()


class TestReplace:
    @pytest.mark.parametrize(
        ("text", "plain"),
        [
            ("‘Don’t’", "'Don't'"),
            ("“Yes” „ja“ «oui»", '"Yes" "ja" "oui"'),
            ("9–17 — daily ‑ −3", "9-17 - daily - -3"),
            ("120\u00a0EUR\u202f\u2009\u3000\tnow", "120 EUR    now"),
            ("Wait…", "Wait..."),
            ("ﬁle, oﬃce, cœur", "file, office, coeur"),
            ("Ｃｏｄｅ：０１２３４５！", "Code:012345!"),
            ("\ufeffCode\u200b 482913\u2060", "Code 482913"),
            ("one\u2028two", "one\ntwo"),
            ("Cafe\u0301 Mu\u0308ller", "Café Müller"),
            ("20 \u212a, 5 \u2126", "20 K, 5 Ω"),
            ("ΚΩΔΙΚΟΣ 012345", "KΩΔIKOΣ 012345"),
        ],
        ids=ascii,
    )
    def test_makes_a_text_fit_the_alphabet(self, text, plain):
        replaced = replace(text)

        assert replaced.text == plain
        assert measure(replaced.text).encoding == "gsm7"

    def test_tells_what_it_replaced_and_where(self):
        assert replace("Don’t wait…").replacements == (Replacement(3, "’", "'"), Replacement(10, "…", "..."))

    @pytest.mark.parametrize("name", ["nbsp", "curly_apostrophe", "tab", "backtick", "zero_width"])
    def test_helps_where_one_unseen_character_costs_half_the_room(self, name):
        assert measure(replace(INVISIBLE[name]["text"]).text).segments == 1

    @pytest.mark.parametrize(
        "text",
        [
            "Tank 4: 82°C",  # a degree sign looks like nothing else
            "“Привет” — да…",
            "Don’t 👍",
            "1️⃣ – first",
            "soupçon d’été",  # ç loses no cedilla
            "ele é “á”",
            "\u202eabc",  # shown backwards
            "ok \ud83d …",
        ],
        ids=ascii,
    )
    def test_leaves_a_text_alone_that_needs_ucs2_all_the_same(self, text):
        assert replace(text) == Plain(text)

    def test_leaves_a_text_alone_that_would_make_more_sms(self):
        text = "…" * 60

        assert measure("..." * 60).segments == 2
        assert replace(text) == Plain(text)

    @pytest.mark.parametrize(
        "value", json.loads((CASES / "text-code-with-leading-zero" / "input.json").read_text())["values"]
    )
    def test_never_changes_a_code(self, value):
        assert str(value) in replace(f"“Your code” is\u00a0{value}.").text

    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7())
    def test_never_changes_a_text_of_the_alphabet(self, text):
        assert replace(text) == Plain(text)

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_any())
    def test_changes_all_or_nothing_and_never_for_more_sms(self, text):
        replaced = replace(text)

        assert replaced.text == text or measure(replaced.text).encoding == "gsm7"
        assert measure(replaced.text).segments <= measure(text).segments

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_any())
    def test_can_be_retraced(self, text):
        replaced = replace(text)
        retraced = replaced.text
        for replacement in replaced.replacements:
            start, end = replacement.position, replacement.position + len(replacement.after)
            assert retraced[start:end] == replacement.after
            retraced = retraced[:start] + replacement.before + retraced[end:]

        assert retraced == text

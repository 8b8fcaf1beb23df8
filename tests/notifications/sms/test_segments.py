"""How many SMS a text makes: the field's cases (tests/cases/seg-*), the borders, and what is never parted."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from wcwidth import iter_graphemes

from notifications.sms.segments import LIMITS, Measured, count, measure, split, why
from tests.notifications.sms.texts import CLUSTERS, in_any, in_gsm7

CASES = Path(__file__).parents[2] / "cases"
NAMES = {"GSM-7": "gsm7", "UCS-2": "ucs2"}


def vectors() -> list[object]:
    return [
        pytest.param(vector, id=f"{path.parent.name}-{name}")
        for path in sorted(CASES.glob("seg-*/vectors.json"))
        for name, vector in json.loads(path.read_text()).items()
    ]


def borders(text: str) -> set[int]:
    """Where a text may be parted: between clusters, and inside those that are longer than an SMS or end a line."""
    clusters = list(iter_graphemes(text))
    ends = set(accumulate(map(len, clusters), initial=0))
    for end, cluster in zip(accumulate(map(len, clusters)), clusters, strict=True):
        if cluster == "\r\n" or len(cluster.encode("utf-16-le", "surrogatepass")) // 2 > LIMITS["ucs2"].joined:
            ends |= set(range(end - len(cluster), end))
    return ends


class TestMeasure:
    @pytest.mark.parametrize("vector", vectors())
    def test_counts_as_the_field_does(self, vector):
        measured = measure(vector["text"])

        assert measured.encoding == NAMES[vector["encoding"]]
        assert (measured.units, measured.segments) == (vector["units"], vector["segments"])
        assert list(measured.per_segment) == vector["per_segment"]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", Measured("gsm7", 0, 1, (0,), 160)),
            ("a" * 160, Measured("gsm7", 160, 1, (160,), 0)),
            ("a" * 161, Measured("gsm7", 161, 2, (153, 8), 145)),
            ("a" * 306, Measured("gsm7", 306, 2, (153, 153), 0)),
            ("a" * 307, Measured("gsm7", 307, 3, (153, 153, 1), 152)),
            ("€" * 80, Measured("gsm7", 160, 1, (160,), 0)),
            ("€" * 81, Measured("gsm7", 162, 2, (152, 10), 143)),
            ("я" * 70, Measured("ucs2", 70, 1, (70,), 0)),
            ("я" * 71, Measured("ucs2", 71, 2, (67, 4), 63)),
            ("я" * 135, Measured("ucs2", 135, 3, (67, 67, 1), 66)),
            ("🎉" * 35, Measured("ucs2", 70, 1, (70,), 0)),
            ("🎉" * 36, Measured("ucs2", 72, 2, (66, 6), 61)),
            ("\ud83d", Measured("ucs2", 1, 1, (1,), 69)),  # no text, and still no reason to fall over
        ],
        ids=lambda value: ascii(value)[:12] if isinstance(value, str) else "",
    )
    def test_knows_the_borders(self, text, expected):
        assert measure(text) == expected

    @pytest.mark.parametrize(
        "value", json.loads((CASES / "text-code-with-leading-zero" / "input.json").read_text())["values"]
    )
    def test_counts_every_digit_of_a_code(self, value):
        text = f"Your code is {value}."

        assert measure(text) == Measured("gsm7", len(text), 1, (len(text),), 160 - len(text))

    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_adds_up(self, text):
        measured = measure(text)

        assert sum(measured.per_segment) == measured.units
        assert len(measured.per_segment) == measured.segments == len(split(text))
        assert 0 <= measured.room < LIMITS[measured.encoding].alone + 1

    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7())
    def test_says_how_much_room_is_left(self, text):
        measured = measure(text)

        assert measure(text + "a" * measured.room).segments == measured.segments
        assert measure(text + "a" * (measured.room + 1)).segments == measured.segments + 1


class TestCount:
    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_counts_what_measuring_does(self, text):
        assert count(text) == measure(text).segments

    @pytest.mark.parametrize("character", ["a", "{", "`", "é", "€", "ê", "😀"])
    @pytest.mark.parametrize("length", [0, 1, 34, 35, 36, 69, 70, 71, 80, 81, 160, 161])
    def test_takes_no_short_cut_too_far(self, character, length):
        assert count(character * length) == measure(character * length).segments


class TestSplit:
    @settings(max_examples=500, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_makes_parts_that_join_to_the_text(self, text):
        assert "".join(split(text)) == text

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_makes_parts_that_fit(self, text):
        measured, parts = measure(text), split(text)
        limits = LIMITS[measured.encoding]

        assert all(units <= (limits.joined if len(parts) > 1 else limits.alone) for units in measured.per_segment)

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_parts_no_cluster(self, text):
        assert set(accumulate(map(len, split(text)))) <= borders(text)

    @settings(max_examples=500, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_makes_as_few_parts_as_can_be(self, text):
        """What begins a part would not have fitted into the one before."""
        encoding, parts = measure(text).encoding, split(text)
        first_border = {part: min((end for end in borders(part) if end), default=0) for part in parts}

        for before, after in pairwise(parts):
            longer = before + after[: first_border[after]]
            assert units(longer, encoding) > LIMITS[encoding].joined

    @pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
    @pytest.mark.parametrize("before", range(55, 71))
    def test_leaves_whole_what_a_reader_takes_for_one_character(self, cluster, before):
        parts = split("я" * before + cluster + "я" * 40)

        assert any(cluster in part for part in parts)

    def test_cuts_what_alone_is_longer_than_an_sms(self):
        parts = split("я" + "e" + "\u0301" * 200)

        assert [len(part) for part in parts] == [67, 67, 67, 1]

    def test_parts_cr_and_lf_as_carriers_do(self):
        assert split("a" * 152 + "\r\n" + "b" * 50)[1].startswith("\nb")


def units(text: str, encoding: str) -> int:
    if encoding == "ucs2":
        return len(text.encode("utf-16-le")) // 2
    return sum(2 if character in "\f^{}\\[~]|€" else 1 for character in text)


class TestWhy:
    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("degree", "U+00B0 DEGREE SIGN at position 10"),
            ("nbsp", "U+00A0 NO-BREAK SPACE at position 5"),
            ("curly_apostrophe", "U+2019 RIGHT SINGLE QUOTATION MARK at position 3"),
            ("tab", "U+0009 at position 1"),
            ("backtick", "U+0060 GRAVE ACCENT at position 0"),
            ("zero_width", "U+200B ZERO WIDTH SPACE at position 4"),
        ],
    )
    def test_names_the_character_that_nobody_sees(self, name, told):
        vector = json.loads((CASES / "seg-invisible-switch" / "vectors.json").read_text())[name]

        assert str(why(vector["text"])[0]) == told

    def test_names_each_once_with_all_its_positions(self):
        found = why("“Don’t” 👍’")

        assert [(foreign.character, foreign.positions) for foreign in found] == [
            ("“", (0,)),
            ("’", (4, 9)),
            ("”", (6,)),
            ("👍", (8,)),
        ]

    @settings(max_examples=300, deadline=None, database=None)
    @given(in_gsm7() | in_any())
    def test_names_some_just_where_ucs2_is_needed(self, text):
        assert bool(why(text)) == (measure(text).encoding == "ucs2")

"""Rendering: one pass, no engine, values letter by letter."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from notifications.rendering import CannotRender, Template, written_out
from tests.notifications.batches import CASES


def rendered(text: str, *, is_html: bool = False, **values: str) -> str:
    return Template(text, is_html=is_html).render(values, limit=10_000)


def case(name: str) -> dict:
    return json.loads((CASES / name / "input.json").read_text())


class TestTemplate:
    def test_fills_in_variables_whatever_their_case_and_blanks(self):
        assert rendered("{Name}, { name }, {NAME}", name="Ana") == "Ana, Ana, Ana"

    @pytest.mark.parametrize("text", ["p {color: red}", "{", "{}", "{a b}", "{1}", "}} {a.b} {a[0]}", "100 %", "%(a)s"])
    def test_leaves_every_other_brace_alone(self, text):
        assert rendered(text) == text

    @pytest.mark.parametrize("name", case("text-variable-that-is-a-template")["names"])
    def test_a_value_that_looks_like_a_template_is_text(self, name):
        assert rendered("Hello {name} {other}", name=name, other="secret") == f"Hello {name} secret"

    @pytest.mark.parametrize("text", case("text-variable-that-is-a-template")["hostile_templates"])
    def test_refuses_what_was_written_for_another_engine(self, text):
        with pytest.raises(CannotRender):
            Template(text)

    @given(st.dictionaries(st.sampled_from(["a", "b"]), st.text(), min_size=2))
    def test_never_expands_a_value(self, values):
        assert rendered("{a}|{b}|{a}", **values) == f"{values['a']}|{values['b']}|{values['a']}"

    def test_escapes_values_in_html_and_nothing_else(self):
        assert rendered("<b>{name}</b>", is_html=True, name="<i>&'") == "<b>&lt;i&gt;&amp;&#x27;</b>"

    def test_stops_before_a_result_that_is_too_large_is_put_together(self):
        with pytest.raises(CannotRender):
            Template("{a}" * 10_000).render({"a": "x" * 100_000}, limit=1_000_000)


class TestWrittenOut:
    def test_codes_and_numbers_stay_as_they_are_in_any_language(self):
        values = json.loads((CASES / "text-code-with-leading-zero" / "input.json").read_text(), parse_float=Decimal)[
            "values"
        ]

        with translation.override("de"):
            written = [written_out(value) for value in values]

        assert written == ["012345", "12345", "000000", "1e5", "true", "1234567.0", "10000000"]

    @pytest.mark.parametrize(("value", "text"), [(Decimal("1e7"), "10000000"), (1e7, "10000000.0"), (-3, "-3")])
    def test_has_no_exponent(self, value, text):
        assert written_out(value) == text

    @pytest.mark.parametrize("value", [Decimal("1e999999999"), Decimal("1e-99999999"), Decimal("NaN"), [], {}, None])
    def test_refuses_what_nobody_could_read(self, value):
        with pytest.raises(CannotRender):
            written_out(value)

"""Texts with `{variables}` in them: pure, one pass, and nothing but words between braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from html import escape
from typing import Any

# `{name}`; every other brace is text, so that style sheets stay whole. What a template engine would read is refused: it
# would reach a million people as it stands.
VARIABLE = re.compile(r"\{ *([^\W\d]\w*) *\}")
FOREIGN = ("{{", "{%", "{#")
DIGITS_LIMIT = 40  # of a number written out; 1e999999999 is eleven characters of JSON


class CannotRender(ValueError):
    """Says why; never quotes a value."""


class Template:
    """A text in which `{name}` stands for a variable. Names are told apart without regard to case.

    A value is put in as it is: what looks like a variable in it is text. `is_html` escapes values. Raises CannotRender for
    a text that was written for another engine.
    """

    def __init__(self, text: str, *, is_html: bool = False) -> None:
        if any(mark in text for mark in FOREIGN):
            raise CannotRender("has {{, {% or {#")
        pieces = VARIABLE.split(text)
        pieces[1::2] = map(str.casefold, pieces[1::2])
        self.variables = frozenset(pieces[1::2])
        self._pieces = pieces
        self._is_html = is_html

    def render(self, values: Mapping[str, str], *, limit: int) -> str:
        """The text with its variables filled in. Raises CannotRender beyond `limit` characters, before it is put together."""
        pieces = self._pieces.copy()
        for index in range(1, len(pieces), 2):
            value = values[pieces[index]]
            pieces[index] = escape(value) if self._is_html else value
        if sum(map(len, pieces)) > limit:
            raise CannotRender("is too large")
        return "".join(pieces)


def written_out(value: Any) -> str:
    """A variable as a recipient reads it: text letter by letter, numbers digit by digit as they were given.

    No grouping, no exponent, in no language. Floating-point numbers are read as Decimal. Raises CannotRender for what is
    neither text nor a number nor yes or no.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return _digits(Decimal(str(value)) if isinstance(value, float) else value)
    raise CannotRender("is neither text nor a number nor true or false")


def _digits(number: int | Decimal) -> str:
    decimal = Decimal(number)
    if not decimal.is_finite() or max(abs(decimal.adjusted()), len(decimal.as_tuple().digits)) > DIGITS_LIMIT:
        raise CannotRender("has too many digits")
    return format(decimal, "f")

"""Rows of a file with one JSON object per line: `{"to": …, "variables": {…}, "reference": …}`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NoReturn

from notifications.rendering import CannotRender, written_out
from notifications.services.batch.lines import Lines
from notifications.services.batch.rows import ADDRESSED, Row, by_channel
from notifications.services.request import FieldError

FIELDS = {"to", "variables", "reference"}
OBJECT = "one JSON object per line, in UTF-8"


def read_jsonl(lines: Lines, variables: frozenset[str]) -> Iterator[Row]:
    """The rows, one per line; empty lines are none. Raises BadFile where there are no lines."""
    for text in lines:
        if text.strip():
            yield _row(text, lines.number, lines.take_faults(), variables)


def load(text: str) -> Any:
    """JSON with numbers as they were written. Raises ValueError."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _row(text: str, line: int, faults: list[FieldError], variables: frozenset[str]) -> Row:
    row = Row(line, faults=faults)
    if faults:
        return row
    try:
        values = load(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        row.faults.append(FieldError("row", "is not a JSON object", OBJECT))
        return row
    if unknown := values.keys() - FIELDS:
        row.faults.append(FieldError("row", f"has {len(unknown)} unknown fields", "`to`, `variables` and `reference`"))
    row.to = _to(values.get("to"), row.faults)
    row.variables = _variables(values.get("variables") or {}, variables, row.faults)
    row.reference = _text("reference", values.get("reference"), row.faults)
    return row


def _to(value: Any, faults: list[FieldError]) -> dict[str, str]:
    if isinstance(value, str):
        return by_channel(value)
    if not isinstance(value, dict) or not value.keys() <= set(ADDRESSED):
        faults.append(FieldError("to", "is no address", "an address, or an object with `sms` and `email`"))
        return {}
    return {channel: text for channel, address in value.items() if (text := _text(f"to.{channel}", address, faults))}


def _variables(values: Any, known: frozenset[str], faults: list[FieldError]) -> dict[str, str]:
    if not isinstance(values, dict):
        faults.append(FieldError("variables", "is not an object", "an object with a value for each variable"))
        return {}
    named = {name.casefold(): value for name, value in values.items()}
    if unknown := named.keys() - known:
        faults.append(
            FieldError("variables", f"has {len(unknown)} that no text uses", ", ".join(sorted(known)) or "none")
        )
    return {name: _written_out(name, value, faults) for name, value in named.items() if name in known}


def _written_out(name: str, value: Any, faults: list[FieldError]) -> str:
    if value is None:
        return ""
    try:
        return written_out(value)
    except CannotRender as error:
        faults.append(FieldError(f"variables.{name}", str(error), "a text, a number, true or false"))
        return ""


def _text(name: str, value: Any, faults: list[FieldError]) -> str:
    if isinstance(value, str | None):
        return value or ""
    faults.append(FieldError(name, "is not a string", "a string"))
    return ""

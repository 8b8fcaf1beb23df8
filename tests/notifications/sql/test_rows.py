"""Rows into a statement and out of it: whatever a value holds, it arrives as it was."""

from __future__ import annotations

import json
import re
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from notifications.sql.rows import WRITERS, Table, execute
from notifications.states import State

pytestmark = pytest.mark.django_db

NOON = datetime(2027, 1, 15, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
KINDS = {
    "uuid": [UUID(int=0), UUID(int=(1 << 128) - 1)],
    "text": ["", "NULL", '"', "\\", "{a,b}", " outer ", "line\nend\r\n\t", "ä€😀", State.QUEUED],
    "jsonb": [{"a": 'b"\\c', "ä": [1, None, "{}"]}, [], "text", None],
    "timestamptz": [NOON, datetime(1, 1, 1, tzinfo=UTC)],
    "bool": [True, False],
    "int2": [0, -32768, 32767],
    "int4": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1],
    "float8": [0.1, -1e300, float("inf")],
    "numeric": [Decimal("0.075000"), Decimal("0"), Decimal("123456.000001")],
    "bytea": [b"", b"\x00\\\"'\xff"],
    "bigint[]": [[], [1], [-1, 2**60]],
}


@dataclass
class Row:
    value: Any


@dataclass
class Pair:
    first: Any
    second: Any


def through(kind: str, values: list[Any]) -> list[Any]:
    table = Table("t", {"value": kind})
    rows = execute(f"SELECT value FROM {table.sql}", table.parameters([Row(value) for value in values]))
    return [value for (value,) in rows]


class TestTable:
    def test_knows_every_type_it_can_write(self) -> None:
        assert WRITERS.keys() | {"bigint[]"} == KINDS.keys()

    @pytest.mark.parametrize("kind", KINDS)
    def test_brings_every_value_as_it_is(self, kind: str) -> None:
        values = [value for value in KINDS[kind] if value is not None]

        came = through(kind, [*values, None])

        read = {"bytea": bytes, "jsonb": json.loads}.get(kind, lambda value: value)
        assert [read(value) for value in came[:-1]] == values
        assert came[-1] is None

    @given(texts=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
    def test_brings_any_text(self, texts: list[str]) -> None:
        assert through("text", texts) == texts

    def test_brings_no_rows_at_all(self) -> None:
        assert through("uuid", []) == []

    def test_keeps_columns_side_by_side(self) -> None:
        table = Table("t", {"first": "text", "second": "int2"})
        rows = [Pair("a", 1), Pair(None, 2), Pair("c", None)]

        assert execute(f"SELECT first, second FROM {table.sql}", table.parameters(rows)) == [*map(astuple, rows)]

    def test_refuses_what_the_database_cannot_hold(self) -> None:
        with pytest.raises((DataError, ValueError)):
            through("text", ["nul\0"])


class TestExecute:
    def test_is_planned_once_and_counted_each_time(self) -> None:
        statement = "SELECT %(number)s::int AS planned_once"

        with CaptureQueriesContext(connection) as seen:
            answers = [execute(statement, {"number": number}) for number in (1, 2, 3)]

        assert answers == [[(1,)], [(2,)], [(3,)]]
        assert len(seen) == 3
        prepared = execute("SELECT statement FROM pg_prepared_statements", {})
        assert any(re.search("planned_once", text) for (text,) in prepared)

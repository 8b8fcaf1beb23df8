"""How rows go into a statement and come out of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

# What tells that the database is away, and no fault of the statement. A primary that has become read-only, and a
# transaction ended because it idled, say so by an InternalError.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
Row = TypeVar("Row")


def execute(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run one statement; its rows, or none where it returns none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def fetch(row_type: type[Row], statement: str, parameters: dict[str, Any]) -> list[Row]:
    """Run one statement that selects the columns of a dataclass, in the order of its fields."""
    return [row_type(*row) for row in execute(statement, parameters)]


class Table:
    """Rows of one dataclass as an input table of a statement: one array per column, unnested side by side.

    `columns` maps the fields that go in to their PostgreSQL types. An array-valued or JSON field travels as text.
    """

    def __init__(self, name: str, columns: dict[str, str]) -> None:
        self.name = name
        self.columns = columns
        arrays = ", ".join(f"%({name}_{column})s::{_travels_as(kind)}[]" for column, kind in columns.items())
        names = ", ".join(columns)
        values = ", ".join(
            f"{column}::{kind} AS {column}" if _travels_as(kind) != kind else column for column, kind in columns.items()
        )
        self.sql = f"(SELECT {values} FROM unnest({arrays}) AS _({names})) AS {name}"

    def parameters(self, rows: Sequence[Any]) -> dict[str, list[Any]]:
        return {
            f"{self.name}_{column}": [_text(getattr(row, column), kind) for row in rows]
            for column, kind in self.columns.items()
        }


def _travels_as(kind: str) -> str:
    return "text" if kind.endswith("[]") or kind == "jsonb" else kind


def _text(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "jsonb":
        return json.dumps(value)
    if kind.endswith("[]"):
        return "{" + ",".join(map(str, value)) + "}"
    return value


@cache
def field_names(row_type: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(row_type))


def unique(ids: Iterable[Any]) -> list[Any]:
    """The ids sorted, each once: the order in which rows are locked."""
    return sorted(set(ids))

"""How rows go into a statement and come out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import psycopg
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.types.datetime import TimestamptzLoader

# What tells that the database is away, and no fault of the statement. A primary that has become read-only, and a
# transaction ended because it idled, say so by an InternalError.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
Row = TypeVar("Row")


def execute(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run one statement; its rows, or none where it returns none."""
    with _cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def _cursor() -> CursorWrapper:
    """A cursor that sends parameters apart from the statement, so that the server plans it once per connection.

    Django's own puts them into the text: a statement of ours then takes longer to plan than to run. And times are read by
    the driver's compiled loader; all are in UTC, as the connection is.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    cursor: Any = psycopg.Cursor(connection.connection)
    cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
    return connection.make_debug_cursor(cursor) if connection.queries_logged else connection.make_cursor(cursor)


def fetch(row_type: type[Row], statement: str, parameters: dict[str, Any]) -> list[Row]:
    """Run one statement that selects the columns of a dataclass, in the order of its fields."""
    return [row_type(*row) for row in execute(statement, parameters)]


class Table:
    """Rows of one dataclass as an input table of a statement: one array per column, unnested side by side.

    `columns` maps the fields that go in to their PostgreSQL types. An array-valued or JSON field travels as text. Arrays
    are written here: the driver's own way of writing them took a fifth of a worker's time.
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

    def parameters(self, rows: Sequence[Any]) -> dict[str, str]:
        return {
            f"{self.name}_{column}": _array([getattr(row, column) for row in rows], kind)
            for column, kind in self.columns.items()
        }


def _travels_as(kind: str) -> str:
    return "text" if kind.endswith("[]") or kind == "jsonb" else kind


def _array(values: list[Any], kind: str) -> str:
    write = _list if kind.endswith("[]") else WRITERS[kind]
    if values and values.count(values[0]) == len(values):  # as in most columns of most batches
        return "{" + ",".join(["NULL" if values[0] is None else write(values[0])] * len(values)) + "}"
    return "{" + ",".join(["NULL" if value is None else write(value) for value in values]) + "}"


def one_line(statement: str) -> str:
    """A long statement without its indentation: what the driver has read of one it keeps up to 4,096 characters only."""
    return " ".join(statement.split())


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _list(value: Iterable[object]) -> str:
    return '"{' + ",".join(map(str, value)) + '}"'


def _json(value: object) -> str:
    return _text(json.dumps(value))


# How a value of each type is written inside an array, by https://www.postgresql.org/docs/current/arrays.html.
WRITERS: dict[str, Callable[[Any], str]] = {
    "uuid": lambda value: value.hex,
    "text": _text,
    "jsonb": _json,
    "timestamptz": lambda value: value.isoformat(),
    "bytea": lambda value: _text("\\x" + value.hex()),
    "bool": lambda value: "t" if value else "f",
    "float8": str,
    "int2": str,
    "numeric": str,
    "int4": str,
    "bigint": str,
}


def unique(ids: Iterable[Any]) -> list[Any]:
    """The ids sorted, each once: the order in which rows are locked."""
    return sorted(set(ids))

"""Rows of a CSV file (RFC 4180): commas, a header, quotes where a cell has a comma, a quote or a line break."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator

from notifications.addresses import InvalidAddress, normalise
from notifications.numbers import BODY_BYTES
from notifications.services.batch.faults import BadFile
from notifications.services.batch.lines import Lines
from notifications.services.batch.rows import ADDRESSED, Row, by_channel
from notifications.services.request import FieldError
from providers.messages import Channel

# A cell that begins so runs as a formula where a spreadsheet opens the file; an apostrophe before it makes it text.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_csv(lines: Lines, variables: frozenset[str]) -> Iterator[Row]:
    """The rows below the header. Raises BadFile for a header at fault, and where quotes do not match.

    Columns are `to`, or `sms` and `email`; `reference`; and one per variable. Cells are text, always.
    """
    records = _Records(lines)
    header = next(records, None)
    if header is None:
        raise BadFile(1, "is empty", "a header and at least one row", field="file")
    line, cells, faults = header
    names = [_cell(cell).casefold() for cell in cells]
    _check_header(line, names, faults, variables)
    records.expect(names)
    for line, cells, faults in records:
        yield _row(line, names, cells, faults)


def guarded(text: str) -> str:
    """A cell that no spreadsheet takes for a formula; `unguarded` gives the text back."""
    return f"'{text}" if text.startswith(FORMULA) or unguarded(text) != text else text


def unguarded(cell: str) -> str:
    """A cell without the apostrophe that keeps it from being a formula."""
    bare = cell.lstrip("'")
    return cell[1:] if cell.startswith("'") and bare.startswith(FORMULA) else cell


def _cell(cell: str) -> str:
    return unguarded(cell.strip(" "))


def _row(line: int, names: list[str], cells: list[str], faults: list[FieldError]) -> Row:
    if not faults and len(cells) != len(names):
        reason = f"has {len(cells)} cells, and the header has {len(names)}"
        faults = [FieldError("row", reason, "as many as the header; quotes around a cell that has a comma")]
    if faults:
        return Row(line, faults=faults)
    values = {name: _cell(cell) for name, cell in zip(names, cells, strict=True)}
    if "to" in values:
        to = by_channel(values["to"]) if values["to"] else {}
    else:
        to = {channel: values[channel] for channel in ADDRESSED if values.get(channel)}
    return Row(line, to, values, values.get("reference", ""))


def _check_header(line: int, names: list[str], faults: list[FieldError], variables: frozenset[str]) -> None:
    def refuse(reason: str, accepted: str) -> None:
        raise BadFile(line, reason, accepted, field="header")

    if faults:
        refuse(faults[0].reason, faults[0].accepted)
    if len(names) == 1 and any(separator in names[0] for separator in ";\t"):
        refuse("is not separated by commas", "commas between columns, not semicolons or tabs")
    known = {"to", *ADDRESSED, "reference", *variables}
    if not {"to", *ADDRESSED}.intersection(names):
        refuse("has no column with addresses", "`to`, or `sms` and `email`")
    if "to" in names and set(ADDRESSED).intersection(names):
        refuse("has `to` and another column with addresses", "`to`, or `sms` and `email`")
    if missing := sorted(variables - set(names)):
        refuse(f"has no column for {_listed(missing)}", "a column for each {variable} of the content")
    if unknown := sorted(set(names) - known):
        refuse(f"has a column that nothing uses: {_listed(unknown)}", f"only {_listed(sorted(known))}")
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        refuse(f"has the same column twice: {_listed(twice)}", "each column once")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name[:40]}`" for name in names[:10])


class _Records(Iterator[tuple[int, list[str], list[FieldError]]]):
    """Cuts lines into records: the first line, the cells, and what was wrong with its lines.

    The csv module reads on to the end of the file for a quote that is never closed, and makes one cell of all the rows on
    its way; one that a later quote happens to close looks sound. So each line is looked at while a record goes on.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._names: list[str] = []
        self._begins_at = 0
        self._length = 0
        self._reader = csv.reader(self._watched(), strict=True, skipinitialspace=True)

    def expect(self, names: list[str]) -> None:
        """From now on, lines that look like rows with these columns may not be part of another row."""
        self._names = names

    def __next__(self) -> tuple[int, list[str], list[FieldError]]:
        cells: list[str] = []
        while not cells:  # an empty line has none
            self._begins_at, self._length = self._lines.number + 1, 0
            try:
                cells = next(self._reader)
            except csv.Error as error:
                raise self._refusal(f"cannot be read as CSV: {error}") from None
        return self._begins_at, cells, self._lines.take_faults()

    def _watched(self) -> Iterator[str]:
        for line in self._lines:
            self._length += len(line)
            if self._length > BODY_BYTES:
                raise self._refusal("goes on for too long")
            if self._lines.number > self._begins_at and self._is_a_row(line):
                raise self._refusal(f"opens a quote that takes in line {self._lines.number}, a row of its own")
            yield line

    def _is_a_row(self, line: str) -> bool:
        """Whether a line within a cell has an address where a row would have one."""
        cells = line.split(",")
        if len(cells) != len(self._names):
            return False
        return any(
            name in ("to", *ADDRESSED) and _is_address(_cell(cell.strip()))
            for name, cell in zip(self._names, cells, strict=True)
        )

    def _refusal(self, reason: str) -> BadFile:
        return BadFile(
            self._begins_at,
            reason,
            "a quote at both ends of a cell, two for one within, and 131,072 characters at most",
        )


def _is_address(text: str) -> bool:
    ((channel, address),) = by_channel(text).items()
    try:
        return bool(normalise(Channel(channel), address))
    except InvalidAddress:
        return False

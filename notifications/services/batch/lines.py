"""The lines of a file: how they are encoded, and where that goes wrong."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import IO

from notifications.numbers import BODY_BYTES
from notifications.services.batch.faults import BadFile
from notifications.services.request import FieldError

UTF8 = "UTF-8, with or without a byte order mark; in Excel: save as `CSV UTF-8`"


class Lines(Iterator[str]):
    """Decodes a file line by line and holds no more than one. `number` is that of the line given
    last, `position` how many bytes there were up to its end.

    A line that is no UTF-8 is given with its odd bytes escaped, and a fault is noted until it is fetched by `take_faults`.
    Raises BadFile where no line can be told from another.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._faults: list[FieldError] = []
        self.number = 0
        self.position = 0

    def __next__(self) -> str:
        raw = self._file.readline(BODY_BYTES + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        self.position += len(raw)
        if self.number == 1:
            raw = _without_mark(raw)
        if len(raw) > BODY_BYTES:
            raise BadFile(self.number, "is too long", f"at most {BODY_BYTES} bytes in a line")
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self._faults.append(FieldError("row", _odd_byte(raw, error.start, self.number), UTF8))
            return raw.decode(errors="surrogateescape")

    def take_faults(self) -> list[FieldError]:
        """What was wrong with the lines given since the last call."""
        faults, self._faults = self._faults, []
        return faults


def _without_mark(raw: bytes) -> bytes:
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise BadFile(1, "is UTF-16, as Excel's `Unicode text` is", UTF8, field="file")
    if b"\0" in raw:
        raise BadFile(1, "has NUL bytes: it is UTF-16, or no text", UTF8, field="file")
    return raw.removeprefix(BOM_UTF8)


def _odd_byte(raw: bytes, position: int, line: int) -> str:
    return f"is not UTF-8: byte 0x{raw[position]:02X} at position {position + 1} of line {line}"

"""Checked rows on their way into the database: written to files, so that storing them needs neither time nor memory of ours."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from operator import attrgetter
from types import TracebackType
from typing import IO
from uuid import UUID

from notifications.services.batch.check import Checked
from notifications.services.batch.faults import LineError
from notifications.sql.batch import MESSAGE_COLUMNS, copied_line


class Spool:
    """Three unnamed files of lines for COPY: notifications, their first messages, and rows that are skipped."""

    def __init__(self) -> None:
        self._files = ExitStack()
        self.notifications, self.messages, self.skipped = (self._file() for _ in range(3))

    def _file(self) -> IO[str]:
        return self._files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n"))

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    def add(self, row: Checked) -> None:
        """Put down a notification and its first messages."""
        texts = _json(row.recipient), _json(row.content)
        self.notifications.write(copied_line(row.id, *texts, row.reference))
        for message in row.messages:
            self.messages.write(copied_line(*_values(message)))

    def skip(self, batch_id: UUID, errors: Sequence[LineError]) -> None:
        """Put down why a row is skipped."""
        for error in errors:
            values = (text[:300] for text in (error.field, error.reason, error.accepted))
            self.skipped.write(copied_line(batch_id, error.line, *values))


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_json = _encoder.encode
_values = attrgetter(*MESSAGE_COLUMNS)

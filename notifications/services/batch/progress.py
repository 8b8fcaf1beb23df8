"""Where a batch is: its notifications, counted by how they ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import notifications.sql.batch as sql
from notifications.models import Batch, SkippedRow
from notifications.states import End

PAGE = 1000  # rows


class UnknownBatch(LookupError):
    """No batch has this id, or it is somebody else's."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A batch and its counts: accepted = the sum of `ends` + `open` + `deleted`, which were kept long enough."""

    batch: Batch
    ends: dict[str, int]
    open: int
    deleted: int


def find_batch(batch_id: UUID, *, client_id: int | None = None) -> Batch:
    """A batch, of a client if one is named. Raises UnknownBatch."""
    found = Batch.objects.filter(id=batch_id)
    batch = (found if client_id is None else found.filter(client_id=client_id)).first()
    if batch is None:
        raise UnknownBatch(str(batch_id))
    return batch


def progress(batch: Batch) -> Progress:
    """Count a batch's notifications, all of them now."""
    counts = sql.counts(batch.id)
    ends = {end.value: counts.get(end.value, 0) for end in End}
    return Progress(batch, ends, counts.get("open", 0), batch.accepted_count - sum(counts.values()))


def skipped_rows(batch: Batch) -> Iterator[SkippedRow]:
    """Why rows were skipped, by line, read a page at a time."""
    rows = SkippedRow.objects.filter(batch=batch).order_by("id")
    page = list(rows[:PAGE])
    while page:
        yield from page
        page = list(rows.filter(id__gt=page[-1].id)[:PAGE])

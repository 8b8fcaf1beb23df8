"""Many at once: a file comes in, and what became of it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from typing import Any
from uuid import UUID

import structlog
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from ninja import Router, Status

from notifications.api.auth import Key
from notifications.api.documents import BATCH_BODY, SKIPPED_BODY, problems
from notifications.api.reading import BadRequest, idempotency_key, read_object, spooled
from notifications.api.schemas import AcceptedBatchOut, BatchOut, ChangedBatchOut
from notifications.api.shapes import batch_progress
from notifications.models import ApiKey, Batch, SkippedRow
from notifications.numbers import numbers
from notifications.services.batch import accept as accepting
from notifications.services.batch.control import cancel_batch, pause, resume
from notifications.services.batch.csv_rows import guarded
from notifications.services.batch.progress import find_batch, progress, skipped_rows
from notifications.services.batch.rows import Format
from notifications.services.keys import Scope

log = structlog.get_logger(__name__)

FIELDS_HEADER = "Landfall-Batch"
FORMATS = {
    "text/csv": Format.CSV,
    "application/x-ndjson": Format.JSONL,
    "application/jsonl": Format.JSONL,
}

router = Router()


@router.post(
    "",
    auth=Key(Scope.SUBMIT),
    response={202: AcceptedBatchOut, **problems(400, 401, 403, 409, 411, 413, 415, 422, 429, 503)},
    openapi_extra=BATCH_BODY,
    summary="Submit a file of notifications",
)
def submit(request: HttpRequest, response: HttpResponse) -> Status[Any] | HttpResponse:
    """Accept all rows of a file or none, once per `Idempotency-Key`.

    What the rows have in common is JSON in the header `Landfall-Batch`, or `{"batch": {…}}` in the first line of the file.
    """
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    file_format, fields, once = _format(request), _fields(request), idempotency_key(request)
    with spooled(request, limit=numbers().batch_bytes) as file:
        accepted = accepting.accept_batch(
            file, file_format, fields, idempotency_key=once, client_name=key.client.name, now=timezone.now()
        )
    counts = {"accepted": accepted.accepted_count, "skipped": accepted.skipped_count}
    log.info("batch accepted", batch_id=str(accepted.id), client=key.client.name, replayed=accepted.replayed, **counts)
    response["Location"] = f"{request.path}/{accepted.id}"
    if accepted.replayed:
        response["Idempotent-Replayed"] = "true"
    return Status(202, {"id": accepted.id, "accepted_at": accepted.accepted_at, **counts})


@router.get(
    "/{batch_id}",
    auth=Key(Scope.READ),
    response={200: BatchOut, **problems(401, 403, 404, 422, 503)},
    summary="How far is a batch?",
)
def get(request: HttpRequest, batch_id: UUID) -> dict[str, Any]:
    """One batch: how many of its notifications are open, and how the others ended."""
    return batch_progress(progress(_find(request, batch_id)))


@router.get(
    "/{batch_id}/skipped",
    auth=Key(Scope.READ),
    response={**problems(401, 403, 404, 422, 503)},
    openapi_extra=SKIPPED_BODY,
    summary="Which rows were skipped, and why",
)
def skipped(request: HttpRequest, batch_id: UUID) -> StreamingHttpResponse:
    """A CSV file with a row per fault: line, field, reason, and what is accepted. It holds nothing of the rows."""
    batch = _find(request, batch_id)
    return StreamingHttpResponse(
        _as_csv(skipped_rows(batch)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="skipped-{batch.id}.csv"'},
    )


_CHANGED = {200: ChangedBatchOut, **problems(401, 403, 404, 409, 422, 503)}


@router.post("/{batch_id}/pause", auth=Key(Scope.CANCEL), response=_CHANGED, summary="Let a batch wait")
def hold(request: HttpRequest, batch_id: UUID) -> dict[str, Any]:
    """Let what has not left wait. It still expires in time. Safe to repeat."""
    return _changed(batch := _find(request, batch_id), pause(batch))


@router.post("/{batch_id}/resume", auth=Key(Scope.CANCEL), response=_CHANGED, summary="Let a batch go on")
def go_on(request: HttpRequest, batch_id: UUID) -> dict[str, Any]:
    """Send what was paused. Safe to repeat."""
    return _changed(batch := _find(request, batch_id), resume(batch))


@router.post("/{batch_id}/cancel", auth=Key(Scope.CANCEL), response=_CHANGED, summary="Stop a batch")
def stop(request: HttpRequest, batch_id: UUID) -> dict[str, Any]:
    """Stop what has not left, for good, and count what became of the messages. Safe to repeat."""
    return _changed(batch := _find(request, batch_id), cancel_batch(batch))


def _find(request: HttpRequest, batch_id: UUID) -> Batch:
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    return find_batch(batch_id, client_id=key.client_id)


def _changed(batch: Batch, messages: Counter[str]) -> dict[str, Any]:
    return {"id": batch.id, "state": batch.state, "messages": dict(messages)}


def _format(request: HttpRequest) -> Format:
    found = FORMATS.get(request.content_type or "")
    if found is None:
        raise UnknownFormat("Say the file's format: Content-Type: text/csv or application/x-ndjson.")
    return found


class UnknownFormat(Exception):
    """A media type that is no file of rows."""


def _fields(request: HttpRequest) -> dict[str, Any] | None:
    text = request.headers.get(FIELDS_HEADER)
    if text is None:
        return None
    try:
        readable = text.encode("latin-1").decode()  # WSGI hands bytes over as Latin-1
    except UnicodeError:
        raise BadRequest(f"{FIELDS_HEADER} must be JSON in UTF-8.") from None
    return read_object(readable, FIELDS_HEADER)


def _as_csv(rows: Iterator[SkippedRow]) -> Iterator[str]:
    buffer = StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["line", "field", "reason", "accepted"])
    for row in rows:
        writer.writerow([row.line, *map(guarded, (row.field, row.reason, row.accepted))])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()

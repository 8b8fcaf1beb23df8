"""Accept many: all rows of a file become notifications in one transaction, or none does."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any
from uuid import UUID

from django.db import transaction

import notifications.sql.batch as sql
from notifications import selectors
from notifications.hints import hints
from notifications.ids import new_id
from notifications.lanes import SENDING, Priority
from notifications.models import Client
from notifications.numbers import numbers
from notifications.services.batch.check import Check
from notifications.services.batch.csv_rows import read_csv
from notifications.services.batch.faults import SHOWN, BadFile, BadRows, LineError, at_line
from notifications.services.batch.fields import BatchFields, first_line, read_fields, templates_of
from notifications.services.batch.jsonl_rows import read_jsonl
from notifications.services.batch.lines import Lines
from notifications.services.batch.rows import Format, Row
from notifications.services.batch.spool import Spool
from notifications.services.request import FieldError, Refused, time_errors
from notifications.services.sms_hourly import reserve
from notifications.services.terms import expiry_seconds, incident_errors, incident_id, on_unclear, steps_named
from notifications.sql.accept import wait_at_most
from notifications.sql.batch import NewBatch, StoredBatch

READERS: dict[Format, Callable[[Lines, frozenset[str]], Iterator[Row]]] = {
    Format.CSV: read_csv,
    Format.JSONL: read_jsonl,
}
TOLD_EVERY = 1000  # rows
CHUNK_BYTES = 1024 * 1024  # read at once
LOCK_SECONDS = 2.0  # for another batch with the same key

Tell = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class AcceptedBatch:
    """The promise for all rows but the skipped ones."""

    id: UUID
    accepted_at: datetime
    accepted_count: int
    skipped_count: int
    replayed: bool = False


@dataclass(slots=True)
class _Counts:
    rows: int = 0
    bad: int = 0
    shown: list[LineError] = field(default_factory=list)  # the first faults

    @property
    def good(self) -> int:
        return self.rows - self.bad


def accept_batch(
    file: IO[bytes],
    file_format: Format,
    fields: Mapping[str, Any] | None = None,
    *,
    idempotency_key: str | None = None,
    client_name: str,
    now: datetime,
    tell: Tell = lambda position: None,
) -> AcceptedBatch:
    """Accept a file of rows, which can be read again from its start. Without `fields` they are in its first line.

    `tell` hears, now and then, how many bytes have been checked. The file is read whole before anything is stored, and
    no transaction is open meanwhile. The same key with the same file and fields is accepted once.

    Raises Refused: BadRows where rows are at fault (`skip_bad_rows` passes over them, unless none is left), BadFile where
    the file cannot be cut into rows, OverLimit where its SMS to a country are more than what is left of an hour there.
    OperationalError, caused by LockNotAvailable, when another one with the same key is being stored.
    """
    digest = _digest(file)
    lines = Lines(file)
    request = read_fields({**(first_line(lines) if fields is None else fields), **_key(idempotency_key)})
    fingerprint = request.fingerprint(digest, file_format)
    client = selectors.client_named(client_name)
    if request.idempotency_key and (stored := sql.stored(client.id, request.idempotency_key)):
        return _replay(stored, fingerprint)
    if errors := [*time_errors(request, now), *incident_errors(request)]:
        raise Refused(errors)
    with Spool() as spool:
        batch, sms = _checked(lines, file_format, request, client, spool, tell, fingerprint=fingerprint, now=now)
        return _store(batch, spool, client, sms)


def _digest(file: IO[bytes]) -> str:
    """SHA-256 of a file, which is at its start again afterwards."""
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _key(key: str | None) -> dict[str, str]:
    return {} if key is None else {"idempotency_key": key}


def _replay(stored: StoredBatch, fingerprint: str) -> AcceptedBatch:
    """The first answer again, for the same batch."""
    if stored.fingerprint != fingerprint:
        accepted = "the same batch again, or a new key"
        raise Refused([FieldError("idempotency_key", "was used for another batch", accepted)])
    return AcceptedBatch(stored.id, stored.accepted_at, stored.accepted_count, stored.skipped_count, replayed=True)


def _checked(
    lines: Lines,
    file_format: Format,
    request: BatchFields,
    client: Client,
    spool: Spool,
    tell: Tell,
    *,
    fingerprint: str,
    now: datetime,
) -> tuple[NewBatch, Counter[str]]:
    """Check every row and spool it. Returns the batch as it may be stored, and its SMS to limited countries. Raises Refused."""
    route = request.route or client.default_route or _usual_route(request)
    steps = steps_named(route)
    batch_id = new_id()
    check = Check(templates_of(request.content), steps, SENDING[request.priority], client)
    rows = READERS[file_format](lines, check.variables)
    counts = _spool(rows, check, spool, batch_id, lambda: tell(lines.position))
    if counts.bad and not (request.skip_bad_rows and counts.good):
        raise BadRows(counts.shown, bad_count=counts.bad, row_count=counts.rows)
    batch = NewBatch(
        id=batch_id,
        client_id=client.id,
        idempotency_key=request.idempotency_key,
        fingerprint=fingerprint,
        reference=request.reference or "",
        route=route,
        steps=json.dumps(steps),
        priority=request.priority,
        category=request.category,
        incident_id=incident_id(request),
        on_unclear=on_unclear(request),
        send_at=request.send_at,
        expires_at=request.expires_at,
        expiry_seconds=expiry_seconds(request),
        lane=SENDING[request.priority],
        accepted_count=counts.good,
        skipped_count=counts.bad,
        created_at=now,
    )
    return batch, check.sms


def _usual_route(request: BatchFields) -> str:
    if request.content.sms and request.content.email:
        return "sms-then-email"
    return "sms" if request.content.sms else "email"


def _spool(rows: Iterator[Row], check: Check, spool: Spool, batch_id: UUID, tell: Callable[[], object]) -> _Counts:
    counts = _Counts()
    for row in rows:
        counts.rows += 1
        if counts.rows > numbers().batch_rows:
            raise BadFile(row.line, "is one row too many", f"at most {numbers().batch_rows} rows in a file")
        if counts.rows % TOLD_EVERY == 0:
            tell()
        try:
            spool.add(check(row))
        except Refused as refused:
            errors = at_line(row.line, refused.errors)
            spool.skip(batch_id, errors)
            counts.bad += 1
            counts.shown += errors[: SHOWN - len(counts.shown)]
    if not counts.rows:
        raise Refused([FieldError("file", "has no rows", "at least one")])
    return counts


@transaction.atomic
def _store(batch: NewBatch, spool: Spool, client: Client, sms: Counter[str]) -> AcceptedBatch:
    wait_at_most(LOCK_SECONDS)
    accepted_at = sql.insert(batch, statement_seconds=numbers().batch_statement_seconds)
    if accepted_at is None:
        return _replay(sql.stored_by_another(batch.client_id, batch.idempotency_key or ""), batch.fingerprint)
    sql.store(batch, spool.notifications, spool.messages, spool.skipped)
    reserve(client, sms)
    if batch.send_at is None:
        hints.drain_after_commit(SENDING[Priority(batch.priority)])
    return AcceptedBatch(batch.id, accepted_at, batch.accepted_count, batch.skipped_count)

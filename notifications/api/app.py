"""The API: its addresses, and what each error becomes."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any
from uuid import UUID

import structlog
from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Status
from ninja.errors import AuthenticationError, ValidationError
from psycopg.errors import LockNotAvailable

from notifications.accounts import accounts
from notifications.api.auth import Key
from notifications.api.batches import UnknownFormat
from notifications.api.batches import router as batches
from notifications.api.documents import SUBMIT_BODY, DocumentedAPI, problems
from notifications.api.endpoints import router as endpoints
from notifications.api.problems import problem
from notifications.api.reading import KEY_HEADER, BadRequest, LengthRequired, TooLarge, idempotency_key, read_object
from notifications.api.receipts import router as receipts
from notifications.api.schemas import AcceptedOut, CancelledOut, DryRunOut, NotificationOut, PageOut, SearchIn
from notifications.api.shapes import cancelled, detail, summary
from notifications.models import ApiKey
from notifications.services import accept as accepting
from notifications.services.batch.control import BatchIsCancelled
from notifications.services.batch.faults import BadRows
from notifications.services.batch.progress import UnknownBatch
from notifications.services.cancel import UnknownNotification, cancel
from notifications.services.dry_run import dry_run
from notifications.services.endpoints import UnknownEndpoint
from notifications.services.keys import NotAllowed, NotAuthenticated, Scope
from notifications.services.look import look
from notifications.services.receipts import UnknownReceipt
from notifications.services.request import FieldError, Refused
from notifications.services.search import Search, search

log = structlog.get_logger(__name__)

api = DocumentedAPI(
    title="Landfall",
    version="1",
    description="Notifications that arrive: submit one, ask where it is, stop it.",
    urls_namespace="api",
)
api.add_router("/batches", batches)
api.add_router("/endpoints", endpoints)
api.add_router("/receipts", receipts)


@api.post(
    "/notifications",
    auth=Key(Scope.SUBMIT),
    response={202: AcceptedOut, **problems(400, 401, 403, 409, 413, 422, 429, 503)},
    openapi_extra=SUBMIT_BODY,
    summary="Submit a notification",
)
def submit(request: HttpRequest, response: HttpResponse) -> Status[Any]:
    """Accept a notification, once per `Idempotency-Key`. The same key and body get the first answer again."""
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    accepted = accepting.accept_within(
        _fields(request), client_name=key.client.name, now=timezone.now(), lock_seconds=2
    )
    log.info("accepted", notification_id=str(accepted.id), client=key.client.name, replayed=accepted.replayed)
    response["Location"] = f"{request.path}/{accepted.id}"
    if accepted.replayed:
        response["Idempotent-Replayed"] = "true"
    return Status(202, {"id": accepted.id, "accepted_at": accepted.accepted_at})


@api.post(
    "/notifications/dry-run",
    auth=Key(Scope.SUBMIT),
    response={200: DryRunOut, **problems(400, 401, 403, 413, 422, 429, 503)},
    openapi_extra=SUBMIT_BODY,
    summary="See what it would come to",
)
def try_out(request: HttpRequest) -> dict[str, Any]:
    """Read a notification as if it were submitted: its steps, who would send each, and how many SMS its text makes.

    Nothing is stored, nothing is sent, and no key is used up.
    """
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    route, steps = dry_run(_fields(request), client_name=key.client.name, now=timezone.now(), accounts=accounts)
    return {"route": route, "steps": [asdict(step) for step in steps]}


@api.get(
    "/notifications",
    auth=Key(Scope.READ),
    response={200: PageOut, **problems(401, 403, 422, 503)},
    summary="Search notifications",
)
def find(request: HttpRequest, wanted: Query[SearchIn]) -> dict[str, Any]:
    """Your notifications, newest first."""
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    values = wanted.dict()
    limit = values.pop("limit")
    page, cursor = search(key.client_id, Search(**values), limit)
    return {"items": [summary(notification) for notification in page], "next_cursor": cursor}


@api.get(
    "/notifications/{notification_id}",
    auth=Key(Scope.READ),
    response={200: NotificationOut, **problems(401, 403, 404, 422, 503)},
    summary="Where is it?",
)
def get(request: HttpRequest, notification_id: UUID) -> dict[str, Any]:
    """One notification: its state, its steps, and everything that happened, in words."""
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    return detail(look(notification_id, client_id=key.client_id))


@api.post(
    "/notifications/{notification_id}/cancel",
    auth=Key(Scope.CANCEL),
    response={200: CancelledOut, **problems(401, 403, 404, 422, 503)},
    summary="Stop it",
)
def stop(request: HttpRequest, notification_id: UUID) -> dict[str, Any]:
    """Stop what has not left, and say what became of each message. Safe to repeat."""
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    look(notification_id, client_id=key.client_id)
    return cancelled(cancel(notification_id))


def _fields(request: HttpRequest) -> dict[str, Any]:
    """The request's fields, with the key from its header."""
    fields = read_object(request.body, "The body")
    key = idempotency_key(request)
    if key is None:
        return fields
    if fields.get("idempotency_key", key) != key:
        raise Refused([FieldError("idempotency_key", f"differs from {KEY_HEADER}", "one of the two, or both alike")])
    return {**fields, "idempotency_key": key}


@api.exception_handler(BadRequest)
def _bad_request(request: HttpRequest, error: BadRequest) -> HttpResponse:
    return problem(400, str(error))


@api.exception_handler(NotAuthenticated)
@api.exception_handler(AuthenticationError)
def _not_authenticated(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(401, "Send a valid API key: Authorization: Bearer lf_live_…", headers={"WWW-Authenticate": "Bearer"})


@api.exception_handler(NotAllowed)
def _not_allowed(request: HttpRequest, error: NotAllowed) -> HttpResponse:
    return problem(403, f"This key lacks the scope {error.scope.value}; an operator can make one that has it.")


@api.exception_handler(UnknownEndpoint)
@api.exception_handler(UnknownReceipt)
@api.exception_handler(UnknownBatch)
@api.exception_handler(UnknownNotification)
def _not_found(request: HttpRequest, error: LookupError) -> HttpResponse:
    return problem(404)


@api.exception_handler(accepting.IdempotencyConflict)
def _conflict(request: HttpRequest, error: Exception) -> HttpResponse:
    detail = "Another request with this key, or under the same hourly limit, is being accepted; send again in a moment."
    return problem(409, detail, headers={"Retry-After": "1"})


@api.exception_handler(BatchIsCancelled)
def _cancelled(request: HttpRequest, error: BatchIsCancelled) -> HttpResponse:
    return problem(409, "This batch is cancelled, for good.")


@api.exception_handler(BadRows)
def _bad_rows(request: HttpRequest, error: BadRows) -> HttpResponse:
    detail = (
        f"Nothing was stored: {error.bad_count} of {error.row_count} rows are at fault. errors names the first"
        f" {len(error.errors)} faults. Mend them, or send the batch with skip_bad_rows."
    )
    return problem(422, detail, errors=error.errors)


@api.exception_handler(TooLarge)
def _too_large(request: HttpRequest, error: TooLarge) -> HttpResponse:
    return problem(413, str(error))


@api.exception_handler(UnknownFormat)
def _unknown_format(request: HttpRequest, error: UnknownFormat) -> HttpResponse:
    return problem(415, str(error))


@api.exception_handler(LengthRequired)
def _length_required(request: HttpRequest, error: LengthRequired) -> HttpResponse:
    return problem(411, str(error))


@api.exception_handler(Refused)
def _refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return problem(422, "Nothing was stored. Mend the fields named in errors.", errors=error.errors)


@api.exception_handler(accepting.OverLimit)
def _over_limit(request: HttpRequest, error: accepting.OverLimit) -> HttpResponse:
    detail = "Nothing was stored. The limit in errors holds for each full hour; send again after Retry-After seconds."
    return problem(429, detail, errors=error.errors, headers={"Retry-After": str(error.wait_seconds)})


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [FieldError(str(item["loc"][-1]), item["msg"], "see the documentation") for item in error.errors]
    return problem(422, "Mend the parameters named in errors.", errors=errors)


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
@api.exception_handler(InternalError)
def _database_away(request: HttpRequest, error: Exception) -> HttpResponse:
    if isinstance(error.__cause__, LockNotAvailable):
        return _conflict(request, error)
    log.error("database away", error=type(error.__cause__ or error).__name__)
    detail = "The database is away; whether this was stored is not certain. Send it again with the same key."
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "5"})

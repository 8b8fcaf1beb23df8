"""Errors in one shape: RFC 9457."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel

from notifications.services.request import FieldError

CONTENT_TYPE = "application/problem+json"


class Problem(BaseModel):
    """What went wrong. `detail` says what to do; `errors` has an entry per field where fields are at fault."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault] = []


class Fault(BaseModel):
    """`line` is that of a file, where one was sent."""

    field: str
    reason: str
    accepted: str
    line: int | None = None


Problem.model_rebuild()

_DETAILS = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read.",
    HTTPStatus.NOT_FOUND: "There is nothing here, or it belongs to somebody else.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not take this method; see the Allow header.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "A fault of ours. Nothing is known to be stored; send again with the same key.",
}


def problem(
    status: int,
    detail: str = "",
    *,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """An error response."""
    known = HTTPStatus(status)
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": known.phrase,
        "status": status,
        "detail": detail or _DETAILS.get(known, known.description or known.phrase),
        "errors": [asdict(error) for error in errors],
    }
    return HttpResponse(json.dumps(body), status=status, content_type=CONTENT_TYPE, headers=dict(headers or {}))


def as_problem(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A response made by somebody else: an error gets our shape, all else stays."""
    if response.status_code < HTTPStatus.BAD_REQUEST or response.get("Content-Type") == CONTENT_TYPE:
        return response
    kept = {name: response[name] for name in ("Allow", "Retry-After", "WWW-Authenticate") if name in response}
    return problem(response.status_code, headers=kept)

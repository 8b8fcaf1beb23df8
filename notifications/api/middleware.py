"""What every request gets: an id; and what every request under /api/ gets: a limit and errors in one shape."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from notifications.api.problems import as_problem, problem
from notifications.numbers import BODY_BYTES, numbers

API = "/api/"
BATCHES = "/api/v1/batches"  # files, read bit by bit
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

GetResponse = Callable[[HttpRequest], HttpResponse]


def request_ids(get_response: GetResponse) -> GetResponse:
    """Name each request, by the caller's X-Request-ID where it is one, in the answer and in every log line."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = get_response(request)
        response["X-Request-ID"] = request_id
        return response

    return middleware


def problems(get_response: GetResponse) -> GetResponse:
    """Refuse bodies over the limit unread, and give errors that Django or ninja made the shape of ours."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(API):
            return get_response(request)
        limit = numbers().batch_bytes if request.path_info == BATCHES else BODY_BYTES
        if _length(request) > limit:
            return problem(413, f"A request body may have at most {limit} bytes here.")
        return as_problem(request, get_response(request))

    return middleware


def _length(request: HttpRequest) -> int:
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else sys.maxsize

"""How a request is read, whatever it asks for."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn

from django.http import HttpRequest, UnreadablePostError

from notifications.services.request import FieldError, Refused

KEY_HEADER = "Idempotency-Key"
CHUNK_BYTES = 256 * 1024


class BadRequest(Exception):
    """A request that cannot be read; says why."""


class LengthRequired(Exception):
    """A file whose length is not said."""


class TooLarge(Exception):
    """A body beyond its limit; says which."""


def idempotency_key(request: HttpRequest) -> str | None:
    """The key from its header. Raises BadRequest."""
    key = request.headers.get(KEY_HEADER)
    if key is None or (key.isascii() and key.isprintable() and key.strip()):
        return key
    raise BadRequest(f"{KEY_HEADER} must be 1 to 200 visible ASCII characters.")


def read_object(text: bytes | str, what: str) -> dict[str, Any]:
    """A JSON object. Raises BadRequest, Refused."""
    try:
        fields = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadRequest(f"{what} must be JSON in UTF-8.") from None
    if not isinstance(fields, dict):
        raise Refused([FieldError("request", "is not an object", "a JSON object")])
    return fields


@contextmanager
def spooled(request: HttpRequest, *, limit: int) -> Iterator[IO[bytes]]:
    """The body in an unnamed file; never more than a bit of it in memory.

    Raises BadRequest when less came than was announced: half a file is not the file. Raises LengthRequired, TooLarge.
    """
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not (announced.isascii() and announced.isdigit()):
        raise LengthRequired("Say the length of the file (Content-Length); curl does, with --data-binary @FILE.")
    if int(announced) > limit:
        raise TooLarge(f"A file may have at most {limit} bytes.")
    with tempfile.TemporaryFile() as file:
        try:
            while chunk := request.read(CHUNK_BYTES):
                file.write(chunk)
        except UnreadablePostError:
            raise BadRequest("The connection broke; nothing was stored.") from None
        if file.tell() != int(announced):
            raise BadRequest(f"Only {file.tell()} of {announced} bytes came; nothing was stored.")
        yield file


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

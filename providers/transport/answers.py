"""Requests as header lines, and answers read from them: what curl hands over as it came."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence

from providers.messages import Headers, HttpResponse
from providers.transport.base import ANSWER_LIMIT_BYTES
from providers.transport.flights import BadAnswer
from providers.transport.foreign import FOREIGN_ANSWER_BYTES

END_OF_HEAD = (b"\r\n", b"\n")
PACKED = ("gzip", "x-gzip", "deflate")
CUT_SHORT = "the answer may have been cut short"

_header_line = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(: [^\r\n\0]+|;)")


def header_lines(headers: Mapping[str, str]) -> list[bytes]:
    """Write headers as curl wants them. Raises ValueError for what is no header.

    "Name:" keeps curl from adding a header of its own, "Name;" stands for one that is empty.
    """
    # Nothing compressed, which could unfold to any size; and no second's wait for a "100 Continue".
    lines = {"expect": b"Expect:", "accept": b"Accept:", "content-type": b"Content-Type:"}
    for name, value in headers.items():
        line = (f"{name}: {value}" if value else f"{name};").encode("latin-1")
        if not _header_line.fullmatch(line):
            raise ValueError("no header")
        lines[name.lower()] = line
    lines["accept-encoding"] = b"Accept-Encoding: identity"
    lines.pop("content-length", None)  # curl has counted
    return list(lines.values())


def read_beginning(head: Sequence[bytes], body: Sequence[bytes]) -> HttpResponse:
    """Read what a stranger says, as it came and up to the cap. Raises BadAnswer if it is no answer."""
    status, headers = _final(head)
    return HttpResponse(status, headers, b"".join(body)[:FOREIGN_ANSWER_BYTES])


def read_answer(head: Sequence[bytes], body: Sequence[bytes], method: str) -> HttpResponse:
    """Read an answer that ended where it should. Raises BadAnswer if it is none, or no telling whether it is whole.

    `head` holds the lines of everything before the body, interim answers too, and after them the trailers.
    """
    status, headers = _final(head)
    content = b"".join(body)
    is_delimited = "content-length" in headers or "transfer-encoding" in headers or not head[0].startswith(b"HTTP/1.")
    if not (content or is_delimited or method == "HEAD" or status in (204, 304)):
        # It ends where the connection ends, which may have been too early.
        raise BadAnswer(CUT_SHORT)
    return HttpResponse(status, headers, _unpacked(content, headers.get("content-encoding", "")))


def _final(head: Sequence[bytes]) -> tuple[int, Headers]:
    """Find the answer after the interim ones."""
    start = 0
    for index, line in enumerate(head):
        if line in END_OF_HEAD:
            status = int(head[start].split(None, 2)[1])
            if status >= 200:
                return status, _headers(head[start + 1 : index])
            start = index + 1
    raise BadAnswer(CUT_SHORT)


def _headers(lines: Sequence[bytes]) -> Headers:
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip()] = value.strip()
    return Headers(headers)


def _unpacked(content: bytes, encoding: str) -> bytes:
    """Unpack what came packed though nobody asked."""
    if not content or encoding.lower() not in PACKED:
        return content
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, whichever it is
    try:
        plain = unpacker.decompress(content, ANSWER_LIMIT_BYTES + 1)
    except zlib.error:
        raise BadAnswer("the answer cannot be unpacked") from None
    if len(plain) > ANSWER_LIMIT_BYTES:
        raise BadAnswer("the answer is too long")
    if not unpacker.eof:
        raise BadAnswer(CUT_SHORT)
    return plain

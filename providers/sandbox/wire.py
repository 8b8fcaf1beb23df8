"""HTTP/1.1 on a socket: one request in, one reply out, the connection kept.

By hand, because `http.server` parses headers as if they were mail and is four times slower.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

HEAD_LIMIT_BYTES = 64 * 1024
BODY_LIMIT_BYTES = 10 * 1024 * 1024  # Postmark's limit for one message
DRIP_SECONDS = 0.2
JSON = "application/json"
HTML = "text/html"
_ENCODER = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False
)  # made once: json.dumps with arguments makes one per call


class NotHttp(Exception):
    """What came is not HTTP."""


class BadRequest(Exception):
    """A request that we do not read. Carries the reply."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.reply = Reply(status, closes=True)


@dataclass(frozen=True, slots=True)
class Request:
    """`path` and `query` as they came, still percent-encoded; header names are lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    closes: bool = False

    @property
    def parameters(self) -> dict[str, str]:
        """The query's parameters; of a repeated name the last value."""
        return dict(parse_qsl(self.query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        """The form's fields. Raises UnicodeDecodeError."""
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or what the vendor does instead of one.

    `delay_seconds` pass before it; `withheld_seconds` pass in silence and then the connection ends without it;
    `dropped` ends the connection at once; one that `drips` comes a byte at a time. `note` is for the log.
    """

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0
    withheld_seconds: float | None = None
    dropped: bool = False
    closes: bool = False
    drips: bool = False
    note: str = field(default="", compare=False)

    @property
    def outcome(self) -> str:
        """The status, or what happened instead, in a word."""
        return "dropped" if self.dropped else str(self.status) if self.withheld_seconds is None else "withheld"


def encode_json(content: Any) -> bytes:
    return _ENCODER.encode(content).encode(errors="replace")  # half a surrogate pair is valid in JSON, not in UTF-8


def json_reply(status: int, content: Any, **more: Any) -> Reply:
    return Reply(status, encode_json(content), **more)


class Connection:
    """One client's connection. Bytes that came early stay in the buffer for the next request."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self._buffer = b""

    def read(self) -> Request | None:
        """Read one request; None when the client is gone. Raises BadRequest, OSError."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT_BYTES:
                raise BadRequest(431)
            if not self._receive():
                return None
        head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
        method, path, query, version, headers = _parse_head(head)
        if (body := self._read_body(headers)) is None:
            return None
        closes = headers.get("connection", "").lower() == "close" or version == "HTTP/1.0"
        return Request(method, path, query, headers, body, closes)

    def write(self, reply: Reply) -> None:
        answer = _head(reply) + reply.body
        if reply.drips:
            self._drip(answer)
        else:
            self._socket.sendall(answer)  # one segment: head and body apart cost a second wake-up

    def _drip(self, answer: bytes) -> None:
        for byte in answer:
            self._socket.sendall(bytes([byte]))
            time.sleep(DRIP_SECONDS)

    def wait_until_gone(self, seconds: float) -> None:
        """Keep the connection open and silent, at most for so long."""
        self._socket.settimeout(seconds)
        try:
            while self._socket.recv(4096):
                pass
        except OSError:
            pass  # the time is up, or the client reset the connection

    def _read_body(self, headers: Mapping[str, str]) -> bytes | None:
        if "transfer-encoding" in headers:
            raise BadRequest(411)
        announced = headers.get("content-length", "0")
        if not announced.isdecimal():
            raise BadRequest(400)
        length = int(announced)
        if length > BODY_LIMIT_BYTES:
            raise BadRequest(413)
        if length > len(self._buffer) and "100-continue" in headers.get("expect", "").lower():
            self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(self._buffer) < length:
            if not self._receive():
                return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return body

    def _receive(self) -> bool:
        data = self._socket.recv(65536)
        self._buffer += data
        return bool(data)


def _parse_head(head: bytes) -> tuple[str, str, str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadRequest(400)
    try:
        headers = parse_header_lines(lines)
    except NotHttp as error:
        raise BadRequest(400) from error
    path, _, query = parts[1].partition("?")
    return parts[0], path, query, parts[2], headers


def parse_header_lines(lines: list[str]) -> dict[str, str]:
    """Headers by lower-case name; of a repeated name the last value. Raises NotHttp."""
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise NotHttp(line)
        headers[name.lower()] = value.strip()
    return headers


def _head(reply: Reply) -> bytes:
    try:
        reason = HTTPStatus(reply.status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [
        f"HTTP/1.1 {reply.status} {reason}",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {len(reply.body)}",
        *(f"{name}: {value}" for name, value in reply.headers),
    ]
    if reply.closes:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

"""One thread's HTTP client for callbacks: call, read the status, keep the connection.

By hand for the same reason as `wire`: `http.client` costs three times as much, and two callbacks follow every message.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from providers.sandbox.wire import NotHttp, parse_header_lines

CONNECT_SECONDS = 5.0  # Twilio's ct and rt; Postmark documents none
READ_SECONDS = 15.0
NOT_CONNECTED = "not connected"
NO_ANSWER = "no answer"

Outcome = str  # an HTTP status in digits, NOT_CONNECTED or NO_ANSWER
Place = tuple[str, str]  # scheme; host and port


class Poster:
    def __init__(self) -> None:
        self._kept: dict[Place, socket.socket] = {}

    def post(self, url: str, headers: Mapping[str, str], body: bytes, method: str = "POST") -> Outcome:
        parts = urlsplit(url)
        place = (parts.scheme, parts.netloc)
        request = _request(method, parts, headers, body)
        kept = self._kept.pop(place, None)
        if kept is not None:
            # The other side may have closed it meanwhile: then the call was not heard, and goes out on a fresh connection.
            outcome = self._exchange(kept, place, request)
            if outcome is not None:
                return outcome
        try:
            fresh = _connect(parts)
        except (OSError, ValueError):
            return NOT_CONNECTED
        return self._exchange(fresh, place, request) or NO_ANSWER

    def close(self) -> None:
        for sock in self._kept.values():
            sock.close()
        self._kept.clear()

    def _exchange(self, sock: socket.socket, place: Place, request: bytes) -> Outcome | None:
        """Send and read the answer; None when the other side had closed the connection."""
        try:
            sock.sendall(request)
            status, stays_open = _read_answer(sock)
        except (OSError, NotHttp, EOFError) as error:
            sock.close()
            return None if isinstance(error, (ConnectionError, EOFError)) else NO_ANSWER
        if stays_open:
            self._kept[place] = sock
        else:
            sock.close()
        return status


def _connect(parts: SplitResult) -> socket.socket:
    port = parts.port or (443 if parts.scheme == "https" else 80)
    sock = socket.create_connection((parts.hostname or "", port), timeout=CONNECT_SECONDS)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "https":
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=parts.hostname)
        sock.settimeout(READ_SECONDS)
    except OSError:
        sock.close()
        raise
    return sock


def _request(method: str, parts: SplitResult, headers: Mapping[str, str], body: bytes) -> bytes:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def _read_answer(sock: socket.socket) -> tuple[str, bool]:
    """The status, and whether the connection can be used again. Raises EOFError, NotHttp, OSError."""
    buffer = b""
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        buffer += _some(sock)
    first, *lines = buffer[:end].decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if not version.startswith("HTTP/1.") or not status.isdecimal():
        raise NotHttp(first)
    headers = parse_header_lines(lines)
    body = buffer[end + 4 :]
    if "chunked" in headers.get("transfer-encoding", "").lower():
        while not body.endswith(b"0\r\n\r\n"):  # no trailers: nobody sends them to a vendor
            body += _some(sock)
    elif "content-length" in headers:
        while len(body) < int(headers["content-length"]):
            body += _some(sock)
    elif status != "204":
        return status, False  # the body ends with the connection
    return status, version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"


def _some(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise EOFError
    return data

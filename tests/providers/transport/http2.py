"""The server's end of HTTP/2, as little of it as our calls need: frames by hand, headers unread."""

from __future__ import annotations

import ssl
import struct
from collections.abc import Iterator

from tests.providers.transport.misbehaving import Peer

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
STATUS_200 = b"\x88"  # an entry of HPACK's static table
PREFACE_BYTES = 24
REFUSED_STREAM, CANCEL = 7, 8


def offer(context: ssl.SSLContext) -> ssl.SSLContext:
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


class Http2Peer:
    def __init__(self, peer: Peer) -> None:
        self.number = peer.number
        self._peer = peer

    def requests(self) -> Iterator[int]:
        """Shake hands, then yield the stream of each request when all of it has come."""
        self._read(PREFACE_BYTES)
        self._send(SETTINGS)
        while True:
            length, kind, flags, stream = struct.unpack(">xxHBBxxH", b"\0" + self._read(9))
            payload = self._read(length)
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._send(kind, ACK, payload=payload if kind == PING else b"")
            elif kind in (DATA, HEADERS) and flags & END_STREAM:
                yield stream

    def answer(self, stream: int, body: bytes = b"ok") -> None:
        self._send(HEADERS, END_HEADERS, stream, STATUS_200)
        self._send(DATA, END_STREAM, stream, body)

    def answer_in_part(self, stream: int) -> None:
        self._send(HEADERS, END_HEADERS, stream, STATUS_200)
        self._send(DATA, 0, stream, b"o")

    def refuse(self, stream: int, code: int = REFUSED_STREAM) -> None:
        """Promise that the request was not processed, if the code is REFUSED_STREAM."""
        self._send(RESET, 0, stream, struct.pack(">I", code))

    def go_away(self, last_stream: int) -> None:
        self._send(GOAWAY, 0, 0, struct.pack(">II", last_stream, 0))

    def _send(self, kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> None:
        self._peer.send(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            if not (part := self._peer.connection.recv(count - len(data))):
                raise ConnectionError
            data += part
        return data

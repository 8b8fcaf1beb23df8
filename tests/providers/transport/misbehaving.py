"""A local HTTP server that does to its clients whatever a test wants: one function per connection, over raw sockets."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Behaviour = Callable[["Peer"], None]


class Peer:
    """The server's end of one connection; `number` counts connections from 1."""

    def __init__(self, connection: socket.socket, number: int, requests: list[bytes], stopped: threading.Event) -> None:
        self.connection = connection
        self.number = number
        self._requests = requests
        self._stopped = stopped

    def read(self) -> bytes:
        """Read one request, head and body; b"" when the client has gone."""
        data = b""
        while b"\r\n\r\n" not in data:
            if not (part := self.connection.recv(65536)):
                return b""
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        while len(body) < length:
            if not (part := self.connection.recv(65536)):
                return b""
            body += part
        self._requests.append(head + b"\r\n\r\n" + body)
        return self._requests[-1]

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def send_together(self, *parts: bytes) -> None:
        """Send several TLS records in one packet."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for part in parts:
            self.send(part)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    def drip(self, data: bytes) -> None:
        """Send a byte every 20 ms until all is sent or the client has gone."""
        for index in range(len(data)):
            self.send(data[index : index + 1])
            if self._stopped.wait(0.02):
                return

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def close(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def wait(self) -> None:
        """Say nothing until the test is over."""
        self._stopped.wait(5)


class Server:
    def __init__(self, behave: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.connection_count = 0
        self._behave = behave
        self._tls = tls
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path: str = "/", scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def stop(self) -> None:
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connection_count += 1
                peer = Peer(connection, self.connection_count, self.requests, self._stopped)
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: Peer) -> None:
        try:
            with contextlib.suppress(OSError):
                if self._tls is not None:
                    peer.connection = self._tls.wrap_socket(peer.connection, server_side=True)
                self._behave(peer)
        finally:
            peer.connection.close()


@contextmanager
def serve(behave: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(behave, tls)
    try:
        yield server
    finally:
        server.stop()


def answer(data: bytes) -> Behaviour:
    """Answer every request of every connection with the same bytes."""

    def behave(peer: Peer) -> None:
        while peer.read():
            peer.send(data)

    return behave


@contextmanager
def silent_port() -> Iterator[int]:
    """A port whose backlog is full: no further handshake is answered."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def reset_at_once(peer: Peer) -> None:
    peer.read()
    peer.reset()


def reset_in_the_middle(peer: Peer) -> None:
    peer.read()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    time.sleep(0.02)
    peer.reset()


def after_reading(data: bytes) -> Behaviour:
    """Answer one request and close."""

    def behave(peer: Peer) -> None:
        peer.read()
        peer.send(data)

    return behave


def dripping(start: bytes, rest: bytes) -> Behaviour:
    def behave(peer: Peer) -> None:
        peer.read()
        peer.send(start)
        peer.drip(rest)

    return behave


def endless(start: bytes, part: bytes) -> Behaviour:
    def behave(peer: Peer) -> None:
        peer.read()
        peer.send(start)
        while True:
            peer.send(part)

    return behave


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNCLEAR = {
    "reset before any answer": reset_at_once,
    "closed before any answer": after_reading(b""),
    "reset after half the body": reset_in_the_middle,
    "closed after half the body": after_reading(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
    "closed within the status line": after_reading(b"HTTP/1.1 422"),
    "closed within the headers": after_reading(b"HTTP/1.1 422 Refused\r\nContent-Type: text/html\r\nX-"),
    "closed without length or body": after_reading(b"HTTP/1.1 422 Refused\r\n\r\n"),
    "no answer at all": lambda peer: (peer.read(), peer.wait())[0],
    "headers byte by byte": dripping(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 500),
    "body byte by byte": dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b"x" * 500),
    "body byte by byte until the end": dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 500),
    "headers without end": endless(b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
    "header line without end": endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
    "body without end": endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    "chunks without end": endless(CHUNKED, b"%x\r\n%b\r\n" % (65536, b"x" * 65536)),
    "only continue, for ever": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "announced too long": after_reading(b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n" + b"x" * 1048577),
    "bad chunk size": after_reading(CHUNKED + b"zz\r\nok\r\n0\r\n\r\n"),
    "closed between chunks": after_reading(CHUNKED + b"2\r\nok\r\n"),
    "no HTTP": after_reading(b"220 mail.example ESMTP\r\n"),
    "broken gzip": after_reading(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nno"),
}

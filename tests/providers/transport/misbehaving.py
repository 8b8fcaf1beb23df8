"""A local HTTP server that does to its clients whatever a test wants: one function per connection, over raw sockets."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
            body += self.connection.recv(65536)
        self._requests.append(head + b"\r\n\r\n" + body)
        return self._requests[-1]

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

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

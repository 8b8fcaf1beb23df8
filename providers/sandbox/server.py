"""The listening side: a thread per connection, each kept as long as its client wants."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from providers.sandbox.wire import BadRequest, Connection, Reply, Request

logger = logging.getLogger(__name__)


class Server:
    """Serves `handle` over loopback from `start` to `stop`."""

    def __init__(self, handle: Callable[[Request], Reply], *, host: str, port: int) -> None:
        self._handle = handle
        self._listener = socket.create_server((host, port), backlog=1024)
        self.host, self.port = self._listener.getsockname()[:2]
        self._stopping = threading.Event()
        self._clients: set[socket.socket] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._accept, name="sandbox-accept", daemon=True).start()

    def stop(self) -> None:
        """Close everything; answers that are still waiting for their time are never given."""
        self._stopping.set()
        _shut(self._listener)
        self._listener.close()
        with self._lock:
            for client in self._clients:
                _shut(client)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed by stop()
            with self._lock:
                self._clients.add(client)
            threading.Thread(target=self._serve, args=(client,), name="sandbox-client", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            connection = Connection(client)
            while not self._stopping.is_set() and self._exchange(connection):
                pass
        except OSError:
            pass  # the client went away, or stop() closed the connection
        finally:
            with self._lock:
                self._clients.discard(client)
            _shut(client)
            client.close()

    def _exchange(self, connection: Connection) -> bool:
        """Answer one request. Returns whether the connection goes on."""
        try:
            request = connection.read()
        except BadRequest as bad:
            connection.write(bad.reply)
            return False
        if request is None:
            return False
        reply = self._reply(request)
        if reply.delay_seconds and self._stopping.wait(reply.delay_seconds):
            return False
        if reply.withheld_seconds is not None:
            connection.wait_until_gone(reply.withheld_seconds)
            return False
        if reply.dropped:
            return False
        connection.write(reply)
        return not (request.closes or reply.closes)

    def _reply(self, request: Request) -> Reply:
        try:
            return self._handle(request)
        except Exception:  # a fault of the sandbox itself: say so, and keep serving the others
            logger.exception("the sandbox could not handle %s %s", request.method, request.path)
            return Reply(500, b"sandbox fault, see its log", content_type="text/plain")


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads or accepts

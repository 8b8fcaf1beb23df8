"""A TCP proxy that can swallow what goes through it and keep the connections open: what a half-open connection looks like."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Listens on a port of its own and passes on to another one on this machine."""

    def __init__(self, to_port: int) -> None:
        self.swallows = threading.Event()
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._generation = 0  # connections of an older one are dead
        threading.Thread(target=self._accept, daemon=True).start()

    def forget_old_connections(self) -> None:
        """What is open now stays silent for ever; what comes from now on is passed on."""
        self._generation += 1
        self.swallows.clear()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to_port))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, target, self._generation), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, generation: int) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.swallows.is_set() and generation == self._generation:
                    target.sendall(data)
        if generation == self._generation:
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

"""Kept connections as the operating system sees them: pycurl tells a callback their ends, but not their descriptor."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress

Ends = tuple[str, str, int, int]  # remote address, local address, remote port, local port

# Both of Linux; elsewhere the looks they allow are not taken.
CLOSED_BY_PEER = getattr(select, "POLLRDHUP", 0)
TCP_INFO = getattr(socket, "TCP_INFO", None)
BYTES_RECEIVED = struct.Struct("=128xQ")  # in the kernel's tcp_info


class Wire:
    """One connection. `speaks_http1` once it has carried an answer in HTTP/1."""

    def __init__(self, descriptor: int) -> None:
        self.speaks_http1 = False
        self._poll = select.poll()
        self._descriptor = descriptor

    def is_unfit(self) -> bool:
        """Say whether a request on this connection would be lost, or find an answer that is not its own.

        Curl looks only once a second. What can be read in HTTP/1 is an end or a stray answer; in HTTP/2 it may be anything.
        """
        self._poll.register(self._descriptor, CLOSED_BY_PEER | (select.POLLIN if self.speaks_http1 else 0))
        return bool(self._poll.poll(0))

    def bytes_received(self) -> int:
        """Count what the network has brought, read or not; 0 if the system does not tell."""
        if TCP_INFO is None:
            return 0
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, self._descriptor)
        try:
            info = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, BYTES_RECEIVED.size)
        except OSError:
            return 0
        finally:
            connection.detach()  # it is curl's
        return int(BYTES_RECEIVED.unpack(info)[0]) if len(info) == BYTES_RECEIVED.size else 0


class Wires:
    """Connections by their ends. One that is closed stays until its descriptor is used again."""

    def __init__(self) -> None:
        self._wires: dict[Ends, Wire] = {}
        self._ends: dict[int, Ends] = {}
        self.http2_origins: set[str] = set()

    def find(self, ends: Ends) -> Wire | None:
        return self._wires.get(ends)

    def add(self, candidates: Iterable[int], ends: Ends) -> Wire | None:
        """Enter a new connection: of the descriptors opened for it, the one that got through."""
        for descriptor in candidates:
            if _local_port(descriptor) == ends[3]:
                self._wires.pop(self._ends.get(descriptor, ends), None)
                self._ends[descriptor] = ends
                self._wires[ends] = Wire(descriptor)
                return self._wires[ends]
        return None


def _local_port(descriptor: int) -> int | None:
    with suppress(OSError):
        connection = socket.socket(fileno=descriptor)
        try:
            port: int = connection.getsockname()[1]
            return port
        finally:
            connection.detach()  # it is curl's
    return None

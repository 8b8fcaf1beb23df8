"""Connections that tell their flight how far it got: urllib3's, made to notice the first byte that leaves."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
from collections.abc import Sequence
from typing import Any

import certifi
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from providers.transport.flights import Flight, Late
from providers.transport.foreign import ForeignRules

HOSTS = 32  # hosts with kept-alive connections at one time

_worker = threading.local()


class NotConnected(Exception):
    """No connection. Not an OSError, some of which urllib3 swallows in the hope of an answer."""


def board(flight: Flight, rules: ForeignRules | None = None) -> None:
    """Say whose call this thread's connections work for, and by which rules new ones are opened."""
    _worker.flight = flight
    _worker.rules = rules


def _flight() -> Flight:
    flight: Flight = _worker.flight
    return flight


class Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        flight = _flight()
        flight.step = "looking up the name"
        addresses = look_up(self._dns_host, self.port, flight.seconds_left())
        if _worker.rules is not None:  # what is connected to is what was looked at: no second look-up could differ
            addresses = _worker.rules.allowed(addresses)
        flight.step = "connecting"
        connection = open_socket(addresses, self.socket_options or (), flight)
        flight.step = "securing the connection"
        return connection

    def request(self, *args: Any, **kwargs: Any) -> None:
        flight = _flight()
        flight.step = "writing the request"
        if self.sock is not None:
            flight.hold(self.sock)
        super().request(*args, **kwargs)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        _flight().depart()
        super().send(data)


class SecureConnection(Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = Connection

    def _put_conn(self, conn: Any) -> None:
        _flight().release()  # before another worker can take it
        super()._put_conn(conn)


class _SecurePool(_Pool, HTTPSConnectionPool):
    ConnectionCls = SecureConnection

    def _put_conn(self, conn: Any) -> None:
        # More came than one answer. On a plain connection urllib3 sees that before it uses it again; here it looks
        # at the socket, which TLS has already emptied.
        if conn is not None and conn.sock is not None and conn.sock.pending():
            conn.close()
        super()._put_conn(conn)


class Adapter(HTTPAdapter):
    """Keeps up to `size` connections per host.

    Used without a Session: environment, cookies, hooks and redirects, which are not looked at, are more than half of
    what `Session.post` costs.
    """

    def __init__(self, size: int, ca_file: str | None) -> None:
        super().__init__(pool_connections=HOSTS, pool_maxsize=size, max_retries=0)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        self._ca_file = ca_file or certifi.where()
        self._context: ssl.SSLContext | None = None
        self._pools: dict[str, HTTPConnectionPool] = {}
        self._lock = threading.Lock()

    def get_connection_with_tls_context(self, request: PreparedRequest, *_: Any, **__: Any) -> HTTPConnectionPool:
        origin = "/".join(str(request.url).split("/", 3)[:3])
        pool = self._pools.get(origin)
        if pool is None or pool.pool is None:  # never asked for, or closed because of too many other hosts
            with self._lock:
                pool = self._new_pool(origin)
        return pool

    def _new_pool(self, origin: str) -> HTTPConnectionPool:
        if self._context is None and origin.lower().startswith("https:"):
            self._context = ssl.create_default_context(cafile=self._ca_file)  # 60 ms: made when needed, and once
        if len(self._pools) >= HOSTS:
            self._pools.clear()
        pool: HTTPConnectionPool = self.poolmanager.connection_from_url(
            origin, pool_kwargs={"ssl_context": self._context}
        )
        self._pools[origin] = pool
        return pool

    def cert_verify(self, *_: Any, **__: Any) -> None:
        """The context verifies."""

    def request_url(self, request: PreparedRequest, *_: Any, **__: Any) -> str:
        return request.path_url

    def build_response(self, req: PreparedRequest, resp: Any) -> Response:
        response = Response.__new__(Response)  # neither cookies nor history nor encoding
        response.raw = resp
        return response


def look_up(host: str, port: int, seconds: float) -> Sequence[Any]:
    """Resolve a name, in a thread that is left behind if it takes too long: getaddrinfo cannot be interrupted."""
    answers: queue.SimpleQueue[Sequence[Any] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, name="transport-look-up", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise Late from None
    if isinstance(answer, Exception):
        raise NotConnected from answer
    return answer


def open_socket(addresses: Sequence[Any], options: Sequence[Any], flight: Flight) -> socket.socket:
    """Try each address, with an equal share of the time that is left."""
    failure: Exception | None = None
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        connection = socket.socket(family, kind, protocol)
        try:
            for option in options:
                connection.setsockopt(*option)
            connection.settimeout(flight.seconds_left() / (len(addresses) - tried))
            connection.connect(address)
            connection.settimeout(flight.seconds_left())
            flight.hold(connection)
        except (OSError, Late) as error:
            failure = error
            connection.close()
        else:
            return connection
    raise NotConnected from failure

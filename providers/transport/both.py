"""Calls over HTTP, over HTTP/2 where nothing else will do, and mails for mail servers, in one batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from providers.errors import Unavailable
from providers.messages import MailRequest
from providers.transport.base import Answer, Call, Receiver, Transport


class Kind(Enum):
    """What only another transport than the usual one carries."""

    MAIL = auto()
    HTTP2 = auto()


class BothTransport:
    """Fulfils `Transport` with several of them. All but `http` are made when the first call for them comes."""

    def __init__(
        self, http: Transport, make_smtp: Callable[[], Transport], make_http2: Callable[[], Transport] | None = None
    ) -> None:
        self.concurrency = http.concurrency
        self.http = http
        self._make = {Kind.MAIL: make_smtp, Kind.HTTP2: make_http2 or (lambda: http)}
        self._made: dict[Kind, Transport] = {}
        self._lock = threading.Lock()

    def send(self, calls: Sequence[Call], inbox: Receiver) -> None:
        by_kind: dict[Kind | None, list[Call]] = {}
        for call in calls:
            by_kind.setdefault(_kind(call.request), []).append(call)
        for kind, some in by_kind.items():
            self._send(kind, some, inbox)

    def close(self) -> None:
        self.http.close()
        for transport in self._made.values():
            transport.close()

    def _send(self, kind: Kind | None, calls: Sequence[Call], inbox: Receiver) -> None:
        try:
            transport = self._for(kind)
        except ImportError as error:
            for call in calls:
                inbox.add(Answer(call.key, Unavailable(f"writing the request: it needs {error.name}"), 0.0))
        else:
            transport.send(calls, inbox)

    def _for(self, kind: Kind | None) -> Transport:
        """Raises ImportError."""
        if kind is None:
            return self.http
        with self._lock:
            if kind not in self._made:
                self._made[kind] = self._make[kind]()
            return self._made[kind]


def _kind(request: Any) -> Kind | None:
    if isinstance(request, MailRequest):
        return Kind.MAIL
    return Kind.HTTP2 if request.needs_http2 else None

"""The transport for mails: a few threads, each handing over one mail at a time on kept-alive connections to mail servers."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import certifi

from providers.messages import MailRequest, MailResponse, MailServer
from providers.transport.crews import CrewTransport
from providers.transport.flights import Flight, Late
from providers.transport.mail_sessions import MailSession

MAILS_PER_CONNECTION = 100  # then a fresh one: servers limit it, each in its own way
IDLE_SECONDS = 30.0  # the shortest time-outs of servers are about a minute
CLOSING = 421  # "service not available, closing transmission channel"


class SmtpTransport(CrewTransport):
    """Fulfils `Transport` for MailRequests. `ca_file` names the certificate authorities to trust, None means certifi's."""

    def __init__(
        self,
        concurrency: int = 16,
        monotonic: Callable[[], float] = time.monotonic,
        ca_file: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(concurrency, monotonic, lambda: _MailLines(monotonic, ca_file, now))


class _MailLines:
    """The connections of one crew, signed in and idle, by server."""

    def __init__(self, monotonic: Callable[[], float], ca_file: str | None, now: Callable[[], datetime]) -> None:
        self._monotonic = monotonic
        self._now = now
        self._ca_file = ca_file or certifi.where()
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[MailServer, list[tuple[float, MailSession]]] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def exchange(self, request: MailRequest, flight: Flight) -> MailResponse:
        """Hand over one mail. Servers close what was idle for long: what fails on a kept connection is begun on a fresh one.

        But only before the mail's end has left, so that there is never a second mail.
        """
        if (kept := self._take(request.server)) is not None:
            try:
                answer = self._hand_over(kept, request, flight)
                if answer.status != CLOSING or flight.has_left:
                    return answer
            except Late:
                raise
            except Exception:
                if flight.has_left or flight.is_cut:
                    raise
        session = MailSession(request.server, flight, self._context)
        if (refusal := session.sign_in()) is not None:
            session.close()
            return refusal
        return self._hand_over(session, request, flight)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, {}
        for _, session in (pair for pairs in idle.values() for pair in pairs):
            session.say_goodbye()

    def _hand_over(self, session: MailSession, request: MailRequest, flight: Flight) -> MailResponse:
        try:
            answer = session.hand_over(request, flight, self._now())
        except BaseException:
            session.close()
            raise
        flight.release()  # before another call can take the connection
        if answer.status == CLOSING or session.mails_count >= MAILS_PER_CONNECTION:
            session.say_goodbye()
        else:
            self._put(request.server, session)
        return answer

    def _take(self, server: MailServer) -> MailSession | None:
        with self._lock:
            pairs = self._idle.get(server, [])
            while pairs:
                since, session = pairs.pop()
                if self._monotonic() - since < IDLE_SECONDS:
                    return session
                session.close()
        return None

    def _put(self, server: MailServer, session: MailSession) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.setdefault(server, []).append((self._monotonic(), session))
                return
        session.say_goodbye()

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                self._tls = ssl.create_default_context(cafile=self._ca_file)  # 60 ms: made when needed, and once
            return self._tls

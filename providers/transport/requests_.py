"""The transport over requests: a few threads, each making one call at a time on kept-alive connections."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from requests import PreparedRequest
from requests.structures import CaseInsensitiveDict

from providers.messages import Headers, HttpRequest, HttpResponse
from providers.transport.base import ANSWER_LIMIT_BYTES
from providers.transport.connections import Adapter, board
from providers.transport.crews import CrewTransport
from providers.transport.flights import BadAnswer, Flight
from providers.transport.foreign import FOREIGN_ANSWER_BYTES, ForeignRules

# urllib3 logs whole URLs, and a search by recipient has the address in its URL.
logging.getLogger("urllib3").setLevel(logging.ERROR)


class RequestsTransport(CrewTransport):
    """Fulfils `Transport`. `ca_file` names the certificate authorities to trust, None means certifi's."""

    def __init__(
        self,
        concurrency: int = 16,
        monotonic: Callable[[], float] = time.monotonic,
        ca_file: str | None = None,
        foreign: ForeignRules = ForeignRules(),  # noqa: B008  frozen
    ) -> None:
        super().__init__(concurrency, monotonic, lambda: _HttpLines(concurrency, ca_file, foreign))


class _HttpLines:
    """The connections of one crew. Foreign requests have their own: a kept one of ours may lead where they may not go."""

    def __init__(self, size: int, ca_file: str | None, rules: ForeignRules) -> None:
        self._adapter = Adapter(size, ca_file)
        self._foreign = Adapter(size, ca_file)
        self._rules = rules

    def exchange(self, request: HttpRequest, flight: Flight) -> HttpResponse:
        adapter = self._foreign if request.is_foreign else self._adapter
        if request.is_foreign:
            self._rules.check_url(request)
        board(flight, self._rules if request.is_foreign else None)
        raw = adapter.send(_prepared(request), stream=True, timeout=flight.seconds_left()).raw
        flight.step = "reading the answer"
        try:
            body = _beginning(raw, flight) if request.is_foreign else _body(raw, flight)
        except BaseException:
            raw.close()
            raw.release_conn()
            raise
        return HttpResponse(raw.status, Headers(raw.headers), body)

    def close(self) -> None:
        self._adapter.close()
        self._foreign.close()


def _prepared(request: HttpRequest) -> PreparedRequest:
    """Fill in what the adapter reads. `prepare` would check and encode again what a provider has already encoded."""
    prepared = PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    # Nothing compressed, which could unfold to any size.
    prepared.headers = CaseInsensitiveDict({"User-Agent": "Landfall", **request.headers, "Accept-Encoding": "identity"})
    if request.body:
        prepared.headers["Content-Length"] = str(len(request.body))
        prepared.body = request.body
    return prepared


def _require_answer(raw: Any) -> None:
    if raw.status < 200:  # 103 Early Hints, for one: http.client takes it for the answer, which is still to come
        raise BadAnswer(f"HTTP {raw.status} is no answer")


def _body(raw: Any, flight: Flight) -> bytes:
    """Read the whole body. Raises BadAnswer if there is too much of it, or no telling whether it is whole."""
    _require_answer(raw)
    body: bytes = raw.read(ANSWER_LIMIT_BYTES + 1, decode_content=True)
    if len(body) > ANSWER_LIMIT_BYTES:
        raise BadAnswer("the answer is too long")
    if raw.length_remaining is None and not raw.chunked and (flight.is_cut or not body):
        # It ends where the connection ends, which may have been in its headers: http.client does not mind.
        raise BadAnswer("the answer may have been cut short")
    return body


def _beginning(raw: Any, flight: Flight) -> bytes:
    """Read what a stranger says, as it comes and up to the cap: it is for people, the status has said all. Raises BadAnswer."""
    _require_answer(raw)
    body: bytes = raw.read(FOREIGN_ANSWER_BYTES + 1, decode_content=False)
    if flight.is_cut:
        raise BadAnswer("the answer may have been cut short")
    if len(body) > FOREIGN_ANSWER_BYTES:
        raw.close()
        raw.release_conn()
    return body[:FOREIGN_ANSWER_BYTES]

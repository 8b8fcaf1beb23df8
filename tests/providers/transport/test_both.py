"""Requests that need HTTP/2 get it, whatever carries the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from providers.errors import Unavailable
from providers.messages import HttpResponse
from providers.transport.base import Call, Transport
from providers.transport.both import BothTransport
from providers.transport.choice import make_transport
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.transport.calls import post
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.http2 import Http2Peer, offer
from tests.providers.transport.misbehaving import OK, answer, serve

pytest.importorskip("pycurl")

from providers.transport.curl import CurlTransport


def no_mails() -> Transport:
    raise AssertionError("no mail is sent here")


class TestHttp2:
    @pytest.fixture
    def made(self) -> list[str]:
        return []

    @pytest.fixture
    def transport(self, tmp_path: Path, made: list[str]) -> Iterator[BothTransport]:
        """Requests for what may be older, curl for what may not: it trusts the certificate of this test."""
        self.context, certificate = for_loopback(tmp_path)

        def make_http2() -> Transport:
            made.append("http2")
            return CurlTransport(2, ca_file=str(certificate))

        with closing(BothTransport(RequestsTransport(2), no_mails, make_http2)) as both:
            yield both

    def test_is_spoken_where_it_is_needed_and_in_the_same_batch(
        self, transport: BothTransport, made: list[str]
    ) -> None:
        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                peer.answer(stream, b"spoke http/2")

        with serve(lambda peer: behave(Http2Peer(peer)), offer(self.context)) as new, serve(answer(OK)) as old:
            needing = replace(post(new.url(scheme="https")), needs_http2=True)
            calls = [Call(number, request, 5.0) for number, request in enumerate((post(old.url()), needing, needing))]
            results = {one.key: one.result for batch in send_many(transport, calls) for one in batch}

        bodies = [result.body for _, result in sorted(results.items()) if isinstance(result, HttpResponse)]
        assert bodies[1:] == [b"spoke http/2"] * 2
        assert len(bodies) == 3
        assert made == ["http2"]

    def test_costs_nothing_where_nobody_needs_it(self, transport: BothTransport, made: list[str]) -> None:
        with serve(answer(OK)) as old:
            [[one]] = send_many(transport, [Call("only", post(old.url()), 5.0)])

        assert isinstance(one.result, HttpResponse)
        assert made == []


@pytest.mark.parametrize("kind", ["curl", "requests"])
def test_is_carried_by_curl_whatever_carries_the_rest(kind: str) -> None:
    with closing(make_transport(kind, 2)) as transport, serve(answer(OK)) as server:
        request = replace(post(server.url()), needs_http2=True)
        [[one]] = send_many(transport, [Call("only", request, 5.0)])

        assert isinstance(one.result, HttpResponse)
        [used] = transport._made.values()
        assert isinstance(used, CurlTransport)
        assert (used is transport.http) == (kind == "curl")


def test_without_curl_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(make_transport("requests", 2)) as transport:
        monkeypatch.setitem(sys.modules, "pycurl", None)
        for name in ("curl", "handles"):
            monkeypatch.delitem(sys.modules, f"providers.transport.{name}", raising=False)
        request = replace(post("https://127.0.0.1:1/"), needs_http2=True)

        [[one]] = send_many(transport, [Call("only", request, 5.0)])

    assert isinstance(one.result, Unavailable)
    assert "pycurl" in one.result.detail

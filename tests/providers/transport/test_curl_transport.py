"""What is special to the transport over curl; the rest is in the contract."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from providers.errors import NotStarted, OutcomeUnknown, Unavailable
from providers.messages import HttpRequest, HttpResponse
from providers.transport.base import Call
from providers.transport.inbox import send_many
from tests.providers.transport.calls import SECRET, failure, make, post, success
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.http2 import CANCEL, Http2Peer, offer
from tests.providers.transport.misbehaving import OK, Peer, Server, after_reading, answer, serve

pytest.importorskip("pycurl")

from providers.transport.curl import CurlTransport
from providers.transport.handles import ERRORS, Handle


@pytest.fixture
def transport() -> Iterator[CurlTransport]:
    with closing(CurlTransport()) as transport:
        yield transport


class TestInterimAnswers:
    def test_reads_on_after_early_hints(self, transport: CurlTransport) -> None:
        reply = b"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nfinal"
        with serve(answer(reply)) as server:
            for _ in range(2):
                response = success(transport, post(server.url()))

                assert (response.status, response.body) == (201, b"final")
            assert server.connection_count == 1

    @pytest.mark.parametrize("end", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"])
    def test_nothing_is_an_answer_before_the_last_one_is_whole(self, transport: CurlTransport, end: bytes) -> None:
        with serve(after_reading(b"HTTP/1.1 103 Early Hints\r\n\r\n" + end)) as server:
            assert type(failure(transport, post(server.url()))) is OutcomeUnknown

    def test_switches_no_protocol(self, transport: CurlTransport) -> None:
        with serve(after_reading(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")) as server:
            assert type(failure(transport, post(server.url()))) is OutcomeUnknown


class TestHttp2:
    @pytest.fixture
    def serve_http2(self, tmp_path: Path) -> Callable[..., Server]:
        context, certificate = for_loopback(tmp_path)
        self.certificate = str(certificate)
        return lambda behave: serve(lambda peer: behave(Http2Peer(peer)), offer(context))

    @pytest.fixture
    def transport(self, serve_http2: Callable[..., Server]) -> Iterator[CurlTransport]:
        with closing(CurlTransport(ca_file=self.certificate)) as transport:
            yield transport

    def test_many_calls_share_a_connection(self, transport: CurlTransport, serve_http2: Callable[..., Server]) -> None:
        def behave(peer: Http2Peer) -> None:
            streams = []
            for stream in peer.requests():
                streams.append(stream)
                if stream == 1:
                    peer.answer(stream)
                elif len(streams) == 9:  # all eight are under way at once
                    for waiting in reversed(streams[1:]):
                        peer.answer(waiting)

        with serve_http2(behave) as server:
            success(transport, post(server.url(scheme="https")), seconds=10)
            answers = make(transport, *[post(server.url(scheme="https"))] * 8, seconds=10)

            assert server.connection_count == 1
        assert [answer.result.body for answer in answers] == [b"ok"] * 8

    def test_a_lost_connection_leaves_all_its_calls_unclear_and_none_sent_again(
        self, transport: CurlTransport, serve_http2: Callable[..., Server]
    ) -> None:
        streams = []

        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                streams.append(stream)
                if stream == 1:
                    peer.answer(stream)
                if len(streams) == 5:
                    return

        with serve_http2(behave) as server:
            success(transport, post(server.url(scheme="https")), seconds=2)
            answers = make(transport, *[post(server.url(scheme="https"))] * 4, seconds=2)

            assert server.connection_count == 1
        assert {type(answer.result) for answer in answers} == {OutcomeUnknown}
        assert len(streams) == 5

    def test_what_the_server_promises_not_to_have_processed_goes_out_again(
        self, transport: CurlTransport, serve_http2: Callable[..., Server]
    ) -> None:
        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                peer.answer(stream) if stream == 1 else peer.refuse(stream)

        with serve_http2(behave) as server:
            success(transport, post(server.url(scheme="https")), seconds=2)
            success(transport, post(server.url(scheme="https")), seconds=2)

            assert server.connection_count == 2

    def test_without_the_promise_nothing_goes_out_again(
        self, transport: CurlTransport, serve_http2: Callable[..., Server]
    ) -> None:
        streams = []

        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                streams.append(stream)
                peer.answer(stream) if stream == 1 else peer.refuse(stream, code=CANCEL)

        with serve_http2(behave) as server:
            success(transport, post(server.url(scheme="https")), seconds=2)
            assert type(failure(transport, post(server.url(scheme="https")), seconds=2)) is OutcomeUnknown
            time.sleep(0.05)
        assert len(streams) == 2

    def test_who_refuses_for_ever_is_not_asked_for_ever(
        self, transport: CurlTransport, serve_http2: Callable[..., Server]
    ) -> None:
        streams = []

        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                streams.append(stream)
                peer.answer(stream) if len(streams) == 1 else peer.refuse(stream)

        with serve_http2(behave) as server:
            success(transport, post(server.url(scheme="https")), seconds=2)
            error = failure(transport, post(server.url(scheme="https")), seconds=2)

        assert type(error) is Unavailable
        assert len(streams) < 10

    def test_half_an_answer_is_none(self, transport: CurlTransport, serve_http2: Callable[..., Server]) -> None:
        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                peer.answer_in_part(stream)
                peer.refuse(stream, code=CANCEL)

        with serve_http2(behave) as server:
            assert type(failure(transport, post(server.url(scheme="https")), seconds=2)) is OutcomeUnknown

    def test_a_late_call_does_not_take_its_neighbours_along(
        self, transport: CurlTransport, serve_http2: Callable[..., Server]
    ) -> None:
        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                if stream != 3:
                    peer.answer(stream)

        with serve_http2(behave) as server:
            success(transport, post(server.url(scheme="https")), seconds=2)
            answers = make(transport, *[post(server.url(scheme="https"))] * 3, seconds=0.2)
            success(transport, post(server.url(scheme="https")), seconds=2)

            assert server.connection_count == 1
        assert sorted(type(answer.result).__name__ for answer in answers) == [
            "HttpResponse",
            "HttpResponse",
            "OutcomeUnknown",
        ]

    def test_a_connection_that_the_server_is_leaving_is_replaced(
        self, transport: CurlTransport, serve_http2: Callable[..., Server]
    ) -> None:
        def behave(peer: Http2Peer) -> None:
            for stream in peer.requests():
                peer.answer(stream)
                peer.go_away(stream)

        with serve_http2(behave) as server:
            for number in range(1, 4):
                success(transport, post(server.url(scheme="https")), seconds=2)
                time.sleep(0.02)

                assert server.connection_count == number


class TestBreakdowns:
    def test_a_surprise_loses_no_call(self, transport: CurlTransport, monkeypatch: pytest.MonkeyPatch) -> None:
        with serve(answer(OK)) as server:
            calls = [post(server.url())] * 40
            with monkeypatch.context() as patched:
                patched.setattr(Handle, "_write", _raise(MemoryError))
                before = make(transport, *calls)
            with monkeypatch.context() as patched:
                patched.setattr("providers.transport.handles.read_answer", _raise(RecursionError))
                after = make(transport, *calls)
            answers = make(transport, *calls)

        assert {type(answer.result) for answer in before} == {Unavailable}
        assert {type(answer.result) for answer in after} == {OutcomeUnknown}
        assert {type(answer.result) for answer in answers} == {HttpResponse}

    def test_a_loop_that_broke_is_replaced(self, transport: CurlTransport, monkeypatch: pytest.MonkeyPatch) -> None:
        """An exception in a callback comes out of whatever curl was doing, for whichever call."""
        with serve(answer(OK)) as server:
            success(transport, post(server.url()))
            with monkeypatch.context() as patched:
                patched.setattr(CurlTransport._loop(transport), "_end_call", _raise(SystemExit))
                answers = make(transport, *[post(server.url())] * 40, seconds=2)
            success(transport, post(server.url()))

            assert len(server.requests) == 18
        assert [type(answer.result) for answer in answers] == [OutcomeUnknown] * 16 + [NotStarted] * 24

    def test_its_thread_is_reused_and_ends_with_the_process(self, transport: CurlTransport) -> None:
        before = set(threading.enumerate())
        with serve(answer(OK)) as server:
            make(transport, post(server.url()))
            threads = _threads_since(before)
            make(transport, *[post(server.url())] * 30)
            later = _threads_since(before)

        assert len(threads) == 1
        assert later == threads
        assert all(thread.daemon for thread in threads)

    def test_a_closed_transport_leaves_no_thread(self) -> None:
        before = set(threading.enumerate())
        with serve(answer(OK)) as server, closing(CurlTransport()) as transport:
            success(transport, post(server.url()))
            [thread] = _threads_since(before)
        thread.join(2)

        assert not thread.is_alive()


def test_names_curls_errors() -> None:
    assert {ERRORS[code] for code in (6, 7, 28, 35, 56, 60)} == {
        "COULDNT_RESOLVE_HOST",
        "COULDNT_CONNECT",
        "OPERATION_TIMEDOUT",
        "SSL_CONNECT_ERROR",
        "RECV_ERROR",
        "PEER_FAILED_VERIFICATION",
    }


def test_says_nothing_of_addresses(
    transport: CurlTransport, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), serve(after_reading(b"HTTP/1.1 200 OK\r\nbad header\r\n")) as server:
        make(transport, post(server.url(f"/?To={SECRET}")), HttpRequest("GET", f"http://x.invalid/?To={SECRET}", {}))

    assert SECRET not in caplog.text + "".join(capfd.readouterr())


def test_a_call_may_be_long_in_coming(transport: CurlTransport) -> None:
    """Nothing but the call's own deadline counts: no second of waiting for a "100 Continue"."""

    def behave(peer: Peer) -> None:
        peer.read()
        time.sleep(0.3)
        peer.send(OK)

    with serve(behave) as server:
        [[answered]] = send_many(transport, [Call("slow", post(server.url(), body=b"x" * 2_000_000), 2)])

    assert isinstance(answered.result, HttpResponse)
    assert answered.seconds < 1


def _threads_since(before: set[threading.Thread]) -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "transport-curl"} - before


def _raise(error: type[BaseException]) -> Callable[..., None]:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it

"""The requests transport against a server that misbehaves in every way we know of."""

from __future__ import annotations

import gzip
import io
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from providers.errors import NotStarted, OutcomeUnknown, ProviderError, Unavailable
from providers.messages import HttpRequest, HttpResponse
from providers.transport.base import ANSWER_LIMIT_BYTES, Answer, Call
from providers.transport.requests_ import RequestsTransport
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.misbehaving import OK, Behaviour, Peer, answer, serve

DEADLINE = 0.25
SECRET = "%2B4915112345678"  # stands for all that must not reach a log


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=16)
    yield transport
    transport.close()


def post(url: str, body: bytes = b"To=" + SECRET.encode(), headers: dict[str, str] | None = None) -> HttpRequest:
    return HttpRequest("POST", url, {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}, body)


def make(transport: RequestsTransport, *requests: HttpRequest, seconds: float = DEADLINE) -> list[Answer]:
    """Make the calls. Returns the answers in the order of the requests."""
    calls = [Call(number, request, seconds) for number, request in enumerate(requests)]
    answers = [answer for batch in transport.send_many(calls) for answer in batch]
    assert [answer.key for answer in sorted(answers, key=lambda answer: answer.key)] == list(range(len(requests)))
    return sorted(answers, key=lambda answer: answer.key)


def failure(transport: RequestsTransport, request: HttpRequest, seconds: float = DEADLINE) -> ProviderError:
    """Make a call that fails in time, without a word of what was in it."""
    [answer] = make(transport, request, seconds=seconds)
    assert isinstance(answer.result, ProviderError), answer.result
    assert answer.seconds < seconds + 0.2
    text = repr(answer.result) + str(answer.result)
    assert SECRET not in text
    assert "?" not in text
    assert answer.result.__cause__ is answer.result.__context__ is None
    return answer.result


def success(transport: RequestsTransport, request: HttpRequest, seconds: float = DEADLINE) -> HttpResponse:
    [answer] = make(transport, request, seconds=seconds)
    assert isinstance(answer.result, HttpResponse), answer.result
    return answer.result


class TestBeforeTheFirstByte:
    """Nothing was sent, so nothing can have been accepted: Unavailable."""

    def test_refused_port(self, transport: RequestsTransport) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]

        error = failure(transport, post(f"http://127.0.0.1:{port}/?to={SECRET}"))

        assert type(error) is Unavailable
        assert str(error) == "connecting: ECONNREFUSED"

    def test_unknown_name(self, transport: RequestsTransport) -> None:
        error = failure(transport, post(f"https://nobody.invalid/?to={SECRET}"))

        assert type(error) is Unavailable
        assert str(error).startswith("looking up the name: ")

    def test_name_look_up_counts_against_the_deadline(
        self, transport: RequestsTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        over = threading.Event()
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(5) and [])

        error = failure(transport, post("http://slow.invalid/"), seconds=0.1)
        over.set()

        assert type(error) is Unavailable
        assert str(error) == "looking up the name: the deadline passed"

    def test_port_that_does_not_answer(self, transport: RequestsTransport) -> None:
        with silent_port() as port:
            error = failure(transport, post(f"http://127.0.0.1:{port}/"), seconds=0.1)

        assert type(error) is Unavailable
        assert str(error) == "connecting: the deadline passed"

    def test_second_address_is_tried_in_the_time_that_is_left(
        self, transport: RequestsTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serve(answer(OK)) as server, silent_port() as silent:
            found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in (silent, server.port)]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

            assert success(transport, post(server.url(host="two-addresses.invalid"))).body == b"ok"

    def test_tls_to_a_plain_port(self, transport: RequestsTransport) -> None:
        with serve(lambda peer: peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server:
            error = failure(transport, post(server.url(scheme="https")))

        assert type(error) is Unavailable
        assert str(error).startswith("securing the connection: SSLError")

    def test_tls_handshake_that_never_ends(self, transport: RequestsTransport) -> None:
        with serve(lambda peer: peer.drip(b"\x16\x03\x03\x40\x00" + b"\0" * 1000)) as server:
            error = failure(transport, post(server.url(scheme="https")), seconds=0.1)

        assert type(error) is Unavailable
        assert str(error) == "securing the connection: the deadline passed"

    def test_certificate_of_nobody_we_trust(self, transport: RequestsTransport, tmp_path: Path) -> None:
        context, _ = for_loopback(tmp_path)
        with serve(answer(OK), context) as server:
            error = failure(transport, post(server.url(scheme="https")))

            assert server.requests == []
        assert type(error) is Unavailable
        assert "SSLCertVerificationError" in str(error)

    @pytest.mark.parametrize("header", ["caf\u00e9 \u2705", "a\r\nHost: evil", "a\nHost: evil"])
    def test_request_that_cannot_be_written(self, transport: RequestsTransport, header: str) -> None:
        with serve(answer(OK)) as server:
            error = failure(transport, post(server.url(), headers={"X-Title": header}))

            assert type(error) is Unavailable
            assert str(error) in ("writing the request: UnicodeEncodeError", "writing the request: ValueError")
            assert server.requests == []
            assert success(transport, post(server.url())).body == b"ok"  # and the next call is not hurt

    @pytest.mark.parametrize(
        "url", ["", "nonsense", "ftp://127.0.0.1/", "http://[::1", "http://", "http://127.0.0.1:99999/"]
    )
    def test_address_that_is_none(self, transport: RequestsTransport, url: str) -> None:
        assert type(failure(transport, post(url))) is Unavailable

    def test_start_by_has_passed(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            calls = [Call("late", post(server.url()), DEADLINE, start_by=time.monotonic() - 0.001)]
            [[late]] = transport.send_many(calls)

            assert server.connection_count == 0
        assert type(late.result) is NotStarted

    def test_start_by_is_read_when_a_turn_comes(self) -> None:
        now = [100.0]
        transport = RequestsTransport(concurrency=1, monotonic=lambda: now[0])

        def behave(peer: Peer) -> None:
            while peer.read():
                now[0] += 2  # each call takes two seconds
                peer.send(OK)

        with serve(behave) as server:
            calls = [Call(number, post(server.url()), 10, start_by=101) for number in range(3)]
            results = {answer.key: answer.result for batch in transport.send_many(calls) for answer in batch}

            assert len(server.requests) == 1
        assert isinstance(results[0], HttpResponse)
        assert type(results[1]) is type(results[2]) is NotStarted
        transport.close()


@contextmanager
def silent_port() -> Iterator[int]:
    """A port whose backlog is full: no further handshake is answered."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def reset_at_once(peer: Peer) -> None:
    peer.read()
    peer.reset()


def reset_in_the_middle(peer: Peer) -> None:
    peer.read()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    time.sleep(0.02)
    peer.reset()


def after_reading(data: bytes) -> Behaviour:
    """Answer one request and close."""

    def behave(peer: Peer) -> None:
        peer.read()
        peer.send(data)

    return behave


def dripping(start: bytes, rest: bytes) -> Behaviour:
    def behave(peer: Peer) -> None:
        peer.read()
        peer.send(start)
        peer.drip(rest)

    return behave


def endless(start: bytes, part: bytes) -> Behaviour:
    def behave(peer: Peer) -> None:
        peer.read()
        peer.send(start)
        while True:
            peer.send(part)

    return behave


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNCLEAR = {
    "reset before any answer": reset_at_once,
    "closed before any answer": after_reading(b""),
    "reset after half the body": reset_in_the_middle,
    "closed after half the body": after_reading(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
    "closed within the status line": after_reading(b"HTTP/1.1 422"),
    "closed within the headers": after_reading(b"HTTP/1.1 422 Refused\r\nContent-Type: text/html\r\nX-"),
    "closed without length or body": after_reading(b"HTTP/1.1 422 Refused\r\n\r\n"),
    "no answer at all": lambda peer: (peer.read(), peer.wait())[0],
    "headers byte by byte": dripping(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 500),
    "body byte by byte": dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b"x" * 500),
    "body byte by byte until the end": dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 500),
    "headers without end": endless(b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
    "header line without end": endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
    "body without end": endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    "chunks without end": endless(CHUNKED, b"%x\r\n%b\r\n" % (65536, b"x" * 65536)),
    "only continue, for ever": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "announced too long": after_reading(b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n" + b"x" * 1048577),
    "bad chunk size": after_reading(CHUNKED + b"zz\r\nok\r\n0\r\n\r\n"),
    "closed between chunks": after_reading(CHUNKED + b"2\r\nok\r\n"),
    "no HTTP": after_reading(b"220 mail.example ESMTP\r\n"),
    "broken gzip": after_reading(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nno"),
}


class TestAfterTheFirstByte:
    """Bytes left and no complete answer came back: OutcomeUnknown."""

    @pytest.mark.parametrize("behave", UNCLEAR.values(), ids=UNCLEAR.keys())
    def test_unclear(self, transport: RequestsTransport, behave: Behaviour) -> None:
        with serve(behave) as server:
            error = failure(transport, post(server.url(f"/Messages.json?to={SECRET}")))

        assert type(error) is OutcomeUnknown

    def test_says_how_far_it_got(self, transport: RequestsTransport) -> None:
        with serve(UNCLEAR["no answer at all"]) as silent, serve(UNCLEAR["body byte by byte"]) as dripping:
            assert str(failure(transport, post(silent.url()))) == "waiting for the answer: the deadline passed"
            assert str(failure(transport, post(dripping.url()))) == "reading the answer: the deadline passed"

    def test_small_answer_that_unfolds_to_a_large_one(self, transport: RequestsTransport) -> None:
        bomb = gzip.compress(b"\0" * 50 * ANSWER_LIMIT_BYTES)
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
        with serve(after_reading(head + bomb)) as server:
            error = failure(transport, post(server.url()))

            assert b"Accept-Encoding: identity" in server.requests[0]
        assert type(error) is OutcomeUnknown
        assert str(error) == "reading the answer: the answer is too long"

    def test_reset_on_a_connection_that_had_idled(self, transport: RequestsTransport) -> None:
        def behave(peer: Peer) -> None:
            peer.read()
            peer.send(OK)
            peer.read()
            peer.reset()

        with serve(behave) as server:
            success(transport, post(server.url()))
            error = failure(transport, post(server.url()))

            assert server.connection_count == 1
        assert type(error) is OutcomeUnknown

    def test_an_interim_answer_is_not_taken_for_the_answer_of_this_or_the_next_call(
        self, transport: RequestsTransport
    ) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" if peer.number == 1 else OK)
                if peer.number == 1:
                    time.sleep(0.02)
                    peer.send(b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nfirst")

        with serve(behave) as server:
            error = failure(transport, post(server.url()))

            assert success(transport, post(server.url())).body == b"ok"
        assert type(error) is OutcomeUnknown


class TestCompleteAnswers:
    """A complete answer counts, whatever it says."""

    @pytest.mark.parametrize("status", [200, 201, 301, 302, 307, 308, 400, 401, 404, 422, 429, 500, 502, 503, 599])
    def test_passes_every_status_through(self, transport: RequestsTransport, status: int) -> None:
        reply = f"HTTP/1.1 {status} X\r\nLocation: /elsewhere\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbody"
        with serve(answer(reply.encode())) as server:
            response = success(transport, post(server.url()))

            assert len(server.requests) == 1  # redirects are not followed
        assert (response.status, response.headers["retry-after"], response.body) == (status, "7", b"body")

    @pytest.mark.parametrize(
        "reply",
        [
            CHUNKED + b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.0 200 OK\r\n\r\nok",
            b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"ok"),
        ],
        ids=["chunked", "closing", "HTTP/1.0 until the end", "after a continue", "compressed though not asked"],
    )
    def test_reads_every_framing(self, transport: RequestsTransport, reply: bytes) -> None:
        with serve(after_reading(reply)) as server:
            assert success(transport, post(server.url())).body == b"ok"

    def test_reads_an_answer_as_long_as_allowed(self, transport: RequestsTransport) -> None:
        with serve(after_reading(b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + b"x" * 1048576)) as server:
            assert len(success(transport, post(server.url()), seconds=2).body) == ANSWER_LIMIT_BYTES

    def test_a_refusal_before_the_whole_request_was_read_counts(self, transport: RequestsTransport) -> None:
        def behave(peer: Peer) -> None:
            peer.connection.recv(1000)
            peer.send(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
            peer.connection.shutdown(socket.SHUT_WR)
            while peer.connection.recv(65536):
                pass

        with serve(behave) as server:
            assert success(transport, post(server.url(), body=b"x" * 5_000_000), seconds=2).status == 413

    def test_sends_what_it_was_given(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            success(transport, post(server.url("/a/b?c=d%20e"), b"body", {"Authorization": "Basic x"}))
            success(transport, HttpRequest("GET", server.url("/g"), {}))

        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /a/b?c=d%20e HTTP/1.1\r\n")
        assert {b"Authorization: Basic x", b"Content-Length: 4", b"Accept-Encoding: identity"} <= set(
            head.split(b"\r\n")
        )
        assert body == b"body"
        assert server.requests[1].startswith(b"GET /g HTTP/1.1\r\n")
        assert b"Content-Length" not in server.requests[1]

    def test_tls_with_a_certificate_we_trust(self, tmp_path: Path) -> None:
        context, certificate = for_loopback(tmp_path)
        transport = RequestsTransport(ca_file=str(certificate))
        with serve(answer(OK), context) as server:
            assert success(transport, post(server.url(scheme="https")), seconds=2).body == b"ok"
            assert success(transport, post(server.url(scheme="https")), seconds=2).body == b"ok"

            assert server.connection_count == 1
        transport.close()

    def test_the_deadline_holds_over_tls(self, tmp_path: Path) -> None:
        context, certificate = for_loopback(tmp_path)
        transport = RequestsTransport(ca_file=str(certificate))
        with serve(UNCLEAR["headers byte by byte"], context) as server:
            assert type(failure(transport, post(server.url(scheme="https")))) is OutcomeUnknown
        transport.close()


class TestConnections:
    def test_many_calls_one_after_the_other_use_one_connection(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            for _ in range(20):
                success(transport, post(server.url()))

            assert (server.connection_count, len(server.requests)) == (1, 20)

    def test_an_idle_connection_the_server_closed_is_replaced(self, transport: RequestsTransport) -> None:
        with serve(after_reading(OK)) as server:
            success(transport, post(server.url()))
            _until(lambda: server.connection_count == 1)
            time.sleep(0.02)  # for the FIN to arrive
            success(transport, post(server.url()))

            assert server.connection_count == 2

    def test_bytes_after_an_answer_are_not_the_next_answer(self, transport: RequestsTransport) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(OK + (b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nwrong" if peer.number == 1 else b""))

        with serve(behave) as server:
            assert success(transport, post(server.url())).body == b"ok"
            assert success(transport, post(server.url())).body == b"ok"

    def test_bytes_after_an_answer_are_not_the_next_answer_over_tls(self, tmp_path: Path) -> None:
        context, certificate = for_loopback(tmp_path)
        transport = RequestsTransport(ca_file=str(certificate))
        rest_of_a_buffer = b"x" * (io.DEFAULT_BUFFER_SIZE - len(OK))  # one TLS record, read in two goes

        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(OK + rest_of_a_buffer + b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nwrong")

        with serve(behave, context) as server:
            for _ in range(2):
                assert success(transport, post(server.url(scheme="https")), seconds=2).status == 200
        transport.close()

    def test_a_call_cut_at_its_deadline_does_not_hurt_the_next(self, transport: RequestsTransport) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                peer.wait() if peer.number == 1 else peer.send(OK)

        with serve(behave) as server:
            failure(transport, post(server.url()), seconds=0.05)
            assert success(transport, post(server.url())).body == b"ok"

    def test_no_descriptor_is_left_behind(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as good, serve(UNCLEAR["body byte by byte"]) as dripping, serve(reset_at_once) as bad:
            requests = [post(server.url()) for server in (good, dripping, bad)] * 5
            make(transport, *requests, seconds=0.05)
            before = _descriptors()
            make(transport, *requests, seconds=0.05)

            _until(lambda: _descriptors() <= before + 2)  # the server's ends take a moment longer

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_works_in_a_child_after_a_fork(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            success(transport, post(server.url()))
            child = os.fork()
            if not child:
                [answered] = make(transport, post(server.url()), seconds=2)
                os._exit(0 if isinstance(answered.result, HttpResponse) else 1)

            assert os.waitpid(child, 0)[1] == 0
            success(transport, post(server.url()))

            assert server.connection_count == 2  # the child does not use its parent's


class TestManyAtOnce:
    def test_makes_as_many_calls_at_once_as_it_says(self, transport: RequestsTransport) -> None:
        together = threading.Barrier(16)

        def behave(peer: Peer) -> None:
            while peer.read():
                together.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            answers = make(transport, *[post(server.url())] * 48, seconds=2)

            assert server.connection_count == 16
        assert all(isinstance(answer.result, HttpResponse) for answer in answers)

    def test_every_call_is_answered_once(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as good, serve(reset_at_once) as bad:
            requests = [post((good, bad)[number % 2].url(f"/{number}")) for number in range(100)]
            answers = make(transport, *requests, seconds=2)

            assert len(good.requests) == len(bad.requests) == 50
        assert [isinstance(answer.result, HttpResponse) for answer in answers] == [True, False] * 50

    def test_a_surprise_inside_a_thread_loses_no_call(
        self, transport: RequestsTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serve(answer(OK)) as server:
            with monkeypatch.context() as patched:
                patched.setattr("providers.transport.requests_._prepared", _raise(MemoryError))
                [before] = make(transport, post(server.url()))
                patched.setattr("providers.transport.requests_._prepared", _raise(SystemExit))
                [exiting] = make(transport, post(server.url()))
            with monkeypatch.context() as patched:
                patched.setattr("providers.transport.requests_._body", _raise(RecursionError))
                [after] = make(transport, post(server.url()))
            answers = make(transport, *[post(server.url())] * 40)

        assert type(before.result) is type(exiting.result) is Unavailable
        assert type(after.result) is OutcomeUnknown
        assert all(isinstance(answer.result, HttpResponse) for answer in answers)  # and no thread died

    def test_early_answers_do_not_wait_for_a_late_one(self, transport: RequestsTransport) -> None:
        over = threading.Event()

        def behave(peer: Peer) -> None:
            while request := peer.read():
                if b"/slow" in request:
                    over.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            calls = [Call(path, post(server.url(path)), 2) for path in ("/slow", "/1", "/2", "/3")]
            batches = transport.send_many(calls, flush_seconds=0.05)
            early = next(batches)
            over.set()
            late = [answer for batch in batches for answer in batch]

        assert {answer.key for answer in early} == {"/1", "/2", "/3"}
        assert [answer.key for answer in late] == ["/slow"]

    def test_hands_over_by_count(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            calls = [Call(number, post(server.url()), 2) for number in range(50)]
            sizes = [len(batch) for batch in transport.send_many(calls, flush_seconds=10, flush_count=20)]

        assert sizes == [20, 20, 10]

    def test_one_call_does_not_wait_for_the_flush(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            began_at = time.monotonic()
            list(transport.send_many([Call(1, post(server.url()), 2)], flush_seconds=10))

        assert time.monotonic() - began_at < 1

    def test_no_calls_no_answers(self, transport: RequestsTransport) -> None:
        assert list(transport.send_many([])) == []

    def test_whoever_stops_listening_stops_the_calls_that_have_not_begun(self) -> None:
        transport = RequestsTransport(concurrency=1)
        with serve(answer(OK)) as server:
            batches = transport.send_many([Call(n, post(server.url()), 2) for n in range(50)], flush_count=1)
            next(batches)
            batches.close()  # type: ignore[attr-defined]
            success(transport, post(server.url("/afterwards")))

            assert len(server.requests) < 50
        transport.close()

    def test_two_callers_share_one_transport(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            counts: list[int] = []
            threads = [
                threading.Thread(
                    target=lambda: counts.append(len(make(transport, *[post(server.url())] * 30, seconds=2)))
                )
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        assert counts == [30, 30]

    def test_threads_are_reused_and_end_with_the_process(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            make(transport, post(server.url()))
            threads = {thread for thread in threading.enumerate() if thread.name.startswith("transport-")}
            make(transport, *[post(server.url())] * 30)
            later = {thread for thread in threading.enumerate() if thread.name.startswith("transport-")}

        assert {thread for thread in later if "look-up" not in thread.name} <= threads
        assert all(thread.daemon for thread in threads)

    def test_closing_begins_nothing_more_and_still_answers_every_call(self) -> None:
        transport = RequestsTransport(concurrency=1)
        over = threading.Event()

        def behave(peer: Peer) -> None:
            while request := peer.read():
                if b"/second" in request:
                    over.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            calls = [Call(path, post(server.url(path)), 2) for path in ("/first", "/second", "/third", "/fourth")]
            batches = transport.send_many(calls, flush_seconds=0)
            answers = next(batches)
            _until(lambda: len(server.requests) == 2)
            transport.close()
            over.set()
            answers += [answer for batch in batches for answer in batch]

        ends = {answer.key: type(answer.result) for answer in answers}
        assert ends == {"/first": HttpResponse, "/second": HttpResponse, "/third": NotStarted, "/fourth": NotStarted}

    def test_can_be_closed_and_used_again(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            success(transport, post(server.url()))
            transport.close()
            transport.close()
            success(transport, post(server.url()))

            assert server.connection_count == 2


def test_urllib3_logs_no_addresses(transport: RequestsTransport, caplog: pytest.LogCaptureFixture) -> None:
    """It would log "POST /…?To=… HTTP/1.1" at DEBUG and the whole URL of an answer with bad headers at WARNING."""
    with (
        caplog.at_level(logging.DEBUG),
        serve(answer(b"HTTP/1.1 200 OK\r\nbad header\r\nContent-Length: 2\r\n\r\nok")) as server,
    ):
        make(transport, post(server.url(f"/?To={SECRET}")))

    assert SECRET not in caplog.text


def _raise(error: type[BaseException]) -> Callable[..., None]:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it


def _until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 2
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.005)


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))

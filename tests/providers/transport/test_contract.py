"""What every transport owes the product, against a server that misbehaves in every way we know of."""

from __future__ import annotations

import gzip
import io
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from providers.errors import NotStarted, OutcomeUnknown, Unavailable
from providers.messages import HttpRequest, HttpResponse
from providers.transport.base import ANSWER_LIMIT_BYTES, Call, Transport
from providers.transport.inbox import send_many
from tests.providers.transport.calls import DEADLINE, SECRET, failure, make, post, success
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.conftest import OpenTransport
from tests.providers.transport.misbehaving import (
    CHUNKED,
    OK,
    UNCLEAR,
    Behaviour,
    Peer,
    after_reading,
    answer,
    reset_at_once,
    serve,
    silent_port,
)


@pytest.fixture(scope="module")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's context and the file that a client would trust."""
    return for_loopback(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def trusting(open_transport: OpenTransport, loopback: tuple[ssl.SSLContext, Path]) -> Transport:
    return open_transport(ca_file=str(loopback[1]))


class TestBeforeTheFirstByte:
    """Nothing was sent, so nothing can have been accepted: Unavailable."""

    def test_refused_port(self, transport: Transport) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]

        error = failure(transport, post(f"http://127.0.0.1:{port}/?to={SECRET}"))

        assert type(error) is Unavailable
        assert str(error) == "connecting: ECONNREFUSED"

    def test_refused_port_of_a_host_we_are_connected_to(self, transport: Transport) -> None:
        with serve(after_reading(OK)) as server:
            success(transport, post(server.url()))
            server.stop()
            time.sleep(0.02)  # for the FIN to arrive

            assert type(failure(transport, post(server.url()))) is Unavailable

    def test_unknown_name(self, transport: Transport) -> None:
        error = failure(transport, post(f"https://nobody.invalid/?to={SECRET}"))

        assert type(error) is Unavailable
        assert str(error).startswith("looking up the name: ")

    def test_port_that_does_not_answer(self, transport: Transport) -> None:
        with silent_port() as port:
            error = failure(transport, post(f"http://127.0.0.1:{port}/"), seconds=0.1)

        assert type(error) is Unavailable
        assert str(error) == "connecting: the deadline passed"

    def test_tls_to_a_plain_port(self, transport: Transport) -> None:
        with serve(lambda peer: peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server:
            error = failure(transport, post(server.url(scheme="https")))

        assert type(error) is Unavailable
        assert str(error).startswith("securing the connection: ")

    def test_tls_handshake_that_never_ends(self, transport: Transport) -> None:
        with serve(lambda peer: peer.drip(b"\x16\x03\x03\x40\x00" + b"\0" * 1000)) as server:
            error = failure(transport, post(server.url(scheme="https")))

        assert type(error) is Unavailable
        assert str(error) == "securing the connection: the deadline passed"

    def test_certificate_of_nobody_we_trust(self, transport: Transport, loopback: tuple[ssl.SSLContext, Path]) -> None:
        with serve(answer(OK), loopback[0]) as server:
            error = failure(transport, post(server.url(scheme="https")), seconds=2)

            assert server.requests == []
        assert type(error) is Unavailable
        assert str(error).startswith("securing the connection: ")

    def test_certificate_for_another_name(self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path]) -> None:
        with serve(answer(OK), loopback[0]) as server:
            error = failure(trusting, post(server.url(scheme="https", host="localhost")), seconds=2)

            assert server.requests == []
        assert type(error) is Unavailable
        assert str(error).startswith("securing the connection: ")

    def test_hopeless_port_that_many_wait_for(self, transport: Transport) -> None:
        with serve(lambda peer: peer.drip(b"\x16\x03\x03\x40\x00" + b"\0" * 1000)) as server:
            answers = make(transport, *[post(server.url(scheme="https"))] * 5, seconds=0.1)

        assert {type(answer.result) for answer in answers} == {Unavailable}
        assert all(answer.seconds < 0.3 for answer in answers)

    def test_no_time_at_all(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            assert type(failure(transport, post(server.url()), seconds=0)) is Unavailable

            assert server.connection_count == 0

    @pytest.mark.parametrize("header", ["caf\u00e9 \u2705", "a\r\nHost: evil", "a\nHost: evil"])
    def test_request_that_cannot_be_written(self, transport: Transport, header: str) -> None:
        with serve(answer(OK)) as server:
            error = failure(transport, post(server.url(), headers={"X-Title": header}))

            assert type(error) is Unavailable
            assert str(error) in ("writing the request: UnicodeEncodeError", "writing the request: ValueError")
            assert server.requests == []
            assert success(transport, post(server.url())).body == b"ok"  # and the next call is not hurt

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "nonsense",
            "127.0.0.1:1/",
            "ftp://127.0.0.1/",
            "file:///etc/hosts",
            "http://[::1",
            "http://",
            "http://127.0.0.1:99999/",
        ],
    )
    def test_address_that_is_none(self, transport: Transport, url: str) -> None:
        assert type(failure(transport, post(url))) is Unavailable

    def test_start_by_has_passed(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            calls = [Call("late", post(server.url()), DEADLINE, start_by=time.monotonic() - 0.001)]
            [[late]] = send_many(transport, calls)

            assert server.connection_count == 0
        assert type(late.result) is NotStarted

    def test_start_by_is_read_when_a_turn_comes(self, open_transport: OpenTransport) -> None:
        now = [100.0]
        transport = open_transport(concurrency=1, monotonic=lambda: now[0])

        def behave(peer: Peer) -> None:
            while peer.read():
                now[0] += 2  # each call takes two seconds
                peer.send(OK)

        with serve(behave) as server:
            calls = [Call(number, post(server.url()), 10, start_by=101) for number in range(3)]
            results = {answer.key: answer.result for batch in send_many(transport, calls) for answer in batch}

            assert len(server.requests) == 1
        assert isinstance(results[0], HttpResponse)
        assert type(results[1]) is type(results[2]) is NotStarted


class TestAfterTheFirstByte:
    """Bytes left and no complete answer came back: OutcomeUnknown."""

    @pytest.mark.parametrize("behave", UNCLEAR.values(), ids=UNCLEAR.keys())
    def test_unclear(self, transport: Transport, behave: Behaviour) -> None:
        with serve(behave) as server:
            error = failure(transport, post(server.url(f"/Messages.json?to={SECRET}")))

        assert type(error) is OutcomeUnknown

    def test_says_how_far_it_got(self, transport: Transport) -> None:
        with serve(UNCLEAR["no answer at all"]) as silent, serve(UNCLEAR["body byte by byte"]) as dripping:
            assert str(failure(transport, post(silent.url()))) == "waiting for the answer: the deadline passed"
            assert str(failure(transport, post(dripping.url()))) == "reading the answer: the deadline passed"

    def test_small_answer_that_unfolds_to_a_large_one(self, transport: Transport) -> None:
        bomb = gzip.compress(b"\0" * 50 * ANSWER_LIMIT_BYTES)
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
        with serve(after_reading(head + bomb)) as server:
            error = failure(transport, post(server.url()))

            assert b"Accept-Encoding: identity" in server.requests[0]
        assert type(error) is OutcomeUnknown
        assert str(error) == "reading the answer: the answer is too long"

    def test_reset_on_a_connection_that_had_idled(self, transport: Transport) -> None:
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

    @pytest.mark.parametrize("how", [Peer.reset, Peer.close], ids=["reset", "closed"])
    @pytest.mark.parametrize("method", ["POST", "GET"])
    def test_no_request_is_sent_twice(self, transport: Transport, method: str, how: Callable[[Peer], None]) -> None:
        """When a kept-alive connection dies some clients try another one, and send what the server has read already."""

        def behave(peer: Peer) -> None:
            peer.read()
            together.wait(2)
            peer.send(OK)
            peer.read()
            how(peer)

        together = threading.Barrier(4)
        with serve(behave) as server:
            make(transport, *[HttpRequest(method, server.url("/first"), {})] * 4, seconds=2)
            server.requests.clear()
            error = failure(transport, HttpRequest(method, server.url("/second"), {}))
            time.sleep(0.05)

            assert type(error) is OutcomeUnknown
            assert len(server.requests) == 1
            assert server.connection_count == 4

    def test_reset_after_the_head_of_the_request(self, transport: Transport) -> None:
        def behave(peer: Peer) -> None:
            peer.connection.recv(100)
            peer.reset()

        with serve(behave) as server:
            assert type(failure(transport, post(server.url(), body=b"x" * 5_000_000), seconds=2)) is OutcomeUnknown

            assert server.connection_count == 1

    def test_an_interim_answer_is_not_taken_for_the_answer_of_this_or_the_next_call(self, transport: Transport) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" if peer.number == 1 else OK)
                if peer.number == 1:
                    time.sleep(0.02)
                    peer.send(b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nfirst")

        with serve(behave) as server:
            [first] = make(transport, post(server.url()))
            [second] = make(transport, post(server.url()))

        ends = [getattr(answer.result, "body", type(answer.result)) for answer in (first, second)]
        # Who cannot read on after an interim answer says so, and gives the connection up.
        assert ends in ([OutcomeUnknown, b"ok"], [b"first", b"first"])


class TestCompleteAnswers:
    """A complete answer counts, whatever it says."""

    @pytest.mark.parametrize("status", [200, 201, 301, 302, 307, 308, 400, 401, 404, 422, 429, 500, 502, 503, 599])
    def test_passes_every_status_through(self, transport: Transport, status: int) -> None:
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
    def test_reads_every_framing(self, transport: Transport, reply: bytes) -> None:
        with serve(after_reading(reply)) as server:
            assert success(transport, post(server.url())).body == b"ok"

    def test_answers_without_a_body(self, transport: Transport) -> None:
        with serve(answer(b"HTTP/1.1 204 No Content\r\n\r\n")) as server:
            assert success(transport, post(server.url())).body == b""
        with serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")) as server:
            assert success(transport, HttpRequest("HEAD", server.url(), {})).body == b""

    def test_leaves_an_encoding_it_does_not_know(self, transport: Transport) -> None:
        with serve(
            after_reading(b"HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\nContent-Length: 2\r\n\r\nok")
        ) as server:
            assert success(transport, post(server.url())).body == b"ok"

    def test_reads_headers_as_they_come(self, transport: Transport) -> None:
        reply = b"HTTP/1.1 200 OK\r\nX-NAME:  caf\xe9 : x\r\nEmpty:\r\nTwice: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        with serve(after_reading(reply + b"2\r\nok\r\n0\r\nX-Name: trailer\r\n\r\n")) as server:
            headers = success(transport, post(server.url())).headers

        assert (headers["x-name"], headers["empty"], headers["twice"]) == ("caf\u00e9 : x", "", "1")

    def test_reads_an_answer_as_long_as_allowed(self, transport: Transport) -> None:
        with serve(after_reading(b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + b"x" * 1048576)) as server:
            assert len(success(transport, post(server.url()), seconds=2).body) == ANSWER_LIMIT_BYTES

    def test_a_refusal_before_the_whole_request_was_read_counts(self, transport: Transport) -> None:
        def behave(peer: Peer) -> None:
            peer.connection.recv(1000)
            peer.send(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
            peer.connection.shutdown(socket.SHUT_WR)
            while peer.connection.recv(65536):
                pass

        with serve(behave) as server:
            assert success(transport, post(server.url(), body=b"x" * 5_000_000), seconds=2).status == 413

    def test_an_answer_before_the_whole_request_was_read_counts(self, transport: Transport) -> None:
        def behave(peer: Peer) -> None:
            peer.connection.recv(1000)
            peer.send(OK)
            while peer.connection.recv(65536):
                pass

        with serve(behave) as server:
            assert success(transport, post(server.url(), body=b"x" * 5_000_000), seconds=2).body == b"ok"

    def test_sends_what_it_was_given(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            success(transport, post(server.url("/a/b?c=d%20e"), b"body", {"Authorization": "Basic x"}))
            success(transport, HttpRequest("GET", server.url("/g"), {}))
            success(
                transport,
                HttpRequest("PUT", server.url("/../%2F%2F?to=%2B49"), {"X-Empty": "", "X-Name": "caf\u00e9"}, b"\0"),
            )
            success(transport, HttpRequest("DELETE", server.url("/d"), {"user-agent": "Ours"}))

        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /a/b?c=d%20e HTTP/1.1\r\n")
        assert {b"Authorization: Basic x", b"Content-Length: 4", b"Accept-Encoding: identity"} <= set(
            head.split(b"\r\n")
        )
        assert body == b"body"
        assert server.requests[1].startswith(b"GET /g HTTP/1.1\r\n")
        assert b"Content-Length" not in server.requests[1]
        assert server.requests[2].startswith(b"PUT /../%2F%2F?to=%2B49 HTTP/1.1\r\n")
        assert server.requests[2].endswith(b"\r\n\r\n\0")
        assert {b"X-Empty: ", b"X-Name: caf\xe9"} <= {
            line.replace(b"Empty:", b"Empty: ").replace(b":  ", b": ") for line in server.requests[2].split(b"\r\n")
        }
        assert server.requests[3].startswith(b"DELETE /d HTTP/1.1\r\n")
        assert b"\r\nuser-agent: Ours\r\n" in server.requests[3]
        assert b"Landfall" not in server.requests[3]

    def test_adds_nothing_that_a_provider_might_take_to_heart(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            success(transport, HttpRequest("POST", server.url(), {}, b"x" * 2_000_000), seconds=2)

        head = server.requests[0].partition(b"\r\n\r\n")[0].lower()
        assert {line.split(b":")[0] for line in head.split(b"\r\n")[1:]} == {
            b"host",
            b"user-agent",
            b"accept-encoding",
            b"content-length",
        }

    def test_asks_no_proxy(self, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch) -> None:
        with silent_port() as port, serve(answer(OK)) as server:
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{port}")

            assert success(open_transport(), post(server.url())).body == b"ok"

    def test_tls_with_a_certificate_we_trust(self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path]) -> None:
        with serve(answer(OK), loopback[0]) as server:
            assert success(trusting, post(server.url(scheme="https")), seconds=2).body == b"ok"
            assert success(trusting, post(server.url(scheme="https")), seconds=2).body == b"ok"

            assert server.connection_count == 1

    def test_the_deadline_holds_over_tls(self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path]) -> None:
        with serve(UNCLEAR["headers byte by byte"], loopback[0]) as server:
            assert type(failure(trusting, post(server.url(scheme="https")))) is OutcomeUnknown


class TestConnections:
    def test_many_calls_one_after_the_other_use_one_connection(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            for _ in range(20):
                success(transport, post(server.url()))

            assert (server.connection_count, len(server.requests)) == (1, 20)

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_an_idle_connection_the_server_closed_is_replaced(
        self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path], scheme: str
    ) -> None:
        with serve(after_reading(OK), loopback[0] if scheme == "https" else None) as server:
            for number in range(1, 4):
                success(trusting, post(server.url(scheme=scheme)), seconds=2)
                time.sleep(0.02)  # for the FIN to arrive

                assert server.connection_count == number

    def test_idle_connections_the_server_closed_are_replaced_all_at_once(self, transport: Transport) -> None:
        together = threading.Barrier(16)

        def behave(peer: Peer) -> None:
            peer.read()
            together.wait(2)
            peer.send(OK)

        with serve(behave) as server:
            for _ in range(2):
                answers = make(transport, *[post(server.url())] * 16, seconds=2)
                time.sleep(0.05)

                assert all(isinstance(answer.result, HttpResponse) for answer in answers)

    def test_bytes_after_an_answer_are_not_the_next_answer(self, transport: Transport) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(OK + (b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nwrong" if peer.number == 1 else b""))

        with serve(behave) as server:
            assert success(transport, post(server.url())).body == b"ok"
            assert success(transport, post(server.url())).body == b"ok"

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_bytes_long_after_an_answer_are_not_the_next_answer(
        self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path], scheme: str
    ) -> None:
        has_come = threading.Event()

        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(OK)
                if peer.number == 1:
                    time.sleep(0.02)
                    peer.send(b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nwrong")
                    has_come.set()

        with serve(behave, loopback[0] if scheme == "https" else None) as server:
            assert success(trusting, post(server.url(scheme=scheme)), seconds=2).status == 200
            has_come.wait(2)
            time.sleep(0.02)
            assert success(trusting, post(server.url(scheme=scheme)), seconds=2).status == 200

            assert server.connection_count == 2

    def test_a_record_right_after_an_answer_is_not_the_next_answer(
        self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path]
    ) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                time.sleep(0.02)
                peer.send_together(OK, b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nwrong" if peer.number == 1 else b"")

        with serve(behave, loopback[0]) as server:
            assert success(trusting, post(server.url(scheme="https")), seconds=2).status == 200
            [second] = make(trusting, post(server.url(scheme="https")), seconds=2)
            assert success(trusting, post(server.url(scheme="https")), seconds=2).status == 200

        # Who reads ahead cannot tell before the next request has left.
        assert type(second.result) is OutcomeUnknown or second.result.status == 200

    def test_bytes_after_an_answer_are_not_the_next_answer_over_tls(
        self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path]
    ) -> None:
        rest_of_a_buffer = b"x" * (io.DEFAULT_BUFFER_SIZE - len(OK))  # one TLS record, read in two goes

        def behave(peer: Peer) -> None:
            while peer.read():
                peer.send(OK + rest_of_a_buffer + b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nwrong")

        with serve(behave, loopback[0]) as server:
            for _ in range(2):
                assert success(trusting, post(server.url(scheme="https")), seconds=2).status == 200

    def test_a_call_cut_at_its_deadline_does_not_hurt_the_next(self, transport: Transport) -> None:
        def behave(peer: Peer) -> None:
            while peer.read():
                peer.wait() if peer.number == 1 else peer.send(OK)

        with serve(behave) as server:
            failure(transport, post(server.url()), seconds=0.05)
            assert success(transport, post(server.url())).body == b"ok"

    def test_no_descriptor_is_left_behind(self, transport: Transport) -> None:
        with serve(answer(OK)) as good, serve(UNCLEAR["body byte by byte"]) as dripping, serve(reset_at_once) as bad:
            requests = [post(server.url()) for server in (good, dripping, bad)] * 5
            make(transport, *requests, seconds=0.05)
            before = _descriptors()
            make(transport, *requests, seconds=0.05)

            _until(lambda: _descriptors() <= before + 2)  # the server's ends take a moment longer

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_works_in_a_child_after_a_fork(self, transport: Transport) -> None:
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
    def test_makes_as_many_calls_at_once_as_it_says(self, transport: Transport) -> None:
        together = threading.Barrier(16)

        def behave(peer: Peer) -> None:
            while peer.read():
                together.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            answers = make(transport, *[post(server.url())] * 48, seconds=2)

            assert server.connection_count == 16
        assert all(isinstance(answer.result, HttpResponse) for answer in answers)

    def test_makes_as_many_calls_at_once_over_tls(
        self, trusting: Transport, loopback: tuple[ssl.SSLContext, Path]
    ) -> None:
        together = threading.Barrier(16)

        def behave(peer: Peer) -> None:
            while peer.read():
                together.wait(2)
                peer.send(OK)

        with serve(behave, loopback[0]) as server:
            answers = make(trusting, *[post(server.url(scheme="https"))] * 32, seconds=5)

        assert all(isinstance(answer.result, HttpResponse) for answer in answers)

    def test_every_call_is_answered_once(self, transport: Transport) -> None:
        with serve(answer(OK)) as good, serve(reset_at_once) as bad:
            requests = [post((good, bad)[number % 2].url(f"/{number}")) for number in range(100)]
            answers = make(transport, *requests, seconds=2)

            assert len(good.requests) == len(bad.requests) == 50
        assert [isinstance(answer.result, HttpResponse) for answer in answers] == [True, False] * 50

    def test_early_answers_do_not_wait_for_a_late_one(self, transport: Transport) -> None:
        over = threading.Event()

        def behave(peer: Peer) -> None:
            while request := peer.read():
                if b"/slow" in request:
                    over.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            calls = [Call(path, post(server.url(path)), 2) for path in ("/slow", "/1", "/2", "/3")]
            batches = send_many(transport, calls, flush_seconds=0.05)
            early = next(batches)
            over.set()
            late = [answer for batch in batches for answer in batch]

        assert {answer.key for answer in early} == {"/1", "/2", "/3"}
        assert [answer.key for answer in late] == ["/slow"]

    def test_hands_over_by_count(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            calls = [Call(number, post(server.url()), 2) for number in range(50)]
            sizes = [len(batch) for batch in send_many(transport, calls, flush_seconds=10, flush_count=20)]

        assert sizes == [20, 20, 10]

    def test_one_call_does_not_wait_for_the_flush(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            began_at = time.monotonic()
            list(send_many(transport, [Call(1, post(server.url()), 2)], flush_seconds=10))

        assert time.monotonic() - began_at < 1

    def test_no_calls_no_answers(self, transport: Transport) -> None:
        assert list(send_many(transport, [])) == []

    def test_whoever_stops_listening_stops_the_calls_that_have_not_begun(self, open_transport: OpenTransport) -> None:
        transport = open_transport(concurrency=1)
        with serve(answer(OK)) as server:
            batches = send_many(transport, [Call(n, post(server.url()), 2) for n in range(50)], flush_count=1)
            next(batches)
            batches.close()  # type: ignore[attr-defined]
            success(transport, post(server.url("/afterwards")))

            assert len(server.requests) < 50

    def test_two_callers_share_one_transport(self, transport: Transport) -> None:
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

    def test_a_second_batch_goes_out_while_the_first_is_under_way(self, transport: Transport) -> None:
        over = threading.Event()

        def behave(peer: Peer) -> None:
            while request := peer.read():
                if b"/slow" in request:
                    over.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            first = send_many(
                transport, [Call(path, post(server.url(path)), 2) for path in ("/slow", "/1")], flush_seconds=0
            )
            assert [answer.key for answer in next(first)] == ["/1"]
            second = send_many(transport, [Call("/2", post(server.url("/2")), 2)])
            assert [answer.key for batch in second for answer in batch] == ["/2"]
            over.set()

            assert [answer.key for batch in first for answer in batch] == ["/slow"]

    def test_calls_go_on_while_nobody_asks(self, transport: Transport) -> None:
        """Whoever records answers for longer than a deadline still gets those that came in time."""
        with serve(answer(OK)) as server:
            calls = [Call(number, post(server.url()), DEADLINE) for number in range(50)]
            batches = send_many(transport, calls, flush_count=1)
            answers = next(batches)
            _until(lambda: len(server.requests) == 50)
            time.sleep(DEADLINE)
            answers += [answer for batch in batches for answer in batch]

        assert all(isinstance(answer.result, HttpResponse) for answer in answers)

    def test_closing_begins_nothing_more_and_still_answers_every_call(self, open_transport: OpenTransport) -> None:
        transport = open_transport(concurrency=1)
        over = threading.Event()

        def behave(peer: Peer) -> None:
            while request := peer.read():
                if b"/second" in request:
                    over.wait(2)
                peer.send(OK)

        with serve(behave) as server:
            calls = [Call(path, post(server.url(path)), 2) for path in ("/first", "/second", "/third", "/fourth")]
            batches = send_many(transport, calls, flush_seconds=0)
            answers = next(batches)
            _until(lambda: len(server.requests) == 2)
            transport.close()
            over.set()
            answers += [answer for batch in batches for answer in batch]

        ends = {answer.key: type(answer.result) for answer in answers}
        assert ends == {"/first": HttpResponse, "/second": HttpResponse, "/third": NotStarted, "/fourth": NotStarted}

    def test_can_be_closed_and_used_again(self, transport: Transport) -> None:
        with serve(answer(OK)) as server:
            success(transport, post(server.url()))
            transport.close()
            transport.close()
            success(transport, post(server.url()))

            assert server.connection_count == 2


def _until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 2
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.005)


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))

"""What is special to the transport over requests; the rest is in the contract."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from providers.errors import OutcomeUnknown, Unavailable
from providers.messages import HttpResponse
from providers.transport.requests_ import RequestsTransport
from tests.providers.transport.calls import SECRET, failure, make, post, success
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.misbehaving import OK, answer, serve, silent_port


@pytest.fixture
def transport() -> Iterator[RequestsTransport]:
    transport = RequestsTransport(concurrency=16)
    yield transport
    transport.close()


class TestLookUp:
    def test_name_look_up_counts_against_the_deadline(
        self, transport: RequestsTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        over = threading.Event()
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(5) and [])

        error = failure(transport, post("http://slow.invalid/"), seconds=0.1)
        over.set()

        assert type(error) is Unavailable
        assert str(error) == "looking up the name: the deadline passed"

    def test_second_address_is_tried_in_the_time_that_is_left(
        self, transport: RequestsTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serve(answer(OK)) as server, silent_port() as silent:
            found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in (silent, server.port)]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

            assert success(transport, post(server.url(host="two-addresses.invalid"))).body == b"ok"


def test_names_what_is_wrong_with_a_certificate(transport: RequestsTransport, tmp_path: Path) -> None:
    context, _ = for_loopback(tmp_path)
    with serve(answer(OK), context) as server:
        error = failure(transport, post(server.url(scheme="https")), seconds=2)

    assert "SSLCertVerificationError" in str(error)


def test_an_interim_answer_ends_the_call(transport: RequestsTransport) -> None:
    """http.client takes it for the answer, and would take the answer for the next call's."""
    with serve(answer(b"HTTP/1.1 103 Early Hints\r\n\r\n" + OK)) as server:
        assert str(failure(transport, post(server.url()))) == "reading the answer: HTTP 103 is no answer"


class TestThreads:
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

    def test_threads_are_reused_and_end_with_the_process(self, transport: RequestsTransport) -> None:
        with serve(answer(OK)) as server:
            make(transport, post(server.url()))
            threads = {thread for thread in threading.enumerate() if thread.name.startswith("transport-")}
            make(transport, *[post(server.url())] * 30)
            later = {thread for thread in threading.enumerate() if thread.name.startswith("transport-")}

        assert {thread for thread in later if "look-up" not in thread.name} <= threads
        assert all(thread.daemon for thread in threads)


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

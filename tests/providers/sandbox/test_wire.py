"""HTTP by hand, on both sides."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import requests

from providers.sandbox import Sandbox
from providers.sandbox.poster import NO_ANSWER, NOT_CONNECTED, Poster

COUNTS = b"GET /_sandbox/counts HTTP/1.1\r\nHost: sandbox\r\n"


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[socket.socket]:
    host, port = sandbox.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        yield client


def read_all(client: socket.socket) -> bytes:
    """Until the server closes."""
    data = b""
    while more := client.recv(65536):
        data += more
    return data


class TestServer:
    def test_keeps_the_connection_and_reads_what_came_early(self, client: socket.socket) -> None:
        client.sendall(COUNTS + b"\r\n" + COUNTS + b"Connection: close\r\n\r\n")

        assert read_all(client).count(b"HTTP/1.1 200 OK\r\n") == 2

    def test_closes_when_asked(self, client: socket.socket) -> None:
        client.sendall(COUNTS.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n")

        assert read_all(client).startswith(b"HTTP/1.1 200 OK\r\n")

    def test_reads_a_request_that_comes_in_pieces(self, client: socket.socket) -> None:
        request = b"POST /_sandbox/reset HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd"

        for byte in request:
            client.sendall(bytes([byte]))

        assert read_all(client).startswith(b"HTTP/1.1 200 OK\r\n")

    def test_asks_for_the_body_of_a_client_that_waits(self, client: socket.socket) -> None:
        client.sendall(b"POST /_sandbox/reset HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"

        client.sendall(b"x")

        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (b"hello\r\n\r\n", 400),
            (b"GET / HTTP/2\r\n\r\n", 400),
            (COUNTS + b"no colon\r\n\r\n", 400),
            (COUNTS + b"Content-Length: -1\r\n\r\n", 400),
            (COUNTS + b"Transfer-Encoding: chunked\r\n\r\n", 411),
            (COUNTS + b"Content-Length: 99999999\r\n\r\n", 413),
            (b"GET / HTTP/1.1\r\nX: " + b"x" * 66_000, 431),
        ],
    )
    def test_refuses_what_is_not_a_request(self, client: socket.socket, request_: bytes, status: int) -> None:
        client.sendall(request_)

        assert client.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())

    def test_knows_no_other_place(self, sandbox: Sandbox) -> None:
        for path in ("/", "/nobody/email", "/_sandbox/nothing"):
            assert requests.get(sandbox.url + path, timeout=10).status_code == 404


class TestPoster:
    """Against answers byte by byte."""

    @pytest.fixture
    def answers(self) -> Iterator[Callable[..., str]]:
        threads = []
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def serve(rounds: tuple[list[bytes], ...]) -> None:
                for answers in rounds:
                    connection, _ = listener.accept()
                    with connection:
                        for answer in answers:
                            connection.recv(65536)
                            connection.sendall(answer)

            def start(*rounds: list[bytes]) -> str:
                """One list per connection: its answers, after which it is closed."""
                threads.append(threading.Thread(target=serve, args=(rounds,)))
                threads[-1].start()
                return f"http://127.0.0.1:{listener.getsockname()[1]}/x"

            yield start
            for thread in threads:
                thread.join()

    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ],
    )
    def test_keeps_the_connection(self, answers: Callable[..., str], answer: bytes) -> None:
        poster = Poster()
        url = answers([answer, answer])

        outcomes = [poster.post(url, {}, b"body") for _ in range(2)]

        poster.close()
        assert outcomes == [answer[9:12].decode()] * 2

    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        ],
    )
    def test_takes_a_fresh_connection_after_one_that_closes(self, answers: Callable[..., str], answer: bytes) -> None:
        poster = Poster()
        url = answers([answer], [answer])

        assert [poster.post(url, {}, b"body") for _ in range(2)] == ["200", "200"]

    def test_goes_out_again_when_a_kept_connection_was_closed(self, answers: Callable[..., str]) -> None:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        poster = Poster()
        url = answers([answer], [answer])

        outcomes = [poster.post(url, {}, b"body") for _ in range(2)]

        poster.close()
        assert outcomes == ["200", "200"]

    @pytest.mark.parametrize("answer", [b"", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"])
    def test_reports_no_answer(self, answers: Callable[..., str], answer: bytes) -> None:
        assert Poster().post(answers([answer]), {}, b"body") == NO_ANSWER

    @pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://127.0.0.1:99999/"])
    def test_reports_no_connection(self, url: str) -> None:
        assert Poster().post(url, {}, b"body") == NOT_CONNECTED

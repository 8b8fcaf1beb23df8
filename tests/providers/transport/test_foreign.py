"""Requests whose address somebody else gave, by both transports: where they may go, and what of the answer counts."""

from __future__ import annotations

import gzip
import socket
import time
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from providers.errors import AddressForbidden, OutcomeUnknown, Unavailable
from providers.messages import HttpRequest
from providers.transport.base import Transport
from providers.transport.foreign import FOREIGN_ANSWER_BYTES, ForeignRules
from tests.providers.transport.calls import failure, make, post, success
from tests.providers.transport.certificates import for_loopback
from tests.providers.transport.conftest import OpenTransport
from tests.providers.transport.misbehaving import CHUNKED, OK, Server, after_reading, answer, dripping, serve

LOOPBACK = ip_network("127.0.0.1/32")


def foreign(url: str) -> HttpRequest:
    return replace(post(url), is_foreign=True)


def open_to(open_transport: OpenTransport, server: Server, *networks: Any, **arguments: Any) -> Transport:
    """A transport that may call the server's port over HTTP, at addresses of these networks."""
    return open_transport(foreign=ForeignRules(networks, allows_http=True, ports=frozenset({server.port})), **arguments)


class TestAddresses:
    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1",
            "localhost",
            "0.0.0.0",
            "0",
            "127.1",
            "0177.0.0.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "127.0.0.1.",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
        ],
    )
    def test_this_machine_in_every_spelling(self, open_transport: OpenTransport, host: str) -> None:
        with serve(answer(OK)) as server:
            error = failure(open_to(open_transport, server), foreign(server.url(host=host)), seconds=2)

            assert server.connection_count == 0
        assert type(error) in (AddressForbidden, Unavailable)  # some spellings no resolver knows
        if host[0] in "1l[" and host[-1] != ".":
            assert type(error) is AddressForbidden
            assert str(error) == "the address is not public"

    def test_what_an_operator_allows(self, open_transport: OpenTransport) -> None:
        with serve(answer(OK)) as server:
            transport = open_to(open_transport, server, LOOPBACK)

            assert success(transport, foreign(server.url())).body == b"ok"
            assert success(transport, foreign(server.url())).body == b"ok"
            assert server.connection_count == 1

    def test_of_several_addresses_those_that_are_allowed(
        self, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serve(answer(OK)) as server:
            allowed = (
                ip_network("127.0.0.1"),
                ip_network("::1"),
            )  # curl asks the system itself, which knows either or both
            resolve(monkeypatch, ["127.0.0.2", "127.0.0.1"])

            assert success(
                open_to(open_transport, server, *allowed), foreign(server.url(host="localhost")), seconds=2
            ).body

    def test_is_connected_to_the_address_that_was_checked(
        self, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name that answers otherwise the next time is asked once only, and whatever is connected to was checked."""
        looked = resolve(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
        checked: list[str] = []

        class Watched(ForeignRules):
            def address_fault(self, address: str, port: int) -> str:
                checked.append(address)
                return super().address_fault(address, port)

        with serve(answer(OK)) as server:
            rules = Watched((LOOPBACK, ip_network("::1")), True, frozenset({server.port}))
            success(open_transport(foreign=rules), foreign(server.url(host="localhost")), seconds=2)

            assert server.connection_count == 1
        assert len(looked) <= 1  # curl asks the system, within itself
        assert set(checked) <= {"127.0.0.1", "::1"}
        assert "127.0.0.1" in checked

    def test_a_connection_that_was_free_to_go_there_is_not_used(self, open_transport: OpenTransport) -> None:
        with serve(answer(OK)) as server:
            transport = open_to(open_transport, server)
            success(transport, post(server.url()))

            assert type(failure(transport, foreign(server.url()))) is AddressForbidden
            assert success(transport, post(server.url())).body == b"ok"
            assert len(server.requests) == 2

    def test_other_requests_go_anywhere(self, open_transport: OpenTransport) -> None:
        with serve(answer(OK)) as server:
            transport = open_transport(concurrency=1)  # one handle for all
            failure(transport, foreign(server.url()))

            assert success(transport, post(server.url())).body == b"ok"

    def test_a_refused_connection_is_none_that_is_forbidden(self, open_transport: OpenTransport) -> None:
        with serve(answer(OK)) as server:
            transport = open_to(open_transport, server, LOOPBACK)
            server.stop()
            time.sleep(0.02)

            assert type(failure(transport, foreign(server.url()))) is Unavailable


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "fault"),
        [
            ("http://198.51.100.7/", "the address is not https"),
            ("https://ana:secret@198.51.100.7/", "the address has a user or a password in it"),
            ("https://ana@198.51.100.7/", "the address has a user or a password in it"),
            ("https://198.51.100.7:22/", "port 22 is not allowed"),
            ("https://198.51.100.7:80/", "port 80 is not allowed"),
            ("https://198.51.100.7:0/", "port 0 is not allowed"),
            ("ftp://198.51.100.7/", "the address is none"),
            ("https://198.51.100.7\\@127.0.0.1/", "the address is none"),
            ("https://198.51.100.7/a b", "the address is none"),
            ("https://198.51.100.7/\r\nHost: evil", "the address is none"),
            ("https://m\u00fcller.example/", "the address is none"),
            ("https:///path", "the address is none"),
            ("https://198.51.100.7:99999/", "the address is none"),
            ("https://[::1/", "the address is none"),
            ("", "the address is none"),
        ],
    )
    def test_refused_before_anything_is_looked_up(
        self, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch, url: str, fault: str
    ) -> None:
        looked = resolve(monkeypatch, ["127.0.0.1"])

        [answered] = make(open_transport(), foreign(url))

        assert type(answered.result) is AddressForbidden
        assert str(answered.result) == fault
        assert looked == []

    @pytest.mark.parametrize(
        ("url", "fault"),
        [
            ("http://example.org/", ""),
            ("http://example.org:443/", ""),
            ("https://example.org:80/", ""),
            ("http://example.org:8080/", "port 8080 is not allowed"),
        ],
    )
    def test_plain_http_where_it_is_allowed(self, url: str, fault: str) -> None:
        assert ForeignRules(allows_http=True).url_fault(url) == fault

    @pytest.mark.parametrize(
        "url", ["https://example.org", "https://example.org:8443/a?b=c%20d#e", "HTTPS://Example.ORG/"]
    )
    def test_usual_ones(self, url: str) -> None:
        assert ForeignRules().url_fault(url) == ""


class TestOnTheWay:
    def test_a_redirect_is_an_answer(self, open_transport: OpenTransport) -> None:
        with serve(answer(OK)) as inner:
            moved = b"HTTP/1.1 307 X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % inner.url().encode()
            with serve(answer(moved)) as server:
                assert success(open_to(open_transport, server, LOOPBACK), foreign(server.url())).status == 307

            assert inner.connection_count == 0

    @pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"])
    def test_no_proxy_of_the_environment(
        self, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        with serve(answer(OK)) as proxy, serve(answer(OK)) as server:
            monkeypatch.setenv(name, proxy.url())
            success(open_to(open_transport, server, LOOPBACK), foreign(server.url()))

            assert proxy.connection_count == 0

    def test_the_certificate_is_that_of_the_name(self, open_transport: OpenTransport, tmp_path: Path) -> None:
        context, certificate = for_loopback(tmp_path)
        names: list[str | None] = []
        context.sni_callback = lambda connection, name, _: names.append(name)
        with serve(answer(OK), context) as server:
            allowed = LOOPBACK, ip_network("::1")
            transport = open_to(open_transport, server, *allowed, ca_file=str(certificate))

            assert success(transport, foreign(server.url(scheme="https")), seconds=2).body == b"ok"
            error = failure(transport, foreign(server.url(scheme="https", host="localhost")), seconds=2)

            assert f"Host: 127.0.0.1:{server.port}".encode() in server.requests[0]
            assert len(server.requests) == 1
        assert names == [None, "localhost"]
        assert type(error) is Unavailable


class TestAnswers:
    @pytest.mark.parametrize(
        "reply",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1_000_000,
            b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000,
            CHUNKED + b"%x\r\n%b\r\n" % (1_000_000, b"x" * 1_000_000),
        ],
        ids=["announced", "until the end", "chunked"],
    )
    def test_of_a_long_one_the_beginning(self, open_transport: OpenTransport, reply: bytes) -> None:
        with serve(after_reading(reply)) as server:
            transport = open_to(open_transport, server, LOOPBACK)
            response = success(transport, foreign(server.url()), seconds=2)

            assert (response.status, response.body) == (200, b"x" * FOREIGN_ANSWER_BYTES)
            assert success(transport, foreign(server.url()), seconds=2).status == 200
            assert server.connection_count == 2  # what was not read is not the next answer

    def test_of_just_the_length(self, open_transport: OpenTransport) -> None:
        body = b"x" * FOREIGN_ANSWER_BYTES
        with serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))) as server:
            transport = open_to(open_transport, server, LOOPBACK)

            assert success(transport, foreign(server.url()), seconds=2).body == body
            assert success(transport, foreign(server.url()), seconds=2).body == body
            assert server.connection_count == 1

    @pytest.mark.parametrize("status", [200, 410, 500])
    def test_a_bare_status_counts(self, open_transport: OpenTransport, status: int) -> None:
        """What answers so is a receiver somebody wrote by hand."""
        with serve(after_reading(b"HTTP/1.1 %d X\r\n\r\n" % status)) as server:
            response = success(open_to(open_transport, server, LOOPBACK), foreign(server.url()))

        assert (response.status, response.body) == (status, b"")

    def test_nothing_is_unpacked(self, open_transport: OpenTransport) -> None:
        bomb = gzip.compress(b"\0" * 50_000_000)
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
        with serve(after_reading(head + bomb)) as server:
            response = success(open_to(open_transport, server, LOOPBACK), foreign(server.url()))

        assert response.body == bomb[:FOREIGN_ANSWER_BYTES]

    @pytest.mark.parametrize(
        "behave",
        [
            lambda peer: (peer.read(), peer.wait())[0],
            after_reading(b""),
            dripping(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 500),
            dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b"x" * 500),
            dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 500),
            after_reading(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        ],
        ids=["silence", "end", "head drips", "body drips", "body drips without length", "interim"],
    )
    def test_what_is_no_answer_proves_nothing(self, open_transport: OpenTransport, behave: Any) -> None:
        with serve(behave) as server:
            error = failure(open_to(open_transport, server, LOOPBACK), foreign(server.url()))

        assert type(error) is OutcomeUnknown


def test_a_name_that_takes_too_long(open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of curl the deadline is known to hold by the contract; its look-ups are in a thread of its own."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(0.3) or [])
    transport = open_transport(foreign=ForeignRules())
    if type(transport).__name__ == "CurlTransport":
        pytest.skip("curl asks the system itself")

    [answered] = make(transport, foreign("https://slow.example/"), seconds=0.05)

    assert type(answered.result) is Unavailable
    assert answered.seconds < 0.2


def resolve(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let names resolve to these addresses, each time to the next list, and then to the last. Returns the names asked for."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked

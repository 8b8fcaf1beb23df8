from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from providers.errors import OutcomeUnknown, Unavailable
from providers.transport.flights import Flight, Late, Watchdog


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def flight(seconds: float = 10) -> Flight:
    return Flight(seconds, time.monotonic, Watchdog(time.monotonic))


class TestCut:
    def test_shuts_the_connection_in_use(self, pair: tuple[socket.socket, socket.socket]) -> None:
        ours, theirs = pair
        under_way = flight()
        under_way.hold(ours)

        under_way.cut()

        assert theirs.recv(1) == ours.recv(1) == b""

    def test_spares_a_connection_that_was_given_back(self, pair: tuple[socket.socket, socket.socket]) -> None:
        ours, theirs = pair
        under_way = flight()
        under_way.hold(ours)
        under_way.release()

        under_way.cut()

        ours.sendall(b"x")  # it may be another call's by now
        assert theirs.recv(1) == b"x"

    def test_keeps_the_first_byte_from_leaving(self) -> None:
        under_way = flight()

        under_way.cut()

        with pytest.raises(Late):
            under_way.depart()
        assert type(under_way.failure(Late())) is Unavailable

    def test_after_the_first_byte_nobody_knows(self) -> None:
        under_way = flight()
        under_way.depart()

        under_way.cut()

        assert type(under_way.failure(OSError())) is OutcomeUnknown


def test_no_byte_leaves_after_the_deadline() -> None:
    with pytest.raises(Late):
        flight(seconds=0).depart()

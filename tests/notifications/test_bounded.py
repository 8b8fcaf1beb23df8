from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from notifications.bounded import Look
from tests.waiting import wait_until


class Gate:
    """Work that ends when the test says so."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        self.is_open.wait(10)
        return f"found {self.calls}"


class TestLook:
    def test_gives_what_was_found(self) -> None:
        assert Look(lambda: "found").begin().result(5) == "found"

    def test_raises_what_was_raised(self) -> None:
        def fail() -> None:
            raise LookupError("nothing there")

        with pytest.raises(LookupError, match="nothing there"):
            Look(fail).begin().result(5)

    def test_lets_its_asker_go_when_the_time_is_over(self) -> None:
        gate = Gate()

        with pytest.raises(TimeoutError):
            Look(gate).begin().result(0.01)
        gate.is_open.set()

    def test_is_one_thread_however_many_ask_meanwhile(self) -> None:
        gate = Gate()
        look = Look(gate)

        asked: list[Future[str]] = [look.begin() for _ in range(5)]
        gate.is_open.set()

        assert {one.result(5) for one in asked} == {"found 1"}
        assert gate.calls == 1

    def test_looks_again_when_the_last_look_is_over(self) -> None:
        gate = Gate()
        gate.is_open.set()
        look = Look(gate)

        first = look.begin()
        wait_until(first.done, seconds=5, what="the first look ended")

        assert look.begin().result(5) == "found 2"

"""Keeps processes running, and ends them together."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Self, cast

from config.launcher import stop_process
from config.processes import start_part
from config.run.output import Lines
from config.run.restarts import Restarts

GRACE_SECONDS = 30.0  # a worker takes up to 25 to finish what is in flight
PAUSE_SECONDS = 0.1
READ_BYTES = 64 * 1024

Say = Callable[[str, str], None]  # a process's name, and one line


@dataclass
class Running:
    """A process, and what of its output is not a whole line yet."""

    name: str
    process: subprocess.Popen[bytes]
    began_at: float
    lines: Lines = field(default_factory=Lines)

    @property
    def output(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)

    def has_ended(self) -> bool:
        return self.process.poll() is not None


class Supervisor:
    """Starts processes, passes on what they say, and starts again what ends, until the end of its `with` block.

    Nothing happens by itself: call `turn` over and over, always in one thread, since on Linux a process dies with the
    thread that started it. `last` are stopped when all others have ended. `monotonic` is the clock, in seconds.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        environment: Mapping[str, str],
        say: Say,
        *,
        last: Collection[str] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commands = commands
        self._environment = environment
        self._say = say
        self._last = last
        self._monotonic = monotonic
        self._due_at = dict.fromkeys(commands, monotonic())  # of those that do not run
        self._restarts = {name: Restarts() for name in commands}
        self._running: dict[str, Running] = {}
        self._selector = selectors.DefaultSelector()

    def turn(self, seconds: float = PAUSE_SECONDS) -> None:
        """Start what is due, pass on what is said within so many seconds, and see what has ended."""
        for name, due_at in list(self._due_at.items()):
            if self._monotonic() >= due_at:
                self._start(name)
        self._listen(seconds)
        for running in self._all():
            if running.has_ended():
                self._start_again_later(running)

    def stop(self, grace_seconds: float = GRACE_SECONDS, *, is_urgent: Callable[[], bool] = lambda: False) -> None:
        """Ask all to end. What has not after `grace_seconds`, or once it `is_urgent`, is killed."""
        self._due_at.clear()
        ends_at = self._monotonic() + grace_seconds

        def is_over() -> bool:
            return is_urgent() or self._monotonic() >= ends_at

        self._stop([running for running in self._all() if running.name not in self._last], is_over)
        self._stop(self._all(), is_over)

    def process_id(self, name: str) -> int | None:
        """The id of a process, or None while it does not run."""
        return self._running[name].process.pid if name in self._running else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._selector.close()

    def _all(self) -> list[Running]:
        return list(self._running.values())

    def _start(self, name: str) -> None:
        process = start_part(self._commands[name], self._environment, subprocess.PIPE)
        running = self._running[name] = Running(name, process, self._monotonic())
        del self._due_at[name]
        os.set_blocking(running.output.fileno(), False)
        self._selector.register(running.output, selectors.EVENT_READ, running)

    def _listen(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            self._pass_on(key.data)

    def _pass_on(self, running: Running) -> bool:
        """Say what a process has said. Returns whether there may be more."""
        with suppress(BlockingIOError):
            read = os.read(running.output.fileno(), READ_BYTES)
            for line in running.lines.feed(read):
                self._say(running.name, line)
            if not read:  # it closed its output, and may live on
                self._stop_listening(running)
            return bool(read)
        return False

    def _stop_listening(self, running: Running) -> None:
        with suppress(KeyError):
            self._selector.unregister(running.output)

    def _start_again_later(self, running: Running) -> None:
        code = self._bury(running)
        now = self._monotonic()
        wait = self._restarts[running.name].wait_seconds(lived_seconds=now - running.began_at)
        self._due_at[running.name] = now + wait
        self._say(running.name, f"{_ending(code)}; starts again in {wait:.0f} s")

    def _bury(self, running: Running) -> int:
        """Leave nothing of a process, nor of what it started, but its last words. Returns its exit code."""
        stop_process(running.process, grace_seconds=0, polite_signal=signal.SIGKILL)
        while self._pass_on(running):
            pass
        for line in running.lines.end():
            self._say(running.name, line)
        self._stop_listening(running)
        running.output.close()
        del self._running[running.name]
        return running.process.returncode

    def _stop(self, group: Sequence[Running], is_over: Callable[[], bool]) -> None:
        for running in group:
            running.process.terminate()  # it alone: a worker lets its children finish
        while left := [running for running in group if running.name in self._running]:
            self._listen(PAUSE_SECONDS)
            for running in left:
                if running.has_ended():
                    self._say(running.name, _ending(self._bury(running)))
                elif is_over():
                    self._say(running.name, "has not ended: killed")
                    self._bury(running)


def _ending(code: int) -> str:
    return f"ended with code {code}" if code >= 0 else f"was ended by signal {-code} ({signal.strsignal(-code)})"

"""The provider of the bench: the C stub where there is a compiler, else a slower one in Python that says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from config.launcher import start_process, stop_process

HERE = Path(__file__).parent
COMPILER = shutil.which("cc")


@dataclass(frozen=True)
class Counts:
    """What the stub has seen since its last reset; times are CLOCK_REALTIME, in seconds."""

    posts: int
    unique: int
    first_at: float
    last_at: float


class Stub:
    """A running stub."""

    def __init__(self, port: int, process_id: int, kind: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.process_id = process_id
        self.kind = kind
        self._session = requests.Session()
        self._session.trust_env = False

    def counts(self) -> Counts:
        seen = self._session.get(f"{self.url}/_counts", timeout=30).json()
        return Counts(seen["posts"], seen["unique"], seen["first_ns"] / 1e9, seen["last_ns"] / 1e9)

    def arrivals(self) -> dict[str, float]:
        """When each attempt first came, CLOCK_REALTIME in seconds."""
        lines = self._session.get(f"{self.url}/_arrivals", timeout=60).text.splitlines()
        return {id: int(real) / 1e9 for id, real, _ in map(str.split, lines)}

    def reset(self, delay_milliseconds: float = 0) -> None:
        """Forget what was seen; from now on answer sends that much later."""
        self._session.post(f"{self.url}/_reset", timeout=30)
        self.delay(delay_milliseconds)

    def delay(self, milliseconds: float) -> None:
        self._session.post(f"{self.url}/_delay?ms={milliseconds:g}", timeout=30)


@contextmanager
def open_stub(folder: Path) -> Iterator[Stub]:
    """Compile the stub in a folder and run it."""
    command, kind = (
        [sys.executable, str(HERE / "slow_stub.py")],
        "Python, since there is no C compiler: figures are too low",
    )
    if COMPILER:
        program = folder / "stub"
        subprocess.run([COMPILER, "-O2", "-o", program, HERE / "stub.c"], check=True)
        command, kind = [str(program)], "C, one thread"
    process = start_process(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield Stub(int(process.stdout.readline()), process.pid, kind)
    finally:
        stop_process(process, 0)

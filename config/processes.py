"""The processes of a small house on one machine, for the demo and the tests: few, and watched by who starts them.

`make run` and production start those of the Procfile.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from config.launcher import start_process, stop_process

ROOT = Path(__file__).resolve().parent.parent
URGENT = ("critical", "high", "control")
OTHER = ("normal", "bulk", "upkeep")


def web(port: int) -> list[str]:
    """The web process: admin and webhooks."""
    options = ["--bind", f"127.0.0.1:{port}", "--worker-class", "gthread", "--workers", "1", "--threads", "8"]
    return [sys.executable, "-m", "gunicorn", "config.wsgi", *options, "--no-control-socket", "--log-level", "warning"]


def worker(name: str, lanes: Sequence[str], *, concurrency: int = 2) -> list[str]:
    """A Celery worker that serves several lanes."""
    options = ["-n", f"{name}@%h", "-Q", ",".join(lanes), "-c", str(concurrency)]
    return [*_celery("worker"), *options, "-E", "--without-gossip", "--without-mingle"]


def beat() -> list[str]:
    """The scheduler."""
    return _celery("beat")


def flower(port: int) -> list[str]:
    """The window on workers and tasks, on loopback."""
    options = ["--conf=config/flower.py", "--address=127.0.0.1", f"--port={port}", "--logging=none"]
    return [*_celery("flower"), *options]


def manage(*arguments: str) -> list[str]:
    """A management command."""
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def _celery(command: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "config", command]


def start_part(
    command: Sequence[str], environment: Mapping[str, str], output: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start one process of a house: in the project's folder, with no input, errors among its output."""
    return start_process(
        command, env=environment, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT
    )


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Processes:
    """Processes by name, each with a log file; all are stopped on leaving."""

    def __init__(self, environment: Mapping[str, str], logs: Path) -> None:
        self.environment = {**os.environ, **environment}
        self.logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a process; its output goes to `<name>.log`."""
        with (self.logs / f"{name}.log").open("ab") as log:
            process = start_part(command, self.environment, log)
        self._running[name] = process
        return process

    def stop(self, name: str, grace_seconds: float = 5.0) -> None:
        """Ask a process to end, and see that it does."""
        stop_process(self._running.pop(name), grace_seconds)

    def kill(self, name: str) -> None:
        """SIGKILL a process and all that it started: no chance to tidy up."""
        stop_process(self._running.pop(name), grace_seconds=0, polite_signal=signal.SIGKILL)

    def died(self) -> list[str]:
        """The names of processes that ended by themselves."""
        return [name for name, process in self._running.items() if process.poll() is not None]

    def process_id(self, name: str) -> int:
        """The id of a process. Raises KeyError for one that was not started or is stopped."""
        return self._running[name].pid

    def log(self, name: str) -> str:
        """What a process has said so far."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.terminate()
        for name in list(self._running):
            self.stop(name)

"""What our servers have in common: a loopback port the kernel chose, a password, and a folder that goes when they go."""

import os
import secrets
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, ClassVar, Self

from config.launcher.processes import IS_LINUX, start_process, stop_process

HOST = "127.0.0.1"
STARTUP_SECONDS = 30
SHUTDOWN_SECONDS = 10
POLL_SECONDS = 0.01
LOG_END_CHARACTERS = 2000


class ServerDidNotStart(Exception):
    """The server ended, or gave no answer in time; the message holds the end of its log."""


class Server(ABC):
    """A server that may be stopped and started again on the same port; leaving the `with` block removes its files."""

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self) -> None:
        self.password = secrets.token_hex(16)
        self._port_holder = _hold_free_port()
        self.port: int = self._port_holder.getsockname()[1]
        if not IS_LINUX:
            self._port_holder.close()
        # Root's own TMPDIR may be closed to the user that PostgreSQL runs as.
        shared = "/tmp" if os.geteuid() == 0 else None  # noqa: S108
        self._temporary_folder = TemporaryDirectory(prefix=f"landfall-{self.name}-", dir=shared)
        self.folder = Path(self._temporary_folder.name)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    def process_id(self) -> int:
        """The id of the running server. Raises RuntimeError while it is stopped."""
        if self._process is None:
            raise RuntimeError(f"{self.name} is stopped")
        return self._process.pid

    @abstractmethod
    def _run_server(self) -> subprocess.Popen[bytes]: ...

    @abstractmethod
    def _answers(self) -> bool: ...

    def start(self) -> None:
        """Start and wait until the server answers. Raises ServerNotInstalled and ServerDidNotStart."""
        process = self._run_server()
        deadline = time.monotonic() + STARTUP_SECONDS
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ServerDidNotStart(f"{self.name} did not start:\n{self._log_end()}")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        if self._process:
            stop_process(self._process, SHUTDOWN_SECONDS, polite_signal=self.stop_signal)
            self._process = None

    def close(self) -> None:
        """Stop for good: the port is given back and the folder removed."""
        self.stop()
        self._port_holder.close()
        self._temporary_folder.cleanup()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, *args: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        """Start a program that `stop` will end, with its output in our log."""
        with (self.folder / "log").open("ab") as log:
            process = start_process(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **options)
        self._process = process
        return process

    def _log_end(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-LOG_END_CHARACTERS:]


def _hold_free_port() -> socket.socket:
    """Take a free port that, on Linux, nobody else is given while this socket is open, not even between stop and start.

    The server can listen on it all the same: there, sockets may share an address as long as only one of them listens.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((HOST, 0))
    return holder

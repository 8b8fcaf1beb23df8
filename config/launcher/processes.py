"""Child processes that do not outlive this one."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

IS_LINUX = sys.platform == "linux"
SET_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36  # prctl(2)

# Loaded here, since little is safe to do between fork and exec.
libc = ctypes.CDLL(None)


def start_process(
    args: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[Any] | None = None,
    process_group: int | None = 0,
    death_signal: signal.Signals = signal.SIGKILL,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a child in a process group of its own that, on Linux, the kernel ends by `death_signal` when we die.

    To the kernel "we" are the calling thread: start from one that lives as long as the child should.
    `process_group=None` leaves the child in our group; other options are those of `subprocess.Popen`.
    """
    return subprocess.Popen(
        args,
        env=env,
        stdout=stdout,
        process_group=process_group,
        # Runs after the change of user, which would clear the death signal.
        preexec_fn=_die_with(os.getpid(), death_signal) if IS_LINUX else None,
        **options,
    )


def stop_process(
    process: subprocess.Popen[bytes], grace_seconds: float, *, polite_signal: signal.Signals = signal.SIGTERM
) -> None:
    """Ask a process from `start_process` to end; whatever is left of its group after `grace_seconds` is killed."""
    if process.poll() is None:
        _signal_group(process, polite_signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace_seconds)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, instead of process 1 (Linux only)."""
    if IS_LINUX:
        libc.prctl(SET_CHILD_SUBREAPER, 1)


def kill_children() -> None:
    """Kill all children, and the orphans that this makes, until there are none (Linux only)."""
    while children := _children():
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _die_with(parent: int, death_signal: signal.Signals) -> Callable[[], None]:
    def before_exec() -> None:
        libc.prctl(SET_DEATH_SIGNAL, death_signal)
        if os.getppid() != parent:  # it died before the kernel was asked
            os.kill(os.getpid(), signal.SIGKILL)

    return before_exec


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _children() -> list[int]:
    listing = Path("/proc/thread-self/children")
    return [int(child) for child in listing.read_text().split()] if listing.exists() else []

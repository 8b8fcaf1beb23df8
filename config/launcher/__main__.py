"""Run a command with a database, a broker and secrets: `python -m config.launcher -- COMMAND …`.

What the environment already names is used as it is. The command gets our signals, we end with its exit code, and
everything started here is gone when we are.
"""

import os
import secrets
import signal
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import NoReturn

from config.launcher import BROUGHT
from config.launcher.binaries import ServerNotInstalled
from config.launcher.postgres import Postgres
from config.launcher.processes import adopt_orphans, kill_children, start_process
from config.launcher.server import ServerDidNotStart
from config.launcher.valkey import Valkey

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMMAND_NOT_FOUND = 127  # as shells say it


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] != ["--"] or not arguments[1:]:
        sys.exit("usage: python -m config.launcher -- COMMAND …")
    for number in FORWARDED:
        signal.signal(number, _leave)
    adopt_orphans()
    try:
        with ExitStack() as servers:
            return run(arguments[1:], complete(os.environ, servers))
    except (ServerNotInstalled, ServerDidNotStart) as error:
        sys.exit(str(error))
    finally:
        kill_children()


def complete(environment: Mapping[str, str], servers: ExitStack) -> dict[str, str]:
    """Add what an environment lacks: servers, left running until `servers` closes, and secrets made for this once."""
    completed = fresh_secrets() | dict(environment)
    if "CELERY_BROKER_URL" not in environment:
        completed["CELERY_BROKER_URL"] = servers.enter_context(Valkey()).url
        completed.setdefault("REDIS_URL", completed["CELERY_BROKER_URL"])
    if "DATABASE_URL" not in environment:
        completed["DATABASE_URL"] = servers.enter_context(Postgres()).url
    completed[BROUGHT] = " ".join(sorted(completed.keys() - environment.keys()))
    return completed


def fresh_secrets() -> dict[str, str]:
    return {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "CREDENTIAL_KEYS": urlsafe_b64encode(secrets.token_bytes(32)).decode(),  # a Fernet key
        "ADDRESS_KEY": secrets.token_hex(32),
    }


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command in our own process group, so that it can read from the terminal. Returns what a shell would."""
    early: list[int] = []  # signals that come while it starts
    for forwarded in FORWARDED:
        signal.signal(forwarded, lambda number, _frame: early.append(number))
    try:
        process = start_process(command, env=environment, process_group=None)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return COMMAND_NOT_FOUND
    _forward_signals(process)
    for number in early:
        process.send_signal(number)
    code = _wait(process)
    return code if code >= 0 else 128 - code


def _forward_signals(process: subprocess.Popen[bytes]) -> None:
    def forward(number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGINT or not _in_foreground():
            process.send_signal(number)

    for number in FORWARDED:
        signal.signal(number, forward)


def _in_foreground() -> bool:
    """Say whether Ctrl-C at the terminal reaches our whole process group, the command included, without our help."""
    try:
        with Path("/dev/tty").open() as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process, and bury adopted orphans meanwhile: a dead one would look alive to whoever asks for its id."""
    while True:
        child, status = os.waitpid(-1, 0)
        if child == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    for other in FORWARDED:
        signal.signal(other, signal.SIG_IGN)  # once is enough: what follows is the clean-up
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The processes of the demo, and how to know that they are ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import requests
from django.core.management.base import CommandError

from config.processes import OTHER, URGENT, Processes, beat, free_port, manage, web, worker
from notifications.models import Heartbeat

READY_SECONDS = 60.0

# Shortened, so that a story of minutes takes seconds.
TIMES = {
    "LEASE_SECONDS": "12",
    "SEND_DEADLINE_SECONDS": "2",
    "MARGIN_SECONDS": "2",
    "CHECK_PACE": "0.1",
    "LOOK_UP_AGAIN_SECONDS": "2",
    "SWEEP_SECONDS": "1",
    "LOG_LEVEL": "WARNING",
}


class NotReady(CommandError):
    """A process did not start; the end of its log says why."""


class House:
    """Everything running: web, workers, beat, and two sandboxes, so that one of them can fail."""

    def __init__(self, processes: Processes, web_port: int) -> None:
        self.processes = processes
        self.web_url = f"http://127.0.0.1:{web_port}"
        self._web_port = web_port
        self._main_port, self._other_port = free_port(), free_port()

    def start(self) -> None:
        """Start everything, and wait until it works."""
        self._sandbox("sandbox-main", self._main_port, "twilio-main")
        self._sandbox("sandbox", self._other_port, "twilio-second", "postmark-main")
        self.processes.start("web", web(self._web_port))
        self.processes.start("urgent", worker("urgent", URGENT))
        self.processes.start("other", worker("other", OTHER))
        self.processes.start("beat", beat())
        for port in (self._main_port, self._other_port):
            self._wait(lambda port=port: _answers(f"http://127.0.0.1:{port}/_sandbox/counts"))  # type: ignore[misc]
        self._wait(lambda: _answers(f"{self.web_url}/admin/login/"))
        self._wait(lambda: Heartbeat.objects.filter(process__in=[*URGENT, *OTHER]).count() == len(URGENT + OTHER))

    def begin_outage(self) -> None:
        """Nobody listens any more where twilio-main was."""
        self.processes.stop("sandbox-main")

    def messages_on_the_wire(self, number: str) -> int:
        """How many messages to a number the sandbox of twilio-main took."""
        url = f"http://127.0.0.1:{self._main_port}/_sandbox/messages"
        answer = requests.get(url, params={"account": "twilio-main", "to": number}, timeout=5)
        return len(answer.json()["messages"])

    def _sandbox(self, name: str, port: int, *accounts: str) -> None:
        options = [option for account in accounts for option in ("--account", account)]
        self.processes.start(name, manage("sandbox", "--port", str(port), "--quick", *options))

    def _wait(self, is_ready: Callable[[], bool]) -> None:
        ends_at = time.monotonic() + READY_SECONDS
        while not is_ready():
            died = self.processes.died()
            if died or time.monotonic() > ends_at:
                name = died[0] if died else "a process"
                log = self.processes.log(name)[-2000:] if died else ""
                raise NotReady(f"{name} did not start\n{log}")
            time.sleep(0.05)


@contextmanager
def house() -> Iterator[House]:
    """A running house; everything is stopped on leaving."""
    web_port = free_port()
    environment = {"PUBLIC_URL": f"http://127.0.0.1:{web_port}", **TIMES}
    with TemporaryDirectory(prefix="landfall-demo-") as logs, Processes(environment, Path(logs)) as processes:
        started = House(processes, web_port)
        started.start()
        yield started


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=2).ok
    except requests.RequestException:
        return False

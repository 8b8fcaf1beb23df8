"""`make run`, as somebody uses it who wants to see the real thing: every process of the Procfile, and the sandbox."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from config.launcher import start_process, stop_process
from config.processes import ROOT, free_port, manage
from notifications.lanes import Lane
from tests.family import Process, descendants, is_alive
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

READY_SECONDS = 60
NOT_INHERITED = ("DATABASE_URL", "CELERY_BROKER_URL", "REDIS_URL", "PUBLIC_URL", "HOST", "FLOWER_BASIC_AUTH")


@dataclass
class Run:
    """A running `manage.py run` under a launcher of its own, and what it has printed."""

    launcher: subprocess.Popen[bytes]
    log: Path
    web: str
    flower: str

    def said(self) -> str:
        return self.log.read_text()

    def find(self, pattern: str) -> tuple[str, ...]:
        """What the groups of a pattern match in what was printed."""
        found = re.search(pattern, self.said(), re.MULTILINE)
        assert found, f"{pattern} is not in\n{self.said()}"
        return found.groups()

    @property
    def key(self) -> str:
        return self.find(r"^  API key +(lf_live_\S+)  client example, all scopes \(shown this once\)$")[0]

    @property
    def flower_login(self) -> tuple[str, str]:
        user, password = self.find(r"^  Flower +\S+  user (\S+), password (\S+)$")
        return user, password

    def curl(self, **changes: Any) -> str:
        """Run the printed command in a shell, with changes to its body. Returns the id of what was accepted."""
        (command,) = self.find(r"^(curl .+)$")
        body = re.search(r"-d '(.+)'$", command)
        assert body
        sent = json.dumps({**json.loads(body[1]), **changes}) if changes else body[1]
        answer = subprocess.run(
            ["sh", "-c", command.replace(body[1], sent)], capture_output=True, text=True, timeout=30, check=True
        )
        return str(json.loads(answer.stdout)["id"])

    def wait_until_delivered(self, notification: str, *, seconds: float) -> None:
        def state() -> object:
            address = f"{self.web}/api/v1/notifications/{notification}"
            return requests.get(address, headers={"Authorization": f"Bearer {self.key}"}, timeout=5).json()["state"]

        wait_until(lambda: state() == "delivered", seconds=seconds, what=f"{notification} delivered\n{self.said()}")

    def look(self, path: str) -> requests.Response:
        """A page of Flower."""
        return requests.get(f"{self.flower}{path}", auth=self.flower_login, timeout=15)

    def worker(self, lane: Lane) -> Process | None:
        """The main process of a lane's worker; its children have its command line too."""
        family = {process.id: process for process in descendants(self.launcher.pid)}
        named = [process for process in family.values() if f"-n {lane}@" in process.command]
        ids = {process.id for process in named}
        return next((process for process in named if process.parent not in ids), None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: Any) -> Iterator[Run]:
    """Everything, up and ready. Asked to end after the tests, it ends by itself and leaves no process."""
    ports = {name: free_port() for name in ("PORT", "FLOWER_PORT", "SANDBOX_PORT")}
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    log = tmp_path_factory.mktemp("run") / "log"
    with log.open("wb") as output:
        launcher = start_process(
            [sys.executable, "-m", "config.launcher", "--", *manage("run")],
            env=environment | {name: str(port) for name, port in ports.items()},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
        )
    started = Run(launcher, log, f"http://127.0.0.1:{ports['PORT']}", f"http://127.0.0.1:{ports['FLOWER_PORT']}")
    try:
        wait_until(
            lambda: "\nTry it:" in started.said() or launcher.poll() is not None, seconds=READY_SECONDS, what="ready"
        )
        assert launcher.poll() is None, started.said()
        yield started
        assert_ends_and_leaves_nothing(started)
    finally:
        stop_process(launcher, grace_seconds=10)


def assert_ends_and_leaves_nothing(run: Run) -> None:
    family = descendants(run.launcher.pid)

    run.launcher.send_signal(signal.SIGTERM)

    assert run.launcher.wait(45) == 0, run.said()
    assert not [process for process in family if is_alive(process.id)]
    assert run.said().endswith("run      | stopped\n")


class TestWelcome:
    def test_says_what_it_does_first(self, run: Run) -> None:
        assert run.said().startswith("Bringing the database up to date (migrate) …\nStarting web, critical, ")

    def test_gives_a_login_that_opens_the_admin(self, run: Run) -> None:
        address, user, password = run.find(r"^  Admin +(\S+)  user (\S+), password (\S+) \(shown this once\)$")
        session = requests.Session()
        session.get(address, timeout=10)
        form = {"username": user, "password": password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}

        answer = session.post(f"{address}login/", data={**form, "next": "/admin/"}, timeout=10)

        assert (answer.status_code, answer.url) == (200, address)
        assert "Log out" in answer.text

    def test_names_the_documents_of_the_api(self, run: Run) -> None:
        (address,) = run.find(r"^  API +(\S+)$")

        assert requests.get(address, timeout=10).status_code == 200

    def test_says_that_the_database_goes_with_it(self, run: Run) -> None:
        run.find(r"^  Database +gone when this ends")

    @pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
    def test_has_a_command_that_sends_a_message_which_arrives(self, run: Run) -> None:
        run.wait_until_delivered(run.curl(), seconds=20)

    def test_keeps_logins_off_the_command_lines(self, run: Run) -> None:
        commands = [process.command for process in descendants(run.launcher.pid)]

        assert not [command for command in commands if run.flower_login[1] in command]


class TestHealth:
    def test_is_ready_without_a_warning_once_beat_has_beaten(self, run: Run) -> None:
        def said() -> dict[str, Any]:
            return dict(requests.get(f"{run.web}/readyz", timeout=5).json())

        wait_until(lambda: said()["warnings"] == [], seconds=20, what="a heartbeat of each")

        assert said()["ready"] is True


class TestWorkerThatIsKilled:
    @pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
    def test_is_started_again_and_serves_its_lane(self, run: Run) -> None:
        killed = run.worker(Lane.CRITICAL)
        assert killed

        os.kill(killed.id, signal.SIGKILL)
        notification = run.curl(priority="critical")
        run.wait_until_delivered(notification, seconds=30)

        run.find(r"^critical \| was ended by signal 9 \(Killed\); starts again in 1 s$")
        again = run.worker(Lane.CRITICAL)
        assert again
        assert again.id != killed.id


class TestFlower:
    @pytest.mark.parametrize("path", ["/", "/workers", "/tasks", "/broker", "/api/workers", "/api/tasks"])
    def test_is_closed_without_a_login(self, run: Run, path: str) -> None:
        assert requests.get(f"{run.flower}{path}", timeout=10).status_code == 401
        assert requests.get(f"{run.flower}{path}", timeout=10, auth=("flower", "guess")).status_code == 401
        assert run.look(path).status_code == 200

    def test_shows_a_worker_for_each_lane(self, run: Run) -> None:
        def lanes() -> dict[str, list[str]]:
            workers = run.look("/api/workers?refresh=1").json()
            return {
                name.partition("@")[0]: [queue["name"] for queue in worker.get("active_queues", [])]
                for name, worker in workers.items()
            }

        wait_until(lambda: lanes() == {lane: [lane] for lane in Lane.values}, seconds=20, what="all lanes")

        page = run.look("/workers").text
        assert all(f"{lane}@" in page for lane in Lane.values)

    def test_shows_how_much_waits_in_each_lane(self, run: Run) -> None:
        queues = run.look("/api/queues/length").json()["active_queues"]

        assert {queue["name"] for queue in queues} == set(Lane.values)

    @pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
    def test_shows_tasks_by_name_and_lane(self, run: Run) -> None:
        def tasks() -> set[tuple[str, str, str, str]]:
            found = run.look("/api/tasks?limit=1000").json().values()
            taken = [task for task in found if "worker" in task]  # one that was only just sent has none yet
            return {(task["name"], task["kwargs"], task["state"], task["worker"].partition("@")[0]) for task in taken}

        swept = ("notifications.sweep", "{}", "SUCCESS", "control")
        drained = ("notifications.drain", "{'lane': 'high'}", "SUCCESS", "high")
        wait_until(lambda: swept in tasks(), seconds=15, what="Flower to see what beat has done every second")
        run.curl(priority="high")

        wait_until(lambda: drained in tasks(), seconds=15, what="Flower to see a drain")

    def test_shows_no_secret(self, run: Run) -> None:
        pages = [run.look(f"/worker/{name}").text for name in run.look("/api/workers?refresh=1").json()]
        pages += [run.look(path).text for path in ("/api/workers", "/broker", "/metrics")]
        secrets = {os.environ[name] for name in ("SECRET_KEY", "ADDRESS_KEY", "CREDENTIAL_KEYS")} | {run.key}

        assert len(pages) >= 3 + len(Lane)
        for page in pages:
            assert not [secret for secret in secrets if secret in page]
            assert not re.search(r"redis://[^/\s]*:[^*@\s]+@", page)  # a password that is not masked

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import redis
from cryptography.fernet import Fernet
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.launcher import Postgres, Valkey, start_process, stop_process
from config.launcher.__main__ import complete
from config.launcher.binaries import ServerNotInstalled, find_postgres, find_valkey
from tests.family import Process, descendants, is_alive

URLS = {"DATABASE_URL": "postgresql://elsewhere/database", "CELERY_BROKER_URL": "redis://elsewhere/0"}
READY_THEN_WAIT = (sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)")

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def launch(*command: str, **variables: str) -> subprocess.Popen[bytes]:
    """Start a launcher that knows no server but those named in `variables`."""
    inherited = {name: value for name, value in os.environ.items() if name not in {*URLS, "REDIS_URL"}}
    arguments = (sys.executable, "-m", "config.launcher", "--", *command)
    return start_process(arguments, env=inherited | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(launcher: subprocess.Popen[bytes]) -> tuple[int, str]:
    output, _ = launcher.communicate(timeout=60)
    return launcher.returncode, output.decode()


@contextmanager
def running_launcher(*command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    launcher = launch(*command, **variables)
    try:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"ready\n"
        yield launcher
    finally:
        stop_process(launcher, grace_seconds=10)
        launcher.communicate()


def temporary_folders(processes: set[Process]) -> set[Path]:
    places = {Path(f"/proc/{process.id}/cwd").resolve() for process in processes}
    return {folder for place in places for folder in (place, *place.parents) if folder.name.startswith("landfall-")}


def eventually(claim: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class TestLauncher:
    @linux_only
    def test_starts_nothing_when_both_urls_are_set(self) -> None:
        with running_launcher(*READY_THEN_WAIT, **URLS) as launcher:
            assert len(descendants(launcher.pid)) == 1

    @linux_only
    def test_starts_only_the_server_whose_url_is_missing(self) -> None:
        with running_launcher(*READY_THEN_WAIT, DATABASE_URL=URLS["DATABASE_URL"]) as launcher:
            names = {process.name for process in descendants(launcher.pid)}

        assert "valkey-server" in names
        assert "postgres" not in names

    @pytest.mark.parametrize(
        ("script", "code"),
        [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 128 + signal.SIGKILL), ("exec no-such-command", 127)],
    )
    def test_ends_with_the_exit_code_of_the_command(self, script: str, code: int) -> None:
        assert finish(launch("sh", "-c", script, **URLS)) == (code, "")

    def test_says_so_when_there_is_no_such_command(self) -> None:
        launcher = launch("no-such-command", **URLS)

        _, complaint = launcher.communicate(timeout=60)

        assert launcher.returncode == 127
        assert complaint == b"no-such-command: No such file or directory\n"

    def test_passes_sigterm_on_and_waits_for_the_command_to_end(self) -> None:
        script = "trap 'echo tidied; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
        with running_launcher("sh", "-c", script, **URLS) as launcher:
            launcher.send_signal(signal.SIGTERM)

            assert finish(launcher) == (3, "tidied\n")

    @linux_only
    @pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_leaves_no_process_behind_when_it_is_ended_by(self, ending: signal.Signals) -> None:
        with running_launcher(*READY_THEN_WAIT) as launcher:
            family = descendants(launcher.pid)
            folders = temporary_folders(family)

            launcher.send_signal(ending)

            assert {"postgres", "valkey-server"} < {process.name for process in family}
            assert eventually(lambda: not any(is_alive(process.id) for process in family))
            for folder in folders:  # left by SIGKILL alone
                shutil.rmtree(folder, ignore_errors=True)

    @linux_only
    def test_ends_what_the_command_left_running(self) -> None:
        code, output = finish(launch("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!", **URLS))

        assert code == 0
        assert not is_alive(int(output))


class TestSecrets:
    def test_are_new_each_time(self) -> None:
        with ExitStack() as servers:
            first, second = complete(URLS, servers), complete(URLS, servers)

        for name in ("SECRET_KEY", "CREDENTIAL_KEYS", "ADDRESS_KEY"):
            assert first[name] != second[name]

    def test_have_the_shape_their_users_expect(self) -> None:
        with ExitStack() as servers:
            environment = complete(URLS, servers)

        assert Fernet(environment["CREDENTIAL_KEYS"])
        assert len(bytes.fromhex(environment["ADDRESS_KEY"])) == 32

    def test_give_way_to_those_the_environment_has(self) -> None:
        with ExitStack() as servers:
            environment = complete(URLS | {"SECRET_KEY": "mine"}, servers)

        assert environment["SECRET_KEY"] == "mine"


class TestValkey:
    def test_comes_back_empty_on_the_same_port(self) -> None:
        with Valkey() as server, redis.Redis.from_url(server.url) as client:
            client.set("hint", "lost")

            server.stop()
            with pytest.raises(redis.ConnectionError):
                client.ping()
            server.start()

            assert client.ping()
            assert client.get("hint") is None

    def test_refuses_clients_without_the_password(self) -> None:
        with (
            Valkey() as server,
            redis.Redis(port=server.port, retry=Retry(NoBackoff(), 0)) as stranger,
            pytest.raises(redis.AuthenticationError),
        ):
            stranger.ping()


class TestPostgres:
    def test_comes_back_with_its_rows_on_the_same_port(self) -> None:
        with Postgres() as server:
            with psycopg.connect(server.url) as connection:
                connection.execute("CREATE TABLE promise AS SELECT 1 AS kept")

            server.stop()
            server.start()

            with psycopg.connect(server.url) as connection:
                assert connection.execute("SELECT kept FROM promise").fetchone() == (1,)

    def test_knows_the_case_of_letters_beyond_ascii(self) -> None:
        with Postgres() as server, psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 'É' ILIKE 'é', upper('é')").fetchone() == (True, "É")

    def test_removes_its_files(self) -> None:
        with Postgres() as server:
            folder = server.folder

        assert not folder.exists()

    def test_runs_from_a_copy_where_the_original_may_not_be_run(self, tmp_path: Path) -> None:
        programs = find_postgres(may_run=lambda _: False, copy_to=tmp_path / "copy")

        version = subprocess.run((programs.folder / "postgres", "--version"), capture_output=True, check=True)

        assert programs.folder.is_relative_to(tmp_path)
        assert version.stdout.startswith(b"postgres (PostgreSQL)")


class TestMissingServers:
    @pytest.fixture(autouse=True)
    def nothing_installed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("config.launcher.binaries.find_spec", lambda _: None)
        monkeypatch.setenv("PATH", str(tmp_path))

    def test_are_looked_for_on_the_path(self, tmp_path: Path) -> None:
        for name in ("initdb", "redis-server"):
            (tmp_path / name).touch(mode=0o755)

        assert find_postgres(may_run=lambda _: True, copy_to=tmp_path).folder == tmp_path
        assert find_valkey() == tmp_path / "redis-server"

    def test_are_named_together_with_a_remedy(self, tmp_path: Path) -> None:
        with pytest.raises(ServerNotInstalled, match="or set DATABASE_URL"):
            find_postgres(may_run=lambda _: True, copy_to=tmp_path)
        with pytest.raises(ServerNotInstalled, match="or set CELERY_BROKER_URL"):
            find_valkey()


class TestStopProcess:
    def test_kills_a_process_that_will_not_end(self) -> None:
        with start_process(("sh", "-c", "trap '' TERM; echo ready; sleep 600"), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"

            stop_process(process, grace_seconds=0.1)

            assert process.returncode == -signal.SIGKILL

    @linux_only
    def test_ends_the_whole_group(self) -> None:
        with start_process(("sh", "-c", "sleep 600 & echo $!; wait"), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            child = int(process.stdout.readline())

            stop_process(process, grace_seconds=5)

            assert eventually(lambda: not is_alive(child))

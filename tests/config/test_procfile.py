"""The Procfile: read as it stands, and true of what it says about the product."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from config.processes import ROOT
from config.run.procfile import BadProcfile, in_shell, read
from notifications.lanes import Lane

COMMANDS = read(ROOT / "Procfile")
WORKERS = {name: command for name, command in COMMANDS.items() if "celery -A config worker" in command}


def run(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(in_shell(command), env=environment, capture_output=True, text=True, timeout=60, check=False)


class TestReading:
    def test_keeps_the_order_and_leaves_out_comments_and_empty_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "Procfile"
        path.write_text("# all of it\nweb: gunicorn a:b --bind x:1\n\n  beat :celery beat  \n")

        assert list(read(path).items()) == [("web", "gunicorn a:b --bind x:1"), ("beat", "celery beat")]

    @pytest.mark.parametrize("line", ["web", "web:", ": gunicorn", "a b: c"])
    def test_refuses_a_line_that_is_none_and_names_it(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "Procfile"
        path.write_text(f"beat: celery beat\n{line}\n")

        with pytest.raises(BadProcfile, match="line 2"):
            read(path)

    def test_refuses_a_name_that_is_there_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "Procfile"
        path.write_text("web: a\nweb: b\n")

        with pytest.raises(BadProcfile, match="web is there twice"):
            read(path)


class TestCommand:
    def test_gets_the_variables_before_it(self) -> None:
        assert run("COLOUR=red SIZE=4 printenv COLOUR SIZE").stdout == "red\n4\n"

    def test_has_its_variables_filled_in(self) -> None:
        assert run("echo ${PORT:-8000} $NAME", NAME="web").stdout == "8000 web\n"
        assert run("echo ${PORT:-8000}", PORT="9000").stdout == "9000\n"

    def test_takes_the_place_of_the_shell_so_that_signals_reach_it(self) -> None:
        with subprocess.Popen(in_shell("A=b sh -c 'echo $$'"), stdout=subprocess.PIPE) as process:
            said, _ = process.communicate(timeout=60)

        assert int(said) == process.pid


class TestOurProcfile:
    def test_serves_every_lane_by_a_worker_of_its_own(self) -> None:
        served = [lanes for command in WORKERS.values() for lanes in re.findall(r"-Q (\S+)", command)]

        assert sorted(served) == sorted(Lane.values)

    def test_names_each_worker_as_its_lane(self) -> None:
        for name, command in WORKERS.items():
            assert f"-n {name}@%h -Q {name} " in command

    def test_has_all_workers_show_their_tasks(self) -> None:
        assert all(" -E " in command for command in WORKERS.values())

    def test_has_one_beat(self) -> None:
        assert sum("celery -A config beat" in command for command in COMMANDS.values()) == 1

    def test_listens_on_the_loopback_unless_told_otherwise(self) -> None:
        assert "--bind 127.0.0.1:8000 " in run(f"echo {COMMANDS['web']}").stdout
        assert "--address=127.0.0.1 --port=5555" in run(f"echo {COMMANDS['flower']}").stdout

    def test_does_not_open_flower_without_a_login(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLOWER_")}
        arguments = ["-A", "config", *COMMANDS["flower"].partition("celery -A config ")[2].split()]
        arguments = [argument for argument in arguments if not argument.startswith("--port")]

        flower = subprocess.run(
            [Path(os.sys.executable).parent / "celery", *arguments, "--port=0"],  # type: ignore[attr-defined]
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert flower.returncode == 1
        assert "Flower needs a login: set FLOWER_BASIC_AUTH=user:password." in flower.stderr

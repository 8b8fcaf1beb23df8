"""The doctor at the command line: what it prints, how it exits, and the example it gives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from io import StringIO
from typing import Any

import psycopg
import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.management import call_command

from config import settings as read_settings
from config.example import example, variables
from config.launcher import Postgres
from config.launcher.__main__ import fresh_secrets
from config.processes import ROOT, free_port, manage
from notifications.lanes import Lane
from notifications.sql.reconcile import beat
from tests import factories

ASSIGNMENT = re.compile(r"^(?P<shown># )?(?P<name>[A-Z_]+)=(?P<value>.*)$", re.MULTILINE)
NEEDED = {"SECRET_KEY", "ADDRESS_KEY", "CREDENTIAL_KEYS", "DATABASE_URL", "CELERY_BROKER_URL"}
RUNNING = {name: os.environ[name] for name in ("DATABASE_URL", "CELERY_BROKER_URL")}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with these variables and no other."""
    return subprocess.run(
        manage(*arguments), env={"PATH": os.defpath, **environment}, capture_output=True, text=True, timeout=60
    )


def assignments(text: str, *, with_shown: bool) -> dict[str, str]:
    """The variables in an environment file, those in comments too if asked."""
    found = ASSIGNMENT.finditer(text)
    return {match["name"]: match["value"] for match in found if with_shown or not match["shown"]}


class TestExample:
    def test_names_every_variable_that_the_settings_read(self):
        read = set(read_settings.env.dump())

        assert read <= set(assignments(example(), with_shown=True))
        assert {"SECRET_KEY", "LOG_JSON", "LEASE_SECONDS"} <= read

    def test_names_every_variable_in_the_readme(self):
        section = (ROOT / "README.md").read_text().partition("## Configuration")[2].partition("\n## ")[0]
        cells = re.findall(r"^\| ([^|]*`[A-Z_]+`[^|]*)\|", section, re.MULTILINE)
        named = {name for cell in cells for name in re.findall(r"`([A-Z_]+)`", cell)}

        assert named <= set(assignments(example(), with_shown=True))
        assert {"SECRET_KEY", "SENTRY_DSN", "TRIES"} <= named

    def test_says_of_each_what_it_is(self):
        comments = {variable.name: variable.comment for variable in variables()}

        assert comments["LEASE_SECONDS"] == "how long a claim is ours"
        assert all(comments[name] for name in NEEDED)

    @pytest.mark.parametrize("with_shown", [False, True])
    def test_works_when_pasted(self, with_shown):
        pasted = assignments(run("doctor", "--example").stdout, with_shown=with_shown)

        checked = run("check", **{**pasted, **RUNNING})

        assert (checked.returncode, checked.stderr) == (0, "")
        assert "no issues" in checked.stdout

    def test_is_read_alike_by_a_shell(self, tmp_path):
        text = run("doctor", "--example").stdout
        file = tmp_path / "landfall.env"
        file.write_text(text)

        shell = subprocess.run(
            ["/bin/sh", "-c", f"set -a; . {file}; exec {sys.executable} -c 'import os; print(dict(os.environ))'"],
            env={}, capture_output=True, text=True, check=True,
        )  # fmt: skip

        assert assignments(text, with_shown=False).items() <= eval(shell.stdout).items()

    def test_needs_nothing_to_be_set(self):
        printed = run("doctor", "--example")

        assert (printed.returncode, printed.stderr) == (0, "")
        assert assignments(printed.stdout, with_shown=False).keys() >= NEEDED

    def test_is_the_same_when_everything_is_set(self):
        out = StringIO()

        call_command("doctor", "--example", stdout=out)

        assert assignments(out.getvalue(), with_shown=True).keys() == assignments(example(), with_shown=True).keys()

    def test_has_fresh_secrets_each_time(self):
        first, second = (assignments(example(), with_shown=False) for _ in range(2))

        assert all(first[name] != second[name] for name in NEEDED - {"CELERY_BROKER_URL"})
        assert Fernet(first["CREDENTIAL_KEYS"])


class TestNothingSet:
    @pytest.mark.parametrize("command", ["doctor", "check", "migrate", "runserver"])
    def test_is_one_sentence_that_names_it_all(self, command):
        refused = run(command)

        assert refused.returncode == 2
        assert refused.stdout == ""
        assert refused.stderr.count("\n") == 1
        assert all(name in refused.stderr for name in NEEDED)
        assert "doctor --example" in refused.stderr


@pytest.fixture
def whole(seeded: None, settings: Any) -> None:
    """A house in which everything is as it should be."""
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "https://notify.example.org", ["notify.example.org"]
    for migration in (
        "0004_beat_schedules",
        "0009_schedule_redact_and_clean",
        "0017_schedule_judge_arrivals",
        "0020_schedule_watch_endpoints",
    ):
        import_module(f"notifications.migrations.{migration}").seed(apps, None)
    for process in ("beat", "sweeper", *Lane.values):
        beat(process)
    factories.account("sms")
    factories.account("mail", "postmark")


def doctor() -> tuple[int, list[str]]:
    """Exit code and lines."""
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=out)
    return int(ended.value.code or 0), out.getvalue().splitlines()


class TestExitCode:
    def test_is_0_when_there_are_only_notes(self, whole):
        code, lines = doctor()

        assert code == 0
        assert {line.split()[0] for line in lines} <= {"ok", "note"}

    def test_is_1_after_a_warning(self, whole, settings):
        settings.PUBLIC_URL = "http://notify.example.org"

        code, lines = doctor()

        assert code == 1
        assert [line for line in lines if line.startswith("warning  PUBLIC_URL is plain http")]

    def test_is_2_after_an_error(self, whole):
        factories.account("old", "pigeon")

        code, lines = doctor()

        assert code == 2
        assert [line for line in lines if line.startswith("error    Account old is for 'pigeon'")]


@pytest.fixture(scope="module")
def careless() -> Iterator[Postgres]:
    """An empty database whose administrator switched things off."""
    with Postgres() as server:
        with psycopg.connect(server.url, autocommit=True) as administrator:
            administrator.execute("ALTER SYSTEM SET autovacuum = off")
            administrator.execute("ALTER SYSTEM SET synchronous_commit = off")
            administrator.execute("ALTER SYSTEM SET default_transaction_isolation = 'serializable'")
        server.stop()
        server.start()
        yield server


class TestServers:
    def test_that_were_set_up_carelessly_are_told_of(self, careless):
        told = run("doctor", **fresh_secrets(), **{**RUNNING, "DATABASE_URL": careless.url})

        assert told.returncode == 2
        for sentence in (
            "warning  autovacuum is off",
            "note     synchronous_commit is off",
            "error    Transactions run at SERIALIZABLE",
            "error    Migrations are not applied: ",
        ):
            assert sentence in told.stdout

    def test_that_are_away_are_told_of_without_a_trace(self):
        port = free_port()
        away = {
            "DATABASE_URL": f"postgresql://landfall:k7Qz41mX@127.0.0.1:{port}/landfall",
            "CELERY_BROKER_URL": f"redis://:k7Qz41mX@127.0.0.1:{port}/0",
        }

        told = run("doctor", **fresh_secrets(), **away)

        assert (told.returncode, told.stderr) == (2, "")
        assert f"error    The database does not answer at 127.0.0.1:{port}/landfall: Connection refused." in told.stdout
        assert f"error    The broker does not answer at 127.0.0.1:{port}" in told.stdout


class TestStart:
    @pytest.mark.parametrize("tries", ["0", "8"])
    def test_of_a_web_process_says_what_is_misconfigured(self, tries):
        environment = {"PATH": os.defpath, **fresh_secrets(), **RUNNING, "TRIES": tries}

        started = subprocess.run(
            [sys.executable, "-c", "import config.wsgi"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

        assert ("TRIES is 0." in started.stderr) == (tries == "0")


class TestSecrets:
    WORST: Mapping[str, str] = {
        "SECRET_KEY": "changeme-hidden-1",
        "ADDRESS_KEY": "hidden-2",
        "CREDENTIAL_KEYS": "hidden-3,hidden-4",
        "PUBLIC_URL": "http://ana:hidden-5@notify_1.example.org/?hidden-6",
        "SENTRY_DSN": "https://hidden-7@sentry.example.org/1",
        "DEBUG": "on",
        "DATABASE_URL": "postgresql://landfall:hidden-8@127.0.0.1:1/landfall",
        "CELERY_BROKER_URL": "redis://:hidden-9@127.0.0.1:1/0",
    }

    @pytest.mark.parametrize("command", [("doctor",), ("check",), ("check", "--database", "default")])
    def test_are_in_no_output(self, command):
        told = run(*command, **self.WORST)

        assert told.returncode != 0
        assert "PUBLIC_URL" in told.stdout + told.stderr
        assert "hidden" not in told.stdout + told.stderr

    def test_are_not_in_the_sentence_of_a_wrong_environment(self):
        wrong = {name: f"hidden {name}" for name in read_settings.env.dump() if name != "PUBLIC_URL"}

        told = run("doctor", **wrong)

        assert told.returncode == 2
        assert "DATABASE_URL must be like" in told.stderr
        assert "hidden" not in told.stderr

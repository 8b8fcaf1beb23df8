from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from config.env import InvalidEnvironment
from config.run import welcome
from config.run.asked import Asked
from config.run.output import Screen
from config.run.places import SANDBOX, taken
from config.run.plan import Plan, is_database_kept, lost_keys, make_plan, with_sandbox
from config.run.procfile import BadProcfile
from config.run.ready import Waiting
from config.run.supervisor import GRACE_SECONDS, Supervisor

OURS = "run"  # the name before our own lines
LOOK_SECONDS = 0.5
LONG_SECONDS = 90.0  # then it is said what is missing


class Command(BaseCommand):
    help = "Start everything in the Procfile, with restarts, until Ctrl-C. Without a provider account, the sandbox too."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--no-sandbox", action="store_true", help="never start the sandbox")

    def handle(self, *args: Any, **options: Any) -> None:
        self._began_at = time.monotonic()
        self._asked = Asked()
        self._asked.listen()
        _refuse_to_lose_keys()
        plan = _plan()
        self._migrate()
        if not options["no_sandbox"]:
            plan = with_sandbox(plan)
        if complaints := taken(plan.listening.values()):
            raise CommandError("\n".join(complaints))
        is_coloured = (self.stdout.isatty() and not options["no_color"]) or options["force_color"]
        self._screen = Screen([OURS, *plan.commands], self._write, is_coloured=is_coloured)
        self._write(f"Starting {', '.join(plan.commands)} …")
        self._run(plan)
        self._say("stopped")

    def _migrate(self) -> None:
        self._write("Bringing the database up to date (migrate) …")
        try:
            call_command("migrate", verbosity=0)
        except OperationalError as error:
            raise CommandError(f"the database does not work: {error}") from None

    def _run(self, plan: Plan) -> None:
        waiting = Waiting(plan.listening.values())
        with Supervisor(plan.commands, plan.environment, self._screen.say, last=[SANDBOX]) as supervisor:
            if self._wait(supervisor, waiting):
                self._welcome(plan)
            while not self._asked.times:
                supervisor.turn()
            self._say(f"stopping: workers get up to {GRACE_SECONDS:.0f} s; Ctrl-C again kills them")
            supervisor.stop(is_urgent=lambda: self._asked.times > 1)

    def _wait(self, supervisor: Supervisor, waiting: Waiting) -> bool:
        """Turn until everything is up. Returns False if a signal came first."""
        look_at, complain_at = 0.0, self._began_at + LONG_SECONDS
        while not self._asked.times:
            supervisor.turn()
            if (now := time.monotonic()) < look_at:
                continue
            if not (missing := waiting.missing()):
                return True
            look_at = now + LOOK_SECONDS
            if now > complain_at:
                complain_at = now + LONG_SECONDS
                self._say(f"still waiting for {', '.join(missing)}")
        return False

    def _welcome(self, plan: Plan) -> None:
        self._write(f"\nReady after {time.monotonic() - self._began_at:.1f} s.")
        for line in welcome.lines(plan, is_database_kept=is_database_kept(os.environ)):
            self._write(line)
        connection.close()  # not needed again

    def _say(self, line: str) -> None:
        self._screen.say(OURS, line)

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _plan() -> Plan:
    try:
        return make_plan(os.environ)
    except (BadProcfile, InvalidEnvironment, OSError) as error:
        raise CommandError(str(error)) from None


def _refuse_to_lose_keys() -> None:
    if names := lost_keys(os.environ):
        lines = [f"  export {name}={os.environ[name]}" for name in names]
        raise CommandError(
            "DATABASE_URL is yours, and without these keys nobody can read later what is stored now. Set the ones it has"
            " been used with. If it is new, set these and keep them:\n" + "\n".join(lines)
        )

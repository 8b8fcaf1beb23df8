from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config.demo.house import House, house
from config.demo.scenes import ROUTE, WINDOW_SECONDS
from config.demo.story import tell
from notifications import selectors
from notifications.models import ProviderAccount, Route

NEXT = """
Try next:
  make demo ARGS=--keep   the same, and everything stays up: look around in the admin
  make test               the whole test suite, on real servers
  README.md               your first notification from a Django view"""


class Command(BaseCommand):
    help = "Start everything for real, with a sandbox for the providers, and tell what becomes of seven notifications."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--keep", action="store_true", help="keep everything running afterwards, until Ctrl-C")

    def handle(self, *args: Any, **options: Any) -> None:
        began = time.monotonic()
        call_command("migrate", verbosity=0)
        if ProviderAccount.objects.exists():
            raise CommandError("the demo wants an empty database; unset DATABASE_URL and it brings its own")
        steps = [{"channel": "sms", "wait_for": "delivered", "window_seconds": WINDOW_SECONDS}, {"channel": "email"}]
        Route.objects.get_or_create(name=ROUTE, defaults={"steps": steps})
        selectors.routes.forget()
        self._say("Starting web, two workers, beat and the sandbox …")
        with house() as started:
            self._say(f"ready after {time.monotonic() - began:.1f} s")
            as_told = tell(started, self._say)
            if options["keep"]:
                self._keep(started)
        if not as_told:
            sys.exit(1)
        self._say(NEXT)

    def _keep(self, started: House) -> None:
        get_user_model().objects.create_superuser("demo", password="demo")  # noqa: S106  loopback, gone with the demo
        self._say(f"\nAdmin: {started.web_url}/admin/ (user demo, password demo). Ctrl-C ends everything.")
        try:
            while not started.processes.died():
                time.sleep(0.5)
        except KeyboardInterrupt:
            self._say("")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

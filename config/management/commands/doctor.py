from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config.celery import app
from config.example import example
from notifications.services.doctor.examination import examine
from notifications.services.doctor.findings import exit_code


class Command(BaseCommand):
    help = (
        "Say what is misconfigured and how to mend it, one line for each finding. "
        "Exits 0 for nothing worse than a note, 1 for warnings, 2 for errors. Changes nothing."
    )
    requires_system_checks = []  # it says the same, and more

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--example", action="store_true", help="print a complete environment file instead, its secrets made fresh"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["example"]:
            self.stdout.write(example(), ending="")
            return
        app.loader.import_default_modules()
        findings = []
        for finding in examine(app.tasks.keys()):
            self.stdout.write(str(finding))
            self.stdout.flush()
            findings.append(finding)
        sys.exit(exit_code(findings))

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand

from notifications.services.audit import audit


class Command(BaseCommand):
    help = "Check promises 1 to 3 against every row. Exits 1 if anything contradicts them. Changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        report = audit()
        for line in report.lines():
            self.stdout.write(line)
        if not report.is_sound:
            sys.exit(1)

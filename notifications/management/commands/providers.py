from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from providers.overview import markdown


class Command(BaseCommand):
    help = "Print what every provider can do, as docs/providers.md has it."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(markdown(), ending="")

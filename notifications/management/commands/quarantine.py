from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from notifications.services.quarantine import quarantine


class Command(BaseCommand):
    help = (
        "After a restore from a backup, before workers start: ask the providers about every open notification accepted "
        "before a moment, instead of sending it as if it had never gone out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--before",
            required=True,
            metavar="TIME",
            help="when the database was restored, e.g. 2027-01-15T10:00:00+00:00, or now",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        count = quarantine(_moment(options["before"]))
        self.stdout.write(f"{count} open notifications are asked about before anything more of them is sent")


def _moment(text: str) -> datetime:
    if text == "now":
        return timezone.now()
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CommandError(
            f"--before: {text!r} is not a moment with a time zone, e.g. 2027-01-15T10:00:00+00:00, or now"
        )
    return moment

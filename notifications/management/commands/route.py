from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from notifications.accounts import accounts
from notifications.addresses import InvalidAddress
from notifications.services.route import explain


class Command(BaseCommand):
    help = "Say which account would send to an address, and why the others would not. Sends nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("address", help="a phone number or an e-mail address")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            explained = explain(options["address"], accounts.all(), region=settings.DEFAULT_REGION)
        except InvalidAddress as error:
            raise CommandError(f"{error.reason}; accepted is {error.accepted}") from None
        self.stdout.write(f"{explained.address}  {explained.country}".rstrip())
        for row in explained.accounts:
            rank = f"{row.rank}." if row.rank is not None else "–"
            self.stdout.write(f"{rank:>3} {row.slug:20} {row.provider:12} {row.reason}")
        if not any(row.rank for row in explained.accounts):
            raise CommandError("no account would send to it now")

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from notifications.models import Client
from notifications.services.keys import Scope, make_key


class Command(BaseCommand):
    help = "Make an API key for a client, which is made if it is new. The key is shown once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("client", help="name of the client: letters, digits, hyphens")
        parser.add_argument("--scope", action="append", choices=list(Scope), help="default: all; may be repeated")
        parser.add_argument("--days", type=int, help="valid for so long; default: until it is revoked")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["client"]
        if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or len(name) > 50:
            raise CommandError(f"{name!r} is no client name: use up to 50 letters, digits and hyphens")
        if options["days"] is not None and options["days"] < 1:
            raise CommandError("--days must be at least 1")
        client, _ = Client.objects.get_or_create(name=name)
        expires_at = timezone.now() + timedelta(days=options["days"]) if options["days"] else None
        scopes = [Scope(scope) for scope in options["scope"] or Scope]
        self.stdout.write(make_key(client, scopes, expires_at=expires_at))
        self.stderr.write("This is the only time the key is shown.")

from __future__ import annotations

import signal
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from notifications.models import ProviderAccount
from providers.sandbox import STARTERS, Pace, Sandbox, SandboxAccount

PORT = 8025
SMTP_PORT = 8026


class Command(BaseCommand):
    help = (
        "Play the providers on this machine, receipts included. Makes three accounts on first use. "
        "What a recipient does depends on the number's last two digits; see docs/sandbox.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=PORT)
        parser.add_argument(
            "--smtp-port", type=int, default=SMTP_PORT, help="where it takes mails, if an account has them"
        )
        parser.add_argument("--account", action="append", help="play only this account; may be repeated")
        parser.add_argument("--quick", action="store_true", help="everything happens ten times faster")

    def handle(self, *args: Any, **options: Any) -> None:
        url = f"http://127.0.0.1:{options['port']}"
        make_accounts(url, only=options["account"], quick=options["quick"])
        ours = (f"{url}/", f"smtp://127.0.0.1:{options['smtp_port']}/")
        known = ProviderAccount.objects.order_by("priority", "id")
        rows = [row for row in known if f"{row.base_url}/".startswith(ours)]
        if not rows:
            raise CommandError(f"no account has a base URL under {url}; see --port, and the accounts in the admin")
        try:
            sandbox = Sandbox(
                [_as_vendor(row) for row in rows],
                pace=quick(Pace()) if options["quick"] else Pace(),
                port=options["port"],
                smtp_port=options["smtp_port"],
                log=self._say,
            )
        except OSError as error:
            raise CommandError(
                f"port {options['port']} (or {options['smtp_port']}, for mails) cannot be used: {error.strerror}; "
                "choose one by --port (--smtp-port)"
            ) from None
        except ValueError as error:
            raise CommandError(str(error)) from None
        self._say("playing " + ", ".join(row.slug for row in rows))
        signal.signal(signal.SIGTERM, lambda *_: sandbox.stop())
        sandbox.serve_forever()

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def quick(pace: Pace) -> Pace:
    """Ten times faster, so that a story can be told."""
    return replace(
        pace,
        sent_after=pace.sent_after / 10,
        delivered_after=pace.delivered_after / 10,
        late_after=pace.late_after / 10,
        slow_answer=pace.slow_answer / 10,
        look_up_lag=pace.look_up_lag / 10,
        unanswered_after=4.0,  # late enough for a look-up to come first
        webhook_retries=tuple(wait / 10 for wait in pace.webhook_retries),
    )


def make_accounts(url: str, *, only: list[str] | None = None, quick: bool = False) -> None:
    """Make the sandbox's own accounts where they are missing. Never touches one that is there."""
    pace = {"look_up_delay_seconds": 1.0} if quick else {}
    for starter in STARTERS:
        if only and starter.slug not in only:
            continue
        ProviderAccount.objects.get_or_create(
            slug=starter.slug,
            defaults={
                "provider": starter.provider,
                "channels": [starter.channel.value],
                "priority": starter.priority,
                "credentials": starter.credentials(),
                "settings": {"from": starter.sender, **pace},
                "base_url": f"{url}/{starter.provider}",
            },
        )


def _as_vendor(row: ProviderAccount) -> SandboxAccount:
    return SandboxAccount(row.slug, row.provider, row.credentials, _webhook_url(row))


def _webhook_url(row: ProviderAccount) -> str:
    """Where a vendor that is told once, and not with each message, reports to."""
    scheme, host, *_ = urlsplit(settings.PUBLIC_URL)
    if "webhook_user" in row.credentials:
        host = f"{row.credentials['webhook_user']}:{row.credentials['webhook_password']}@{host}"
    return urlunsplit((scheme, host, f"/webhooks/{row.slug}/", "", ""))

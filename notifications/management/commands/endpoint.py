from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from notifications.models import Client, WebhookEndpoint
from notifications.services import endpoints
from notifications.services.endpoint_replays import replay
from notifications.services.request import Refused


class Command(BaseCommand):
    help = "Endpoints, where clients hear of their notifications: add one, list them, give one a new secret, send it what it missed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        add = commands.add_parser("add", help="make one; its secret is shown once")
        add.add_argument("client")
        add.add_argument("name", help="small letters, digits and hyphens")
        add.add_argument("url", help="where events are posted")
        add.add_argument(
            "--event", action="append", default=[], help="what it hears of, e.g. notification.*; default: all"
        )
        add.add_argument("--email", default="", help="who is told when it fails")
        commands.add_parser("list", help="every endpoint, with its client and how it does")
        rotate = commands.add_parser("rotate", help="a new secret, shown once; the one before signs too for a day")
        rotate.add_argument("name")
        replay = commands.add_parser("replay", help="send again what one has missed: dead letters and expired events")
        replay.add_argument("name")
        replay.add_argument("--since", required=True, type=_moment, help="told since then, e.g. 2027-01-15T10:00+00:00")
        replay.add_argument("--until", type=_moment, help="and before then; default: now")

    def handle(self, *args: Any, **options: Any) -> None:
        commands = {"add": self._add, "list": self._list, "rotate": self._rotate, "replay": self._replay}
        commands[options["command"]](options)

    def _add(self, options: dict[str, Any]) -> None:
        client = Client.objects.filter(name=options["client"]).first()
        if client is None:
            raise CommandError(f"there is no client {options['client']!r}; `manage.py api_key` makes one")
        said = {"name": "name", "url": "url", "event_types": "event", "owner_email": "email"}
        try:
            _, secret = endpoints.create(client, {field: options[option] for field, option in said.items()})
        except Refused as refused:
            raise CommandError(str(refused)) from None
        self._show(secret)

    def _list(self, options: dict[str, Any]) -> None:
        rows = WebhookEndpoint.objects.select_related("account", "client").order_by("account__slug")
        for endpoint in rows:
            state = "on" if endpoint.account.is_on else f"off: {endpoint.off_reason}"
            since = f", failing since {endpoint.failing_since:%Y-%m-%d %H:%M} UTC" if endpoint.failing_since else ""
            self.stdout.write(f"{endpoint} ({endpoint.client}): {state}{since}")

    def _rotate(self, options: dict[str, Any]) -> None:
        self._show(endpoints.rotate_secret(_named(options["name"]), now=timezone.now()))

    def _replay(self, options: dict[str, Any]) -> None:
        until = options["until"] or timezone.now()
        done = replay(_named(options["name"]), since=options["since"], until=until, by="the command line")
        self.stdout.write(str(done))

    def _show(self, secret: str) -> None:
        self.stdout.write(secret)
        self.stderr.write("This is the only time the secret is shown.")


def _named(name: str) -> WebhookEndpoint:
    endpoint = WebhookEndpoint.objects.select_related("account").filter(account__slug=name).first()
    if endpoint is None:
        raise CommandError(f"there is no endpoint {name!r}")
    return endpoint


def _moment(text: str) -> datetime:
    """A moment as ISO 8601 has it; UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no moment; write 2027-01-15 or 2027-01-15T10:00+00:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from notifications.explanation import explain
from notifications.models import Notification
from notifications.services.accept import Refused, send

WAIT_SECONDS = 120


class Command(BaseCommand):
    help = "Send one notification, e.g. manage.py send --sms +4915112345601 --text 'Table ready' --wait"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sms", metavar="NUMBER", help="phone number in international form")
        parser.add_argument("--email", metavar="ADDRESS")
        parser.add_argument("--text", required=True)
        parser.add_argument("--subject", help="of the e-mail; the text's first line by default")
        parser.add_argument("--route", help="default: SMS and then e-mail, as far as there are addresses")
        parser.add_argument("--priority", default="normal")
        parser.add_argument("--key", help="idempotency key")
        parser.add_argument("--wait", action="store_true", help="wait for its end, and say it")

    def handle(self, *args: Any, **options: Any) -> None:
        to = {channel: options[channel] for channel in ("sms", "email") if options[channel]}
        try:
            accepted = send(
                to=to,
                content=_content(to, options["text"], options["subject"]),
                route=options["route"],
                priority=options["priority"],
                idempotency_key=options["key"],
            )
        except Refused as refused:
            raise CommandError("refused\n" + "\n".join(f"  {error}" for error in refused.errors)) from None
        replay = " again (replayed)" if accepted.replayed else ""
        self.stdout.write(f"accepted{replay}: {accepted.id}")
        if options["wait"]:
            self._wait(accepted.id)

    def _wait(self, notification_id: Any) -> None:
        ends_at = time.monotonic() + WAIT_SECONDS
        said = ""
        while time.monotonic() < ends_at:
            notification = Notification.objects.prefetch_related("messages").get(id=notification_id)
            if (sentence := explain(notification)) != said:
                self.stdout.write(sentence)
                said = sentence
            if notification.end is not None:
                return
            time.sleep(0.2)
        raise CommandError(f"no end after {WAIT_SECONDS} s; are the workers running?")


def _content(to: dict[str, str], text: str, subject: str | None) -> dict[str, dict[str, str]]:
    content = {"sms": {"text": text}, "email": {"subject": subject or text.splitlines()[0][:200], "text": text}}
    return {channel: content[channel] for channel in to}

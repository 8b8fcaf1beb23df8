"""What all processes have said while everything broke: no address, no text, no secret."""

from __future__ import annotations

import re

from tests.faults.house import House
from tests.faults.stage import Row, Stage

ADDRESSES = re.compile(r"(?:\+|%2B|\b)49151\d{8}|[a-z]+(?:\+|%2B)\d{6}(?:@|%40)example\.org")
TEXTS = re.compile(r"\brow\d+ \d{6}\b")


def scan(stage: Stage) -> None:
    """Read every log of the house, tracebacks included."""
    stage.pause(3)
    secrets = _secrets(stage.house)
    size = 0
    for log in sorted((stage.house.folder / "logs").iterdir()):
        text = log.read_text(errors="replace")
        size += len(text)
        for what, found in (("an address", ADDRESSES.search(text)), ("a text", TEXTS.search(text))):
            stage.demand(found is None, f"{log.name} holds {what}")
        leaked = [name for name, secret in secrets.items() if secret in text]
        stage.demand(not leaked, f"{log.name} holds {', '.join(leaked)}")
    stage.note(f"{size / 1e6:.1f} MB of logs read")


def _secrets(house: House) -> dict[str, str]:
    from django.conf import settings

    from notifications.models import ProviderAccount

    secrets = {
        f"{account.slug}'s {name}": str(value)
        for account in ProviderAccount.objects.all()
        for name, value in account.credentials.items()
        if len(str(value)) > 8
    }
    environment = {"SECRET_KEY": settings.SECRET_KEY, "ADDRESS_KEY": settings.ADDRESS_KEY.decode()}
    passwords = {"the database's password": house.postgres.password, "the broker's password": house.broker.password}
    return {**secrets, **environment, **passwords, "the API key": house.api_key}


ROWS = [Row("addresses, texts and secrets in all logs", scan)]

"""Reads used in more than one place."""

from __future__ import annotations

from typing import Any

from notifications.models import Attempt, Client, Route
from notifications.recent import Recent

routes: Recent[dict[str, list[dict[str, Any]]]] = Recent(lambda: dict(Route.objects.values_list("name", "steps")))
clients: Recent[dict[str, Client]] = Recent(lambda: {client.name: client for client in Client.objects.all()})


def owned_provider_ids(account_id: int, address_hash: str) -> frozenset[str]:
    """The provider's ids of all messages to an address that belong to attempts of ours already."""
    attempts = Attempt.objects.filter(
        account_id=account_id, message__address_hash=address_hash, provider_message_id__isnull=False
    )
    return frozenset(id for id in attempts.values_list("provider_message_id", flat=True) if id)

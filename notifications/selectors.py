"""Reads used in more than one place."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Min

from notifications.models import Attempt, Client, Route
from notifications.recent import Recent

routes: Recent[dict[str, list[dict[str, Any]]]] = Recent(lambda: dict(Route.objects.values_list("name", "steps")))
clients: Recent[dict[str, Client]] = Recent(lambda: {client.name: client for client in Client.objects.all()})


def client_named(name: str) -> Client:
    """A client, made a moment ago or before. Raises KeyError."""
    if name not in clients.get():
        clients.forget()
    return clients.get()[name]


def steps_of(route: str) -> list[dict[str, Any]] | None:
    """The steps of a route, made a moment ago or before; None where there is none."""
    if route not in routes.get():
        routes.forget()
    return routes.get().get(route)


def owned_provider_ids(account_id: int, address_hash: str) -> frozenset[str]:
    """The provider's ids of all messages to an address that belong to attempts of ours already."""
    attempts = Attempt.objects.filter(
        account_id=account_id, message__address_hash=address_hash, provider_message_id__isnull=False
    )
    return frozenset(id for id in attempts.values_list("provider_message_id", flat=True) if id)


def key_used_at(message_id: UUID, provider_key: str) -> datetime | None:
    """When a message was first sent under an idempotency key of its provider."""
    attempts = Attempt.objects.filter(message_id=message_id, provider_key=provider_key)
    first: datetime | None = attempts.aggregate(first=Min("began_at"))["first"]
    return first

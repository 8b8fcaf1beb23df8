"""Reads used in more than one place."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max, Min

from notifications.models import Attempt, Client, Route, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.recent import Recent

routes: Recent[dict[str, list[dict[str, Any]]]] = Recent(lambda: dict(Route.objects.values_list("name", "steps")))
clients: Recent[dict[str, Client]] = Recent(lambda: {client.name: client for client in Client.objects.all()})


def _endpoints() -> dict[int, list[WebhookEndpoint]]:
    found: dict[int, list[WebhookEndpoint]] = {}
    rows = WebhookEndpoint.objects.exclude(client__name=EVENTS)  # events have no events
    for endpoint in rows.select_related("account").defer("account__credentials").order_by("id"):
        found.setdefault(endpoint.client_id, []).append(endpoint)
    return found


endpoints: Recent[dict[int, list[WebhookEndpoint]]] = Recent(_endpoints)  # by client


def endpoint_names(client_id: int | None) -> set[str]:
    """What a client's endpoints are called; those of all with None."""
    found = endpoints.get()
    some = found.get(client_id, []) if client_id is not None else itertools.chain.from_iterable(found.values())
    return {endpoint.account.slug for endpoint in some}


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


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What became of an idempotency key: when it was first used, and whether any call under it was answered with a 5xx."""

    first_at: datetime
    has_failed: bool


def key_use(message_id: UUID, provider_key: str) -> KeyUse | None:
    """How a message was sent under an idempotency key of its provider, None if never."""
    attempts = Attempt.objects.filter(message_id=message_id, provider_key=provider_key)
    found = attempts.aggregate(first=Min("began_at"), highest=Max("http_status"))
    return KeyUse(found["first"], (found["highest"] or 0) >= 500) if found["first"] else None

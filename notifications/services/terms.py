"""What the terms of a request mean here and now: its steps, its incident, its policies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from notifications import selectors
from notifications.lanes import Priority
from notifications.models import Client, Incident, OnUnclear
from notifications.models.client import INTERNAL
from notifications.numbers import numbers
from notifications.services.request import FieldError, Refused, Terms
from notifications.services.steps import channels_of

_SENDS_AGAIN = {Priority.CRITICAL, Priority.HIGH}  # unless the request says otherwise; the others hold


def steps_named(route: str) -> list[dict[str, Any]]:
    """The steps of a route. Raises Refused."""
    steps = selectors.steps_of(route)
    if steps is None:
        names = ", ".join(sorted(selectors.routes.get()))
        raise Refused([FieldError("route", "does not exist", f"one of {names}")])
    return steps


def missing_content(
    steps: Sequence[Mapping[str, Any]], recipient: Collection[str], content: Collection[str]
) -> list[FieldError]:
    """What a recipient's channels lack. `recipient` and `content` are, or are keyed by, channels."""
    named = [channel for step in steps for channel in channels_of(step)]
    used = [channel for channel in named if channel in recipient]
    if not used:
        channels = " or ".join(sorted(set(named)))
        return [FieldError("to", "has no address for any step of the route", f"an address for {channels}")]
    return [
        FieldError(f"content.{channel}", "is missing", f"what to say by {channel}, since `to` has an address for it")
        for channel in sorted(set(used))
        if channel not in content
    ]


def endpoint_errors(name: str | None, client: Client) -> Iterator[FieldError]:
    """What is wrong with an endpoint that a client addresses. Code in this project may address anybody's."""
    if name is None or name in selectors.endpoint_names(None if client.name == INTERNAL else client.id):
        return
    selectors.endpoints.forget()  # it may have been made a moment ago
    if name not in selectors.endpoint_names(None if client.name == INTERNAL else client.id):
        yield FieldError("to.webhook", "is no endpoint of this client", "the name of one of its endpoints")


def incident_errors(terms: Terms) -> Iterator[FieldError]:
    """What is wrong with the incident now."""
    if terms.incident is None:
        return
    incident = Incident.objects.filter(key=terms.incident).first()
    if incident is None or incident.ended_at is not None:
        reason = "does not exist" if incident is None else "has ended"
        yield FieldError("incident", reason, "the key of an incident that is going on")


def incident_id(terms: Terms) -> int | None:
    """The id of the incident, if one is named."""
    return Incident.objects.values_list("id", flat=True).get(key=terms.incident) if terms.incident else None


def on_unclear(terms: Terms) -> str:
    """What to do when nobody can say whether a message went out."""
    if terms.on_unclear is not None:
        return terms.on_unclear
    return OnUnclear.SEND_AGAIN if terms.priority in _SENDS_AGAIN else OnUnclear.HOLD


def expiry_seconds(terms: Terms) -> float:
    """For how long it is useful unless it says so itself."""
    seconds: float = getattr(numbers(), f"{terms.priority}_expiry_seconds")
    return seconds

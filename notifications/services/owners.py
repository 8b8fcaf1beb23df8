"""Owners of endpoints are told when theirs fail: a notification like any other, by e-mail."""

from __future__ import annotations

from datetime import datetime

import structlog

from notifications.models import WebhookEndpoint
from notifications.numbers import DAY, numbers
from notifications.services.accept import send
from notifications.services.request import Refused
from providers.messages import Channel

log = structlog.get_logger(__name__)

ROUTE = "email"
WARNING = """\
No event has reached the endpoint {name} since {since:%Y-%m-%d %H:%M} UTC.

They are kept and tried again, each for some five days. If none has arrived by {off_at:%Y-%m-%d %H:%M} UTC, the endpoint is
switched off.
"""
OFF = """\
The endpoint {name} has been switched off: {reason}.

Its events are kept for {days:.0f} days from when they happened. Mend it and switch it on again, and they are sent.
"""


def warn(endpoint: WebhookEndpoint, *, since: datetime, off_at: datetime) -> None:
    """Say that an endpoint fails. In the transaction that notes it, so that it is said once."""
    name = endpoint.account.slug
    _tell(endpoint, f"Events do not reach {name}", WARNING.format(name=name, since=since, off_at=off_at))


def tell_of_switching_off(endpoint: WebhookEndpoint, reason: str) -> None:
    """Say that an endpoint was switched off. In the transaction that does it, so that it is said once."""
    name, days = endpoint.account.slug, numbers().event_expiry_seconds / DAY
    _tell(endpoint, f"Events for {name} are kept back", OFF.format(name=name, reason=reason, days=days))


def _tell(endpoint: WebhookEndpoint, subject: str, text: str) -> None:
    if not endpoint.owner_email:
        return
    try:
        send(
            {Channel.EMAIL.value: endpoint.owner_email},
            {Channel.EMAIL.value: {"subject": subject, "text": text}},
            route=ROUTE,
            reference=f"endpoint {endpoint.account.slug}",
        )
    except Refused as refused:  # no such route, or an address of old: no reason to go on sending to the endpoint
        log.warning(
            "owner cannot be told", endpoint=endpoint.account.slug, fields=[error.field for error in refused.errors]
        )

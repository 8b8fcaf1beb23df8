"""Events: what clients hear of their notifications, accepted like everything else, in the transaction that they tell of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import notifications.sql.accept as sql
from notifications import selectors
from notifications.hints import hints
from notifications.ids import new_id, step_id
from notifications.lanes import SENDING, Priority
from notifications.models import Category, Notification, OnUnclear, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.numbers import numbers
from notifications.services.steps import first_messages
from notifications.sql.accept import NewRow
from notifications.sql.settle import Ended
from notifications.states import End
from providers.messages import Channel

ROUTE = "webhook"
STEPS = [{"channel": Channel.WEBHOOK.value}]
PRIORITY = Priority.NORMAL
INBOUND = "sms.received"
TEST = "endpoint.test"  # goes to the endpoint that is tried, whatever it asks for
TYPES = (*(f"notification.{end}" for end in End), INBOUND)
KINDS = ("notification.*",)
BY_NAME = {INBOUND}  # what people wrote goes to nobody who has not asked for just that


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a client may want to hear of. `key` is the same whenever the same is told."""

    client_id: int
    type: str
    occurred_at: datetime
    key: str
    reference: str  # what it is about
    data: dict[str, Any]


def tell_of_ends(ended: Iterable[Ended]) -> None:
    """Tell clients how their notifications ended; a correction is told as well, under the next number."""
    tell([_of_end(one) for one in ended])


def tell(events: Sequence[Event]) -> None:
    """Accept an event for each endpoint of its client that asks for its type. Each is told once, however often this runs."""
    rows = [row for event in events for row in _rows(event)]
    if rows:
        _accept(rows)


def _accept(rows: Sequence[NewRow]) -> int:
    """Returns how many are new."""
    lane = SENDING[PRIORITY]
    messages = [message for row in rows for message in first_messages(row.id, row.steps, row.recipient, lane=lane)]
    accepted = sql.accept_all(rows, messages)
    hints.drain_after_commit(lane)
    return len(accepted)


def tell_endpoint(endpoint: WebhookEndpoint, event: Event) -> None:
    """Accept an event for one endpoint, whatever it asks for."""
    _accept([_row(event, endpoint)])


def tell_again(event: Notification, *, id: UUID, key: str | None = None) -> bool:
    """Accept an event once more, as notification `id`, under the `webhook-id` that it had. False if `key` is used already."""
    said = event.content[Channel.WEBHOOK.value]
    row = _row_of(
        id=id,
        key=key,
        reference=event.reference,
        name=event.recipient[Channel.WEBHOOK.value],
        said={**said, "id": said.get("id") or step_id(event.id, 0).hex},
    )
    return bool(_accept([row]))


def body(type: str, occurred_at: datetime, data: dict[str, Any]) -> str:
    """What is posted, byte for byte: https://www.standardwebhooks.com, "Payload structure"."""
    told = {"type": type, "timestamp": occurred_at.isoformat(), "data": data}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def is_wanted(type: str, wanted: Sequence[str]) -> bool:
    """Whether an endpoint that asks for these types hears of this one. Asking for none is asking for all but `BY_NAME`."""
    if type in BY_NAME:
        return type in wanted
    kind = type.rpartition(".")[0] + ".*"
    return not wanted or type in wanted or kind in wanted


def _of_end(ended: Ended) -> Event:
    return Event(
        client_id=ended.client_id,
        type=f"notification.{ended.end}",
        occurred_at=ended.ended_at,
        key=f"{ended.id}:{ended.end_count}",
        reference=str(ended.id),
        data={
            "id": str(ended.id),
            "state": ended.end,
            "sequence": ended.end_count,
            "reference": ended.reference,
            "metadata": json.loads(ended.metadata),
        },
    )


def _rows(event: Event) -> Iterable[NewRow]:
    for endpoint in selectors.endpoints.get().get(event.client_id, ()):
        if is_wanted(event.type, endpoint.event_types):
            yield _row(event, endpoint)


def _row(event: Event, endpoint: WebhookEndpoint) -> NewRow:
    return _row_of(
        id=new_id(),
        key=f"{event.key}:{endpoint.id}",
        reference=event.reference,
        name=endpoint.account.slug,
        said={"text": body(event.type, event.occurred_at, event.data)},
    )


def _row_of(*, id: UUID, key: str | None, reference: str, name: str, said: dict[str, str]) -> NewRow:
    return NewRow(
        id=id,
        client_id=selectors.client_named(EVENTS).id,
        idempotency_key=key,
        fingerprint="",
        category=Category.TRANSACTIONAL,
        priority=PRIORITY,
        incident_id=None,
        reference=reference,
        recipient={Channel.WEBHOOK.value: name},
        content={Channel.WEBHOOK.value: said},
        metadata={},
        route=ROUTE,
        steps=STEPS,
        on_unclear=OnUnclear.SEND_AGAIN,
        send_at=None,
        expires_at=None,
        expiry_seconds=numbers().event_expiry_seconds,
    )

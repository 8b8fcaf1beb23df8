"""Accept: store a notification and the promise to deliver it, together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

import notifications.sql.accept as sql
from notifications import selectors
from notifications.hints import hints
from notifications.ids import new_id
from notifications.inlining import inlined
from notifications.lanes import SENDING, Priority
from notifications.models import Client
from notifications.models.client import INTERNAL
from notifications.services.events import body
from notifications.services.mail_fields import HTML_BYTES
from notifications.services.request import FieldError, NewNotification, Refused, read, time_errors
from notifications.services.sms_hourly import OverLimit, reserve, sms_to
from notifications.services.sms_terms import number_errors, policy_of, sms_text
from notifications.services.steps import first_messages
from notifications.services.terms import (
    endpoint_errors,
    expiry_seconds,
    incident_errors,
    incident_id,
    missing_content,
    on_unclear,
    steps_named,
)
from notifications.sql.accept import IdempotencyConflict, NewRow, Stored
from providers.messages import Channel

# The first whose channels are enough for what a request has addresses for.
USUAL_ROUTES = {
    "sms": {Channel.SMS},
    "email": {Channel.EMAIL},
    "push": {Channel.PUSH},
    "sms-then-email": {Channel.SMS, Channel.EMAIL},
    "push-then-sms-then-email": {Channel.PUSH, Channel.SMS, Channel.EMAIL},
    "webhook": {Channel.WEBHOOK},
}

__all__ = ["Accepted", "IdempotencyConflict", "OverLimit", "Refused", "accept", "send"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The promise. `replayed` means that this idempotency key had been used for the same request before."""

    id: UUID
    accepted_at: datetime
    replayed: bool = False


def send(
    to: Mapping[str, Any],
    content: Mapping[str, Mapping[str, Any]],
    route: str | None = None,
    priority: str = Priority.NORMAL,
    category: str = "transactional",
    *,
    idempotency_key: str | None = None,
    reference: str | None = None,
    incident: str | None = None,
    send_at: datetime | None = None,
    expires_at: datetime | None = None,
    on_unclear: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Accepted:
    """Accept a notification from code in this project; it is delivered after the caller's transaction commits.

    `to` is one address per channel, of devices a list; `content` what each channel says: `{"sms": {"text": …}, "email":
    {"subject": …, "text": …, "html": …}}`. `route` names the steps, each by a channel or by several at once (see `Route`);
    without one, push, then SMS, then e-mail, as far as `to` has them.
    `priority` is critical, high, normal or bulk. The same `idempotency_key` with the same request is accepted once.
    Times are aware. `on_unclear` says what to do when nobody knows whether a message went out: send_again or hold.

    Raises Refused (a ValueError) with one error per field, among them OverLimit where a limit of SMS an hour is reached
    until its `again_at`; and IdempotencyConflict inside a transaction above READ COMMITTED that cannot see another one's
    use of the key. A broker that is down is not the caller's problem.
    """
    fields = {name: value for name, value in locals().items() if value is not None}
    return accept(fields, client_name=INTERNAL, now=timezone.now())


def accept(fields: Mapping[str, Any], *, client_name: str, now: datetime) -> Accepted:
    """Accept a client's request, in the caller's transaction if there is one. Raises Refused, IdempotencyConflict."""
    request = read(fields)
    client = selectors.client_named(client_name)
    if errors := [*time_errors(request, now), *incident_errors(request)]:
        return _replay_or_refuse(request, client, errors)
    try:
        said = what_it_says(request, client, now)
    except Refused as refused:
        return _replay_or_refuse(request, client, refused.errors)
    row = NewRow(
        id=new_id(),
        client_id=client.id,
        idempotency_key=request.idempotency_key,
        fingerprint=request.fingerprint(),
        category=request.category,
        priority=request.priority,
        incident_id=incident_id(request),
        reference=request.reference or "",
        recipient=said.recipient,
        content=said.content,
        metadata=request.metadata,
        route=said.route,
        steps=said.steps,
        on_unclear=on_unclear(request),
        send_at=request.send_at,
        expires_at=request.expires_at,
        expiry_seconds=expiry_seconds(request),
    )
    return _store_within_limits(row, request, client) if client.sms_hourly else _store(row, request)


@dataclass(frozen=True, slots=True)
class Said:
    """What a request comes to: its route, the steps as they will be frozen, whom it tells what."""

    route: str
    steps: list[dict[str, Any]]
    recipient: dict[str, Any]  # address by channel, of devices a list
    content: dict[str, Any]  # by channel


def what_it_says(request: NewNotification, client: Client, now: datetime) -> Said:
    """Read a request as it will be carried out if it is accepted now. Raises Refused."""
    route = request.route or client.default_route or _usual_route(request)
    steps = steps_named(route)
    recipient = request.to.model_dump(exclude_none=True)
    content = request.content.model_dump(exclude_none=True)
    errors = [
        *missing_content(steps, recipient, content),
        *number_errors(steps, recipient, policy_of(client)),
        *endpoint_errors(request.to.webhook, client),
    ]
    if errors:
        raise Refused(errors)
    if Channel.SMS in content:
        content[Channel.SMS]["text"] = sms_text(content[Channel.SMS]["text"], client)
    if html := content.get(Channel.EMAIL, {}).get("html"):
        content[Channel.EMAIL]["html"] = inlined(html, limit=HTML_BYTES)
    if request.content.webhook is not None:  # written once: every try sends the same bytes
        content[Channel.WEBHOOK] = {"text": body(request.content.webhook.type, now, request.content.webhook.data)}
    return Said(route, steps, recipient, content)


def accept_within(fields: Mapping[str, Any], *, client_name: str, now: datetime, lock_seconds: float) -> Accepted:
    """Accept in a transaction of its own that waits at most `lock_seconds` for another request with the same key or limit.

    Raises besides what `accept` raises: OperationalError, caused by LockNotAvailable, when the wait was in vain.
    """
    with transaction.atomic():
        if fields.get("idempotency_key") is not None or selectors.client_named(client_name).sms_hourly:
            sql.wait_at_most(lock_seconds)
        return accept(fields, client_name=client_name, now=now)


def _store(row: NewRow, request: NewNotification) -> Accepted:
    lane = SENDING[request.priority]
    messages = first_messages(row.id, row.steps, row.recipient, lane=lane)
    accepted_at = sql.accept(row, messages)
    if accepted_at is None:
        return _replay(sql.stored(row.client_id, request.idempotency_key or ""), row.fingerprint)
    if request.send_at is None:
        hints.drain_after_commit(lane)
    return Accepted(row.id, accepted_at)


@transaction.atomic
def _store_within_limits(row: NewRow, request: NewNotification, client: Client) -> Accepted:
    """Store a notification unless it takes its client over an hourly limit; a replay was counted when it was new."""
    accepted = _store(row, request)
    if not accepted.replayed:
        reserve(client, sms_to(row.steps, row.recipient))
    return accepted


def _replay_or_refuse(request: NewNotification, client: Client, errors: Sequence[FieldError]) -> Accepted:
    """What is too late, or no longer allowed, for a new request is no fault of one that was accepted before."""
    if request.idempotency_key is not None:
        with suppress(IdempotencyConflict):
            return _replay(sql.stored(client.id, request.idempotency_key), request.fingerprint())
    raise Refused([*errors])


def _replay(stored: Stored, fingerprint: str) -> Accepted:
    """The first answer again, for the same request."""
    if stored.fingerprint != fingerprint:
        raise Refused(
            [FieldError("idempotency_key", "was used for another request", "the same request again, or a new key")]
        )
    return Accepted(stored.id, stored.accepted_at, replayed=True)


def _usual_route(request: NewNotification) -> str:
    """The route of those who name none: by all that they give an address for, soonest read first."""
    given = request.to.model_dump(exclude_none=True).keys()
    usual = next((name for name, channels in USUAL_ROUTES.items() if given <= channels), None)
    if usual is None:
        accepted = "a route, since `to` has an address for webhook and for another channel"
        raise Refused([FieldError("route", "is missing", accepted)])
    return usual

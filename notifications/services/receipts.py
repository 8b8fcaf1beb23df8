"""Receipts of apps: a device says that it has a push, which no push service ever tells."""

from __future__ import annotations

from uuid import UUID

import notifications.sql.apply as sql
from notifications import tokens
from notifications.hints import hints
from notifications.models import Message, OutboxEntry
from notifications.models.delivery_event import Source
from notifications.services.reports import new_events
from providers.messages import DeliveryEvent, EventKind

PURPOSE = "receipt"
STATUS = "received by the app"


class UnknownReceipt(LookupError):
    """No token of ours, or the push has been deleted since."""


def receipt_of(message_id: UUID) -> str:
    """What an app sends back when it has this push: the same for every attempt."""
    return tokens.make(PURPOSE, message_id.bytes)


def take_receipt(token: str) -> bool:
    """Note that a push arrived. Returns whether that was new; raises UnknownReceipt. Safe to repeat."""
    content = tokens.read(PURPOSE, token)
    if not content or len(content) != 16:
        raise UnknownReceipt
    # The entry first: what `record` moves from there to the message is seen in one of them.
    open_attempt = OutboxEntry.objects.filter(message_id=UUID(bytes=content), attempt__isnull=False).first()
    message = Message.objects.filter(id=UUID(bytes=content)).first()
    if message is None:
        raise UnknownReceipt
    account_id = open_attempt.account_id if open_attempt else message.account_id
    number = open_attempt.attempt if open_attempt else message.attempt_count
    if account_id is None or not number:
        raise UnknownReceipt  # nothing of it has left
    event = DeliveryEvent(
        EventKind.DELIVERED,
        dedupe_key=f"receipt:{message.id}",
        attempt=f"{message.id.hex}-{number}",
        provider_status=STATUS,
    )
    stored = sql.store_events(new_events(account_id, [event], Source.WEBHOOK))
    if stored:
        hints.apply()
    return bool(stored)

"""Bounces: which addresses reports keep us from writing to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from notifications.numbers import numbers
from notifications.sql.apply import SuppressedAddress, Waiting
from notifications.sql.lock import LockedNotification
from notifications.sql.suppressions import SOFT_BOUNCES, often_bounced
from providers.messages import Channel, EventKind

SOURCE = "report"
NEWEST = 100  # mails to an address that are looked at


def suppressed_by(events: Sequence[Waiting], notifications: Sequence[LockedNotification]) -> list[SuppressedAddress]:
    """Addresses that reports call dead, or whose owners want no more; and those that rest, having bounced too often."""
    messages = {message.id: message for notification in notifications for message in notification.messages}
    told = [
        SuppressedAddress(
            messages[event.message_id].channel, messages[event.message_id].address_hash, event.suppress, SOURCE
        )
        for event in events
        if event.suppress
    ]
    bounced = {
        messages[event.message_id].address_hash
        for event in events
        if event.kind == EventKind.NOT_REACHED and messages[event.message_id].channel == Channel.EMAIL
    }
    return [*told, *_resting(bounced, notifications)] if bounced else told


def _resting(bounced: set[str], notifications: Sequence[LockedNotification]) -> list[SuppressedAddress]:
    found = often_bounced(bounced, bounces=numbers().soft_bounces, days=numbers().soft_bounce_days, newest=NEWEST)
    until = notifications[0].now + timedelta(days=numbers().soft_bounce_rest_days)
    return [SuppressedAddress(Channel.EMAIL.value, hashed, SOFT_BOUNCES, SOURCE, until) for hashed in found]

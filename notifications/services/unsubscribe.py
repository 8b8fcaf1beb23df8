"""Unsubscribe: whoever has the link from a mail of ours gets no more of its category."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from django.conf import settings

import notifications.sql.apply as sql
from notifications import tokens
from notifications.models import Category
from notifications.sql.apply import SuppressedAddress
from notifications.sql.suppressions import UNSUBSCRIBED
from providers.messages import Channel

log = structlog.get_logger(__name__)

PURPOSE = "unsubscribe"
CATEGORIES = {Category.MARKETING.value}  # that one can unsubscribe from
HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class Subscription:
    """Mails of a category to an address, of which we know the hash only."""

    category: str
    address_hash: str


def link(category: str, address_hash: str) -> str | None:
    """Where an address unsubscribes from a category, without the address in it; None of one that nobody can.

    It holds for ever and needs nothing on file.
    """
    if category not in CATEGORIES:
        return None
    token = tokens.make(PURPOSE, f"{category}:".encode() + bytes.fromhex(address_hash))
    return f"{settings.PUBLIC_URL}/unsubscribe/{token}/"


def read(token: str) -> Subscription | None:
    """Whose link it is and of what; None for one that we never made."""
    content = tokens.read(PURPOSE, token)
    if content is None:
        return None
    category, _, hashed = content.partition(b":")
    if category.decode(errors="replace") not in CATEGORIES or len(hashed) != HASH_BYTES:
        return None
    return Subscription(category.decode(), hashed.hex())


def unsubscribe(subscription: Subscription) -> None:
    """Send no more of them. Safe to repeat."""
    address = SuppressedAddress(Channel.EMAIL.value, subscription.address_hash, UNSUBSCRIBED, "link")
    sql.suppress([address])
    log.info("recipient unsubscribed", category=subscription.category)

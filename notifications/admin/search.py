"""Search boxes that understand what operators have at hand: a number, a reference, an address, a provider's id."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db.models import Q

from notifications.addresses import InvalidAddress, address_hash, normalise
from notifications.models import Attempt, ProviderAccount
from notifications.services.reports import parse_attempt
from providers.messages import Channel


def messages_that_match(text: str) -> Q:
    """Messages by their number, their recipient, or a provider's id of one of their attempts."""
    found = Q(id__in=_by_provider_id(text))
    if (id := as_id(text)) is not None:
        found |= Q(id=id) | Q(notification_id=id)
    if hashes := _hashes(text):
        found |= Q(address_hash__in=hashes)
    return found


def as_id(text: str) -> UUID | None:
    """The id that a text is, if it is one; an attempt's id counts for its message."""
    message_id, _ = parse_attempt(text)
    if message_id is not None:
        return message_id
    try:
        return UUID(text)
    except ValueError:
        return None


def _by_provider_id(text: str) -> list[UUID]:
    """By account, since that is how the index begins."""
    accounts = list(ProviderAccount.objects.values_list("id", flat=True))
    attempts = Attempt.objects.filter(account_id__in=accounts, provider_message_id=text)
    return list(attempts.values_list("message_id", flat=True)[:100])


def _hashes(text: str) -> list[str]:
    hashes = []
    for channel in Channel:
        try:
            address = normalise(channel, text, region=settings.DEFAULT_REGION)
        except InvalidAddress:
            continue
        hashes.append(address_hash(channel, address))
    return hashes

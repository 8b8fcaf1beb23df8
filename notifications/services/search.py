"""Find notifications of one client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from notifications.addresses import InvalidAddress, address_hash, normalise
from notifications.ids import first_id_at
from notifications.models import Notification
from notifications.services.request import FieldError, Refused
from providers.messages import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to look for; None looks at everything. `cursor` is the last id of the page before."""

    state: str | None = None  # an end, or "open"
    reference: str | None = None
    recipient: str | None = None
    incident: str | None = None
    accepted_from: datetime | None = None
    accepted_until: datetime | None = None
    cursor: UUID | None = None


def search(client_id: int, wanted: Search, limit: int) -> tuple[Sequence[Notification], UUID | None]:
    """A page of notifications, newest first, and the cursor of the next one. Raises Refused.

    Ids ascend with time, so that times become bounds of ids and no page costs more than another.
    """
    found = Notification.objects.filter(client_id=client_id).prefetch_related("messages").order_by("-id")
    for narrow in (_by_words, _by_time, _by_recipient):
        found = narrow(found, wanted)
    page = list(found[: limit + 1])
    more = len(page) > limit
    return page[:limit], page[limit - 1].id if more else None


def _by_words(found: QuerySet[Notification], wanted: Search) -> QuerySet[Notification]:
    if wanted.state is not None:
        found = found.filter(end__isnull=True) if wanted.state == "open" else found.filter(end=wanted.state)
    if wanted.reference is not None:
        found = found.filter(reference=_storable("reference", wanted.reference))
    if wanted.incident is not None:
        found = found.filter(incident__key=_storable("incident", wanted.incident))
    return found


def _by_time(found: QuerySet[Notification], wanted: Search) -> QuerySet[Notification]:
    for name, moment in (("accepted_from", wanted.accepted_from), ("accepted_until", wanted.accepted_until)):
        if moment is not None and moment.tzinfo is None:
            raise Refused([FieldError(name, "has no time zone", "e.g. 2027-01-15T10:00:00Z")])
    if wanted.accepted_from is not None:
        found = found.filter(id__gte=_bound("accepted_from", wanted.accepted_from))
    if wanted.accepted_until is not None:
        found = found.filter(id__lt=_bound("accepted_until", wanted.accepted_until))
    return found.filter(id__lt=wanted.cursor) if wanted.cursor is not None else found


def _bound(name: str, moment: datetime) -> UUID:
    try:
        return first_id_at(moment)
    except (ValueError, OverflowError):
        raise Refused([FieldError(name, "is out of range", "a moment after 1970")]) from None


def _by_recipient(found: QuerySet[Notification], wanted: Search) -> QuerySet[Notification]:
    if wanted.recipient is None:
        return found
    channel = Channel.EMAIL if "@" in wanted.recipient else Channel.SMS
    try:
        address = normalise(channel, wanted.recipient, region=settings.DEFAULT_REGION)
    except InvalidAddress as error:
        raise Refused([FieldError("recipient", error.reason, error.accepted)]) from None
    return found.filter(messages__address_hash=address_hash(channel, address)).distinct()


def _storable(name: str, text: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused([FieldError(name, "cannot be stored, so nothing has it", "text that can be written as UTF-8")])
    return text

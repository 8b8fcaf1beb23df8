"""Events sent again: what an endpoint has missed in some time, or one that somebody asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

import notifications.sql.endpoints as sql
from notifications import selectors
from notifications.addresses import address_hash
from notifications.ids import new_id
from notifications.models import Notification, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.services import events
from notifications.services.replay import CannotReplay
from notifications.services.replay import replay as replay_letter
from providers.messages import Channel

PAGE = 500
FIRST = UUID(int=0)


@dataclass(slots=True)
class Replayed:
    """How many events go out again: from dead letters, expired ones as new notifications; and dead letters left as they are."""

    letters: int = 0
    expired: int = 0
    left: int = 0

    def __str__(self) -> str:
        events = f"{self.expired} expired event{'' if self.expired == 1 else 's'}"
        return f"{_letters(self.letters)} and {events} are sent again; {_letters(self.left)} cannot be."


def replay(
    endpoint: WebhookEndpoint, *, since: datetime, until: datetime, by: str, most: int | None = None
) -> Replayed:
    """Send an endpoint what it has missed of the events told in some time. Each goes once, however often this runs.

    One after the other, each in its own transaction: what has been done stays done. At most `most` of each kind.
    """
    replayed = Replayed()
    name = address_hash(Channel.WEBHOOK, endpoint.account.slug)
    for letter in islice(_letters_of(name, since, until), most):
        _replay(letter, by, replayed)
    for event in islice(_expired_of(name, since, until), most):
        replayed.expired += _tell_again(event)
    return replayed


def resend(notification_id: UUID) -> UUID:
    """Send one event again, whatever became of it: its receiver sees the `webhook-id` that it had, and may drop it.

    Returns the notification that does it. Raises CannotReplay.
    """
    event = Notification.objects.filter(id=notification_id, client__name=EVENTS).first()
    if event is None:
        raise CannotReplay("it is no event")
    if event.end is None:
        raise CannotReplay("it is on its way")
    if event.redacted_at is not None:
        raise CannotReplay("its text has been redacted, so there is nothing left to send")
    if not WebhookEndpoint.objects.filter(account__slug=event.recipient[Channel.WEBHOOK.value]).exists():
        raise CannotReplay("its endpoint does not exist any more")
    sent = new_id()
    events.tell_again(event, id=sent)
    return sent


def _letters_of(name: str, since: datetime, until: datetime) -> Iterator[int]:
    after = 0
    while page := sql.dead_letters_of(name, since, until, after=after, limit=PAGE):
        yield from page
        after = page[-1]


def _expired_of(name: str, since: datetime, until: datetime) -> Iterator[UUID]:
    teller, after = selectors.client_named(EVENTS).id, FIRST
    while page := sql.expired_of(name, since, until, client_id=teller, after=after, limit=PAGE):
        yield from page
        after = page[-1]


def _replay(letter: int, by: str, replayed: Replayed) -> None:
    try:
        replay_letter(letter, by=by)
        replayed.letters += 1
    except CannotReplay:
        replayed.left += 1


def _tell_again(notification_id: UUID) -> bool:
    event = Notification.objects.filter(id=notification_id, redacted_at__isnull=True).first()
    return event is not None and events.tell_again(event, id=new_id(), key=f"again:{event.id}")


def _letters(count: int) -> str:
    return f"{count} dead letter{'' if count == 1 else 's'}"

"""Hourly limits: how many SMS a client may have accepted for a country, so that toll fraud ends before the bill does.

What is counted is SMS that may be sent: each step that would send one, when it is accepted and whatever becomes of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime

import structlog

import notifications.sql.sms_count as sql
from notifications.addresses import country
from notifications.models import Client
from notifications.services.request import FieldError, Refused
from notifications.services.sms_terms import sms_steps
from notifications.services.steps import Steps
from notifications.sms.limits import limit_of
from notifications.sql.sms_count import Taken
from providers.messages import Channel

log = structlog.get_logger(__name__)

_told: dict[tuple[int, str], datetime] = {}  # the hour that a limit was last logged for, by client and country


class OverLimit(Refused):
    """More SMS to a country than the client may have accepted in an hour. From `again_at` on they are counted afresh."""

    def __init__(self, error: FieldError, taken: Taken) -> None:
        super().__init__([error])
        self.again_at = taken.again_at
        self.wait_seconds = max(math.ceil(taken.wait_seconds), 1)


def sms_to(steps: Steps, recipient: Mapping[str, str]) -> dict[str, int]:
    """How many SMS a notification may come to, by country: none, or all to the one that its number is in."""
    number = recipient.get(Channel.SMS)
    count = sms_steps(steps)
    return {country(Channel.SMS, number): count} if number is not None and count else {}


def reserve(client: Client, counts: Mapping[str, int]) -> None:
    """Count SMS by country, all or none. Raises OverLimit, or Refused where they are more than ever fit into an hour.

    Only inside a transaction, as its last statement: until it ends, others with SMS to these countries wait.
    """
    for place, count, limit in _limited(client, counts):
        if not sql.reserve(client.id, place, count, limit=limit):
            error = _over(sql.taken(client.id, place), place, limit)
            _tell(client, place, limit, error.again_at)
            raise error


def check(client: Client, counts: Mapping[str, int]) -> None:
    """Raise what `reserve` would raise now, and count nothing."""
    for place, count, limit in _limited(client, counts):
        taken = sql.taken(client.id, place)
        if taken.count + count > limit:
            raise _over(taken, place, limit)


def _limited(client: Client, counts: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Country, count and limit of those that have a limit, in the one order in which their counters are locked."""
    for place, count in sorted(counts.items()):
        limit = limit_of(client.sms_hourly, place)
        if limit is None:
            continue
        if count > limit:
            reason = f"{count} SMS to {_named(place)} at once, and at most {limit} an hour may go there"
            raise Refused([FieldError("to.sms", reason, f"at most {limit}")])
        yield place, count, limit


def _over(taken: Taken, place: str, limit: int) -> OverLimit:
    left = max(limit - taken.count, 0)
    accepted = f"at most {left} more; again after {taken.again_at.isoformat()}"
    return OverLimit(FieldError("to.sms", f"more than {limit} SMS an hour to {_named(place)}", accepted), taken)


def _named(place: str) -> str:
    return place or "numbers of no country"


def _tell(client: Client, place: str, limit: int, hour: datetime) -> None:
    """Log a limit that is reached once per hour and process: fraud comes by the thousand."""
    if _told.get((client.id, place)) != hour:
        _told[client.id, place] = hour
        log.warning("hourly limit of SMS reached", client=client.name, country=place, limit=limit)

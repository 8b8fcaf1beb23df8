"""What happened to a notification, in order and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import prefetch_related_objects

from notifications.duplicates import second_ones
from notifications.explanation import CHANNELS, turn_of
from notifications.models import Attempt, DeliveryEvent, Message, Notification, Outcome
from notifications.models.attempt import LookedUp
from providers.messages import EventKind

_OUTCOMES = {
    Outcome.TAKEN: "took the {channel}",
    Outcome.NOT_SENT: "did not take the {channel}, for now",
    Outcome.REFUSED: "refused the {channel}",
    Outcome.UNCLEAR: "gave no clear answer for the {channel}",
}
_LOOKED_UP = {
    LookedUp.FOUND: "; asked later, it had it",
    LookedUp.NOT_THERE: "; asked twice later, it did not have it",
}
_REPORTS = {
    EventKind.ACCEPTED: "has the {channel}",
    EventKind.SENT: "handed the {channel} on",
    EventKind.NOT_REACHED: "could not reach the recipient of the {channel}",
    EventKind.EXPIRED: "gave up on the {channel}",
    EventKind.FAILED: "could not deliver the {channel}",
    EventKind.DELIVERED: "delivered the {channel}",
    EventKind.BOUNCED: "says that the mailbox rejected the {channel}",
    EventKind.COMPLAINED: "says that the recipient called the {channel} spam",
    EventKind.OPTED_OUT: "says that the recipient wants no more by {channel}",
    EventKind.NOT_THERE: "does not have the {channel}",
    EventKind.UNKNOWN: "reported something we do not know about the {channel}",
}


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happened, or will: `kind` is notification, attempt, report, escalation, or turn if it waits for that."""

    at: datetime
    kind: str
    text: str


def timeline(notification: Notification) -> list[Moment]:
    """All that is on file about a notification, oldest first. Holds no address and no text."""
    prefetch_related_objects(
        [notification], "messages__attempts__account", "messages__delivery_events__account", "messages__entry"
    )
    messages = notification.messages.all()
    moments = [*_of_notification(notification), *(moment for message in messages for moment in _of_message(message))]
    return sorted(moments, key=lambda moment: moment.at)


def _of_notification(notification: Notification) -> Iterator[Moment]:
    yield Moment(notification.accepted_at, "notification", "accepted")
    if notification.stopped_at is not None:
        yield Moment(notification.stopped_at, "notification", "cancelled by its client")
    if notification.ended_at is not None:
        yield Moment(notification.ended_at, "notification", f"ended: {notification.get_end_display().lower()}")
    if notification.redacted_at is not None:
        yield Moment(notification.redacted_at, "notification", "redacted: its texts and addresses are gone")


def _of_message(message: Message) -> Iterator[Moment]:
    channel = CHANNELS.get(message.channel, message.channel)
    if message.escalated_at is not None:
        yield Moment(message.escalated_at, "escalation", f"time for the {channel} ran out; the next step began")
    attempts = message.attempts.all()
    for attempt in attempts:
        yield Moment(attempt.ended_at, "attempt", _attempt_text(attempt, channel))
    for attempt in second_ones(attempts):
        yield Moment(attempt.ended_at, "attempt", f"the {channel} was sent again: it may arrive twice")
    for event in message.delivery_events.all():
        yield Moment(event.received_at, "report", _report_text(event, channel))
    if waits := turn_of(message):
        yield Moment(waits[0], "turn", f"the {channel} {waits[1]}")


def _attempt_text(attempt: Attempt, channel: str) -> str:
    what = _OUTCOMES[Outcome(attempt.outcome)].format(channel=channel)
    error = " ".join(filter(None, (attempt.error, attempt.error_code)))
    found = _LOOKED_UP[LookedUp(attempt.looked_up)] if attempt.looked_up else ""
    return f"attempt {attempt.number}: {attempt.account} {what}{f' ({error})' if error else ''}{found}"


def _report_text(event: DeliveryEvent, channel: str) -> str:
    what = _REPORTS[EventKind(event.kind)].format(channel=channel)
    words = " ".join(filter(None, (event.provider_status, event.error_code)))
    return f"{event.account} {what}{f' ({words})' if words else ''}, by {event.get_source_display().lower()}"

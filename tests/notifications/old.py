"""What has lain there for long: notifications with all that they leave behind, and the jobs that forget it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from notifications.models import Attempt, DeadLetter, Message, Notification
from notifications.services import clean as cleaning
from notifications.services import redact as redacting
from notifications.services.allowance import Allowance
from notifications.states import ENDED, State
from tests import factories

WORDS = "k7Qz41mX"  # what nobody is to know any more


def unhurried(**options: Any) -> Allowance:
    """An allowance whose pauses cost nothing."""
    return Allowance(sleep=lambda seconds: None, **options)


def redact(days: float = 31, **options: Any) -> int:
    """Redact, when so many days have passed."""
    return redacting.redact(unhurried(**options), now=timezone.now() + timedelta(days=days))


def clean(days: float = 91, **options: Any) -> int:
    """Clean, when so many days have passed."""
    return cleaning.clean(unhurried(**options), now=timezone.now() + timedelta(days=days))


def told_all(state: State = State.DELIVERED, *, of_client: str = "internal", **fields: Any) -> Message:
    """A message in a state, whose every field that can says what was sent to whom, with an applied report."""
    owner = factories.notification(
        client=factories.client(of_client),
        recipient={"sms": factories.NUMBER, "other": WORDS},
        content={"sms": {"text": WORDS}},
        metadata={"note": WORDS},
        **fields,
    )
    message = factories.message(state, of=owner)
    Attempt.objects.filter(message=message).update(answer=WORDS, late_answer=WORDS)
    report(message)
    return message


def report(message: Message, **fields: Any) -> None:
    """A report that was applied."""
    values = {"account": factories.account(), "raw": WORDS.encode(), "applied_at": timezone.now(), **fields}
    factories.event(message, "sent", **values)


def decide_all() -> None:
    """Every dead letter has been decided on."""
    DeadLetter.objects.update(resolved_at=timezone.now(), resolution=DeadLetter.Resolution.DISCARDED)


def ended_in_every_way() -> list[Message]:
    """One message of each state that is an end, decided on where a person must."""
    messages = [told_all(state) for state in State if state in ENDED]
    decide_all()
    return messages


def is_redacted(message: Message) -> bool:
    return Notification.objects.get(id=message.notification_id).redacted_at is not None

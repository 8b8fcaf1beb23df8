"""What tests send, and what they ask the database about it afterwards."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from notifications import send
from notifications.accounts import accounts
from notifications.models import Message, Notification, OutboxEntry, ProviderAccount
from tests.factories import CONTENT, MAILBOX, NUMBER


def sms(to: str = NUMBER, text: str = "Table ready", **fields: Any) -> Message:
    """Accept an SMS. Returns its message."""
    accepted = send({"sms": to}, {"sms": {"text": text}}, **fields)
    return Message.objects.get(notification=accepted.id)


def email(to: str = MAILBOX, **fields: Any) -> Message:
    """Accept an e-mail. Returns its message."""
    accepted = send({"email": to}, {"email": CONTENT["email"]}, **fields)
    return Message.objects.get(notification=accepted.id)


def push(to: Any, text: str = "Table ready", **fields: Any) -> Message:
    """Accept a push for one device. Returns its message."""
    accepted = send({"push": to}, {"push": {"text": text}}, **fields)
    return Message.objects.get(notification=accepted.id)


def sms_then_email(to: str = NUMBER, mailbox: str = MAILBOX, **fields: Any) -> Message:
    """Accept an SMS that an e-mail follows if it does not arrive within 90 seconds. Returns the SMS."""
    accepted = send({"sms": to, "email": mailbox}, CONTENT, **fields)
    return Message.objects.get(notification=accepted.id)


def told(message: Message) -> tuple[str, str]:
    """Where a message is, and why."""
    message.refresh_from_db()
    return message.state, message.reason


def end_of(message: Message) -> str | None:
    """How a message's notification ended."""
    return Notification.objects.get(id=message.notification_id).end


def fallback_of(message: Message) -> Message:
    """The message of the second step."""
    return Message.objects.get(notification=message.notification_id, step=1)


def attempts(message: Message) -> list[tuple[int, str, str]]:
    """Number, account and outcome of each attempt."""
    return [(row.number, row.account.slug, row.outcome) for row in message.attempts.order_by("number")]


def due_at(message: Message) -> datetime:
    return OutboxEntry.objects.get(message=message).due_at


def only_send(slug: str) -> None:
    """From now on, an account's credentials only send: nothing can be looked up with them."""
    account = ProviderAccount.objects.get(slug=slug)
    account.settings = {**account.settings, "may_read": False}
    account.save(update_fields=["settings"])
    accounts.forget()

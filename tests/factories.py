"""Rows that fit the state asked for: a message that is SENT has an attempt, an entry and a receipt deadline."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import connection
from django.db.models import F
from django.utils import timezone

from notifications import addresses
from notifications.ids import new_id
from notifications.lanes import Priority
from notifications.models import (
    Attempt,
    Batch,
    Client,
    DeadLetter,
    DeliveryEvent,
    Incident,
    Message,
    Notification,
    OutboxEntry,
    Outcome,
    ProviderAccount,
    Route,
    SkippedRow,
    Suppression,
    WebhookEndpoint,
)
from notifications.models.delivery_event import Source
from notifications.services.steps import channels_of
from notifications.services.verdicts import lane_of
from notifications.states import ENDED, OPEN, End, State
from providers.messages import EventKind

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)

NUMBER = "+4915112345601"  # role "delivered" in the sandbox
MAILBOX = "delivered@example.org"
CONTENT = {
    "sms": {"text": "Table ready"},
    "email": {"subject": "Table ready", "text": "Your table is ready."},
}
STORED = {**CONTENT, "webhook": {"text": "{}"}}  # an event is kept as its body
ENDPOINT_SECRET = "whsec_" + "c2VjcmV0" * 4
CREDENTIALS = {
    "twilio": {"account_sid": "AC" + "1" * 32, "auth_token": "t" * 32},
    "postmark": {"server_token": "p" * 32, "webhook_user": "postmark", "webhook_password": "secret"},
    "resend": {"api_key": "re_" + "r" * 32, "webhook_secret": "whsec_" + "c2VjcmV0" * 4},
}
SETTINGS = {
    "twilio": {"from": "+15005550006"},
    "postmark": {"from": "landfall@example.org"},
    "resend": {"from": "landfall@example.org"},
}
PROVIDER = {"sms": "twilio", "email": "postmark"}

# How the one attempt of a message in this state ended; a state that is not here has none.
OUTCOMES = {
    State.UNCERTAIN: Outcome.UNCLEAR,
    State.SENT: Outcome.TAKEN,
    State.DELIVERED: Outcome.TAKEN,
    State.UNCONFIRMED: Outcome.TAKEN,
    State.FAILED: Outcome.REFUSED,
    State.DEAD_LETTERED: Outcome.REFUSED,
}
PROVEN = {State.UNCERTAIN, State.SENT, State.DELIVERED, State.UNCONFIRMED}  # states with a receipt deadline


def account(slug: str | None = None, provider: str = "twilio", **fields: Any) -> ProviderAccount:
    """An account, or the one that has this slug already."""
    values = {
        "provider": provider,
        "channels": ["email"] if provider in ("postmark", "resend") else ["sms"],
        "credentials": CREDENTIALS.get(provider, CREDENTIALS["twilio"]),
        "settings": SETTINGS.get(provider, SETTINGS["twilio"]),
        **fields,
    }
    return ProviderAccount.objects.get_or_create(slug=slug or provider, defaults=values)[0]


def client(name: str = "shop") -> Client:
    return Client.objects.get_or_create(name=name)[0]


def endpoint(name: str, url: str, *, of: str = "internal", **fields: Any) -> WebhookEndpoint:
    """An endpoint of a client, on, with ENDPOINT_SECRET for its secret."""
    credentials = {"url": url, "secret": ENDPOINT_SECRET}
    row = account(name, "webhook", channels=["webhook"], credentials=credentials, settings={})
    return WebhookEndpoint.objects.create(client=client(of), account=row, **fields)


def incident(key: str = "outage", **fields: Any) -> Incident:
    return Incident.objects.create(key=key, **fields)


def notification(route: str = "sms", **fields: Any) -> Notification:
    """An accepted notification without its messages, useful for a day; every channel of its route has an address."""
    steps = fields.get("steps") or Route.objects.get(name=route).steps
    channels = {channel for step in steps for channel in channels_of(step)}
    now = timezone.now()
    values: dict[str, Any] = {
        "client": client("internal"),
        "fingerprint": "f" * 64,
        "category": "transactional",
        "priority": Priority.NORMAL,
        "recipient": {
            channel: address for channel, address in (("sms", NUMBER), ("email", MAILBOX)) if channel in channels
        },
        "content": {channel: STORED[channel] for channel in channels},
        "route": route,
        "steps": steps,
        "on_unclear": "hold",
        "accepted_at": now,
        "send_at": now,
        "expires_at": now + DAY,
        **fields,
    }
    return Notification.objects.create(**values)


def batch(*, skipped: int = 0, **fields: Any) -> Batch:
    """A batch without its notifications, which says of so many rows why they were passed over."""
    now = timezone.now()
    values = {"client": client("internal"), "fingerprint": "f" * 64, "route": "sms", "priority": Priority.BULK}
    row = Batch.objects.create(
        **{**values, "accepted_count": 1, "skipped_count": skipped, "created_at": now, "accepted_at": now, **fields}
    )
    for line in range(skipped):
        SkippedRow.objects.create(batch=row, line=line + 2, field="to.sms", reason="is empty", accepted="a number")
    return row


def message(
    state: State = State.QUEUED,
    *,
    of: Notification | None = None,
    account: ProviderAccount | None = None,
    step: int = 0,
    due_in: timedelta = -SECOND,
    **fields: Any,
) -> Message:
    """A message with what its state demands: entry, attempt, receipt deadline, dead letter, its notification's end.

    `account` is that of its attempt; `due_in` is when its entry is due, by default a second ago.
    """
    owner = of or notification()
    channel = fields.pop("channel", None) or channels_of(owner.steps[step])[fields.get("part", 0)]
    outcome = OUTCOMES.get(state)
    sender = (account or _account_for(channel)) if outcome or account else None
    address = fields.pop("address", owner.recipient.get(channel, ""))
    now = timezone.now()
    row = Message.objects.create(
        **{
            "id": new_id(),
            "notification": owner,
            "step": step,
            "channel": channel,
            "address": address,
            "address_hash": addresses.address_hash(channel, address) if address else "",
            "country": addresses.country(channel, address) if address else "",
            "state": state,
            "account": sender,
            "tried": [],
            "attempt_count": 1 if outcome else 0,
            "tries": 1 if outcome else 0,
            "perhaps_sent": state is State.UNCERTAIN,
            "receipt_deadline": now + 3 * DAY if state in PROVEN else None,
            **fields,
        }
    )
    if outcome and sender:
        attempt(row, sender, outcome=outcome)
    if state in OPEN:
        OutboxEntry.objects.create(
            message=row, client=owner.client, lane=lane_of(state, Priority(owner.priority)), due_at=now + due_in
        )
    if state is State.DEAD_LETTERED:
        DeadLetter.objects.create(kind=DeadLetter.Kind.MESSAGE, message=row, reason=row.reason or "no_account")
    _end(owner)
    return row


def messages_in_disorder(count: int) -> list[Message]:
    """The only messages there are, in the order of their ids; in their tables they lie in the opposite one."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE notification, message, outbox")  # no gaps that a row could fill
    ids = [(new_id(), new_id()) for _ in range(count)]
    rows = [message(id=id, of=notification(id=owner)) for owner, id in reversed(ids)]
    return rows[::-1]


def attempt(
    message: Message, account: ProviderAccount, *, number: int = 1, outcome: Outcome = Outcome.TAKEN, **fields: Any
) -> Attempt:
    """A finished attempt that began a second ago. One that was taken has a provider's id."""
    now = timezone.now()
    values = {
        "request_hash": "h" * 64,
        "began_at": now - SECOND,
        "ended_at": now,
        "provider_message_id": f"SM{message.id.hex[-28:]}{number:04}" if outcome == Outcome.TAKEN else None,
        **fields,
    }
    return Attempt.objects.create(message=message, account=account, number=number, outcome=outcome, **values)


def begun(message: Message, account: ProviderAccount, *, claim: Any = None, lease: timedelta = 60 * SECOND) -> Any:
    """Claim a message's entry and begin its next attempt, as a worker did that has not recorded yet. Returns the claim."""
    token = claim or uuid4()
    OutboxEntry.objects.filter(message=message).update(
        claim=token,
        strikes=1,
        due_at=timezone.now() + lease,
        attempt=message.attempt_count + 1,
        account=account,
        request_hash="h" * 64,
        began_at=timezone.now(),
    )
    return token


def event(message: Message | None, kind: EventKind | str, *, attempt: int = 1, **fields: Any) -> DeliveryEvent:
    """A report that waits to be applied."""
    values = {
        "account": fields.pop("account", None) or (message.account if message else None) or account(),
        "dedupe_key": uuid4().hex,
        "source": Source.WEBHOOK,
        "kind": EventKind(kind).value,
        "message": message,
        "attempt_number": attempt if message else None,
        "raw": b"",
        **fields,
    }
    return DeliveryEvent.objects.create(**values)


def suppression(message: Message, reason: str = "invalid", **fields: Any) -> Suppression:
    return Suppression.objects.create(
        channel=message.channel, address_hash=message.address_hash, reason=reason, **fields
    )


def make_due(message: Message) -> None:
    """Let a message's next action be due now."""
    OutboxEntry.objects.filter(message=message).update(due_at=timezone.now() - SECOND)


def close_window(message: Message) -> None:
    """Let the window of a message's step be over now."""
    Message.objects.filter(id=message.id).update(escalate_at=timezone.now() - SECOND)
    make_due(message)


def run_out(message: Message) -> None:
    """Let the lease on a message run out now."""
    OutboxEntry.objects.filter(message=message).update(due_at=F("due_at") - 120 * SECOND)


def _account_for(channel: str) -> ProviderAccount:
    return account(provider=PROVIDER[channel])


def _end(owner: Notification) -> None:
    states = list(owner.messages.order_by("step").values_list("state", flat=True))
    end: str | None = states[-1] if set(states) <= ENDED else None
    for first in (End.UNCONFIRMED, End.DELIVERED):
        end = first.value if first in states and (end or first is End.DELIVERED) else end
    owner.end, owner.ended_at = end, timezone.now() if end else None
    owner.save(update_fields=["end", "ended_at"])

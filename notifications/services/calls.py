"""Calls to make: a message rendered for an account, under a name that the provider can be asked about."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from notifications.accounts import ConnectedAccount
from notifications.lanes import Priority
from notifications.models import OnUnclear
from notifications.outbox import call_seconds
from notifications.reasons import Reason
from notifications.selectors import key_use
from notifications.services.receipts import receipt_of
from notifications.services.unsubscribe import link
from notifications.sql.begin import Intent
from notifications.sql.claim import Claimed
from providers.messages import (
    Ability,
    Attachment,
    AttemptRef,
    Channel,
    HttpRequest,
    Mail,
    MailRequest,
    OutgoingMessage,
    Push,
    Token,
)

NOTHING_MORE = Mail()  # than subject, text and HTML


@dataclass(frozen=True, slots=True)
class Planned:
    """A call to make, if begin allows it."""

    row: Claimed
    account: ConnectedAccount
    request: HttpRequest | MailRequest
    intent: Intent
    token: Token | None = None  # that the request carries, of a provider that wants one


def plan_call(row: Claimed, account: ConnectedAccount, now: datetime) -> Planned | None:
    """The call that sends a message now. None where it may be out already and nobody allows a second one.

    What may be out goes under its old key if the provider still knows that key and the bytes are the same as before: a
    second one is then dropped by the provider.
    """
    if row.perhaps_sent:
        if (repeated := repeat(row, account, now)) is not None:
            return repeated
        if not _may_send_blindly(row):
            return None
    name = attempt_ref(row, row.attempt_count + 1).id
    attempt = AttemptRef(name, key=name if account.can(Ability.KEYS) else None)
    return _planned(row, account, attempt, _useful_seconds(row, now), now)


def repeat(row: Claimed, account: ConnectedAccount, now: datetime) -> Planned | None:
    """The last call once more, byte for byte, under its key. None where the provider would not drop a second one.

    None as well where it would only hear again of its own failure: whether there is a message must be asked another way.
    """
    key = row.last_provider_key
    if key is None or row.account_id != account.id or not account.can(Ability.KEYS):
        return None
    used = key_use(row.message_id, key)
    life = timedelta(seconds=account.provider.key_life_seconds - call_seconds(row.priority))
    if used is None or now >= used.first_at + life:
        return None
    if used.has_failed and account.provider.keeps_failures:
        return None
    planned = _planned(row, account, AttemptRef(key, key=key), row.last_useful_seconds, now)
    return planned if planned.intent.request_hash == row.last_request_hash else None


def suppose_call(row: Claimed, account: ConnectedAccount, *, asked: int) -> Intent:
    """The call that a worker may have made of a restored message, after `asked` that were only supposed.

    Its key is that of the first real one, so that the provider can drop a repetition.
    """
    if not account.can(Ability.KEYS):
        return Intent(row.message_id, row.attempt_count + 1, account.id, None, "", None)
    name = attempt_ref(row, row.attempt_count + 1 - asked).id
    return _planned(row, account, AttemptRef(name, key=name), None, row.now).intent


def attempt_ref(row: Claimed, number: int) -> AttemptRef:
    """What an attempt is called on the wire."""
    return AttemptRef(id=f"{row.message_id.hex}-{number}")


def render(row: Claimed, useful_seconds: int | None) -> OutgoingMessage:
    """The message as its recipient will read it. Nothing but `useful_seconds` depends on when it is rendered."""
    content = row.content[row.channel]
    return OutgoingMessage(
        channel=Channel(row.channel),
        to=row.address,
        text=content.get("text", ""),
        subject=content.get("subject"),
        html=content.get("html"),
        useful_seconds=useful_seconds,
        country=row.country,
        mail=_mail(row, content) if row.channel == Channel.EMAIL else None,
        push=_push(row, content) if row.channel == Channel.PUSH else None,
        event=content.get("id", ""),
    )


def _mail(row: Claimed, content: Mapping[str, Any]) -> Mail | None:
    """What only an e-mail has; None where it has nothing of that. Whoever gets marketing can always unsubscribe."""
    mail = Mail(
        to_name=content.get("to_name"),
        reply_to=content.get("reply_to"),
        attachments=tuple(map(_file, content.get("attachments") or ())),
        unsubscribe_url=link(row.category, row.address_hash),
    )
    return mail if mail != NOTHING_MORE else None


def _file(file: Mapping[str, str]) -> Attachment:
    content = base64.b64decode(file["content"])
    return Attachment(file["name"], file["content_type"], content, file.get("content_id"))


def _push(row: Claimed, content: Mapping[str, Any]) -> Push:
    """What only a push has. A receipt is asked for where somebody waits for it."""
    waits = row.steps[row.step].get("wait_for") != "accepted"
    return Push(
        title=content.get("title"),
        data=content.get("data") or {},
        receipt=receipt_of(row.message_id) if waits else "",
        is_urgent=Priority(row.priority) in (Priority.CRITICAL, Priority.HIGH),
    )


def _planned(
    row: Claimed, account: ConnectedAccount, attempt: AttemptRef, useful_seconds: int | None, now: datetime
) -> Planned:
    request = account.provider.send_request(render(row, useful_seconds), attempt)
    digest = hashlib.sha256(b"\0".join(request.parts)).hexdigest()
    number = row.attempt_count + 1
    intent = Intent(row.message_id, number, account.id, attempt.key, digest, useful_seconds)
    if isinstance(request, HttpRequest):
        request = account.provider.authorize(request, now)
    return Planned(row, account, request, intent)


def _useful_seconds(row: Claimed, now: datetime) -> int:
    return max(1, int((row.expires_at - now).total_seconds()))


def _may_send_blindly(row: Claimed) -> bool:
    """Whether its client, or an operator, would rather have it twice than not at all."""
    return row.on_unclear == OnUnclear.SEND_AGAIN or row.reason == Reason.REPLAYED

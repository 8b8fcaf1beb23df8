"""Calls to make: a message rendered for an account, under a name that the provider can be asked about."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from notifications.accounts import ConnectedAccount
from notifications.models import OnUnclear
from notifications.outbox import call_seconds
from notifications.reasons import Reason
from notifications.selectors import key_used_at
from notifications.sql.begin import Intent
from notifications.sql.claim import Claimed
from providers.messages import Ability, AttemptRef, Channel, HttpRequest, OutgoingMessage


@dataclass(frozen=True, slots=True)
class Planned:
    """A call to make, if begin allows it."""

    row: Claimed
    account: ConnectedAccount
    request: HttpRequest
    intent: Intent


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
    """The last call once more, byte for byte, under its key. None where the provider would not drop a second one."""
    key = row.last_provider_key
    if key is None or row.account_id != account.id or not account.can(Ability.KEYS):
        return None
    used_at = key_used_at(row.message_id, key)
    life = timedelta(seconds=account.provider.key_life_seconds - call_seconds(row.priority))
    if used_at is None or now >= used_at + life:
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
    )


def _planned(
    row: Claimed, account: ConnectedAccount, attempt: AttemptRef, useful_seconds: int | None, now: datetime
) -> Planned:
    request = account.provider.send_request(render(row, useful_seconds), attempt)
    digest = hashlib.sha256(b"\0".join((request.method.encode(), request.url.encode(), request.body))).hexdigest()
    number = row.attempt_count + 1
    intent = Intent(row.message_id, number, account.id, attempt.key, digest, useful_seconds)
    return Planned(row, account, account.provider.authorize(request, now), intent)


def _useful_seconds(row: Claimed, now: datetime) -> int:
    return max(1, int((row.expires_at - now).total_seconds()))


def _may_send_blindly(row: Claimed) -> bool:
    """Whether its client, or an operator, would rather have it twice than not at all."""
    return row.on_unclear == OnUnclear.SEND_AGAIN or row.reason == Reason.REPLAYED

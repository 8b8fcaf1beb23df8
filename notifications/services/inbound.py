"""Take in what people write to our numbers: keep it, and do at once what a STOP or a START asks for."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.db import transaction

import notifications.sql.apply as suppressions
import notifications.sql.inbound as sql
from notifications.accounts import ConnectedAccount
from notifications.addresses import InvalidAddress, address_hash
from notifications.services.reports import storable
from notifications.sms.numbers import read_from_network
from notifications.sms.optout import Intent, read
from notifications.sql.apply import SuppressedAddress
from notifications.sql.inbound import NewText
from providers.messages import Channel, InboundMessage

log = structlog.get_logger(__name__)

TEXT_CHARACTERS = 5000  # of a text that are kept


def take_in(account: ConnectedAccount, messages: Sequence[InboundMessage]) -> int:
    """Store texts, each once. Whoever asks to be left alone gets no SMS any more, by any provider. Returns how many were new."""
    return sum(_take_in(account, message) for message in messages)


@transaction.atomic
def _take_in(account: ConnectedAccount, message: InboundMessage) -> bool:
    intent = read(message.text)
    sender = _sender(message)
    is_new = sql.store(
        NewText(
            account_id=account.id,
            dedupe_key=storable(message.dedupe_key, 200),
            sender=storable(sender or message.sender, 50),
            recipient=storable(message.recipient, 50),
            text=storable(message.text, TEXT_CHARACTERS),
            intent=intent or "",
            occurred_at=message.received_at,
        )
    )
    if is_new and sender and intent:
        _obey(intent, sender, account)
    return is_new


def _sender(message: InboundMessage) -> str | None:
    """The sender in E.164, or None where it is no number that we could write to."""
    try:
        return read_from_network(message.sender).address
    except InvalidAddress:
        return None


def _obey(intent: Intent, sender: str, account: ConnectedAccount) -> None:
    hashed = address_hash(Channel.SMS, sender)
    if intent is Intent.STOP:
        suppressions.suppress([SuppressedAddress(Channel.SMS.value, hashed, "opted_out", account.slug)])
    elif intent is Intent.START:
        sql.welcome_back(Channel.SMS.value, hashed)
    log.info("recipient wrote", account=account.slug, intent=intent.value)

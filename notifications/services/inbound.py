"""Take in what people write to our numbers: keep it, and do at once what a STOP or a START asks for."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.db import transaction

import notifications.sql.apply as suppressions
import notifications.sql.inbound as sql
from notifications import selectors
from notifications.accounts import ConnectedAccount
from notifications.addresses import InvalidAddress, address_hash
from notifications.services.events import INBOUND, Event, tell
from notifications.services.reports import storable
from notifications.sms.numbers import read_from_network
from notifications.sms.optout import Intent, read
from notifications.sql.apply import SuppressedAddress
from notifications.sql.inbound import NewText, Stored
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
    text = storable(message.text, TEXT_CHARACTERS)
    stored = sql.store(
        NewText(
            account_id=account.id,
            dedupe_key=storable(message.dedupe_key, 200),
            sender=storable(sender or message.sender, 50),
            recipient=storable(message.recipient, 50),
            text=text,
            intent=intent or "",
            occurred_at=message.received_at,
        )
    )
    if stored is None:
        return False
    if sender and intent:
        _obey(intent, sender, account)
    if account.inbound_client:
        _tell(account, stored, sender or message.sender, message.recipient, text, intent)
    return True


def _sender(message: InboundMessage) -> str | None:
    """The sender in E.164, or None where it is no number that we could write to."""
    try:
        return read_from_network(message.sender)
    except InvalidAddress:
        return None


def _tell(
    account: ConnectedAccount, stored: Stored, sender: str, recipient: str, text: str, intent: Intent | None
) -> None:
    """Tell the client that an account's texts are for, if it asks for them by name."""
    try:
        client = selectors.client_named(account.inbound_client)
    except KeyError:
        log.warning("texts are for a client that does not exist", account=account.slug)
        return
    data = {
        "id": str(stored.id),
        "from": sender,
        "to": recipient,
        "text": text,
        "intent": intent.value if intent else "",
        "received_at": stored.received_at.isoformat(),
    }
    event = Event(client.id, INBOUND, stored.received_at, f"sms:{stored.id}", str(stored.id), data)
    tell([event])


def _obey(intent: Intent, sender: str, account: ConnectedAccount) -> None:
    hashed = address_hash(Channel.SMS, sender)
    if intent is Intent.STOP:
        suppressions.suppress([SuppressedAddress(Channel.SMS.value, hashed, "opted_out", account.slug)])
    elif intent is Intent.START:
        sql.welcome_back(Channel.SMS.value, hashed)
    log.info("recipient wrote", account=account.slug, intent=intent.value)

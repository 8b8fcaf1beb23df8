"""Postmark's JSON, field by field as in shared/providers/examples/postmark/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word

SERVER_ID = 23
FIRST_BOUNCE_ID = 4323372036854775807  # bigger than a double holds, as the vendor's are
PARTLY_INACTIVE = (
    "Message OK, but will not deliver to these inactive addresses: {addresses}. "
    "Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a manual suppression."
)
DELIVERED = "smtp;250 2.0.0 OK"
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    sender_address: str
    to: Pairs  # name and address of each
    cc: Pairs
    bcc: Pairs
    subject: str
    text: str | None
    html: str | None
    tag: str
    stream: str
    metadata: Mapping[str, str]
    headers: Mapping[str, str]
    reply_to: str
    attachments: tuple[Mapping[str, str], ...]
    track_opens: bool
    track_links: str
    inactive: tuple[str, ...] = ()  # recipients that will not get it

    @property
    def recipients(self) -> list[str]:
        return [address for _, address in (*self.to, *self.cc, *self.bcc)]


@dataclass(frozen=True, slots=True)
class Bounce:
    type: str
    code: int
    name: str
    description: str
    details: str
    inactive: bool
    can_activate: bool
    record: str = "Bounce"


BOUNCES = {
    Word.HARD_BOUNCE: Bounce(
        "HardBounce",
        1,
        "Hard bounce",
        "The server was unable to deliver your message (ex: unknown user, mailbox not found).",
        "smtp;550 5.1.1 user unknown",
        inactive=True,
        can_activate=True,
    ),
    Word.SOFT_BOUNCE: Bounce(
        "SoftBounce",
        4096,
        "Soft bounce",
        "Unable to temporarily deliver message (ex: mailbox full, account disabled, exceeds quota, out of disk space).",
        "smtp;452 4.2.2 mailbox full",
        inactive=False,
        can_activate=True,
    ),
    Word.COMPLAINT: Bounce(
        "SpamComplaint",
        512,  # so in the example, though the vendor's list of bounce types says 100001
        "Spam complaint",
        "The subscriber explicitly marked this message as spam.",
        "",
        inactive=True,
        can_activate=False,
        record="SpamComplaint",
    ),
}


def sent(message: Message) -> dict[str, Any]:
    mail: Mail = message.content
    return {
        "To": ", ".join(address for _, address in mail.to),
        "SubmittedAt": precise(message.taken_at),
        "MessageID": message.id,
        "ErrorCode": 0,
        "Message": PARTLY_INACTIVE.format(addresses=", ".join(mail.inactive)) if mail.inactive else "OK",
    }


def found(message: Message) -> dict[str, Any]:
    """A message as the search shows it."""
    mail: Mail = message.content
    return {
        "Tag": mail.tag,
        "MessageID": message.id,
        "MessageStream": mail.stream,
        "To": _people(mail.to),
        "Cc": _people(mail.cc),
        "Bcc": _people(mail.bcc),
        "Recipients": mail.recipients,
        "ReceivedAt": precise(message.taken_at),
        "From": mail.sender,
        "Subject": mail.subject,
        "Attachments": [file["Name"] for file in mail.attachments],
        "Status": message.status,
        "TrackOpens": mail.track_opens,
        "TrackLinks": mail.track_links,
        "Metadata": dict(mail.metadata),
        "Sandboxed": False,
    }


def details(message: Message) -> dict[str, Any]:
    mail: Mail = message.content
    return found(message) | {
        "TextBody": mail.text,
        "HtmlBody": mail.html,
        "Body": "(raw source)",
        "MessageEvents": [event for word, at in message.reached for event in _events(message, word, at)],
    }


def _events(message: Message, word: Word, at: float) -> Iterable[dict[str, Any]]:
    domain = message.to.rpartition("@")[2]
    if word is Word.DELIVERED:
        yield _event(
            message,
            "Delivered",
            at,
            {
                "DeliveryMessage": DELIVERED,
                "DestinationServer": f"mx.{domain} (198.51.100.7)",
                "DestinationIP": "198.51.100.7",
            },
        )
    elif word in (Word.HARD_BOUNCE, Word.SOFT_BOUNCE):
        yield _event(
            message, "Bounced", at, {"Summary": BOUNCES[word].details, "BounceID": str(bounce_id(message, word))}
        )


def _event(message: Message, type: str, at: float, details: Mapping[str, str]) -> dict[str, Any]:
    return {"Recipient": message.to, "Type": type, "ReceivedAt": whole(at), "Details": details}


def bounce_id(message: Message, word: Word) -> int:
    """One id per bounce, the same in the webhook, its repetitions and the details."""
    return FIRST_BOUNCE_ID + 2 * message.number + (word is Word.COMPLAINT)


def webhook(message: Message, word: Word, at: float) -> dict[str, Any] | None:
    """The report of what became of a message; None where Postmark has no webhook for it."""
    mail: Mail = message.content
    common = {
        "MessageID": message.id,
        "ServerID": SERVER_ID,
        "MessageStream": mail.stream,
        "Tag": mail.tag,
        "Metadata": dict(mail.metadata),
    }
    if word is Word.DELIVERED:
        return {
            "RecordType": "Delivery",
            **common,
            "Recipient": message.to,
            "DeliveredAt": whole(at),
            "Details": DELIVERED,
        }
    bounce = BOUNCES.get(word)
    if bounce is None:
        return None
    return {
        "RecordType": bounce.record,
        "ID": bounce_id(message, word),
        "Type": bounce.type,
        "TypeCode": bounce.code,
        "Name": bounce.name,
        **common,
        "Description": bounce.description,
        "Details": bounce.details,
        "Email": message.to,
        "From": mail.sender_address,
        "BouncedAt": whole(at),
        "DumpAvailable": True,
        "Inactive": bounce.inactive,
        "CanActivate": bounce.can_activate,
        "Subject": mail.subject,
    }


def precise(seconds: float) -> str:
    """2026-11-30T16:20:31.1182110Z: seven digits behind the point, as .NET writes them."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f0Z")


def whole(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _people(pairs: Pairs) -> list[dict[str, str]]:
    return [{"Email": address, "Name": name} for name, address in pairs]

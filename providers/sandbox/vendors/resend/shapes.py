"""Resend's JSON, field by field as in tests/providers/payloads/resend/, and the signature of its webhooks."""

from __future__ import annotations

import base64
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.vendors.resend.rules import addresses_of, bare


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    reply_to: tuple[str, ...]
    subject: str
    text: str
    html: str
    headers: Mapping[str, str]
    tags: Mapping[str, str]

    @property
    def recipients(self) -> list[str]:
        return [bare(written) for written in (*self.to, *self.cc, *self.bcc)]


EVENTS = {
    Word.SENT: "sent",
    Word.DELIVERED: "delivered",
    Word.HARD_BOUNCE: "bounced",
    Word.SOFT_BOUNCE: "bounced",
    Word.COMPLAINT: "complained",
    Word.UNDELIVERABLE: "suppressed",  # what comes of a mail to an address that bounced or complained before
}
BOUNCES = {
    Word.HARD_BOUNCE: {
        "diagnosticCode": ["smtp; 550 5.1.1 user unknown"],
        "message": "The recipient's email address does not exist.",
        "subType": "NoEmail",
        "type": "Permanent",
    },
    Word.SOFT_BOUNCE: {
        "diagnosticCode": ["smtp; 452 4.2.2 mailbox full"],
        "message": "The recipient's inbox was full.",
        "subType": "MailboxFull",
        "type": "Transient",
    },
}


def mail_of(asked: Mapping[str, Any]) -> Mail:
    to, cc, bcc, reply_to = (tuple(addresses_of(asked.get(name))) for name in ("to", "cc", "bcc", "reply_to"))
    return Mail(
        sender=asked["from"],
        to=to,
        cc=cc,
        bcc=bcc,
        reply_to=reply_to,
        subject=asked["subject"],
        text=asked.get("text") or "",
        html=asked.get("html") or "",
        headers=asked.get("headers") or {},
        tags={tag["name"]: tag["value"] for tag in asked.get("tags") or ()},
    )


def email(message: Message) -> dict[str, Any]:
    """A mail as the look-up shows it."""
    mail: Mail = message.content
    return {
        "object": "email",
        "id": message.id,
        "message_id": _message_id(message),
        "to": list(mail.to),
        "from": mail.sender,
        "created_at": datetime.fromtimestamp(message.taken_at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00"),
        "subject": mail.subject,
        "html": mail.html,
        "text": mail.text,
        "bcc": list(mail.bcc),
        "cc": list(mail.cc),
        "reply_to": list(mail.reply_to),
        "last_event": message.status,
    }


def event(message: Message, word: Word, at: float) -> dict[str, Any]:
    """The report of what became of a mail."""
    mail: Mail = message.content
    data: dict[str, Any] = {
        "email_id": message.id,
        "created_at": _time(message.taken_at),
        "from": mail.sender,
        "to": list(mail.to),
        "subject": mail.subject,
        "message_id": _message_id(message),
    }
    if mail.headers:
        data["headers"] = [{"name": name, "value": value} for name, value in mail.headers.items()]
    if mail.tags:
        data["tags"] = dict(mail.tags)
    if word in BOUNCES:
        data["bounce"] = BOUNCES[word]
    if word is Word.UNDELIVERABLE:
        data["suppressed"] = _suppression(message)
    return {"type": f"email.{EVENTS[word]}", "created_at": _time(at), "data": data}


def signed(secret: bytes, message: Message, name: str, body: bytes, at: float) -> dict[str, str]:
    """The Svix headers of a report; its id is the same for each repetition."""
    call_id, sent_at = f"msg_{uuid.uuid5(uuid.UUID(message.id), name).hex}", str(int(at))
    proof = hmac.digest(secret, f"{call_id}.{sent_at}.".encode() + body, "sha256")
    return {
        "svix-id": call_id,
        "svix-timestamp": sent_at,
        "svix-signature": f"v1,{base64.b64encode(proof).decode()}",
    }


def _suppression(message: Message) -> dict[str, Any]:
    complained = roles.of_address(message.to).name == "complaint"
    return {
        "diagnosticCode": [],
        "message": "Sending to this address is suppressed.",
        "reason": "previous_complaint" if complained else "previous_bounce",
        "type": "OnAccountSuppressionList",
    }


def _message_id(message: Message) -> str:
    mail: Mail = message.content
    stamp = datetime.fromtimestamp(message.taken_at, UTC).strftime("%Y%m%d%H%M%S")
    return f"<{stamp}.{message.id}@{bare(mail.sender).rpartition('@')[2]}>"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"

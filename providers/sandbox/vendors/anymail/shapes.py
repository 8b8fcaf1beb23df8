"""What Mailgun and Brevo are asked, answer and report, field by field as their documentation shows it (read 2026-11).

https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhooks,
https://developers.brevo.com/docs/transactional-webhooks.
"""

from __future__ import annotations

import email
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parseaddr
from hashlib import sha256
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.wire import Request

MAILGUN, BREVO = "mailgun", "brevo"


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail that was asked for. `kept` is what the vendor keeps with it and reports back, as it came."""

    esp: str
    to: str
    subject: str
    text: str
    kept: str
    key: str | None = None

    @property
    def attempt(self) -> str | None:
        found = json.loads(self.kept or "{}").get("attempt")
        return found if isinstance(found, str) else None


def mailgun_mail(request: Request) -> Mail:
    """Read a form. Raises ValueError, KeyError."""
    fields = _multipart(request) if "multipart" in request.headers["content-type"] else request.form
    kept = {name[2:]: value for name, value in fields.items() if name.startswith("v:")}
    return Mail(MAILGUN, parseaddr(fields["to"])[1], fields["subject"], fields["text"], json.dumps(kept))


def brevo_mail(request: Request) -> Mail:
    """Read a JSON body. Raises ValueError, KeyError."""
    fields = json.loads(request.body)
    [recipient] = fields["to"]
    headers = fields.get("headers", {})
    text = fields.get("textContent", "")
    return Mail(
        BREVO,
        recipient["email"],
        fields["subject"],
        text,
        headers.get("X-Mailin-custom", ""),
        headers.get("idempotencyKey"),
    )


def mailgun_event(message: Message, word: Word, at: float, key: str) -> dict[str, Any] | None:
    told = MAILGUN_EVENTS.get(word)
    if told is None:
        return None
    token = sha256(f"{message.id}{word}".encode()).hexdigest()[:50]
    mail: Mail = message.content
    return {
        "signature": {"timestamp": str(int(at)), "token": token, "signature": mailgun_proof(key, int(at), token)},
        "event-data": {
            "id": token[:22],
            "timestamp": at,
            "recipient": message.to,
            "message": {"headers": {"message-id": message.id.strip("<>"), "to": message.to, "subject": mail.subject}},
            "user-variables": json.loads(mail.kept),
            "tags": [],
            **told,
        },
    }


def mailgun_proof(key: str, at: int, token: str) -> str:
    return hmac.digest(key.encode(), f"{at}{token}".encode(), "sha256").hex()


def brevo_event(message: Message, word: Word, at: float) -> dict[str, Any] | None:
    told = BREVO_EVENTS.get(word)
    if told is None:
        return None
    mail: Mail = message.content
    return {
        "id": 26224,
        "email": message.to,
        "message-id": message.id,
        "subject": mail.subject,
        "ts": int(at),
        "ts_event": int(at),
        "ts_epoch": int(at * 1000),
        "X-Mailin-custom": mail.kept,
        **told,
    }


MAILGUN_EVENTS: dict[Word, Mapping[str, Any]] = {
    Word.DELIVERED: {"event": "delivered", "delivery-status": {"code": 250, "message": "OK"}},
    Word.HARD_BOUNCE: {
        "event": "failed",
        "severity": "permanent",
        "reason": "bounce",
        "delivery-status": {"code": 550, "message": "5.1.1 The email account that you tried to reach does not exist"},
    },
    Word.SOFT_BOUNCE: {
        "event": "failed",
        "severity": "permanent",
        "reason": "generic",
        "delivery-status": {"code": 552, "message": "5.2.2 The email account that you tried to reach is over quota"},
    },
    Word.COMPLAINT: {"event": "complained"},
}
BREVO_EVENTS: dict[Word, Mapping[str, Any]] = {
    Word.SENT: {"event": "request"},
    Word.DELIVERED: {"event": "delivered"},
    Word.HARD_BOUNCE: {"event": "hard_bounce", "reason": "550 5.1.1 user unknown"},
    Word.SOFT_BOUNCE: {"event": "soft_bounce", "reason": "452 4.2.2 mailbox full"},
    Word.COMPLAINT: {"event": "spam"},
}


def _multipart(request: Request) -> dict[str, str]:
    whole = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode() + request.body
    fields = {}
    for part in email.message_from_bytes(whole).walk():
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes) and not part.get_filename():
            fields[name] = content.decode()
    return fields

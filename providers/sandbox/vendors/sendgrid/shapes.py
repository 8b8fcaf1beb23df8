"""SendGrid's JSON, field by field as in tests/providers/payloads/sendgrid/, and how it signs its webhooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_private_key

from providers.sandbox import roles
from providers.sandbox.book import Message
from providers.sandbox.roles import Word

SUFFIX = ".recvd-85abf8d92c-3qfgp-2-7890E356-43C.0"  # what makes the id of a mail of the id of its request
EVENTS: dict[Word, dict[str, Any]] = {
    Word.SENT: {"event": "processed"},
    Word.DELIVERED: {"event": "delivered", "response": "250 2.0.0 OK", "tls": 1, "ip": "192.0.2.17"},
    Word.HARD_BOUNCE: {
        "event": "bounce",
        "reason": "550 5.1.1 The email account that you tried to reach does not exist",
        "status": "5.1.1",
        "type": "bounce",
        "bounce_classification": "Invalid Address",
        "tls": 1,
        "ip": "192.0.2.17",
    },
    Word.SOFT_BOUNCE: {
        "event": "bounce",
        "reason": "452 4.2.2 mailbox full",
        "status": "4.2.2",
        "type": "blocked",
        "bounce_classification": "Mailbox Unavailable",
        "tls": 1,
        "ip": "192.0.2.17",
    },
    Word.COMPLAINT: {"event": "spamreport"},
    Word.UNDELIVERABLE: {"event": "dropped", "status": "5.0.0"},  # an address that bounced or complained before
}
STATUSES = {
    Word.SENT: "processed",
    Word.DELIVERED: "delivered",
    Word.HARD_BOUNCE: "bounced",
    Word.SOFT_BOUNCE: "blocked",
    Word.COMPLAINT: "delivered",
    Word.UNDELIVERABLE: "dropped",
}


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    subject: str
    text: str
    arguments: Mapping[str, str]
    asked: Mapping[str, Any]  # all of the request


def mail_of(asked: Mapping[str, Any]) -> Mail:
    return Mail(
        sender=asked["from"]["email"],
        subject=asked["subject"],
        text=asked["content"][0]["value"],
        arguments=asked["personalizations"][0].get("custom_args") or {},
        asked=asked,
    )


def listed(message: Message) -> dict[str, Any]:
    """A mail as a search of the logs shows it."""
    mail: Mail = message.content
    return {
        "from_email": mail.sender,
        "sg_message_id": message.id + SUFFIX,
        "subject": mail.subject,
        "to_email": message.to,
        "reason": "",
        "status": message.status,
        "sg_message_id_created_at": iso(message.taken_at),
    }


def details(message: Message) -> dict[str, Any]:
    """A mail as the logs show it alone."""
    mail: Mail = message.content
    return {
        "from_email": mail.sender,
        "sg_message_id": message.id + SUFFIX,
        "subject": mail.subject,
        "to_email": message.to,
        "status": message.status,
        "api_key_id": "EXAMPLEKEYID",
        "client_ip": "198.51.100.20",
        "custom_args": dict(mail.arguments),
        "outbound_ip": "192.0.2.17",
        "outbound_ip_type": "dedicated",
        "events": [_event(message, word, at) for word, at in message.reached],
    }


def webhook_event(message: Message, word: Word, at: float) -> dict[str, Any]:
    """The report of what became of a mail: arguments and fields side by side, of which the fields win."""
    mail: Mail = message.content
    return dict(mail.arguments) | _event(message, word, at)


def _event(message: Message, word: Word, at: float) -> dict[str, Any]:
    told = EVENTS[word]["event"]
    event = {
        "email": message.to,
        "timestamp": int(at),
        "smtp-id": f"<{message.id}@geopod-ismtpd-12>",
        "sg_event_id": _event_id(message, told),
        "sg_message_id": message.id + SUFFIX,
        **EVENTS[word],
    }
    return event | ({"reason": _reason(message)} if word is Word.UNDELIVERABLE else {})


def _event_id(message: Message, told: str) -> str:
    """One id for an event, the same in the webhook, its repetitions and the logs."""
    return base64.urlsafe_b64encode(hashlib.sha256(f"{message.id}/{told}".encode()).digest()[:16]).decode().rstrip("=")


def _reason(message: Message) -> str:
    complained = roles.of_address(message.to).name == "complaint"
    return "Spam Reporting Address" if complained else "Bounced Address"


def private_key(written: str) -> EllipticCurvePrivateKey:
    """Read a key: base64 of DER. Raises ValueError."""
    key = load_der_private_key(base64.b64decode(written, validate=True), password=None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise ValueError("not a key of an elliptic curve")
    return key


def signed(key: EllipticCurvePrivateKey, body: bytes, at: float) -> dict[str, str]:
    """The headers that prove a webhook."""
    sent_at = str(int(at))
    signature = base64.b64encode(key.sign(sent_at.encode() + body, ECDSA(SHA256()))).decode()
    return {
        "X-Twilio-Email-Event-Webhook-Signature": signature,
        "X-Twilio-Email-Event-Webhook-Timestamp": sent_at,
    }


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""The JSON of SES, as in tests/providers/payloads/ses/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.vendors.ses.rules import address_of

EVENTS = {
    Word.SENT: "Send",
    Word.DELIVERED: "Delivery",
    Word.HARD_BOUNCE: "Bounce",
    Word.SOFT_BOUNCE: "Bounce",
    Word.COMPLAINT: "Complaint",
    Word.UNDELIVERABLE: "Bounce",  # of an address that bounced or complained before
}
BOUNCES = {
    Word.HARD_BOUNCE: ("Permanent", "General", "5.1.1", "smtp; 550 5.1.1 user unknown"),
    Word.SOFT_BOUNCE: ("Transient", "MailboxFull", "4.2.2", "smtp; 452 4.2.2 mailbox full"),
    Word.UNDELIVERABLE: ("Permanent", "OnAccountSuppressionList", "5.1.1", "the address is on the suppression list"),
}


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    to: str
    subject: str
    text: str
    configuration_set: str | None
    tags: Mapping[str, str]
    headers: tuple[Mapping[str, str], ...]


def mail_of(asked: Mapping[str, Any]) -> Mail:
    simple = asked["Content"]["Simple"]
    parts = simple["Body"].get("Text") or simple["Body"]["Html"]
    return Mail(
        sender=address_of(asked["FromEmailAddress"]),
        to=address_of(asked["Destination"]["ToAddresses"][0]),
        subject=simple["Subject"]["Data"],
        text=parts["Data"],
        configuration_set=asked.get("ConfigurationSetName"),
        tags={tag["Name"]: tag["Value"] for tag in asked.get("EmailTags") or ()},
        headers=tuple({"name": each["Name"], "value": each["Value"]} for each in simple.get("Headers") or ()),
    )


def event(message: Message, word: Word, at: float) -> dict[str, Any]:
    told = EVENTS[word]
    return {"eventType": told, "mail": _mail(message), told[:1].lower() + told[1:]: _part(message, word, iso(at))}


def _mail(message: Message) -> dict[str, Any]:
    mail: Mail = message.content
    known = {"From": mail.sender, "To": mail.to, "Subject": mail.subject}
    return {
        "timestamp": iso(message.taken_at),
        "source": mail.sender,
        "sourceArn": f"arn:aws:ses:us-east-1:123456789012:identity/{mail.sender.rpartition('@')[2]}",
        "sendingAccountId": "123456789012",
        "messageId": message.id,
        "destination": [mail.to],
        "headersTruncated": False,
        "headers": [*({"name": name, "value": value} for name, value in known.items()), *mail.headers],
        "commonHeaders": {
            "from": [mail.sender],
            "to": [mail.to],
            "messageId": message.id,
            "subject": mail.subject,
        },
        "tags": {
            "ses:configuration-set": [mail.configuration_set],
            **{name: [value] for name, value in mail.tags.items()},
        },
    }


def _part(message: Message, word: Word, at: str) -> dict[str, Any]:
    if word is Word.SENT:
        return {}
    if word is Word.DELIVERED:
        return {
            "timestamp": at,
            "processingTimeMillis": 2452,
            "recipients": [message.to],
            "smtpResponse": "250 2.0.0 OK",
            "reportingMTA": "mta.example.org",
        }
    if word is Word.COMPLAINT:
        return {
            "complainedRecipients": [{"emailAddress": message.to}],
            "timestamp": at,
            "feedbackId": f"{message.id}-complaint",
            "complaintSubType": None,
            "userAgent": "Example FBL",
            "complaintFeedbackType": "abuse",
            "arrivalDate": at,
        }
    kind, reason, status, diagnosis = BOUNCES[word]
    recipient = {"emailAddress": message.to, "action": "failed", "status": status, "diagnosticCode": diagnosis}
    return {
        "bounceType": kind,
        "bounceSubType": reason,
        "bouncedRecipients": [recipient],
        "timestamp": at,
        "feedbackId": f"{message.id}-bounce",
        "reportingMTA": "dsn; mta.example.org",
    }


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"

"""What Postmark does not take, and its words for it. Codes: postmark.md; texts as in the examples, else as remembered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import getaddresses
from typing import Any, NamedTuple

from providers.sandbox import roles

ADDRESS = re.compile(r"[^@\s<>(),;:\"\[\]\\]+@[^@\s<>(),;:\"\[\]\\_]+\.[^@\s<>(),;:\"\[\]\\_.]+")
RECIPIENT_LIMIT = 50
METADATA_LIMIT, METADATA_NAME_LIMIT, METADATA_VALUE_LIMIT = 10, 20, 80
BODY_PART_LIMIT_BYTES = 5 * 1024 * 1024

NOTHING_SUPPLIED = (
    "No Account or Server API tokens were supplied in the HTTP headers. "
    "Please add a header for either X-Postmark-Server-Token or X-Postmark-Account-Token."
)
TEXTS = {
    10: "The Server Token you provided in the X-Postmark-Server-Token request header was invalid.",
    100: "Postmark is undergoing maintenance.",
    402: "Received invalid JSON input.",
    405: "Not allowed to send. Your account has run out of credits.",
    409: "This request must be in JSON: send the headers Accept and Content-Type as application/json.",
    429: "Too many requests.",
    701: "This message does not exist.",
}
INACTIVE = (
    "You tried to send to recipient(s) that have been marked as inactive. Found inactive addresses: {addresses}. "
    "Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a manual suppression."
)
TEXT_FIELDS = ("From", "To", "Cc", "Bcc", "Subject", "TextBody", "HtmlBody", "Tag", "MessageStream", "ReplyTo")


class Objection(NamedTuple):
    code: int
    message: str


def addresses_of(field: Any) -> list[tuple[str, str]]:
    """(name, address) of each, from a comma-separated field."""
    if not field:
        return []
    if ADDRESS.fullmatch(field):
        return [("", field)]  # the usual case, thirty times as fast as the parser
    return [pair for pair in getaddresses([field]) if pair != ("", "")]


def objection(mail: Any) -> Objection | None:
    """The first thing wrong with a request to send, None when all is well. Inactive addresses are not looked at."""
    if not isinstance(mail, dict):
        return Objection(402, TEXTS[402])
    for name in TEXT_FIELDS:
        if not isinstance(mail.get(name), str | None):
            return Objection(403, f"The '{name}' field is not of the expected type.")
    senders = addresses_of(mail.get("From"))
    if len(senders) != 1 or not ADDRESS.fullmatch(senders[0][1]):
        return Objection(300, f"Invalid 'From' address: '{mail.get('From') or ''}'.")
    return (
        _recipients(mail)
        or _content(mail)
        or _metadata(mail.get("Metadata") or {})
        or _headers(mail.get("Headers"))
        or _attachments(mail.get("Attachments"))
    )


def _recipients(mail: Mapping[str, Any]) -> Objection | None:
    count = 0
    for field in ("To", "Cc", "Bcc"):
        pairs = addresses_of(mail.get(field))
        if mail.get(field) and not pairs:
            return Objection(300, f"Invalid '{field}' address: '{mail[field]}'.")
        for _, address in pairs:
            if not ADDRESS.fullmatch(address) or roles.of_address(address).refusal:
                return Objection(300, f"Invalid '{field}' address: '{address}'.")
        count += len(pairs)
    if not mail.get("To"):
        return Objection(300, "Zero recipients specified")
    if count > RECIPIENT_LIMIT:
        return Objection(300, f"You have specified {count} recipients. Only {RECIPIENT_LIMIT} are allowed.")
    return None


def _content(mail: Mapping[str, Any]) -> Objection | None:
    parts = [mail.get("TextBody") or "", mail.get("HtmlBody") or ""]
    if not any(parts):
        return Objection(300, "Provide either email TextBody or HtmlBody or both.")
    if any(len(part.encode("utf-8", "surrogatepass")) > BODY_PART_LIMIT_BYTES for part in parts):
        return Objection(300, "A body part is larger than 5 MB.")
    return None


def _metadata(metadata: Any) -> Objection | None:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        return Objection(403, "The 'Metadata' field is not of the expected type.")
    if len(metadata) > METADATA_LIMIT:
        return Objection(300, f"Metadata may have {METADATA_LIMIT} fields.")
    for name, value in metadata.items():
        if len(name) > METADATA_NAME_LIMIT or len(value) > METADATA_VALUE_LIMIT:
            return Objection(300, f"Metadata field '{name}' is too long.")
    return None


def _headers(headers: Any) -> Objection | None:
    if headers is None:
        return None
    fits = isinstance(headers, list) and all(
        isinstance(header, dict) and isinstance(header.get("Name"), str) and isinstance(header.get("Value"), str)
        for header in headers
    )
    return None if fits else Objection(403, "The 'Headers' field is not of the expected type.")


def _attachments(files: Any) -> Objection | None:
    if files is None:
        return None
    fits = isinstance(files, list) and all(
        isinstance(file, dict) and all(isinstance(file.get(name), str) for name in ("Name", "Content", "ContentType"))
        for file in files
    )
    return None if fits else Objection(403, "The 'Attachments' field is not of the expected type.")

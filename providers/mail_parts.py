"""The parts of an outgoing mail as APIs of vendors want them. No line break gets into what becomes a header."""

from __future__ import annotations

import re

from providers import reading
from providers.errors import UnsupportedFeature
from providers.mails import ascii_domain, encoded, one_line, unsubscribe_headers
from providers.messages import Attachment, OutgoingMessage

_TOKEN = r"[A-Za-z0-9!#$&^_.+-]{1,60}"  # noqa: S105
_CONTENT_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(; ?[ -~]{{1,60}})?")
_CONTENT_ID = re.compile(r"[A-Za-z0-9.@_+-]{1,76}")


def subject(message: OutgoingMessage) -> str:
    return one_line(reading.clean(message.subject or ""))


def recipient(message: OutgoingMessage) -> tuple[str, str]:
    """The name and the address that a mail goes to: one and no more. Raises InvalidRecipient, UnsupportedFeature."""
    name = message.mail.to_name if message.mail else None
    return one_line(reading.clean(name or "")).strip(), _ascii(message.to)


def reply_to(message: OutgoingMessage) -> str | None:
    """Where an answer goes, None where it goes to the sender. Raises InvalidRecipient, UnsupportedFeature."""
    return _ascii(message.mail.reply_to) if message.mail and message.mail.reply_to else None


def headers(message: OutgoingMessage, attempt_id: str) -> dict[str, str]:
    """The headers of our own: the attempt's id, and how to unsubscribe. Raises UnsupportedFeature."""
    return {"X-Attempt-Id": attempt_id, **unsubscribe_headers(message.mail.unsubscribe_url if message.mail else None)}


def files(message: OutgoingMessage) -> tuple[Attachment, ...]:
    """The files that travel with a mail, fit for headers of their own. Raises UnsupportedFeature."""
    return tuple(map(_file, message.mail.attachments)) if message.mail else ()


def written(name: str, address: str) -> str:
    """A mailbox as in a header, its name in ASCII: in quotes (RFC 5322, 3.4) or as encoded words (RFC 2047)."""
    if not name:
        return address
    if name.isascii():
        return '"' + re.sub(r'(["\\])', r"\\\1", name) + f'" <{address}>'
    return f"{encoded(name)} <{address}>"


def _ascii(address: str) -> str:
    """Letters beyond ASCII before the @ are refused by some APIs and written as encoded words by others (RFC 2047, 5)."""
    written = ascii_domain(address)
    if not written.isascii():
        raise UnsupportedFeature("letters beyond ASCII before the @ are another account's")
    return written


def _file(file: Attachment) -> Attachment:
    if file.content_id is not None and not _CONTENT_ID.fullmatch(file.content_id):
        raise UnsupportedFeature("the id of a picture is made of letters, digits and . @ _ + -")
    kind = file.content_type if _CONTENT_TYPE.fullmatch(file.content_type) else "application/octet-stream"
    return Attachment(one_line(reading.clean(file.name)), kind, file.content, file.content_id)

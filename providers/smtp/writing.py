"""A mail as it travels: Django's EmailMessage, as bytes that are the same each time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from email.charset import QP, Charset
from email.utils import formataddr
from typing import Any

from django.core.mail import EmailMultiAlternatives

from providers import reading
from providers.errors import InvalidRequest, UnsupportedFeature
from providers.mails import ascii_domain, file_part, mailbox, one_line, unsubscribe_headers
from providers.messages import Mail, OutgoingMessage

# Never 8 bits, which not every server on the way takes, and never a line that is too long.
UTF_8 = Charset("utf-8")
UTF_8.body_encoding = QP

_line_ends = re.compile(r"\r\n?")
_bare_ends = re.compile(rb"\r(?!\n)|(?<!\r)\n")


def write(
    message: OutgoingMessage, recipient: str, sender: tuple[str, str], headers: Mapping[str, str], seed: str
) -> bytes:
    """Write a mail to one recipient, but for its date. `seed` is what makes its boundaries differ from another mail's.

    The names beside addresses are written in ASCII; only the recipient itself may be more. Raises InvalidRequest, UnsupportedFeature.
    """
    extra = message.mail or Mail()
    written = EmailMultiAlternatives(
        subject=one_line(message.subject or ""),
        body=_plain(message.text),
        from_email=formataddr(sender),
        reply_to=[_answered(extra.reply_to)] if extra.reply_to else None,
        headers={**headers, **unsubscribe_headers(extra.unsubscribe_url), "Date": ""},  # else Django asks the clock
    )
    written.encoding = UTF_8
    if message.html is not None:
        written.attach_alternative(_plain(message.html), "text/html")
    for attachment in extra.attachments:
        written.attach(file_part(attachment))
    if extra.attachments and all(attachment.content_id for attachment in extra.attachments):
        # Pictures of the HTML, and nothing to be listed as a file.
        written.mixed_subtype = "related"  # type: ignore[attr-defined]
    mime: Any = written.message()
    del mime["Date"]
    for number, part in enumerate(part for part in mime.walk() if part.is_multipart()):
        part.set_boundary(f"=={hashlib.sha256(f'{seed}/{number}'.encode()).hexdigest()[:32]}==")
    # By hand: what is beyond ASCII in an address must not be encoded (RFC 2047, section 5), and Django would.
    to = mailbox(extra.to_name, recipient)
    body: bytes = f"To: {to}\r\n".encode() + mime.as_bytes(linesep="\r\n")
    body = body if body.endswith(b"\r\n") else body + b"\r\n"
    if _bare_ends.search(body):
        raise InvalidRequest("a line of the mail does not end in CRLF")
    return body


def _answered(address: str) -> str:
    """Where answers go. What is beyond ASCII in a mailbox Django would encode."""
    written = ascii_domain(address)
    if not written.isascii():
        raise UnsupportedFeature("answers go to an address in ASCII")
    return written


def _plain(text: str) -> str:
    return _line_ends.sub("\n", reading.clean(text))

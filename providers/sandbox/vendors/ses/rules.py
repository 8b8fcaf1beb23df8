"""What SES does not take, and its names for it. Limits and names: the service model in botocore 1.44.8; the texts about
addresses are as remembered, others the sandbox's own.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from email.utils import getaddresses
from typing import Any, NamedTuple

from providers.sandbox import roles

ADDRESS = re.compile(r"[!-~]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
HEADER_NAME, HEADER_VALUE = re.compile(r"[!-9;-@A-~]{1,126}"), re.compile(r"[ -~]{1,995}")
TAG = re.compile(r"[A-Za-z0-9_-]{1,256}", re.ASCII)
HEADERS_LIMIT = 15
MEMBERS = {
    *("FromEmailAddress", "FromEmailAddressIdentityArn", "Destination", "ReplyToAddresses", "Content", "EmailTags"),
    *("FeedbackForwardingEmailAddress", "FeedbackForwardingEmailAddressIdentityArn", "ConfigurationSetName"),
    *("EndpointId", "TenantName", "ListManagementOptions"),
}
DISPOSITIONS = ("ATTACHMENT", "INLINE")


class Objection(NamedTuple):
    exception: str
    message: str


def address_of(written: str) -> str:
    """The address alone, without a name; "" where there is not exactly one."""
    pairs = getaddresses([written])
    return pairs[0][1] if len(pairs) == 1 else ""


def objection(mail: Mapping[str, Any]) -> Objection | None:
    """The first thing wrong with a request to send, None when all is well."""
    if unknown := sorted(set(mail) - MEMBERS):
        return _bad(f"Unknown member {unknown[0]}")
    return _sender(mail) or _recipient(mail) or _content(mail) or _tags(mail.get("EmailTags") or [])


def _bad(text: str) -> Objection:
    return Objection("BadRequestException", text)


def _sender(mail: Mapping[str, Any]) -> Objection | None:
    written = mail.get("FromEmailAddress")
    if not isinstance(written, str) or not ADDRESS.fullmatch(address_of(written)):
        return Objection("MessageRejected", "Email address is not verified.")
    answered = mail.get("ReplyToAddresses") or []
    return None if all(map(_is_mailbox, answered)) else _bad("Reply-to is no address")


def _recipient(mail: Mapping[str, Any]) -> Objection | None:
    destination = mail.get("Destination")
    to = destination.get("ToAddresses") if isinstance(destination, dict) else None
    if not isinstance(to, list) or len(to) != 1:
        return _bad("The sandbox plays one recipient")
    return None if _is_mailbox(to[0]) and not roles.of_address(address_of(to[0])).refusal else _bad("Illegal address")


def _is_mailbox(written: Any) -> bool:
    return isinstance(written, str) and written.isascii() and ADDRESS.fullmatch(address_of(written)) is not None


def _content(mail: Mapping[str, Any]) -> Objection | None:
    content = mail.get("Content")
    simple = content.get("Simple") if isinstance(content, dict) else None
    if not isinstance(simple, dict) or not isinstance(simple.get("Body"), dict):
        return _bad("The sandbox plays simple content")
    if not all(map(_is_text, (simple.get("Subject"), *simple["Body"].values()))) or not simple["Body"]:
        return _bad("A text has no Data")
    headers, files = simple.get("Headers") or [], simple.get("Attachments") or []
    if len(headers) > HEADERS_LIMIT or not all(map(_is_header, headers)):
        return _bad("A header does not fit")
    return None if all(map(_is_file, files)) else _bad("A file does not fit")


def _is_text(text: Any) -> bool:
    return isinstance(text, dict) and isinstance(text.get("Data"), str)


def _is_header(header: Any) -> bool:
    if not isinstance(header, dict):
        return False
    name, value = (str(header.get(part)) for part in ("Name", "Value"))
    return HEADER_NAME.fullmatch(name) is not None and HEADER_VALUE.fullmatch(value) is not None


def _is_file(file: Any) -> bool:
    if not isinstance(file, dict) or not isinstance(file.get("FileName"), str):
        return False
    try:
        base64.b64decode(file["RawContent"], validate=True)
    except (KeyError, TypeError, ValueError):
        return False
    return file.get("ContentDisposition", "ATTACHMENT") in DISPOSITIONS


def _tags(tags: Any) -> Objection | None:
    fits = isinstance(tags, list) and all(
        isinstance(tag, dict) and all(map(_is_tag_part, tag.values())) for tag in tags
    )
    return None if fits else _bad("A tag does not fit")


def _is_tag_part(value: Any) -> bool:
    return isinstance(value, str) and TAG.fullmatch(value) is not None

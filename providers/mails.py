"""What mails are made of, whoever carries them: addresses and header texts as they may travel, files."""

from __future__ import annotations

import re
from email import encoders
from email.header import Header
from email.mime.base import MIMEBase
from email.utils import formataddr, quote

import idna

from providers.errors import InvalidRecipient, InvalidRequest, UnsupportedFeature
from providers.messages import Attachment

CRLF = "\r\n"

_CONTENT_TYPE = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+")
_HARMLESS_ID = re.compile(r"[A-Za-z0-9.@_+-]+")
_NAMED = re.compile(r'"?([^"<>]*?)"?\s*<([^<>]+)>')
_LIST = re.compile(r"[\s,;<>\x00-\x1f\x7f]")
# RFC 8058 wants TLS; within this machine nobody else could listen.
_ONE_CLICK = re.compile(r"https://|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?/")
_BREAKS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")


def one_line(text: str) -> str:
    """A text for a header: what would end its line, or cannot be written, becomes a blank."""
    return _BREAKS.sub(" ", text)


def ascii_domain(address: str) -> str:
    """An address with its domain in letters that DNS knows. Raises InvalidRecipient, UnsupportedFeature.

    By IDNA 2008: by the older rules, which Python and Django know, straße.example becomes strasse.example, whose owner is
    somebody else.
    """
    if _LIST.search(address):
        raise UnsupportedFeature("an address with a comma or the like could be taken for several")
    local, _, domain = address.rpartition("@")
    if not local or not domain:
        raise InvalidRecipient("no e-mail address")
    if domain.isascii():
        return address
    try:
        return f"{local}@{idna.encode(domain, uts46=True).decode()}"
    except UnicodeError:
        raise InvalidRecipient("no domain of this name can exist") from None


def named(written: str) -> tuple[str, str]:
    """Take "Name <address>" apart; without a name the first is empty. A comma in a name needs no quotation marks."""
    found = _NAMED.fullmatch(one_line(written).strip())
    return (found[1], found[2].strip()) if found else ("", written.strip())


def unsubscribe_headers(url: str | None) -> dict[str, str]:
    """The headers by which a mail program unsubscribes with one click (RFC 8058). Raises UnsupportedFeature."""
    if url is None:
        return {}
    if not url.isascii() or _LIST.search(url) or not _ONE_CLICK.match(url):
        raise UnsupportedFeature("a link to unsubscribe is https, in ASCII, without commas")
    return {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}


def mailbox(name: str | None, address: str) -> str:
    """An address behind its name, for a header, folded. Encoded where that is allowed: beside an address in ASCII."""
    name = one_line(name or "").strip()
    if not address.isascii():
        return quoted(name, address)
    return formataddr((name, address)) if name.isascii() else f"{encoded(name, CRLF)} <{address}>"


def encoded(name: str, line_end: str = "") -> str:
    """A name as encoded words (RFC 2047). Those of Python's `formataddr` may be longer than the 75 characters that are allowed."""
    return Header(name, "utf-8", maxlinelen=75).encode(linesep=line_end)


def quoted(name: str | None, address: str) -> str:
    """An address behind its name, nothing encoded."""
    name = one_line(name or "").strip()
    return f'"{quote(name)}" <{address}>' if name else address


def file_part(attachment: Attachment) -> MIMEBase:
    """A file, in base64 whatever it is: its bytes arrive as they are."""
    is_named = _CONTENT_TYPE.fullmatch(attachment.content_type)
    main, _, sub = (attachment.content_type if is_named else "application/octet-stream").partition("/")
    part = MIMEBase(main, sub)
    part.set_payload(attachment.content)
    encoders.encode_base64(part)
    name = one_line(attachment.name)
    shown = "inline" if attachment.content_id else "attachment"
    part.add_header("Content-Disposition", shown, filename=name if name.isascii() else ("utf-8", "", name))
    if attachment.content_id:
        if not _HARMLESS_ID.fullmatch(attachment.content_id):
            raise InvalidRequest("the id of a picture is made of letters, digits and . @ _ + -")
        part["Content-ID"] = f"<{attachment.content_id}>"
    return part

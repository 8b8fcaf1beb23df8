"""What SendGrid does not take. Fields and limits: its OpenAPI file (January 2026); texts are the sandbox's own."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from providers.sandbox import roles

ADDRESS = re.compile(r"[^@\s<>(),;:\"\[\]\\]+@[^@\s<>(),;:\"\[\]\\_]+\.[^@\s<>(),;:\"\[\]\\_.]+")
RECIPIENT_LIMIT = 1000
ARGUMENTS_LIMIT_BYTES = 10_000
KINDS = ("text/plain", "text/html")  # in this order
# Headers that a caller may not set.
RESERVED = {
    *("x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding"),
    *("to", "from", "subject", "reply-to", "cc", "bcc"),
}
HEADER_NAME = re.compile(r"[!-9;-~]+")


class Objection(NamedTuple):
    field: str | None
    message: str


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The request to send, or the first thing wrong with it."""
    try:
        mail = json.loads(body)
    except ValueError:
        mail = None
    if not isinstance(mail, dict):
        return Objection(None, "Bad Request")
    return _recipients(mail) or _sender(mail) or _content(mail) or _extras(mail) or mail


def _recipients(mail: Mapping[str, Any]) -> Objection | None:
    parts = mail.get("personalizations")
    if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], dict):
        return Objection("personalizations", "The sandbox plays one personalization.")
    people = parts[0].get("to")
    if not isinstance(people, list) or not 1 <= len(people) <= RECIPIENT_LIMIT:
        return Objection("personalizations.0.to", "The to array is required.")
    for number, person in enumerate(people):
        if not _is_person(person) or roles.of_address(person["email"]).refusal:
            return Objection(f"personalizations.0.to.{number}.email", "Does not contain a valid address.")
    arguments = parts[0].get("custom_args") or {}
    if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
        return Objection("personalizations.0.custom_args", "Arguments are strings.")
    if len(json.dumps(arguments)) > ARGUMENTS_LIMIT_BYTES:
        return Objection("personalizations.0.custom_args", "Arguments are too long.")
    return None


def _is_person(person: Any) -> bool:
    if not isinstance(person, dict) or not isinstance(person.get("name"), str | None):
        return False
    return isinstance(person.get("email"), str) and ADDRESS.fullmatch(person["email"]) is not None


def _sender(mail: Mapping[str, Any]) -> Objection | None:
    if not _is_person(mail.get("from")):
        return Objection("from.email", "Does not contain a valid address.")
    if "reply_to" in mail and not _is_person(mail["reply_to"]):
        return Objection("reply_to.email", "Does not contain a valid address.")
    return None


def _content(mail: Mapping[str, Any]) -> Objection | None:
    if not isinstance(mail.get("subject"), str) or not mail["subject"]:
        return Objection("subject", "The subject is required.")
    parts = mail.get("content")
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        return Objection("content", "The content is required.")
    for number, part in enumerate(parts):
        if not isinstance(part.get("value"), str) or not part["value"]:
            return Objection(
                f"content.{number}.value", "The content value must be a string at least one character long."
            )
    kinds = [part.get("type") for part in parts]
    if kinds != [kind for kind in KINDS if kind in kinds]:
        return Objection("content", "text/plain comes before text/html.")
    return None


def _extras(mail: Mapping[str, Any]) -> Objection | None:
    headers = mail.get("headers") or {}
    if not isinstance(headers, dict) or not all(map(_is_header, headers.items())):
        return Objection("headers", "Headers are names and strings, and some are not yours to set.")
    files = mail.get("attachments", [None])
    if "attachments" in mail and not (isinstance(files, list) and all(map(_is_file, files))):
        return Objection("attachments.0.content", "The attachment content must be base64 encoded.")
    return None


def _is_header(header: tuple[str, Any]) -> bool:
    name, value = header
    is_name = HEADER_NAME.fullmatch(name) is not None and name.lower() not in RESERVED
    return is_name and isinstance(value, str) and not re.search(r"[\r\n]", value)


def _is_file(file: Any) -> bool:
    if not isinstance(file, dict) or not all(file.get(name) for name in ("content", "filename")):
        return False
    try:
        base64.b64decode(file["content"], validate=True)
    except (ValueError, TypeError):
        return False
    return file.get("disposition", "attachment") in ("attachment", "inline")

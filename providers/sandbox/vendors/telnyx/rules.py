"""What Telnyx does not take, and its words for it. Codes: its error reference; texts are the sandbox's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from providers.sandbox import roles
from providers.sandbox.segments import segment_count

NUMBER = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
SHORT_CODE = re.compile(r"\d{3,8}", re.ASCII)
NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11}", re.ASCII)
KEY = re.compile(r"[A-Za-z0-9_:-]{1,255}", re.ASCII)
URL_LIMIT = 2000
SEGMENT_LIMIT = 10

CONFLICT = 10099  # the sandbox's own: the vendor's code for a conflict of keys is not documented
TITLES = {
    10003: "Invalid URL",
    10004: "Missing required parameter",
    10005: "Resource not found",
    10007: "Unexpected error",
    10009: "Authentication failed",
    10011: "Too many requests",
    10015: "Bad Request",
    10016: "Phone number must be in +E.164 format",
    40300: "Blocked due to STOP message",
    40302: "Message too large",
    40305: "Invalid 'from' address",
    40310: "Invalid 'to' address",
    CONFLICT: "Idempotency key conflict",
}


class Objection(NamedTuple):
    status: int
    code: int
    pointer: str | None = None


ROLE_REFUSALS = {"invalid": Objection(400, 40310, "/to"), "opted out": Objection(409, 40300, "/to")}


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The message that is asked for, or the first thing wrong with it."""
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        return Objection(400, 10015)
    return _recipient(asked) or _sender(asked) or _content(asked) or asked


def _recipient(asked: Mapping[str, Any]) -> Objection | None:
    to = asked.get("to")
    if not to:
        return Objection(422, 10004, "/to")
    if not isinstance(to, str) or not NUMBER.fullmatch(to):
        return Objection(400, 10016, "/to")
    return ROLE_REFUSALS.get(roles.of_number(to).refusal or "")


def _sender(asked: Mapping[str, Any]) -> Objection | None:
    sender, profile = asked.get("from"), asked.get("messaging_profile_id")
    if not sender:
        return None if profile else Objection(422, 10004, "/from")
    if not isinstance(sender, str) or not any(shape.fullmatch(sender) for shape in (NUMBER, SHORT_CODE, NAME)):
        return Objection(400, 40305, "/from")
    if NAME.fullmatch(sender) and not profile:
        return Objection(422, 10004, "/messaging_profile_id")
    return None


def _content(asked: Mapping[str, Any]) -> Objection | None:
    text, url = asked.get("text"), asked.get("webhook_url")
    if not isinstance(text, str) or not text:
        return Objection(422, 10004, "/text")
    if segment_count(text) > SEGMENT_LIMIT:
        return Objection(400, 40302, "/text")
    if url is not None and not _is_callable(url):
        return Objection(400, 10003, "/webhook_url")
    return None


def _is_callable(url: Any) -> bool:
    if not isinstance(url, str) or len(url) > URL_LIMIT:
        return False
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  raises for a port that is none
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)

"""What Plivo does not take. Limits: plivo.com/docs (read 2026-11); the texts are the sandbox's own, the vendor's are not known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from providers.sandbox.segments import BASIC, EXTENDED

NUMBER = re.compile(r"[1-9]\d{6,13}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9]{1,14}", re.ASCII)  # a number, a short code or a name of up to 11
IGNORED = re.compile(r"[/\-.+()\s]")
GSM_LIMIT, UCS2_LIMIT = 1600, 737
EXPIRY = range(5, 10800)
TYPES = ("sms", "mms", "whatsapp")
METHODS = ("GET", "POST")

TEXTS = {
    400: "A parameter is missing or is invalid",
    401: "Authentication failed",
    402: "Insufficient Credit",
    403: "Geo permission to the destination country is not enabled",
    404: "not found",
    405: "HTTP method not allowed",
    422: "Unprocessable request",
    429: "too many requests",
    500: "Server error",
}


class Objection(NamedTuple):
    status: int
    text: str


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The message that is asked for, or the first thing wrong with it."""
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        return Objection(400, "the request body is not a JSON object")
    return _ends(asked) or _content(asked) or _extras(asked) or asked


def bare(number: str) -> str:
    """A number without what Plivo strips off."""
    return IGNORED.sub("", number)


def _ends(asked: Mapping[str, Any]) -> Objection | None:
    dst, src, powerpack = asked.get("dst"), asked.get("src"), asked.get("powerpack_uuid")
    if not isinstance(dst, str) or not dst:
        return Objection(400, "dst is missing")
    if "<" in dst:
        return Objection(400, "the sandbox takes one destination at a time")
    if not NUMBER.fullmatch(bare(dst)):
        return Objection(400, "dst is not valid")
    if bool(src) == bool(powerpack):
        return Objection(400, "exactly one of src and powerpack_uuid")
    if src and (not isinstance(src, str) or not NAME.fullmatch(bare(src))):
        return Objection(400, "src is not valid")
    if src and bare(src) == bare(dst):
        return Objection(400, "src and dst cannot be the same")
    return None


def _content(asked: Mapping[str, Any]) -> Objection | None:
    text = asked.get("text")
    if not isinstance(text, str) or not text:
        return Objection(400, "text is missing")
    is_gsm = all(character in BASIC or character in EXTENDED for character in text)
    if len(text) > (GSM_LIMIT if is_gsm else UCS2_LIMIT):
        return Objection(400, "text is too long")
    return None


def _extras(asked: Mapping[str, Any]) -> Objection | None:
    if asked.get("type", "sms") not in TYPES:
        return Objection(400, "type is not valid")
    if asked.get("method", "POST") not in METHODS:
        return Objection(400, "method is not valid")
    url, expiry = asked.get("url"), asked.get("message_expiry", EXPIRY[-1])
    if url is not None and not (isinstance(url, str) and _is_callable(url)):
        return Objection(400, "url is not valid")
    if not isinstance(expiry, int) or isinstance(expiry, bool) or expiry not in EXPIRY:
        return Objection(400, "message_expiry is not valid")
    return None


def _is_callable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  raises for a port that is none
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)

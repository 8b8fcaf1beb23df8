"""What the Messages API does not take, and its words for it. Codes: https://developer.vonage.com/en/api-errors/messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

NUMBER = re.compile(r"[1-9]\d{6,14}", re.ASCII)
NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}", re.ASCII)
TEXT_LIMIT = 1000
REFERENCE_LIMIT = 40
SHORTEST_SECONDS, LONGEST_SECONDS = 20, 604_800
DOCUMENTS = "https://developer.vonage.com/api-errors"

TITLES = {
    1000: "Internal error",
    1010: "Rate Limit Hit",
    1070: "Low balance",
    1120: "Invalid sender",
    1150: "Invalid params",
    1160: "Non-Whitelisted Destination",
}
USUAL = {401: "#unauthorized", 402: "#low-balance", 403: "#unprovisioned", 429: "/messages#1010"}


class Objection(NamedTuple):
    """A code of theirs, and the parameter that is wrong."""

    code: int
    parameter: str = ""


class NotJson(Exception):
    pass


def read(body: bytes) -> Mapping[str, Any]:
    """Raises NotJson."""
    try:
        asked = json.loads(body)
    except ValueError as error:
        raise NotJson from error
    if not isinstance(asked, dict):
        raise NotJson
    return asked


def objection(asked: Mapping[str, Any]) -> Objection | None:
    """The first thing wrong with a message, None when all is well."""
    for name, wanted in (("channel", "sms"), ("message_type", "text")):
        if asked.get(name) != wanted:
            return Objection(1150, name)
    if not _matches(NUMBER, asked.get("to")):
        return Objection(1150, "to")
    if not (_matches(NUMBER, asked.get("from")) or _matches(NAME, asked.get("from"))):
        return Objection(1120, "from")
    if not isinstance(asked.get("text"), str) or not 0 < len(asked["text"]) <= TEXT_LIMIT:
        return Objection(1150, "text")
    if not _fits(asked.get("client_ref", ""), REFERENCE_LIMIT):
        return Objection(1150, "client_ref")
    ttl = asked.get("ttl", SHORTEST_SECONDS)
    if isinstance(ttl, bool) or not isinstance(ttl, int) or not SHORTEST_SECONDS <= ttl <= LONGEST_SECONDS:
        return Objection(1150, "ttl")
    return None if is_callable(asked.get("webhook_url")) else Objection(1150, "webhook_url")


def is_callable(url: Any) -> bool:
    """Whether it can be called back; no address at all is fine, and loopback is the point here."""
    if url is None:
        return True
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except (ValueError, AttributeError):
        return False


def problem(link: str, title: str, parameter: str = "") -> dict[str, Any]:
    """A no in their words (RFC 7807); `link` is what follows the address of the list."""
    content: dict[str, Any] = {
        "type": DOCUMENTS + link,
        "title": title,
        "detail": "Refused by the sandbox.",
        "instance": "bf0ca0bf927b3b52e3cb03217e1a1ddf",
    }
    if parameter:
        content["invalid_parameters"] = [{"name": parameter, "reason": "invalid value"}]
    return content


def _matches(shape: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and shape.fullmatch(value) is not None


def _fits(value: Any, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit

"""What the SMS API does not take, and its words for it: all with HTTP 200. Codes: Nexmo/api-specification, definitions/sms.yml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from providers.sandbox.segments import BASIC, EXTENDED

NUMBER = re.compile(r"\d{7,15}", re.ASCII)
NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}", re.ASCII)
TEXT_LIMIT = 3200
REFERENCE_LIMIT = 40
CALLBACK_LIMIT = 100
SHORTEST_MILLISECONDS, LONGEST_MILLISECONDS = 20_000, 604_800_000

THROTTLED, MISSING, INVALID, BAD_CREDENTIALS = 1, 2, 3, 4
TEXTS = {
    THROTTLED: "Throughput Rate Exceeded - please wait [ 250 ] and retry",
    MISSING: "Missing Params",
    INVALID: "Invalid Params",
    BAD_CREDENTIALS: "Bad Credentials",
    7: "Number barred.",
    9: "Quota Exceeded - rejected",
    12: "Message too long",
    15: "Illegal Sender Address - rejected",
    23: "Invalid Callback URL",
    33: "Number De-activated",
}
ROLE_REFUSALS = {"invalid": 33, "opted out": 7}


def objection(form: Mapping[str, str]) -> int | None:
    """The status for the first thing wrong, None when all is well."""
    if not all(form.get(name) for name in ("from", "to", "text")):
        return MISSING
    if not NUMBER.fullmatch(form["to"]) or form.get("type", "text") not in ("text", "unicode"):
        return INVALID
    if not (NUMBER.fullmatch(form["from"]) or NAME.fullmatch(form["from"])):
        return 15
    if len(form["text"]) > TEXT_LIMIT:
        return 12
    ttl = form.get("ttl", str(SHORTEST_MILLISECONDS))
    if not ttl.isdecimal() or not SHORTEST_MILLISECONDS <= int(ttl) <= LONGEST_MILLISECONDS:
        return INVALID
    if len(form.get("client-ref", "")) > REFERENCE_LIMIT:
        return INVALID
    return None if _is_callable(form.get("callback")) else 23


def as_received(form: Mapping[str, str]) -> str:
    """The text as it reaches the phone: as `text`, letters that the alphabet lacks come out as question marks."""
    if form.get("type", "text") == "unicode":
        return form["text"]
    return "".join(letter if letter in BASIC or letter in EXTENDED else "?" for letter in form["text"])


def _is_callable(url: str | None) -> bool:
    if url is None:
        return True
    try:
        parts = urlsplit(url)
        return len(url) <= CALLBACK_LIMIT and parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False

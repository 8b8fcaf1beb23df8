"""What MessageBird does not take, and its words for it; texts are the sandbox's own where the vendor's are unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from providers.sandbox import roles

NUMBER = re.compile(r"\+?[1-9][0-9]{6,14}", re.ASCII)
SENDER = re.compile(r"\+?[0-9]{3,15}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11}", re.ASCII)
DATACODINGS = ("plain", "unicode", "auto")
REFERENCE_LIMIT = 128  # https://support.messagebird.com/hc/en-us/articles/360001869258

TEXTS = {
    2: "Request not allowed (incorrect access_key)",
    20: "message not found",
    21: "Bad request",
    25: "Not enough balance",
    98: "API not found",
    99: "Internal error",
}


class Objection(NamedTuple):
    status: int
    code: int
    description: str
    parameter: str | None = None


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The message that is asked for, or the first thing wrong with it."""
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        return Objection(400, 21, TEXTS[21])
    return _addresses(asked) or _content(asked) or asked


def recipients_of(asked: Mapping[str, Any]) -> list[str]:
    """A list, or one text with commas."""
    written = asked.get("recipients")
    return written.split(",") if isinstance(written, str) else [str(number) for number in written or ()]


def _addresses(asked: Mapping[str, Any]) -> Objection | None:
    if not asked.get("originator"):
        return Objection(422, 9, "no (correct) originator found", "originator")
    if not SENDER.fullmatch(str(asked["originator"])):
        return Objection(422, 10, "originator is invalid", "originator")
    if not isinstance(asked.get("recipients"), str | list | None):
        return Objection(422, 10, "recipients is invalid", "recipients")
    numbers = recipients_of(asked)
    if not numbers or not all(map(_is_number, numbers)):
        return Objection(422, 9, "no (correct) recipients found", "recipients")
    if len(numbers) > 1:
        return Objection(422, 10, "the sandbox takes one recipient at a time", "recipients")
    return None


def _is_number(written: str) -> bool:
    return bool(NUMBER.fullmatch(written)) and roles.of_number(written).refusal != "invalid"


def _content(asked: Mapping[str, Any]) -> Objection | None:
    if not isinstance(asked.get("body"), str) or not asked["body"]:
        return Objection(422, 9, "no (correct) body found", "body")
    if asked.get("datacoding", "plain") not in DATACODINGS:
        return Objection(422, 10, "datacoding is invalid", "datacoding")
    validity = asked.get("validity", 1)
    if isinstance(validity, bool) or not isinstance(validity, int) or validity < 1:
        return Objection(422, 10, "validity is invalid", "validity")
    if len(str(asked.get("reference") or "")) > REFERENCE_LIMIT:
        return Objection(422, 10, "reference is invalid", "reference")
    if not isinstance(asked.get("reportUrl"), str | None):
        return Objection(422, 10, "reportUrl is invalid", "reportUrl")
    return None

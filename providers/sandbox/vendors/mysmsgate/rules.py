"""What MySMSGate does not take. Its texts are not known: these are the sandbox's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from providers.sandbox import roles

NUMBER = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
ID_LIMIT = 200

TEXTS = {
    400: "The request is not valid",
    401: "Invalid API key",
    402: "Insufficient balance",
    403: "Invalid API key",
    404: "Not found",
    409: "No device is online",
    429: "Too many requests",
}


class Objection(NamedTuple):
    status: int
    text: str


ROLE_REFUSALS = {
    "invalid": Objection(400, "Not a valid phone number"),
    "opted out": Objection(400, "The recipient is on the block list"),
}


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The message that is asked for, or the first thing wrong with it."""
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        return Objection(400, "The request is no JSON object")
    return _recipient(asked) or _content(asked) or _phone(asked) or asked


def text_of(asked: Mapping[str, Any]) -> Any:
    """The words to send: both names for them are in use."""
    return asked.get("message") or asked.get("text")


def _recipient(asked: Mapping[str, Any]) -> Objection | None:
    to = asked.get("to")
    if not isinstance(to, str) or not NUMBER.fullmatch(to):
        return ROLE_REFUSALS["invalid"]
    return ROLE_REFUSALS.get(roles.of_number(to).refusal or "")


def _content(asked: Mapping[str, Any]) -> Objection | None:
    text = text_of(asked)
    return None if isinstance(text, str) and text else Objection(400, "There is no message")


def _phone(asked: Mapping[str, Any]) -> Objection | None:
    device, slot, reference = (asked.get(name) for name in ("device_id", "slot", "client_message_id"))
    if device is not None and not (isinstance(device, str) and 0 < len(device) <= ID_LIMIT):
        return Objection(404, "There is no such device")
    if slot is not None and (isinstance(slot, bool) or slot not in (0, 1)):
        return Objection(400, "There is no such slot")
    if reference is not None and not (isinstance(reference, str) and 0 < len(reference) <= ID_LIMIT):
        return Objection(400, "Not a valid client_message_id")
    return None

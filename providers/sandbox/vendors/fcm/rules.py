"""What FCM does not take: names and types as in its discovery document, revision 20261023, and its limits."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from providers.sandbox.wire import encode_json

PAYLOAD_BYTES = 4096
LONGEST_SECONDS = 28 * 24 * 3600
TARGETS = ("token", "fid", "topic", "condition")
MESSAGE = {*TARGETS, "notification", "data", "android", "apns", "webpush", "fcm_options"}
NOTIFICATION = {"title", "body", "image"}
ANDROID = {"collapse_key", "priority", "ttl", "data", "notification", "restricted_package_name", "fcm_options"}
PARTS = {"apns": {"headers", "payload", "fcm_options"}, "webpush": {"headers", "data", "notification", "fcm_options"}}
PRIORITIES = ("NORMAL", "HIGH")
SECONDS = re.compile(r"(\d{1,9})(\.\d{1,9})?s", re.ASCII)


class Objection(NamedTuple):
    """The field that is wrong; "" where they do not name it."""

    field: str


def read(body: bytes) -> dict[str, Any] | Objection:
    """The message of a request to send, or the first thing wrong with it."""
    try:
        given = json.loads(body)
    except ValueError:
        return Objection("")
    message = given.get("message") if isinstance(given, dict) else None
    if not isinstance(message, dict) or not given.keys() <= {"message", "validate_only"}:
        return Objection("message")
    wrong = _unknown(message, MESSAGE, "message") or _content(message) or _android(message.get("android", {}))
    for name, known in PARTS.items():
        wrong = wrong or _platform(message.get(name, {}), known, f"message.{name}")
    if wrong:
        return Objection(wrong)
    shown = {name: message[name] for name in ("notification", "data") if name in message}
    return Objection("") if len(encode_json(shown)) > PAYLOAD_BYTES else message


def _content(message: dict[str, Any]) -> str:
    if sum(name in message for name in TARGETS) != 1 or not isinstance(message.get("token"), str):
        return "message.token"
    if not _are_texts(message.get("notification", {})):
        return "message.notification"
    data = message.get("data", {})
    if not _are_texts(data) or any(_is_reserved(name) for name in data):
        return "message.data"
    return _unknown(message.get("notification", {}), NOTIFICATION, "message.notification")


def _android(android: Any) -> str:
    if wrong := _platform(android, ANDROID, "message.android"):
        return wrong
    if android.get("priority", "NORMAL") not in PRIORITIES:
        return "message.android.priority"
    ttl = SECONDS.fullmatch(str(android.get("ttl", "0s")))
    return "" if ttl and int(ttl[1]) <= LONGEST_SECONDS else "message.android.ttl"


def _platform(part: Any, known: set[str], path: str) -> str:
    if not isinstance(part, dict) or not _are_texts(part.get("headers", {})):
        return path
    return _unknown(part, known, path)


def _unknown(part: dict[str, Any], known: set[str], path: str) -> str:
    return next((f"{path}.{name}" for name in part if name not in known), "")


def _are_texts(part: Any) -> bool:
    return isinstance(part, dict) and all(isinstance(value, str) for value in part.values())


def _is_reserved(name: str) -> bool:
    return name in ("from", "message_type") or name.startswith(("google.", "gcm.notification."))

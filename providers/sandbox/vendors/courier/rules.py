"""What Courier does not take. Fields as in its Python SDK; the texts of refusals are the sandbox's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

ADDRESS = re.compile(r"[^@\s<>(),;:\"\[\]\\]+@[^@\s<>(),;:\"\[\]\\_]+\.[^@\s<>(),;:\"\[\]\\_.]+")
MEMBERS = {
    *(
        "to",
        "template",
        "content",
        "data",
        "brand_id",
        "channels",
        "providers",
        "routing",
        "metadata",
        "delay",
        "expiry",
    ),
    *("timeout", "preferences", "context"),
}
METADATA = {"trace_id", "tags", "event", "utm"}
OVERRIDE = {"attachments", "bcc", "brand", "cc", "from", "html", "reply_to", "subject", "text", "tracking"}


def read(body: bytes) -> Mapping[str, Any] | str:
    """The message that is asked for, or the first thing wrong with it."""
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    message = asked.get("message") if isinstance(asked, dict) else None
    if not isinstance(message, dict):
        return "Invalid request body"
    return _parts(message) or _recipient(message) or _content(message) or _extras(message) or message


def override_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mail as it is to be whatever is rendered."""
    return _object(_object(_object(message, "channels"), "email"), "override")


def _parts(message: Mapping[str, Any]) -> str:
    unknown = sorted(set(message) - MEMBERS)
    return f"unknown: {', '.join(unknown)}" if unknown else ""


def _recipient(message: Mapping[str, Any]) -> str:
    address = _object(message, "to").get("email")
    return "" if isinstance(address, str) and ADDRESS.fullmatch(address) else "message.to.email is no address"


def _content(message: Mapping[str, Any]) -> str:
    content = _object(message, "content")
    is_content = all(isinstance(content.get(part), str) and content[part] for part in ("title", "body"))
    if not is_content and not isinstance(message.get("template"), str):
        return "message.template, or message.content with title and body"
    unknown = sorted(set(override_of(message)) - OVERRIDE)
    return f"unknown in the override: {', '.join(unknown)}" if unknown else ""


def _extras(message: Mapping[str, Any]) -> str:
    metadata, routing = _object(message, "metadata"), _object(message, "routing")
    tags = metadata.get("tags", [])
    if set(metadata) - METADATA or not isinstance(tags, list) or not all(isinstance(tag, str) and tag for tag in tags):
        return "message.metadata"
    if routing and (routing.get("method") not in ("all", "single") or not isinstance(routing.get("channels"), list)):
        return "message.routing"
    wait = _object(message, "timeout").get("message", 1)
    return "" if isinstance(wait, int) and wait > 0 else "message.timeout"


def _object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}

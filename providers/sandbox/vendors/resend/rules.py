"""What Resend does not take, and its words for it. Names: https://resend.com/docs/api-reference/errors; some texts as remembered."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parseaddr
from typing import Any, NamedTuple

from providers.sandbox import roles

ADDRESS = re.compile(r"[^@\s<>(),;:\"\[\]\\]+@[^@\s<>(),;:\"\[\]\\_]+\.[^@\s<>(),;:\"\[\]\\_.]+")
TAG = re.compile(r"[A-Za-z0-9_-]{1,256}")
RECIPIENT_LIMIT = 50
KEY_LIMIT = 256

TEXTS = {
    "validation_error": "An error was found with one or more fields in the request.",
    "invalid_idempotency_key": "Idempotency keys, if present, must have between 1 and 256 characters.",
    "missing_api_key": "Missing API Key",
    "restricted_api_key": "This API key is restricted to only send emails.",
    "invalid_api_key": "API key is invalid",
    "not_found": "The requested endpoint does not exist.",
    "method_not_allowed": "This endpoint does not support the specified HTTP method.",
    "invalid_idempotent_request": "This idempotency key has already been used on a request with a different payload.",
    "concurrent_idempotent_requests": "Another request with the same idempotency key is in progress.",
    "missing_required_field": "The request body is missing one or more required fields.",
    "invalid_from_address": "Invalid `from` field.",
    "rate_limit_exceeded": "Too many requests. You can only make 5 requests per second.",
    "daily_quota_exceeded": "You have reached your daily email sending quota.",
    "monthly_quota_exceeded": "You have reached your monthly email sending quota.",
    "security_error": "A security issue was found with the request.",
    "application_error": "An unexpected error occurred.",
}
USUAL_NAMES = {
    400: "validation_error",
    401: "missing_api_key",
    403: "invalid_api_key",
    404: "not_found",
    405: "method_not_allowed",
    409: "concurrent_idempotent_requests",
    422: "validation_error",
    429: "rate_limit_exceeded",
    451: "security_error",
}
FORMAT = "The email address needs to follow the `email@example.com` or `Name <email@example.com>` format."
TAG_FORMAT = "Tags should only contain ASCII letters, numbers, underscores, or dashes."


class Objection(NamedTuple):
    status: int
    name: str
    message: str


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The mail that is asked for, or the first thing wrong with it."""
    try:
        mail = json.loads(body)
    except ValueError:
        mail = None
    if not isinstance(mail, dict):
        return Objection(400, "validation_error", "The request body is not valid JSON.")
    return _missing(mail) or _addresses(mail) or _content(mail) or _extras(mail) or mail


def addresses_of(field: Any) -> list[str]:
    """Addresses as they were written, from one text or a list of them."""
    return [field] if isinstance(field, str) else list(field or ())


def bare(written: str) -> str:
    """The address alone, without a name."""
    return written if ADDRESS.fullmatch(written) else parseaddr(written)[1]


def _missing(mail: Mapping[str, Any]) -> Objection | None:
    for name in ("from", "to", "subject"):
        if mail.get(name) is None:
            return Objection(422, "missing_required_field", f"Missing `{name}` field.")
    return None


def _addresses(mail: Mapping[str, Any]) -> Objection | None:
    if not isinstance(mail["from"], str) or not ADDRESS.fullmatch(bare(mail["from"])):
        return Objection(422, "invalid_from_address", f"Invalid `from` field. {FORMAT}")
    for name in ("to", "cc", "bcc", "reply_to"):
        written = mail.get(name)
        if not isinstance(written, str | list | None) or not all(map(_is_address, addresses_of(written))):
            return Objection(422, "validation_error", f"Invalid `{name}` field. {FORMAT}")
    if not 1 <= len(addresses_of(mail["to"])) <= RECIPIENT_LIMIT:
        return Objection(422, "validation_error", f"The `to` field takes 1 to {RECIPIENT_LIMIT} addresses.")
    return None


def _is_address(written: Any) -> bool:
    if not isinstance(written, str):
        return False
    address = bare(written)
    return bool(ADDRESS.fullmatch(address)) and not roles.of_address(address).refusal


def _content(mail: Mapping[str, Any]) -> Objection | None:
    for name in ("subject", "text", "html"):
        if not isinstance(mail.get(name), str | None):
            return Objection(422, "validation_error", f"The `{name}` field must be a string.")
    if not (mail.get("text") or mail.get("html")):
        return Objection(422, "missing_required_field", "Missing `html` or `text` field.")
    return None


def _extras(mail: Mapping[str, Any]) -> Objection | None:
    headers, tags = mail.get("headers") or {}, mail.get("tags") or []
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        return Objection(422, "validation_error", "The `headers` field must be an object of strings.")
    if not isinstance(tags, list) or not all(map(_is_tag, tags)):
        return Objection(422, "validation_error", TAG_FORMAT)
    return None


def _is_tag(tag: Any) -> bool:
    return isinstance(tag, dict) and all(TAG.fullmatch(str(tag.get(part, ""))) for part in ("name", "value"))

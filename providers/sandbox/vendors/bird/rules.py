"""What Bird does not take, and its words for it. Names: its documentation; numbers of the SMS errors and texts are the sandbox's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from providers.sandbox import roles
from providers.sandbox.segments import segment_count

NUMBER = re.compile(r"\+[1-9][0-9]{6,14}", re.ASCII)
SENDER = re.compile(r"\+[1-9][0-9]{6,14}|[0-9]{5,6}|(?=.*[A-Za-z])[A-Za-z0-9 _-]{1,11}", re.ASCII)
CATEGORIES = ("transactional", "marketing", "authentication", "service")
TAG_NAME, TAG_VALUE = re.compile(r"[A-Za-z0-9_-]{1,32}"), re.compile(r"[A-Za-z0-9_-]{1,64}")
PREVIEWS = ("validity_period", "media_urls", "scheduled_at", "broadcast_id", "campaign_id", "audience_id")
SEGMENT_LIMIT, TAG_LIMIT, METADATA_LIMIT_BYTES, KEY_LIMIT = 12, 20, 2048, 255

CODES = {  # name -> code, type, HTTP status
    "ValidationError": ("E01001", "validation_error", 422),
    "InvalidRequest": ("E01002", "bad_request_error", 400),
    "RequestInProgress": ("E01004", "conflict_error", 409),
    "IdempotencyKeyReuse": ("E01005", "conflict_error", 409),
    "Unauthorized": ("E99401", "auth_error", 401),
    "InsufficientBalance": ("E99402", "billing_error", 402),
    "Forbidden": ("E99403", "permission_error", 403),
    "NotFound": ("E99404", "not_found_error", 404),
    "PayloadTooLarge": ("E99413", "payload_too_large_error", 413),
    "Misdirected": ("E99421", "misdirected_error", 421),
    "RateLimitExceeded": ("E99429", "rate_limit_error", 429),
    "InternalError": ("E99500", "internal_error", 500),
    "NotImplemented": ("E99501", "not_implemented_error", 501),
    "IdempotencyUnavailable": ("E99503", "service_unavailable_error", 503),
    "SMSInvalidRecipient": ("E99001", "validation_error", 422),
    "SMSSenderNotConfigured": ("E99002", "validation_error", 422),
    "SMSNoEligibleSender": ("E99003", "validation_error", 422),
    "SenderCategoryNotPermitted": ("E99004", "validation_error", 422),
    "SMSUnsupportedFeature": ("E99005", "validation_error", 422),
}


class Objection(NamedTuple):
    name: str
    param: str | None = None
    message: str = "Refused by the sandbox."


def read(body: bytes) -> Mapping[str, Any] | Objection:
    """The message that is asked for, or the first thing wrong with it."""
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        return Objection("InvalidRequest")
    return _features(asked) or _addresses(asked) or _content(asked) or _extras(asked) or asked


def _features(asked: Mapping[str, Any]) -> Objection | None:
    wanted = next((name for name in PREVIEWS if asked.get(name) is not None), None)
    return Objection("SMSUnsupportedFeature", wanted) if wanted else None


def _addresses(asked: Mapping[str, Any]) -> Objection | None:
    to, sender = asked.get("to"), asked.get("from")
    if not isinstance(to, str) or not to:
        return Objection("ValidationError", "to", "is required")
    if not NUMBER.fullmatch(to) or roles.of_number(to).refusal == "invalid":
        return Objection("SMSInvalidRecipient", "to")
    if sender is None:
        return Objection("SMSNoEligibleSender", "from")
    if not isinstance(sender, str) or not SENDER.fullmatch(sender):
        return Objection("SMSSenderNotConfigured", "from")
    return None


def _content(asked: Mapping[str, Any]) -> Objection | None:
    text = asked.get("text")
    if not isinstance(text, str) or not text:
        return Objection("ValidationError", "text", "is required")
    if segment_count(text) > SEGMENT_LIMIT:
        return Objection("ValidationError", "text", "exceeds 12 segments")
    if asked.get("category") not in CATEGORIES:
        return Objection("ValidationError", "category", "is required")
    return None


def _extras(asked: Mapping[str, Any]) -> Objection | None:
    metadata, tags = asked.get("metadata"), asked.get("tags")
    if not isinstance(metadata, dict | None) or len(json.dumps(metadata)) > METADATA_LIMIT_BYTES:
        return Objection("ValidationError", "metadata", "must be an object of at most 2 KB")
    if not isinstance(tags, list | None) or len(tags or ()) > TAG_LIMIT or not all(map(_is_tag, tags or ())):
        return Objection("ValidationError", "tags", "must be at most 20 labels")
    return None


def _is_tag(tag: Any) -> bool:
    if not isinstance(tag, dict):
        return False
    return bool(TAG_NAME.fullmatch(str(tag.get("name", ""))) and TAG_VALUE.fullmatch(str(tag.get("value", ""))))

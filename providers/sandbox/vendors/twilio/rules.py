"""What Twilio does not take, and its words for it. Codes: twilio.md; texts are the sandbox's own where the vendor's are unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

NUMBER = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
SHORT_CODE = re.compile(r"\d{3,8}", re.ASCII)
NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}", re.ASCII)
SERVICE = re.compile(r"MG[0-9a-fA-F]{32}")
BODY_LIMIT = 1600
CALLBACK_LIMIT = 4000  # https://www.twilio.com/docs/api/errors/21609

TEXTS = {
    20003: "Authenticate",
    20004: "Method not allowed",
    20404: "The requested resource was not found",
    20429: "Too Many Requests",
    21211: "The 'To' number is not a valid phone number.",
    21212: "The 'From' number is not a valid phone number, shortcode, or alphanumeric sender ID.",
    21602: "Message body is required.",
    21603: "A 'From' phone number is required.",
    21604: "A 'To' phone number is required.",
    21609: "The 'StatusCallback' URL is not a valid URL.",
    21610: "Attempt to send to unsubscribed recipient",
    21612: "Message cannot be sent with the current combination of 'To' and/or 'From' parameters",
    21614: "'To' number is not a valid mobile number",
    21617: "The concatenated message body exceeds the 1600 character limit",
    21701: "The Messaging Service resource does not exist",
}
ROLE_REFUSALS = {"invalid": 21211, "opted out": 21610}
MAGIC = {  # numbers that never play a role (twilio.md, "Rate and numbers")
    "+15005550001": 21211,
    "+15005550002": 21612,
    "+15005550004": 21610,
    "+15005550009": 21614,
}
INVALID_PARAMETER = 20001  # [M]: the vendor's own code for a bad ValidityPeriod is not documented in what we read


def objection(form: Mapping[str, str]) -> int | None:
    """The code of the first thing wrong with a request to send, None when all is well."""
    to, sender, service = form.get("To", ""), form.get("From", ""), form.get("MessagingServiceSid", "")
    body, callback, validity = form.get("Body", ""), form.get("StatusCallback"), form.get("ValidityPeriod", "36000")
    if not to:
        return 21604
    if not NUMBER.fullmatch(to):
        return 21211
    if not sender and not service:
        return 21603
    if sender and not any(shape.fullmatch(sender) for shape in (NUMBER, SHORT_CODE, NAME)):
        return 21212
    if service and not SERVICE.fullmatch(service):
        return 21701
    if not body:
        return 21602
    if len(body) > BODY_LIMIT:
        return 21617
    if callback and not _is_callable(callback):
        return 21609
    if not validity.isdecimal() or not 1 <= int(validity) <= 36000:
        return INVALID_PARAMETER
    return MAGIC.get(to)


def _is_callable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018  raises for a port that is none
    except ValueError:
        return False
    # Loopback is allowed: here it is the point. The vendor refuses it with the same code.
    return parts.scheme in ("http", "https") and bool(host) and "_" not in host and len(url) <= CALLBACK_LIMIT

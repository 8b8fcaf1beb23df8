"""Plivo's words and numbers, and what they mean in ours.

https://plivo.com/docs/messaging/troubleshooting/error-codes, https://plivo.com/docs/messaging/api/response and the Python
SDK 4.63 (read 2026-11). Newer codes than these exist.
"""

from __future__ import annotations

from providers.errors import InsufficientBalance, InvalidRequest, ProviderError, SenderNotRegistered
from providers.messages import EventKind

ENABLE_COUNTRY = "Enable the country in the Plivo console, under Messaging, Geo permissions."
# Codes of receipts about a sender that may not be used in a country -> what to do about it.
SENDER_FAULTS = {
    40: "Set a sender for the country that Plivo takes there: a number of the account, or a registered sender id.",
    201: "Set another sender for Canada than a toll-free number of the US.",
    450: ENABLE_COUNTRY,
}

# HTTP status -> our error. Their refusals have no code. Not listed and so an UnknownRefusal: 400, 409 and 422, which are
# said of a number, a sender or a text alike, and 404.
REFUSALS: dict[int, type[ProviderError]] = {
    402: InsufficientBalance,
    403: SenderNotRegistered,  # the country is not enabled for this account: ours to mend
    405: InvalidRequest,
}
# The one place where their text decides: without credit "all send message API requests will fail with the error", whose
# status is not documented (https://support.plivo.com, "insufficient balance").
NO_CREDIT = "insufficient credit"

STATES = {
    "queued": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "read": EventKind.DELIVERED,
    "undelivered": EventKind.FAILED,
    "failed": EventKind.FAILED,
    "rejected": EventKind.FAILED,
}

# What "undelivered", "failed" and "rejected" mean with these codes. Any other code is for good.
FAILURES = {
    10: EventKind.FAILED,  # invalid message
    20: EventKind.NOT_REACHED,  # the carrier's network: "you can retry later"
    30: EventKind.FAILED,  # spam
    40: EventKind.FAILED,  # invalid sender
    50: EventKind.FAILED,  # invalid number
    60: EventKind.FAILED,  # a loop: another provider may have a route
    70: EventKind.FAILED,  # "permanently unavailable"
    80: EventKind.NOT_REACHED,  # "temporarily unavailable"
    90: EventKind.FAILED,  # no route: another provider may have one
    100: EventKind.FAILED,  # the network does not take SMS
    110: EventKind.FAILED,  # too long
    200: EventKind.FAILED,  # the recipient said STOP
    201: EventKind.FAILED,  # from a toll-free number in the US to Canada
    300: EventKind.NOT_REACHED,  # not handed to the carrier
    420: EventKind.EXPIRED,  # waited too long in their queue
    450: EventKind.FAILED,  # the country is not enabled
    900: EventKind.FAILED,  # no credit
    910: EventKind.FAILED,  # the account is disabled
    1000: EventKind.NOT_REACHED,  # "unknown error"
}

# Codes that make it certain that the number must not be used again.
SUPPRESS = {
    50: "invalid",
    70: "unreachable",
    100: "unreachable",
    200: "opted_out",
}

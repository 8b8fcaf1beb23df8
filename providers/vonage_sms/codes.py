"""Vonage SMS API: what statuses and codes mean.

Lists, read 2026-11: Nexmo/api-specification, definitions/sms.yml (sending);
https://developer.vonage.com/en/messaging/sms/guides/delivery-receipts (receipts).
"""

from __future__ import annotations

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
)
from providers.messages import EventKind

TAKEN = "0"

# Statuses of parts that were not taken since the sender may not be used in the country -> what to do about it …
SENDER_FAULTS = {
    "15": "Set a sender for the country that Vonage takes there: one of its numbers, or a registered sender id.",
}
# … and codes of receipts. The filters of India: 52 to 54 may be one text's or one recipient's fault.
SENDER_FAULTS_IN_RECEIPTS = {
    "50": "Register with the operators of India, and set the account's entity_id.",
    "51": "Register this sender id with the operators of India.",
}

# The status of a part that was not taken -> our error. One that is not listed is an UnknownRefusal.
REFUSALS: dict[str, type[ProviderError]] = {
    **dict.fromkeys(SENDER_FAULTS, SenderNotRegistered),
    "1": RateLimited,
    "2": InvalidRequest,  # missing parameters
    "3": InvalidRequest,  # invalid parameters; which, only their text tells
    "4": AuthenticationFailed,
    "5": OutcomeUnknown,  # "an error has occurred whilst processing this message"
    "6": RouteRejected,  # e.g. they do not know the prefix
    "7": RecipientOptedOut,  # barred: on their list of numbers that may not be sent to
    "8": AuthenticationFailed,  # the account is suspended
    "9": InsufficientBalance,
    "10": RateLimited,  # too many connections
    "11": AuthenticationFailed,  # the account may not use this API
    "12": ContentRejected,  # too long
    "14": AuthenticationFailed,  # our signature
    "22": InvalidRequest,  # network code
    "23": InvalidRequest,  # callback address
    "29": SenderNotAllowed,  # a demo account may write to numbers on its list only
    "32": AuthenticationFailed,  # signed, and with the secret as well
    "33": RecipientUnavailable,  # deactivated
}

# Statuses that make it certain that the number must not be used again.
SUPPRESS = {"7": "opted_out", "33": "unreachable"}

RECEIPTS = {
    "accepted": EventKind.SENT,  # the operator has it
    "buffered": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "expired": EventKind.EXPIRED,
    "failed": EventKind.FAILED,
    "rejected": EventKind.FAILED,
    # Not listed and so without effect: "unknown".
}

# What "failed" and "rejected" mean with these codes. Any other code is for good: 3, 4, 9 and 12 to 15 are the
# recipient's, 5, 6 and 11 the route's, 10 and 50 to 54 (rules of a country) ours.
FAILURES = {
    "1": EventKind.UNKNOWN,  # they do not know why
    "2": EventKind.NOT_REACHED,  # phone off
    "7": EventKind.NOT_REACHED,  # phone busy
    "8": EventKind.NOT_REACHED,  # the operator's network
    "99": EventKind.UNKNOWN,  # "general error"
}

# Codes of receipts that make it certain that the number must not be used again.
SUPPRESS_RECEIPT = {
    "3": "unreachable",  # "absent subscriber, permanent"
    "9": "opted_out",
}

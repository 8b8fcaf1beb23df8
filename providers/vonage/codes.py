"""Vonage Messages API: what codes and statuses mean. List: https://developer.vonage.com/en/api-errors/messages (read 2026-11).

One list serves refusals and receipts. Older copies of the specification use some of its numbers otherwise.
"""

from __future__ import annotations

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
    Unavailable,
    UnknownRefusal,
)
from providers.messages import EventKind

# Codes, in refusals and in receipts, of a sender that may not be used in a country -> what to do about it.
SENDER_FAULTS = {
    "1022": "Have the template approved with Vonage, and set its id.",
    "1120": "Set a sender for the country that Vonage takes there: one of its numbers, or a registered sender id.",
}

# HTTP statuses that mean one thing, whatever code comes with them: 429 comes with "missing parameters", 1010.
BY_STATUS: dict[int, type[ProviderError]] = {
    401: AuthenticationFailed,
    402: InsufficientBalance,
    429: RateLimited,
}

# The last part of a refusal's `type`, a number or a name -> our error. What is not listed is judged by its HTTP status.
REFUSALS: dict[str, type[ProviderError]] = {
    **dict.fromkeys(SENDER_FAULTS, SenderNotRegistered),
    "1000": RateLimited,
    "1010": InvalidRequest,  # missing parameters
    "1020": InvalidRequest,  # invalid parameters
    "1021": InvalidRequest,
    "1030": OutcomeUnknown,  # internal error
    "1040": RouteRejected,  # they do not know the prefix
    "1050": RecipientOptedOut,  # barred: on their list of numbers that may not be sent to
    "1060": AuthenticationFailed,  # the account is barred
    "1070": InsufficientBalance,
    "1080": AuthenticationFailed,  # the account may not use this API
    "1090": ContentRejected,  # too long
    "1100": Unavailable,  # communication failed; in older copies an unsupported channel
    "1110": AuthenticationFailed,  # our signature
    "1130": InvalidRequest,  # validity
    "1140": SenderNotAllowed,  # the account lacks what was asked for
    "1150": InvalidRequest,
    "1160": SenderNotAllowed,  # a demo account may write to numbers on its list only
    "1170": InvalidRecipient,
    "1180": Unavailable,  # phone off
    "1190": RecipientUnavailable,
    "1200": RouteRejected,  # ported
    "1210": ContentRejected,  # taken for spam
    "1220": Unavailable,  # phone busy
    "1230": Unavailable,  # the operator's network
    "1240": RecipientOptedOut,
    "1241": RateLimited,  # too many to this recipient
    "1250": RouteRejected,
    "1260": RecipientUnavailable,
    "1270": RecipientUnavailable,  # too young
    "1280": RecipientUnavailable,  # blocked by the operator
    "1290": RecipientUnavailable,  # prepaid, and nothing left
    "1300": RecipientUnavailable,
    "1310": RecipientUnavailable,
    "1320": OutcomeUnknown,  # "message already sent": by which call, they do not say
    "1330": UnknownRefusal,  # they do not know either
    "1340": SenderNotAllowed,
    "1350": SenderNotAllowed,
    "1360": UnknownRefusal,  # the validity ran out: told by receipt only
    "1370": SenderNotAllowed,
    "unauthorized": AuthenticationFailed,
    "unprovisioned": AuthenticationFailed,  # the account may not use this API
    "low-balance": InsufficientBalance,
    "invalid-json": InvalidRequest,
}

# Whose fault a wrong parameter is, where it is the only one.
PARAMETERS: dict[str, type[ProviderError]] = {"to": InvalidRecipient, "from": SenderNotAllowed}

# Codes, in refusals and in receipts, that make it certain that the number must not be used again.
SUPPRESS = {
    "1050": "opted_out",
    "1170": "invalid",
    "1190": "unreachable",  # "absent subscriber, permanent"
    "1240": "opted_out",
}

STATUSES = {
    "submitted": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "read": EventKind.DELIVERED,
    "rejected": EventKind.FAILED,
    "undeliverable": EventKind.FAILED,
}

# What "rejected" and "undeliverable" mean with these codes. Any other code is for good.
FAILURES = {
    "1000": EventKind.NOT_REACHED,
    "1030": EventKind.NOT_REACHED,
    "1100": EventKind.NOT_REACHED,
    "1180": EventKind.NOT_REACHED,
    "1220": EventKind.NOT_REACHED,
    "1230": EventKind.NOT_REACHED,
    "1241": EventKind.NOT_REACHED,
    "1320": EventKind.UNKNOWN,  # it says nothing of the one that was sent
    "1330": EventKind.UNKNOWN,
    "1360": EventKind.EXPIRED,
}

"""MessageBird's words and ours."""

from __future__ import annotations

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    SenderNotAllowed,
)
from providers.messages import EventKind

# Refusal code -> our error. A code not listed is judged by its HTTP status.
REFUSALS: dict[int, type[ProviderError]] = {
    2: AuthenticationFailed,  # "request not allowed": the access key
    9: InvalidRequest,  # a parameter is missing or wrong; which one, tells whose fault it is: PARAMETERS
    10: InvalidRequest,  # the same
    20: InvalidRequest,  # not found
    21: InvalidRequest,  # bad request
    25: InsufficientBalance,
    98: InvalidRequest,  # no such API
    99: OutcomeUnknown,  # internal error
}
ABOUT_A_PARAMETER = {9, 10}
PARAMETERS: dict[str, type[ProviderError]] = {
    "recipients": InvalidRecipient,
    "recipient": InvalidRecipient,
    "originator": SenderNotAllowed,
    "body": ContentRejected,
}

STATUSES = {
    "scheduled": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "buffered": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "expired": EventKind.EXPIRED,
    "delivery_failed": EventKind.FAILED,
}

# What "delivery_failed" means with these codes: "temporarily unavailable, the number is valid". Any other is for good.
FAILURES = {
    8: EventKind.NOT_REACHED,  # roaming not allowed
    26: EventKind.NOT_REACHED,  # subsequent handover failure
    27: EventKind.NOT_REACHED,  # absent subscriber
    31: EventKind.NOT_REACHED,  # subscriber busy
}
# Codes come only from carriers that give them. Where there is none, the reason, one of a fixed list, says as much.
REASONS = {"unavailable subscriber": EventKind.NOT_REACHED}

# Codes that make it certain that the number must not be used again.
SUPPRESS = {
    1: "unreachable",  # unknown subscriber: "not associated with an active line"
    103: "opted_out",
}

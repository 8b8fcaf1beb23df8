"""Bird's words and ours."""

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
    SenderNotAllowed,
    SenderNotRegistered,
    Unavailable,
)
from providers.messages import EventKind

# Names, in refusals and in reports, of faults of a sender in a country -> what to do about it.
SENDER_FAULTS = {
    "SMSNoEligibleSender": "Set a sender for the country that Bird takes there, registered where that is required.",
    "SenderCategoryNotPermitted": "Have the sender's registration in the country extended to this category in Bird.",
    "sender_unregistered": "Register this sender for the country in Bird.",
}

# Error code or its name -> our error; where neither is listed, the type decides.
REFUSALS: dict[str, type[ProviderError]] = {
    **dict.fromkeys(SENDER_FAULTS, SenderNotRegistered),
    "E01001": InvalidRequest,  # ValidationError; which field, tells whose fault it is: FIELDS
    "E01002": InvalidRequest,
    # The first call with this key is still running, and nobody knows yet how it ends.
    "E01004": OutcomeUnknown,  # RequestInProgress
    # The key went out before, with other bytes. That call may have sent: their advice, a fresh key, could send twice.
    "E01005": OutcomeUnknown,  # IdempotencyKeyReuse
    "RequestInProgress": OutcomeUnknown,
    "IdempotencyKeyReuse": OutcomeUnknown,
    "SMSInvalidRecipient": InvalidRecipient,  # "cannot be routed": by them
    "SMSSenderNotConfigured": SenderNotAllowed,
    "SMSUnsupportedFeature": InvalidRequest,
}
TYPES: dict[str, type[ProviderError]] = {
    "bad_request_error": InvalidRequest,
    "auth_error": AuthenticationFailed,
    "billing_error": InsufficientBalance,
    "permission_error": AuthenticationFailed,
    "not_found_error": InvalidRequest,
    "conflict_error": OutcomeUnknown,  # about the key, whatever its code
    "precondition_error": InvalidRequest,
    "payload_too_large_error": ContentRejected,
    "misdirected_error": AuthenticationFailed,  # the key is of another region
    "validation_error": InvalidRequest,
    "rate_limit_error": RateLimited,
}
FIELDS: dict[str, type[ProviderError]] = {
    "to": InvalidRecipient,
    "from": SenderNotAllowed,
    "text": ContentRejected,  # over 12 segments, or empty
}
STATUS_ERRORS: dict[int, type[ProviderError]] = {
    402: InsufficientBalance,
    429: RateLimited,
    501: Unavailable,  # not implemented, so not processed
    503: Unavailable,  # not processed
}

STATUSES = {
    "scheduled": EventKind.ACCEPTED,
    "accepted": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "undelivered": EventKind.NOT_REACHED,  # "a non-permanent failure to deliver"
    "failed": EventKind.FAILED,
    "rejected": EventKind.FAILED,
    "canceled": EventKind.FAILED,
    "expired": EventKind.EXPIRED,
}

# What "undelivered" and "failed" mean with these codes. With others, and with "unknown", the status says it.
FAILURES = {
    "unreachable": EventKind.NOT_REACHED,  # the handset is off or outside coverage
    "provider_unavailable": EventKind.NOT_REACHED,
    "invalid_destination": EventKind.FAILED,
    "landline_unreachable": EventKind.FAILED,
    "blocked_by_carrier": EventKind.FAILED,
    "blocked_by_fraud_protection": EventKind.FAILED,
    "blocked_by_recipient": EventKind.FAILED,
    "content_rejected": EventKind.FAILED,
    "sender_unregistered": EventKind.FAILED,
    "recipient_opted_out": EventKind.FAILED,
    "insufficient_balance": EventKind.FAILED,
}

# Codes that make it certain that the number must not be used again.
SUPPRESS = {
    "invalid_destination": "invalid",  # "unassigned, ported out, or malformed"
    "landline_unreachable": "unreachable",
    "blocked_by_recipient": "opted_out",
    "recipient_opted_out": "opted_out",
}


def meaning(status: str, code: str) -> tuple[EventKind, str | None]:
    """What a status with an error code comes to, and why the number must not be used again where that is certain."""
    kind = STATUSES.get(status.lower(), EventKind.UNKNOWN)
    if status.lower() in ("undelivered", "failed"):
        kind = FAILURES.get(code, kind)
    return kind, SUPPRESS.get(code) if kind is EventKind.FAILED else None

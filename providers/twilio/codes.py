"""Twilio's words and numbers, and what they mean in ours.

https://www.twilio.com/docs/api/errors (read 2026-11). They warn that meanings may change.
"""

from __future__ import annotations

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
)
from providers.messages import EventKind

# Codes, in refusals and in receipts, of a sender that may not be used in a country -> what to do about it.
SENDER_FAULTS = {
    21408: "Enable the country in the Twilio console, under Messaging, Geo permissions.",
    30032: "Have this toll-free number verified in the Twilio console.",
    30034: "Register the brand and the campaign of this number for 10DLC in the Twilio console.",
}

# Refusal code -> our error. A code not listed is judged by its HTTP status.
REFUSALS: dict[int, type[ProviderError]] = {
    **dict.fromkeys(SENDER_FAULTS, SenderNotRegistered),
    14107: RateLimited,  # send rate exceeded
    20003: AuthenticationFailed,
    20429: RateLimited,  # "not processed", and may be retried with backoff
    21211: InvalidRecipient,
    21212: SenderNotAllowed,  # the sender is no valid number
    21602: ContentRejected,  # no body
    21603: SenderNotAllowed,  # no sender
    21606: SenderNotAllowed,  # the sender cannot send SMS
    21608: SenderNotAllowed,  # a trial account may write to verified numbers only
    21610: RecipientOptedOut,
    21611: RateLimited,  # this sender's queue is full
    21612: RouteRejected,  # this sender cannot reach this recipient
    21614: InvalidRecipient,  # not a mobile number
    21617: ContentRejected,  # over 1,600 characters
    21635: InvalidRecipient,  # a landline
    21703: SenderNotAllowed,  # the messaging service has no senders
    63038: InsufficientBalance,  # the account's daily limit
}

# Codes, in refusals and in receipts, that make it certain that the number must not be used again.
SUPPRESS = {
    21211: "invalid",
    21610: "opted_out",
    21614: "invalid",
    30005: "unreachable",  # "unknown handset"
    30006: "unreachable",  # a landline or an unreachable carrier: "do not retry the same SMS"
}

STATUSES = {
    "accepted": EventKind.ACCEPTED,
    "scheduled": EventKind.ACCEPTED,
    "queued": EventKind.ACCEPTED,
    "sending": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "read": EventKind.DELIVERED,
    "partially_delivered": EventKind.DELIVERED,
    "undelivered": EventKind.FAILED,
    "failed": EventKind.FAILED,
    "canceled": EventKind.FAILED,
}

# What "undelivered" and "failed" mean with these codes. Any other code is for good.
FAILURES = {
    30001: EventKind.NOT_REACHED,  # queue overflow
    30002: EventKind.FAILED,  # the account is suspended
    30003: EventKind.NOT_REACHED,  # "unreachable destination handset", which may be temporary
    30004: EventKind.FAILED,  # blocked
    30005: EventKind.FAILED,  # "unknown handset"
    30006: EventKind.FAILED,  # a landline or an unreachable carrier
    30007: EventKind.FAILED,  # filtered by the carrier or by them: another provider may have a route
    30008: EventKind.NOT_REACHED,  # "unknown error"
    30009: EventKind.NOT_REACHED,  # a segment was lost
    30017: EventKind.NOT_REACHED,  # carrier congestion
    30022: EventKind.NOT_REACHED,  # carrier rate limit
    30032: EventKind.FAILED,  # this toll-free sender is not verified
    30034: EventKind.FAILED,  # this sender is not registered for the US
    30036: EventKind.EXPIRED,  # the validity period ran out
}

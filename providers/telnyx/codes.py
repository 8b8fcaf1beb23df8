"""Telnyx's codes and statuses, and what they mean to us."""

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
)
from providers.messages import EventKind

# Codes, in refusals and in receipts, of a sender that may not be used in a country -> what to do about it.
SENDER_FAULTS = {
    40010: "Register the brand and the campaign of this number for 10DLC in the Telnyx portal.",
    40309: "Allow the country in the messaging profile of this sender in the Telnyx portal.",
    40329: "Have this toll-free number verified in the Telnyx portal.",
    40330: "Have this toll-free number verified in the Telnyx portal.",
    40331: "Allow the country in the messaging profile of this sender in the Telnyx portal.",
}

# Refusal code -> our error. A code not listed is judged by its HTTP status.
REFUSALS: dict[int, type[ProviderError]] = {
    **dict.fromkeys(SENDER_FAULTS, SenderNotRegistered),
    # Any of their APIs
    10003: InvalidRequest,  # a URL over 2,000 characters, or none
    10004: InvalidRequest,  # a parameter is missing
    10007: OutcomeUnknown,  # "unexpected error"
    10008: OutcomeUnknown,  # "the request timed out"
    10009: AuthenticationFailed,
    10010: AuthenticationFailed,  # no permission
    10011: RateLimited,
    10012: OutcomeUnknown,  # "duplicate resource": perhaps the first call with this key
    10015: InvalidRequest,
    20012: AuthenticationFailed,  # to 20014: the account is not active
    20013: AuthenticationFailed,
    20014: AuthenticationFailed,
    20100: InsufficientBalance,
    # Try again
    40002: Unavailable,  # taken for spam, "a temporary condition"
    40005: Unavailable,  # it expired on its way
    40006: Unavailable,  # the recipient's carrier is down
    40011: Unavailable,  # the carrier's rate limit
    40014: Unavailable,  # it expired in the queue
    40016: Unavailable,  # a carrier's limit for the campaign
    40018: Unavailable,
    40020: RateLimited,  # blocked for a day as artificial traffic
    40318: RateLimited,  # their queue is full
    40320: Unavailable,  # the sender is not ready yet
    # The recipient
    40001: RecipientUnavailable,  # a landline, or no route to it
    40012: InvalidRecipient,
    40300: RecipientOptedOut,  # a STOP is in force
    40310: InvalidRecipient,
    # This route
    40004: RouteRejected,  # for an unknown reason
    40008: RouteRejected,
    40301: RouteRejected,  # not possible between these two numbers
    40319: RouteRejected,
    # The text
    40009: ContentRejected,
    40015: ContentRejected,  # spam filters
    40017: ContentRejected,
    40302: ContentRejected,  # too long
    40304: ContentRejected,
    40316: ContentRejected,
    40317: ContentRejected,
    40322: ContentRejected,
    40328: ContentRejected,
    # Ours to mend
    40003: SenderNotAllowed,  # "the originating phone number is permanently blocked"
    40013: SenderNotAllowed,
    40019: SenderNotAllowed,
    40100: SenderNotAllowed,  # not provisioned for messages
    40150: SenderNotAllowed,
    40151: SenderNotAllowed,
    40155: SenderNotAllowed,
    40305: SenderNotAllowed,
    40306: SenderNotAllowed,
    40307: SenderNotAllowed,
    40308: SenderNotAllowed,
    40311: SenderNotAllowed,  # to 40314: the messaging profile
    40312: SenderNotAllowed,
    40313: SenderNotAllowed,
    40314: SenderNotAllowed,
    40315: SenderNotAllowed,  # an unhealthy sender
    40321: SenderNotAllowed,  # the number pool is empty
    40323: SenderNotAllowed,
    40325: SenderNotAllowed,
    40333: InsufficientBalance,  # the spend limit
}

# "Not a valid phone number", "not in +E.164": `source.pointer` says which. Where nothing does, it is not listed.
PHONE_NUMBERS = {10002, 10016}
NUMBERS_BY_PARAMETER: dict[str, type[ProviderError]] = {"to": InvalidRecipient, "from": SenderNotAllowed}

BY_STATUS: dict[int, type[ProviderError]] = {402: InsufficientBalance}

WAITS_SECONDS = {40020: 24 * 60 * 60.0}  # where the answer names no wait itself

# A conflict of idempotency keys has one of these; its code is not documented.
CONFLICT_STATUSES = {409, 422}
MESSAGING_CODES = range(40000, 50000)  # about the message, so never about a key

WARNING = 40328  # comes with messages that are sent all the same

# Codes, in refusals and in reports, that make it certain that the number must not be used again.
SUPPRESS = {40001: "unreachable", 40012: "invalid", 40300: "opted_out", 40310: "invalid"}

STATUSES = {
    "queued": EventKind.ACCEPTED,
    "sending": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "delivery_unconfirmed": EventKind.SENT,  # final: the carrier told nothing
    "delivered": EventKind.DELIVERED,
    "read": EventKind.DELIVERED,
    "expired": EventKind.EXPIRED,
    "sending_failed": EventKind.FAILED,
    "delivery_failed": EventKind.FAILED,
}

# What a failure means with these codes. Any other code is for good.
FAILURES = {
    40002: EventKind.NOT_REACHED,
    40004: EventKind.NOT_REACHED,  # "retry after delay"
    40005: EventKind.EXPIRED,
    40006: EventKind.NOT_REACHED,
    40011: EventKind.NOT_REACHED,
    40014: EventKind.EXPIRED,
    40016: EventKind.NOT_REACHED,
    40018: EventKind.NOT_REACHED,
    40020: EventKind.NOT_REACHED,
    40318: EventKind.NOT_REACHED,
    40320: EventKind.NOT_REACHED,
}

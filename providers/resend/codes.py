"""Resend's words, and what they mean in ours.

https://resend.com/docs/api-reference/errors, https://resend.com/docs/dashboard/webhooks/event-types (read 2026-11).
"""

from __future__ import annotations

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
)
from providers.messages import EventKind

# Their error name -> our error. One name comes with several statuses, so the name is read first.
REFUSALS: dict[str, type[ProviderError]] = {
    "missing_api_key": AuthenticationFailed,
    "invalid_api_key": AuthenticationFailed,
    "restricted_api_key": AuthenticationFailed,
    "invalid_from_address": SenderNotAllowed,  # the sender is the account's
    "invalid_to_address": InvalidRecipient,  # in older copies of their list
    "missing_required_field": InvalidRequest,
    "invalid_parameter": InvalidRequest,  # or the address: FAULTS
    "invalid_attachment": InvalidRequest,
    "invalid_access": InvalidRequest,
    "invalid_region": InvalidRequest,
    "invalid_idempotency_key": InvalidRequest,  # not 1 to 256 characters
    "not_found": InvalidRequest,
    "method_not_allowed": InvalidRequest,
    "security_error": InvalidRequest,  # about the mail: another provider should not get it either
    "rate_limit_exceeded": RateLimited,
    "daily_quota_exceeded": InsufficientBalance,  # a 429 as well, but no wait of minutes helps
    "monthly_quota_exceeded": InsufficientBalance,
    # The first call with this key is still running, and nobody knows yet how it ends.
    "concurrent_idempotent_requests": OutcomeUnknown,
    # The key went out before, with other bytes. That call may have sent: their advice, a fresh key, could send twice.
    "invalid_idempotent_request": OutcomeUnknown,
    "application_error": OutcomeUnknown,
    "internal_server_error": OutcomeUnknown,
}
# "validation_error" is about the request, the key or the sender; its status tells which.
VALIDATION_ERRORS: dict[int, type[ProviderError]] = {
    400: InvalidRequest,
    401: AuthenticationFailed,
    403: SenderNotAllowed,  # domain not verified; a test domain, which reaches its owner only
    422: InvalidRequest,
}
# Where only their text tells whose fault it is. The status of a wrong key has changed over the years.
VAGUE = ("validation_error", "invalid_parameter")
FAULTS: dict[str, type[ProviderError]] = {
    "Invalid `to` field": InvalidRecipient,
    "API key is invalid": AuthenticationFailed,
}

# What a report means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)

EVENTS: dict[str, Meaning] = {
    "email.scheduled": (EventKind.ACCEPTED, None),
    "email.sent": (EventKind.SENT, None),
    "email.delivery_delayed": (EventKind.SENT, None),  # they are still trying
    "email.delivered": (EventKind.DELIVERED, None),
    "email.complained": (EventKind.COMPLAINED, "complaint"),
    "email.failed": (EventKind.FAILED, None),
    # Not listed and so without effect: opened and clicked, email.received, contact.* and domain.*.
}
BOUNCES: dict[str, Meaning] = {
    "permanent": (EventKind.BOUNCED, "hard_bounce"),
    "transient": (EventKind.NOT_REACHED, None),
    "undetermined": (EventKind.NOT_REACHED, None),
}
# Kinds of bounce that another mail may not meet.
NOT_THE_ADDRESS = {"messagetoolarge", "contentrejected", "attachmentrejected"}
# Never handed on: the address is on their list for what it did to an earlier mail.
SUPPRESSIONS: dict[str, Meaning] = {
    "previous_bounce": (EventKind.FAILED, "hard_bounce"),
    "previous_complaint": (EventKind.FAILED, "complaint"),
}
STATUSES: dict[str, Meaning] = {
    "queued": (EventKind.ACCEPTED, None),
    "scheduled": (EventKind.ACCEPTED, None),
    "sent": (EventKind.SENT, None),
    "delivery_delayed": (EventKind.SENT, None),
    "delivered": (EventKind.DELIVERED, None),
    # Only the last event is told, and these follow a delivery.
    "opened": (EventKind.DELIVERED, None),
    "clicked": (EventKind.DELIVERED, None),
    "complained": (EventKind.COMPLAINED, "complaint"),
    "bounced": (EventKind.NOT_REACHED, None),  # hard or soft is told by webhook only
    "failed": (EventKind.FAILED, None),
    "suppressed": (EventKind.FAILED, None),  # for what, is told by webhook only
    "canceled": (EventKind.FAILED, None),
}

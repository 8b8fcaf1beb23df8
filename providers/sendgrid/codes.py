"""SendGrid's words, and what they mean in ours.

https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors,
https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event (read 2026-11).
"""

from __future__ import annotations

import re

from providers.errors import (
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
)
from providers.messages import EventKind

# They have no codes: an error names the field that is wrong, or none. The first pattern that fits counts.
FIELDS: tuple[tuple[re.Pattern[str], type[ProviderError]], ...] = (
    (re.compile(r"personalizations\.\d+\.to(\.\d+)?(\.email)?"), InvalidRecipient),
    (re.compile(r"(personalizations\.\d+\.)?from(\.\w+)?"), SenderNotAllowed),
)
# An error of theirs whose field is not listed. Any other 4xx is an UnknownRefusal.
BY_STATUS: dict[int, type[ProviderError]] = {
    400: InvalidRequest,
    401: AuthenticationFailed,
    403: AuthenticationFailed,  # the key's scope, or a block for a while after too many bad requests
    404: InvalidRequest,
    405: InvalidRequest,
    406: InvalidRequest,
    413: InvalidRequest,  # over 30 MB
    429: RateLimited,
}
NAMING_STATUSES = (400, 403)  # where the field tells whose fault it is

# What a report means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)
FAILED: Meaning = (EventKind.FAILED, None)

EVENTS: dict[str, Meaning] = {
    "processed": (EventKind.ACCEPTED, None),
    "deferred": (EventKind.SENT, None),  # they are still trying
    "delivered": (EventKind.DELIVERED, None),
    "spamreport": (EventKind.COMPLAINED, "complaint"),
    "unsubscribe": (EventKind.OPTED_OUT, "opted_out"),
    "group_unsubscribe": (EventKind.OPTED_OUT, None),  # of one kind of mail
    # Not listed and so without effect: open and click (machines do both), received, group_resubscribe,
    # account_status_change.
}
BOUNCES: dict[str, EventKind] = {
    "bounce": EventKind.BOUNCED,
    "blocked": EventKind.NOT_REACHED,  # "temporarily undeliverable", and they have given up
}
# A bounce is the address's own, and not our reputation's or this mail's, where one of these says so.
DEAD_STATUSES = {"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}
DEAD_CLASSIFICATION = "invalid address"
NOT_THE_ADDRESS = {"content", "frequency or volume too high", "reputation", "technical"}
# Never handed on, for this reason; for any other it has failed and no more.
DROPS: dict[str, Meaning] = {
    "bounced address": (EventKind.FAILED, "hard_bounce"),
    "spam reporting address": (EventKind.FAILED, "complaint"),
    "unsubscribed address": (EventKind.FAILED, "opted_out"),
    "expired": (EventKind.EXPIRED, None),
}
DROPPED = ("dropped", "cancel_drop")

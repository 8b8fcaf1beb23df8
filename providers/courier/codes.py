"""What Courier's words mean in ours: HTTP statuses of refusals, statuses of messages and the reasons beside them.

https://www.courier.com/docs/platform/analytics/message-logs (read 2026-11), words as in courier-python (August 2026).
"""

from __future__ import annotations

import re

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
)
from providers.messages import EventKind

# A refusal in their shape. There are types of errors too, but no list of them: they are for people to read.
BY_STATUS: dict[int, type[ProviderError]] = {
    400: InvalidRequest,
    401: AuthenticationFailed,
    402: InsufficientBalance,
    403: AuthenticationFailed,
    404: InvalidRequest,
    409: OutcomeUnknown,  # the first call with this key is still running, and nobody knows yet how it ends
    422: InvalidRequest,
    429: RateLimited,
}

# What a status means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)
NOT_REACHED: Meaning = (EventKind.NOT_REACHED, None)
BOUNCED: Meaning = (EventKind.BOUNCED, None)
DEAD: Meaning = (EventKind.BOUNCED, "hard_bounce")

STATUSES: dict[str, Meaning] = {
    "enqueued": (EventKind.ACCEPTED, None),
    "processed": (EventKind.ACCEPTED, None),
    "routed": (EventKind.ACCEPTED, None),
    "delayed": (EventKind.ACCEPTED, None),
    "digested": (EventKind.ACCEPTED, None),
    "throttled": (EventKind.ACCEPTED, None),
    "sent": (EventKind.SENT, None),
    "delivered": (EventKind.DELIVERED, None),
    "opened": (EventKind.DELIVERED, None),  # by a machine, perhaps: it has arrived all the same
    "clicked": (EventKind.DELIVERED, None),
    "undeliverable": (EventKind.FAILED, None),  # or no more than this once: REASONS
    "unroutable": (EventKind.FAILED, None),
    "unmapped": (EventKind.FAILED, None),
    "filtered": (EventKind.FAILED, None),  # by preferences or by conditions of the sender: it is not told by which
    "failed": (EventKind.FAILED, None),
    "canceled": (EventKind.FAILED, None),
    # Not listed and so without effect: simulated, by a key that is for tests and sends nothing.
}
UNDELIVERABLE = "undeliverable"
# Why a message is undeliverable, where that makes a difference. An unsubscribed address has left a topic of theirs, and
# which one is not told, so it may still be written to about others.
REASONS: dict[str, Meaning] = {
    "bounced": BOUNCED,  # or not for good: see below
    "provider_error": NOT_REACHED,
    "failed": NOT_REACHED,
}
BOUNCE = "bounced"
# They do not tell a hard bounce from a soft one. What the server said may: by its enhanced code (RFC 3463).
ENHANCED = re.compile(r"(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?![\d.])", re.ASCII)
SOFT = "4."
DEAD_CODES = {"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}  # the address's own, and not our reputation's or the mail's

# When a message came to its status: fields with milliseconds since 1970.
TIMES = ("enqueued", "sent", "delivered", "opened", "clicked")

# Vendors behind Courier that get files, in Courier's names for them. With the others they would be lost in silence.
CARRYING_FILES = {"amply", "aws-ses", "mailgun", "postmark"}

"""Postmark's words and numbers, and what they mean in ours.

https://postmarkapp.com/developer/api/overview (errors), https://postmarkapp.com/developer/api/bounce-api (kinds of bounces),
https://postmarkapp.com/developer/api/messages-api (read 2026-11).
"""

from __future__ import annotations

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRequest,
    ProviderError,
    RateLimited,
    RecipientUnavailable,
    SenderNotAllowed,
    Unavailable,
)
from providers.messages import EventKind

# ErrorCode -> our error. These are no HTTP statuses, whatever they look like: they are read first.
REFUSALS: dict[int, type[ProviderError]] = {
    10: AuthenticationFailed,
    100: Unavailable,  # maintenance
    300: InvalidRequest,  # or the address: ADDRESS_FAULTS
    400: SenderNotAllowed,  # no such sender signature
    401: SenderNotAllowed,  # sender signature not confirmed
    402: InvalidRequest,  # not JSON
    403: InvalidRequest,  # a field is wrong
    405: InsufficientBalance,
    406: RecipientUnavailable,  # "inactive": it bounced, complained or was suppressed by hand
    409: InvalidRequest,  # JSON headers missing
    410: InvalidRequest,  # over 500 in a batch
    411: InvalidRequest,  # forbidden kind of attachment
    412: SenderNotAllowed,  # account pending
    413: SenderNotAllowed,  # account may not send
    429: RateLimited,
    1101: InvalidRequest,  # templates, as are 1120 to 1131
    **dict.fromkeys(range(1120, 1132), InvalidRequest),
    1226: InvalidRequest,  # unknown message stream
}
# Without a code. "503: planned service outage", nothing was kept; a 500 "usually" lost the message, so it may have it.
BY_STATUS: dict[int, type[ProviderError]] = {413: InvalidRequest, 415: InvalidRequest, 503: Unavailable}

# The one place where their text decides: code 300 is also about From, Reply-To and metadata.
ADDRESS_FAULTS = ("Invalid 'To'", "Error parsing 'To'")
INACTIVE = "will not deliver to these inactive addresses"  # in a 200 that hides a refusal

# What a report means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)
DELAYED: Meaning = (EventKind.SENT, None)  # they are still trying
FAILED: Meaning = (EventKind.FAILED, None)

RECORDS: dict[str, Meaning] = {
    "delivery": (EventKind.DELIVERED, None),
    "spamcomplaint": (EventKind.COMPLAINED, "complaint"),
}
BOUNCES: dict[str, Meaning] = {
    "hardbounce": (EventKind.BOUNCED, "hard_bounce"),
    "bademailaddress": (EventKind.BOUNCED, "hard_bounce"),
    "softbounce": (EventKind.NOT_REACHED, None),
    "undeliverable": (EventKind.NOT_REACHED, None),
    "transient": DELAYED,
    "dnserror": DELAYED,
    "spamnotification": (EventKind.COMPLAINED, "complaint"),
    "spamcomplaint": (EventKind.COMPLAINED, "complaint"),
    "unsubscribe": (EventKind.OPTED_OUT, None),  # of this stream, by a mail: the mailbox works
    "blocked": FAILED,
    "dmarcpolicy": FAILED,
    "manuallydeactivated": FAILED,
    "smtpapierror": FAILED,
    "templaterenderingfailed": FAILED,
    "unconfirmed": FAILED,
    # Not listed and so without effect: AutoResponder (a holiday reply), ChallengeVerification, Subscribe, AddressChange,
    # OpenRelayTest, VirusNotification, InboundError, Unknown.
}
BY_HAND = "manualsuppression"
SUPPRESSIONS: dict[str, Meaning] = {
    "hardbounce": (EventKind.BOUNCED, "hard_bounce"),
    "spamcomplaint": (EventKind.COMPLAINED, "complaint"),
    BY_HAND: (EventKind.OPTED_OUT, "opted_out"),
}
STATUSES: dict[str, Meaning] = {
    "queued": (EventKind.ACCEPTED, None),
    "processed": (EventKind.ACCEPTED, None),
    "scheduled": (EventKind.ACCEPTED, None),
    "sent": (EventKind.SENT, None),  # no delivery: that is in the events
    "blocked": FAILED,
    "failed": FAILED,
}
MESSAGE_EVENTS: dict[str, Meaning] = {
    "delivered": (EventKind.DELIVERED, None),
    "transient": DELAYED,
    # They do not say whether hard or soft. A hard one is told by webhook, or as code 406 if we try again.
    "bounced": (EventKind.NOT_REACHED, None),
}

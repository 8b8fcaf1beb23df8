"""What the words of SES mean in ours: exceptions, and the types of events."""

from __future__ import annotations

from providers.aws.exceptions import COMMON, THROTTLED
from providers.errors import (
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    ProviderError,
    SenderNotAllowed,
)
from providers.messages import EventKind

# An exception -> our error. One that is not listed is an UnknownRefusal.
EXCEPTIONS: dict[str, type[ProviderError]] = {
    **COMMON,
    **THROTTLED,
    "LimitExceededException": InsufficientBalance,
    "AccountSuspendedException": SenderNotAllowed,
    "SendingPausedException": SenderNotAllowed,
    "MailFromDomainNotVerifiedException": SenderNotAllowed,
    "NotFoundException": SenderNotAllowed,  # the configuration set: a setting
    "MessageRejected": ContentRejected,  # or the sender: TEXTS
    "BadRequestException": InvalidRequest,  # or the address: TEXTS
}
# Where only their text tells more: an exception, and how its text begins in lower case.
TEXTS: tuple[tuple[str, str, type[ProviderError]], ...] = (
    ("MessageRejected", "email address is not verified", SenderNotAllowed),  # of a new account the recipient's too
    ("BadRequestException", "illegal address", InvalidRecipient),
    ("BadRequestException", "missing final '@domain'", InvalidRecipient),
    ("BadRequestException", "domain contains ", InvalidRecipient),
    ("BadRequestException", "domain ends with dot", InvalidRecipient),
    ("BadRequestException", "domain starts with dot", InvalidRecipient),
    ("BadRequestException", "local address contains ", InvalidRecipient),
    ("TooManyRequestsException", "daily message quota exceeded", InsufficientBalance),  # no wait of minutes helps
)

# What a report means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)

EVENTS: dict[str, Meaning] = {
    "send": (EventKind.SENT, None),
    "deliverydelay": (EventKind.SENT, None),  # they are still trying
    "delivery": (EventKind.DELIVERED, None),
    "complaint": (EventKind.COMPLAINED, "complaint"),
    "reject": (EventKind.FAILED, None),  # a virus
    "rendering failure": (EventKind.FAILED, None),
    # Not listed and so without effect: Open and Click (machines do both), Subscription (of lists that we do not use).
}
BOUNCES: dict[str, Meaning] = {
    "permanent": (EventKind.BOUNCED, "hard_bounce"),
    "transient": (EventKind.NOT_REACHED, None),  # they have given up
    "undetermined": (EventKind.NOT_REACHED, None),
}
NOT_THE_ADDRESS = "5.7."  # statuses of a server that will not have the sender, or this mail
# Never handed on, since the address is on the account's list for what it did to an earlier mail: by event.
SUPPRESSED = "onaccountsuppressionlist"
SUPPRESSIONS: dict[str, Meaning] = {
    "bounce": (EventKind.FAILED, "inactive"),  # it bounced, complained or was put there by hand
    "complaint": (EventKind.FAILED, "complaint"),
}
NO_COMPLAINT = "not-spam"  # the recipient took it out of the junk

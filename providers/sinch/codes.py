"""Sinch's words and numbers, and what they mean in ours.

https://developers.sinch.com/docs/sms/api-reference/status-codes,
https://developers.sinch.com/docs/sms/api-reference/sms/delivery-reports/delivery-report-error-codes,
https://developers.sinch.com/docs/sms/smpp/10dlc-errors (read 2026-11).
"""

from __future__ import annotations

import re

from providers.errors import AuthenticationFailed, InvalidRecipient, InvalidRequest, ProviderError, SenderNotAllowed
from providers.messages import EventKind

# Error name -> our error, for answers with a 4xx. A name not listed is judged by its HTTP status.
REFUSALS: dict[str, type[ProviderError]] = {
    "syntax_invalid_json": InvalidRequest,
    "syntax_constraint_violation": InvalidRequest,
    "syntax_invalid_parameter_format": InvalidRequest,  # or the number, or the sender: FAULTS
    "unknown_group": InvalidRequest,
    "unknown_campaign": SenderNotAllowed,
    "missing_callback_url": InvalidRequest,  # asked to report, and not told where
}
# HTTP status -> our error, where the name says nothing.
BY_STATUS: dict[int, type[ProviderError]] = {
    401: AuthenticationFailed,
    405: InvalidRequest,
    415: InvalidRequest,
}
# The one name that is about the number, the sender or something else. Only their text names the parameter: "The format of
# parameter 'to[0]' is invalid".
VAGUE = "syntax_invalid_parameter_format"
FAULTS: tuple[tuple[re.Pattern[str], type[ProviderError]], ...] = (
    (re.compile(r"\bto\[[0-9]+\]"), InvalidRecipient),
    (re.compile(r"\bparameter 'from'"), SenderNotAllowed),
)

STATUSES = {
    "queued": EventKind.ACCEPTED,
    "dispatched": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "unknown": EventKind.SENT,  # final: "delivered to the SMSC but no Delivery Receipt has been received"
    "aborted": EventKind.FAILED,  # or, by its code: ABORTS
    "rejected": EventKind.FAILED,
    "deleted": EventKind.FAILED,  # "may happen if the destination is an invalid MSISDN or opted out": not certain
    "failed": EventKind.FAILED,
    "cancelled": EventKind.FAILED,
    "expired": EventKind.EXPIRED,
}

# What "Aborted" means with their own codes, which are no HTTP statuses, whatever they look like. All others come from
# networks and are for good as far as anybody knows, e.g. in the US: 15 and 62 spam, 60 campaign not active, 64 quota
# exceeded, 152 not provisioned, 300 bad number, 310 bad sender, 321 rejected by the receiver, 349 request failed.
ABORTS = {
    402: EventKind.FAILED,  # unroutable: another provider may have a route
    403: EventKind.NOT_REACHED,  # internal error
    404: EventKind.NOT_REACHED,  # "temporary delivery failure, message can be retried"
    405: EventKind.FAILED,  # a parameter of the text has no value
    406: EventKind.EXPIRED,  # before it left them
    407: EventKind.FAILED,  # cancelled by us
    408: EventKind.FAILED,  # rejected, "retrying is likely to cause the same error"
    410: EventKind.FAILED,  # no sender for this recipient
    411: EventKind.FAILED,  # too many parts
    412: EventKind.FAILED,  # the region is not provisioned
    413: EventKind.FAILED,  # the account is blocked or has no credit
    414: EventKind.FAILED,  # and up to 418: multimedia messages only
    415: EventKind.FAILED,
    416: EventKind.FAILED,
    417: EventKind.FAILED,
    418: EventKind.FAILED,
}
# Codes of reports about a sender that may not be used in a country -> what to do about it. Networks of the US say with 60
# and 152 that a campaign or a number is not registered; elsewhere these mean something else.
SENDER_FAULTS = {
    410: "Set a sender for the country that Sinch has registered there.",
    412: "Have Sinch enable the country for this service plan.",
}
PROGRESS = frozenset({0, 400, 401})  # delivered, queued, dispatched: no errors

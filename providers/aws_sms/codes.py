"""What AWS's words mean in ours: exceptions and their reasons, and the types of events."""

from __future__ import annotations

from providers.aws.exceptions import COMMON
from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    ProviderError,
    RecipientOptedOut,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
)
from providers.messages import EventKind

_REGISTER = "Register this sender for the country in AWS End User Messaging SMS, under Registrations."
_SET_ANOTHER = "Set a sender for the country that AWS takes there: request one in AWS End User Messaging SMS."
# Reasons that a sender may not be used in a country -> what to do about it. Their events name none.
SENDER_FAULTS = {
    "COUNTRY_CODE_MISMATCH": _SET_ANOTHER,
    "INTERNATIONAL_SENDING_NOT_SUPPORTED": _SET_ANOTHER,
    "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": _SET_ANOTHER,
    "REGISTRATION_NOT_COMPLETE": _REGISTER,
    "SENDER_ID_NOT_REGISTERED": _REGISTER,
    "SENDER_ID_NOT_SUPPORTED": _SET_ANOTHER,
    "SENDER_ID_REQUIRES_REGISTRATION": _REGISTER,
}

# An exception's reason -> our error. It says more than the exception. A reason that is not listed is an UnknownRefusal,
# unless its exception is listed below. Reasons that only other calls can have are left out.
REASONS: dict[str, type[ProviderError]] = {
    **dict.fromkeys(SENDER_FAULTS, SenderNotRegistered),
    # ConflictException
    "DESTINATION_PHONE_NUMBER_OPTED_OUT": RecipientOptedOut,
    "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE": RecipientUnavailable,  # this number, by our own rule
    "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION": RouteRejected,  # one country: no fault of the whole account
    "DESTINATION_PHONE_NUMBER_NOT_VERIFIED": SenderNotAllowed,  # a new account may write to verified numbers only
    "NO_ORIGINATION_IDENTITIES_FOUND": SenderNotAllowed,
    "NUMBER_CAPABILITIES_MISMATCH": SenderNotAllowed,  # the sender cannot send SMS
    "MESSAGE_TYPE_MISMATCH": SenderNotAllowed,  # the sender is registered for the other type
    "PHONE_NUMBER_NOT_IN_REGISTRATION_REGION": SenderNotAllowed,
    "RESOURCE_NOT_ACTIVE": SenderNotAllowed,
    "PROTECT_CONFIGURATION_NOT_ASSOCIATED_WITH_CONFIGURATION_SET": SenderNotAllowed,  # two settings of ours disagree
    # ValidationException
    "COUNTRY_NOT_ENABLED": RouteRejected,
    "DESTINATION_COUNTRY_BLOCKED": RouteRejected,
    "PRICE_OVER_THRESHOLD": RouteRejected,  # over our own highest price
    "CHANNEL_NOT_ENABLED": SenderNotAllowed,
    "INVALID_ARN": SenderNotAllowed,  # every ARN in our calls is a setting
    "RESOURCE_NOT_ACCESSIBLE": SenderNotAllowed,
    "MAXIMUM_SIZE_EXCEEDED": ContentRejected,
    "INVALID_REQUEST": InvalidRequest,
    "PARAMETERS_CANNOT_BE_USED_TOGETHER": InvalidRequest,
    "UNKNOWN_OPERATION": InvalidRequest,
    "UNSPECIFIED_PARAMETER_NOT_SUPPORTED": InvalidRequest,
    # AccessDeniedException
    "ACCOUNT_DISABLED": AuthenticationFailed,
    "INSUFFICIENT_ACCOUNT_REPUTATION": AuthenticationFailed,
    # ServiceQuotaExceededException
    "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT": InsufficientBalance,
}

# A ValidationException with one of these reasons, or with none, is about the field it names.
VAGUE = {"FIELD_VALIDATION_FAILED", "INVALID_PARAMETER", "CANNOT_PARSE", "MISSING_PARAMETER"}
# Lower case: whether they write a field as in the request is not documented. Any other is an InvalidRequest.
FIELDS: dict[str, type[ProviderError]] = {
    "destinationphonenumber": InvalidRecipient,
    "messagebody": ContentRejected,
    "originationidentity": SenderNotAllowed,
    "configurationsetname": SenderNotAllowed,
    "maxprice": SenderNotAllowed,
    "messagetype": SenderNotAllowed,
    "protectconfigurationid": SenderNotAllowed,
}

# An exception whose reason, if it has one, is not listed.
EXCEPTIONS: dict[str, type[ProviderError]] = {
    **COMMON,
    "ResourceNotFoundException": SenderNotAllowed,  # the sender or the configuration set
    "ServiceQuotaExceededException": InsufficientBalance,
}

# Reasons that make it certain that the number must not be used again. A field that fails validation is not certain.
SUPPRESS_REASONS = {"DESTINATION_PHONE_NUMBER_OPTED_OUT": "opted_out"}

# An event's type -> what it means.
EVENTS = {
    "TEXT_QUEUED": EventKind.ACCEPTED,
    "TEXT_PENDING": EventKind.ACCEPTED,
    "TEXT_SENT": EventKind.SENT,
    "TEXT_SUCCESSFUL": EventKind.SENT,  # "accepted by the recipient's carrier"
    "TEXT_DELIVERED": EventKind.DELIVERED,
    "TEXT_UNREACHABLE": EventKind.NOT_REACHED,
    "TEXT_CARRIER_UNREACHABLE": EventKind.NOT_REACHED,  # "a transient error"
    "TEXT_TTL_EXPIRED": EventKind.EXPIRED,
    "TEXT_INVALID": EventKind.FAILED,  # the number, as it seems: not certain enough never to use it again
    "TEXT_INVALID_MESSAGE": EventKind.FAILED,
    "TEXT_BLOCKED": EventKind.FAILED,
    "TEXT_CARRIER_BLOCKED": EventKind.FAILED,
    "TEXT_SPAM": EventKind.FAILED,
    "TEXT_PROTECT_BLOCKED": EventKind.FAILED,
    # "We do not know what happened to that message", 72 hours after it: changes nothing.
    "TEXT_UNKNOWN": EventKind.UNKNOWN,
    # Not listed and so without effect: VOICE_…, MEDIA_… and RCS_…
}

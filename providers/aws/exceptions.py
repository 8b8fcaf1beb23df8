"""How the services of AWS say no: by the name of an exception. Here are those that all of them share.

https://docs.aws.amazon.com/chime-sdk/latest/APIReference/CommonErrors.html, and others of its kind (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers import reading
from providers.errors import AuthenticationFailed, InvalidRequest, ProviderError, RateLimited
from providers.messages import HttpResponse

COMMON: dict[str, type[ProviderError]] = {
    "AccessDeniedException": AuthenticationFailed,
    "ExpiredTokenException": AuthenticationFailed,
    "IncompleteSignature": AuthenticationFailed,
    "IncompleteSignatureException": AuthenticationFailed,
    "InvalidClientTokenId": AuthenticationFailed,
    "InvalidSignatureException": AuthenticationFailed,  # a wrong key, or a clock that is minutes off
    "MissingAuthenticationToken": AuthenticationFailed,
    "MissingAuthenticationTokenException": AuthenticationFailed,
    "NotAuthorized": AuthenticationFailed,
    "OptInRequired": AuthenticationFailed,
    "RequestExpired": AuthenticationFailed,  # a clock that is minutes off
    "SignatureDoesNotMatch": AuthenticationFailed,
    "UnrecognizedClientException": AuthenticationFailed,
    "InvalidAction": InvalidRequest,
    "SerializationException": InvalidRequest,
    "UnknownOperationException": InvalidRequest,
    "ValidationError": InvalidRequest,
}
# "Denied due to request throttling": whatever the status, it was not processed. As a rule the status is 400.
THROTTLED: dict[str, type[ProviderError]] = {
    "ThrottlingException": RateLimited,
    "Throttling": RateLimited,
    "TooManyRequestsException": RateLimited,
    "RequestLimitExceeded": RateLimited,
}


def exception_in(answer: HttpResponse, fields: Mapping[str, Any]) -> str:
    """Read which exception an answer names: "com.amazonaws.some#ConflictException", or the name alone, or before a colon."""
    written = reading.word(fields.get("__type") or answer.headers.get("X-Amzn-ErrorType"), limit=200)
    return name_in(written.partition(":")[0].rpartition("#")[2])


def name_in(value: object) -> str:
    """Read a name of theirs; what cannot be one may be an address, and is dropped."""
    written = reading.word(value)
    return written if re.fullmatch("[A-Za-z_]{1,80}", written) else ""

"""What APNs's reasons mean: https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
(read 2026-11)."""

from __future__ import annotations

from dataclasses import dataclass

from providers import reading, retry_after
from providers.base import error_for_status
from providers.errors import (
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientUnavailable,
    Unavailable,
)
from providers.messages import HttpResponse


@dataclass(frozen=True, slots=True)
class Meaning:
    kind: type[ProviderError]
    suppress: str | None = None
    is_doubtful: bool = False
    advice: str = ""


GONE = Meaning(RecipientUnavailable, "unregistered")
BUG = Meaning(InvalidRequest)
ACCOUNT = Meaning(AuthenticationFailed, advice="Check team, key, its environment and its topics")
LATER = Meaning(Unavailable)

REASONS = {
    "BadDeviceToken": Meaning(
        InvalidRecipient, "invalid", True, "Check its setting environment, production or sandbox"
    ),
    "DeviceTokenNotForTopic": Meaning(InvalidRecipient, "wrong_topic", True, "Check its topic: the app's bundle id"),
    "Unregistered": GONE,
    "ExpiredToken": GONE,
    "BadCollapseId": BUG,
    "BadExpirationDate": BUG,
    "BadMessageId": BUG,
    "BadPriority": BUG,
    "DuplicateHeaders": BUG,
    "InvalidPushType": BUG,
    "MissingDeviceToken": BUG,
    "PayloadEmpty": BUG,
    "PayloadTooLarge": BUG,
    "BadPath": BUG,
    "MethodNotAllowed": BUG,
    "BadTopic": ACCOUNT,
    "MissingTopic": ACCOUNT,
    "TopicDisallowed": ACCOUNT,
    "BadCertificate": ACCOUNT,
    "BadCertificateEnvironment": ACCOUNT,
    "Forbidden": ACCOUNT,
    "InvalidProviderToken": ACCOUNT,
    "MissingProviderToken": ACCOUNT,
    "UnrelatedKeyIdInToken": ACCOUNT,
    "BadEnvironmentKeyIdInToken": ACCOUNT,
    # Ours are half an hour old at most.
    "ExpiredProviderToken": Meaning(AuthenticationFailed, advice="Check this machine's clock"),
    "TooManyProviderTokenUpdates": Meaning(
        AuthenticationFailed, advice="Something else signs for this team with the same key, or a clock jumps"
    ),
    "TooManyRequests": Meaning(RateLimited),  # to this device
    "IdleTimeout": LATER,
    "ServiceUnavailable": LATER,
    "Shutdown": LATER,
    "InternalServerError": Meaning(OutcomeUnknown),
}


def refusal(answer: HttpResponse) -> ProviderError:
    """Read a no. A reason that is not listed says no more than its HTTP status."""
    reason = reading.word((reading.json_object(answer.body) or {}).get("reason"))
    known = reason if reason in REASONS else ""
    meaning = REASONS[known] if known else Meaning(error_for_status(answer.status))
    if answer.status >= 500 and meaning is not LATER:  # a server that fails refuses nothing
        meaning = Meaning(OutcomeUnknown)
    return meaning.kind(
        f"HTTP {answer.status}, {known}" if known else f"HTTP {answer.status}",
        code=known,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress=meaning.suppress,
        is_doubtful=meaning.is_doubtful,
        advice=meaning.advice,
    )

"""What FCM's refusals mean: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode (read 2026-11).

The code is read from the details, never from the text; where there is none, Google's general status says less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers import reading, retry_after
from providers.base import error_for_status
from providers.errors import (
    AccountError,
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientUnavailable,
    TokenRefused,
    Unavailable,
)
from providers.messages import HttpResponse

FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
TOKEN_FIELDS = ("message.token", "message.fid")
QUOTA_SECONDS = 60.0  # to wait where they do not say: the bucket of a project is refilled each minute


@dataclass(frozen=True, slots=True)
class Meaning:
    kind: type[ProviderError]
    suppress: str | None = None
    is_doubtful: bool = False
    advice: str = ""


# The project's key for another service, and no fault of the token we were given or of the device.
THIRD_PARTY = Meaning(AuthenticationFailed, advice="Mend the APNs key or the web push key in the Firebase project")

BY_CODE = {
    "UNREGISTERED": Meaning(RecipientUnavailable, "unregistered"),
    "INVALID_ARGUMENT": Meaning(InvalidRequest),
    "SENDER_ID_MISMATCH": Meaning(
        InvalidRecipient, "wrong_sender", True, "Check its project: the devices may belong to another"
    ),
    "THIRD_PARTY_AUTH_ERROR": THIRD_PARTY,
    "APNS_AUTH_ERROR": THIRD_PARTY,
    "QUOTA_EXCEEDED": Meaning(RateLimited),
    "UNAVAILABLE": Meaning(Unavailable),
    "INTERNAL": Meaning(OutcomeUnknown),
}
BAD_TOKEN = Meaning(InvalidRecipient, "invalid", True, "Check which app the tokens are from: each is called invalid")
# Without a code of FCM's own.
BY_STATUS = {
    "INVALID_ARGUMENT": Meaning(InvalidRequest),
    "UNAUTHENTICATED": Meaning(TokenRefused),
    "PERMISSION_DENIED": Meaning(AuthenticationFailed, advice="Enable the API and let the service account use it"),
    "NOT_FOUND": Meaning(AccountError, advice="Check the account's project_id: there is no such project"),
    "RESOURCE_EXHAUSTED": Meaning(RateLimited),
    "UNAVAILABLE": Meaning(Unavailable),
}
UNAUTHORIZED = 401


def refusal(answer: HttpResponse) -> ProviderError:
    """Read a no."""
    error = _part(reading.json_object(answer.body) or {}, "error")
    code, status = _code(error), reading.word(error.get("status"))
    meaning = BY_CODE.get(code) or BY_STATUS.get(status) or _by_http(answer.status)
    if code in ("", "INVALID_ARGUMENT") and meaning.kind is InvalidRequest and _blames_token(error):
        meaning = BAD_TOKEN
    if answer.status >= 500 and meaning.kind is not Unavailable:  # a server that fails refuses nothing
        meaning = Meaning(OutcomeUnknown)
    wait = retry_after.from_headers(answer.headers)
    if wait is None and meaning.kind is RateLimited and (code or status):
        wait = QUOTA_SECONDS
    known = code if code in BY_CODE else status if status in BY_STATUS else ""
    return meaning.kind(
        f"HTTP {answer.status}, {known}" if known else f"HTTP {answer.status}",
        code=known,
        http_status=answer.status,
        retry_after_seconds=wait,
        suppress=meaning.suppress,
        is_doubtful=meaning.is_doubtful,
        advice=meaning.advice,
    )


def _by_http(status: int) -> Meaning:
    return Meaning(TokenRefused if status == UNAUTHORIZED else error_for_status(status))


def _code(error: Mapping[str, Any]) -> str:
    codes = (reading.word(detail.get("errorCode")) for detail in _details(error) if detail.get("@type") == FCM_ERROR)
    return next(filter(None, codes), "")


def _blames_token(error: Mapping[str, Any]) -> bool:
    """Whether one of the fields that are wrong is the device's token."""
    violations = [detail.get("fieldViolations") for detail in _details(error)]
    fields = [one for some in violations if isinstance(some, list) for one in some if isinstance(one, dict)]
    return any(one.get("field") in TOKEN_FIELDS for one in fields)


def _details(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}

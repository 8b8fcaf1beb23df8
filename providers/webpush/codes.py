"""What the HTTP statuses of push services mean: https://www.rfc-editor.org/rfc/rfc8030 and the services' own pages (read 2026-11).

What they say beside it is for people: each has words of its own.
"""

from __future__ import annotations

from providers import retry_after
from providers.base import error_for_status
from providers.errors import (
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    ProviderError,
    RecipientUnavailable,
)
from providers.messages import HttpResponse

CREATED = 201
ACCEPTED = (200, 202)

REFUSALS: dict[int, type[ProviderError]] = {
    400: InvalidRecipient,
    401: AuthenticationFailed,
    403: InvalidRecipient,
    404: RecipientUnavailable,
    410: RecipientUnavailable,
    413: InvalidRequest,
}
SUPPRESS = {400: "invalid", 403: "wrong_sender", 404: "unregistered", 410: "unregistered"}
# Who subscribed with another key is answered as anybody would be whose key is wrong.
DOUBTFUL = {
    400: "Check what is sent and its vapid_private_key: each subscription is refused",
    403: "Check its vapid_private_key: browsers subscribed with another one",
}


def refusal(answer: HttpResponse) -> ProviderError:
    """Read a no."""
    kind = REFUSALS.get(answer.status) or error_for_status(answer.status)
    return kind(
        f"HTTP {answer.status}",
        code=str(answer.status),
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress=SUPPRESS.get(answer.status),
        is_doubtful=answer.status in DOUBTFUL,
        advice=DOUBTFUL.get(answer.status, ""),
    )

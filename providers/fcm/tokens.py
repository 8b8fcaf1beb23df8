"""Access tokens of Google: a service account signs what it asks for, and gets a token for an hour.

https://developers.google.com/identity/protocols/oauth2/service-account (read 2026-11). google-auth signs; it does not
call, since what it calls with repeats a send by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from google.auth import jwt
from google.auth.crypt import RSASigner

from providers import reading, retry_after
from providers.errors import AuthenticationFailed, ProviderError, RateLimited, Unavailable
from providers.messages import HttpRequest, HttpResponse, Token

URL = "https://oauth2.googleapis.com/token"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFE_SECONDS = 3600  # their most
TOO_MANY = 429
# Codes of RFC 6749, 5.2, which waiting does not mend.
ADVICE = "Check the service account's key, and this machine's clock"
HOPELESS = {"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "invalid_request"}


def request(credentials: Mapping[str, str], url: str, now: datetime) -> HttpRequest:
    """Describe the call that asks for a token. Raises AuthenticationFailed for a key that cannot be read."""
    issued_at = int(now.timestamp())
    claims = {
        "iss": credentials["client_email"],
        "scope": SCOPE,
        "aud": URL,
        "iat": issued_at,
        "exp": issued_at + LIFE_SECONDS,
    }
    try:
        signer = RSASigner.from_string(  # type: ignore[no-untyped-call]
            credentials["private_key"], credentials.get("private_key_id") or None
        )
    except (ValueError, TypeError) as error:
        raise AuthenticationFailed("the service account's private key cannot be read") from error
    assertion = jwt.encode(signer, claims).decode()  # type: ignore[no-untyped-call]
    body = urlencode({"grant_type": GRANT, "assertion": assertion})
    return HttpRequest("POST", url, {"Content-Type": "application/x-www-form-urlencoded"}, body.encode())


def result(answer: HttpResponse) -> Token:
    """Read the token. Raises AuthenticationFailed where the key is not taken, else TransientError: nothing was sent."""
    fields = reading.json_object(answer.body) or {}
    value, seconds = fields.get("access_token"), reading.number(fields.get("expires_in"))
    if 200 <= answer.status < 300 and isinstance(value, str) and value.isascii() and value.isprintable() and value:
        return Token(value, float(seconds or 0))
    raise _refusal(answer, reading.word(fields.get("error")))


def _refusal(answer: HttpResponse, code: str) -> ProviderError:
    detail = f"asking for a token: HTTP {answer.status}"
    if code in HOPELESS and answer.status < 500:
        return AuthenticationFailed(detail, code=code, http_status=answer.status, advice=ADVICE)
    kind = RateLimited if answer.status == TOO_MANY else Unavailable
    return kind(detail, http_status=answer.status, retry_after_seconds=retry_after.from_headers(answer.headers))

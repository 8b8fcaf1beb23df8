"""How MessageBird proves that a call is its own: a JWT in a header, tied to the address and the body it was made for.

As in the official SDK's RequestValidator. How old a call is does not matter: its address, which holds the report, is
signed, so a call that somebody kept and plays again is one more repetition of an event already on file.
"""

from __future__ import annotations

import base64
import hmac
from typing import Any

from providers import reading
from providers.messages import Headers, WebhookRequest
from providers.signatures import is_equal, is_sha256, url_forms

HEADER = "MessageBird-Signature-JWT"
ISSUER = "MessageBird"
DIGESTS = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}


def is_genuine(request: WebhookRequest, key: str) -> bool:
    """Check the token by the account's signing key. An empty key is never right."""
    claims = _claims(Headers(request.headers).get(HEADER, ""), key)
    if claims is None or claims.get("iss") != ISSUER:
        return False
    url_hash, body_hash = reading.word(claims.get("url_hash")), claims.get("payload_hash")
    is_url = [is_sha256(url_hash, form.encode(errors="replace")) for form in url_forms(request.url)]
    # Without a hash of the body there must be none: the signature of a GET would carry any.
    is_body = is_sha256(reading.word(body_hash), request.body) if body_hash else not request.body
    return any(is_url) and is_body


def _claims(token: str, key: str) -> dict[str, Any] | None:
    """Read what a token claims, if it is signed by the key."""
    signed, _, signature = token.rpartition(".")
    header, _, claims = signed.partition(".")
    digest = DIGESTS.get(reading.word((_decoded(header) or {}).get("alg")))
    if digest is None or not key:
        return None
    proof = hmac.digest(key.encode(), signed.encode(errors="replace"), digest)
    expected = base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
    return _decoded(claims) if is_equal(signature, expected) else None


def _decoded(part: str) -> dict[str, Any] | None:
    try:
        return reading.json_object(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return None

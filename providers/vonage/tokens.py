"""JSON Web Tokens (RFC 7519) as Vonage uses them: ours by RS256, theirs by HS256."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from providers import reading
from providers.errors import AuthenticationFailed
from providers.messages import HttpRequest
from providers.signatures import is_equal

LIFE_SECONDS = 300


def token_for(request: HttpRequest, *, application_id: str, private_key: str, now: datetime) -> str:
    """Make the token of one call: the same call at the same time has the same. Raises AuthenticationFailed for a bad key."""
    issued_at = int(now.timestamp())
    claims = {
        "application_id": application_id,
        "iat": issued_at,
        "exp": issued_at + LIFE_SECONDS,
        "jti": _call_id(request, now),
    }
    signed = f"{_encode({'alg': 'RS256', 'typ': 'JWT'})}.{_encode(claims)}"
    signature = _key(private_key).sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{_base64url(signature)}"


def claims_of(token: str, secret: str) -> Mapping[str, Any] | None:
    """Read a token that was signed with a secret; None for any other. An empty secret signs nothing."""
    signed, _, signature = token.rpartition(".")
    header, _, claims = signed.partition(".")
    expected = _base64url(hmac.digest(secret.encode(), signed.encode(errors="replace"), "sha256"))
    is_right = is_equal(signature, expected)
    if not (secret and is_right and (_decode(header) or {}).get("alg") == "HS256"):
        return None
    return _decode(claims)


def _call_id(request: HttpRequest, now: datetime) -> str:
    parts = (request.method, request.url, hashlib.sha256(request.body).hexdigest(), now.isoformat())
    return str(UUID(hex=reading.fingerprint(*parts)[:32], version=4))


@lru_cache(maxsize=64)
def _key(pem: str) -> RSAPrivateKey:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise AuthenticationFailed("the application's private key cannot be read") from error
    if not isinstance(key, RSAPrivateKey):
        raise AuthenticationFailed("the application's private key is no RSA key")
    return key


def _encode(part: Mapping[str, Any]) -> str:
    return _base64url(json.dumps(part, separators=(",", ":")).encode())


def _decode(part: str) -> dict[str, Any] | None:
    try:
        return reading.json_object(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return None


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

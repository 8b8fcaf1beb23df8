"""JSON Web Tokens (RFC 7519) that are signed by ES256: the same bytes for the same claims, in whatever process they are made.

A signature that is random by custom is made after RFC 6979 here: services count how often a token changes, and call a
sender with many processes a fault.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, derive_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from providers.errors import AuthenticationFailed

SCALAR_BYTES = 32  # of a number on the curve P-256


def token(header: Mapping[str, Any], claims: Mapping[str, Any], key: EllipticCurvePrivateKey) -> str:
    """The token that makes these claims."""
    signed = f"{_encode({'alg': 'ES256', 'typ': 'JWT', **header})}.{_encode(claims)}"
    numbers = decode_dss_signature(key.sign(signed.encode(), ECDSA(SHA256(), deterministic_signing=True)))
    return f"{signed}.{base64url(b''.join(number.to_bytes(SCALAR_BYTES) for number in numbers))}"


@lru_cache(maxsize=64)
def key_of_pem(pem: str) -> EllipticCurvePrivateKey:
    """Read a key as Apple hands it out (.p8). Raises AuthenticationFailed."""
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise AuthenticationFailed("the account's private key cannot be read") from error
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise AuthenticationFailed("the account's private key is none on the curve P-256")
    return key


@lru_cache(maxsize=64)
def key_of_scalar(text: str) -> EllipticCurvePrivateKey:
    """Read a key as tools for Web Push make it: 32 bytes in base64url. Raises AuthenticationFailed."""
    try:
        return derive_private_key(int.from_bytes(from_base64url(text)), SECP256R1())
    except ValueError as error:
        raise AuthenticationFailed("the account's private key cannot be read") from error


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Raises ValueError."""
    return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)


def _encode(part: Mapping[str, Any]) -> str:
    return base64url(json.dumps(part, separators=(",", ":")).encode())

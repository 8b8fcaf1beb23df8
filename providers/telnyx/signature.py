"""How Telnyx signs its webhooks: Ed25519 over the time, a bar and the body as it came."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE = "telnyx-signature-ed25519"
TIMESTAMP = "telnyx-timestamp"


def is_signed(headers: Mapping[str, str], body: bytes, public_key: str) -> bool:
    """Check a webhook against the account's public key (base64 of 32 bytes). An empty key is never right."""
    signed = f"{headers.get(TIMESTAMP, '')}|".encode(errors="replace") + body
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(headers.get(SIGNATURE, ""), validate=True), signed)
    except (ValueError, InvalidSignature):
        return False
    return True

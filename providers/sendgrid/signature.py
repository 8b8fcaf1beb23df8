"""How SendGrid signs its webhooks: ECDSA over the time and the body as it came, line breaks between events and all.

https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
(read 2026-11).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

SIGNATURE = "X-Twilio-Email-Event-Webhook-Signature"
TIMESTAMP = "X-Twilio-Email-Event-Webhook-Timestamp"


def is_signed(headers: Mapping[str, str], body: bytes, public_key: str) -> bool:
    """Check a webhook against the account's public key, as their pages show it: base64 of DER. No key is never right."""
    key = _key(public_key)
    signed = headers.get(TIMESTAMP, "").encode(errors="replace") + body
    try:
        signature = base64.b64decode(headers.get(SIGNATURE, ""), validate=True)
        if key is None:
            return False
        key.verify(signature, signed, ECDSA(SHA256()))
    except (ValueError, InvalidSignature):
        return False
    return True


@lru_cache(maxsize=64)
def _key(written: str) -> EllipticCurvePublicKey | None:
    try:
        key = load_der_public_key(base64.b64decode(written, validate=True))
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, EllipticCurvePublicKey) else None

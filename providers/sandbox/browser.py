"""A browser: what it gives out to whoever may push to it, and how it opens what comes. Keys are those of RFC 8291, appendix A."""

from __future__ import annotations

import json

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from providers.sandbox.pushing import from_base64url

P256DH = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
_PRIVATE = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
HEAD_BYTES = 16 + 4 + 1 + 65  # salt, size of records, length of the sender's key, that key


def subscription(endpoint: str) -> dict[str, object]:
    """What the browser's `pushManager.subscribe()` gives the app, for the app's server."""
    return {"endpoint": endpoint, "expirationTime": None, "keys": {"p256dh": P256DH, "auth": AUTH}}


def opened(body: bytes) -> bytes:
    """What was sealed for this browser. Raises ValueError for what was not."""
    if len(body) < HEAD_BYTES:
        raise ValueError("too short")
    salt, sender = body[:16], body[21:HEAD_BYTES]
    ours = ec.derive_private_key(int.from_bytes(from_base64url(_PRIVATE)), ec.SECP256R1())
    try:
        shared = ours.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        seed = _derive(shared, from_base64url(AUTH), b"WebPush: info\0" + from_base64url(P256DH) + sender, 32)
        key = _derive(seed, salt, b"Content-Encoding: aes128gcm\0", 16)
        padded = AESGCM(key).decrypt(_derive(seed, salt, b"Content-Encoding: nonce\0", 12), body[HEAD_BYTES:], None)
    except (InvalidTag, ValueError) as error:
        raise ValueError("sealed for somebody else") from error
    plain, mark, padding = padded.rpartition(b"\x02")
    if not mark or padding.strip(b"\0"):
        raise ValueError("no last record")
    return plain


def shown(body: bytes) -> dict[str, str]:
    """The push as the app's service worker finds it. Raises ValueError."""
    push = json.loads(opened(body))
    if not isinstance(push, dict):
        raise ValueError("no push of ours")
    return push


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)

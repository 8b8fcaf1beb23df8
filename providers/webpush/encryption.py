"""How a push is sealed for one browser: aes128gcm (RFC 8188) with keys agreed on as in RFC 8291."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

AUTH_BYTES = 16
SALT_BYTES = 16
POINT_BYTES = 65  # a public key, uncompressed
RECORD_BYTES = 4096
PLAIN_BYTES = 3993  # what a body of 4,096 bytes has room for: salt, sizes, key, a mark and a tag take the rest
LAST_RECORD = b"\x02"
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of the curve P-256


@dataclass(frozen=True, slots=True)
class Chance:
    """What must not be used for two different pushes."""

    salt: bytes
    key: EllipticCurvePrivateKey


def chance_for(secret: bytes, name: bytes, plain: bytes) -> Chance:
    """Chance that is the same for the same push, so that a repetition has the same bytes, and different for any other.

    Keys of an encryption may be derived instead of drawn where nobody else can derive them, and no two texts share them.
    Both hold: the account's private key goes in, and a digest of the text itself (as in deterministic modes such as SIV),
    so that even one name given to two texts does no harm. Equal bytes then tell only that a push was repeated.
    """
    drawn = _derive(secret, hashlib.sha256(plain).digest(), b"landfall web push\0" + name, SALT_BYTES + 48)
    number = int.from_bytes(drawn[SALT_BYTES:]) % (ORDER - 1) + 1  # of 48 bytes, so that no number is likelier
    return Chance(drawn[:SALT_BYTES], derive_private_key(number, SECP256R1()))


def sealed(plain: bytes, *, browser: bytes, auth: bytes, chance: Chance) -> bytes:
    """The body of the call. `browser` is its public key, `auth` its secret. Raises ValueError for what is no key."""
    if len(auth) != AUTH_BYTES:
        raise ValueError("the secret has another length")
    ours = public_bytes(chance.key)
    shared = chance.key.exchange(ECDH(), EllipticCurvePublicKey.from_encoded_point(SECP256R1(), browser))
    seed = _derive(shared, auth, b"WebPush: info\0" + browser + ours, 32)
    key = _derive(seed, chance.salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(seed, chance.salt, b"Content-Encoding: nonce\0", 12)
    header = chance.salt + RECORD_BYTES.to_bytes(4) + bytes([POINT_BYTES]) + ours
    return header + AESGCM(key).encrypt(nonce, plain + LAST_RECORD, None)


def public_bytes(key: EllipticCurvePrivateKey) -> bytes:
    """The public key of a private one, as it travels."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)

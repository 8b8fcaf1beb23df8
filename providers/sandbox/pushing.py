"""What vendors of pushes have in common: nothing is reported, and a push takes the place of the one before with its tag."""

from __future__ import annotations

import base64
import json
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.roles import Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.wire import Reply

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class PushVendor(Vendor):
    """`refused` are the vendor's words for a role's refusal, `taken` the answer to what was taken under an id."""

    refused: Mapping[str, Any]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._shown: dict[tuple[str, str, str], Message] = {}  # by account, device and tag

    @abstractmethod
    def no_to_device(self, refusal: str) -> Reply:
        """The answer to a push for a device that plays this refusal."""

    def push(self, ledger: Ledger, *, id: str, device: str, tag: str, text: str, content: Any) -> Reply:
        """Take a push as the device's role demands."""
        role = roles.of_device(device)
        if role.refusal is not None:
            return self.no_to_device(role.refusal)
        if self.busy(ledger, device, role):
            return self.rate_limited()
        message = Message(id, device, text, tag, role, content, status="sent")
        with ledger.lock:
            before = self._shown.get((ledger.slug, device, tag))
            if before is not None and any(before is known for known in ledger.all()):
                return replace(self.receipt(before), note=f"{before.id}, in the place of the one before")
            self._shown[ledger.slug, device, tag] = message
            return self.take(ledger, message)

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        """Only the device knows."""

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        return None


def claims_of(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a JSON Web Token, whoever signed it; empty for what is none."""
    try:
        header, claims = (json.loads(from_base64url(part)) for part in token.split(".")[:2])
    except ValueError:
        return {}, {}
    return (header, claims) if isinstance(header, dict) and isinstance(claims, dict) else ({}, {})


def is_signed(token: str, key: PublicKey) -> bool:
    """Whether a token was signed by the owner of a key: RS256 or ES256."""
    signed, _, signature = token.rpartition(".")
    try:
        given = from_base64url(signature)
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(given, signed.encode(), padding.PKCS1v15(), SHA256())
        else:
            numbers = (int.from_bytes(given[:32]), int.from_bytes(given[32:]))
            key.verify(encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def is_young(claims: Mapping[str, Any], seconds: float) -> bool:
    """Whether a token was issued within the last so many seconds."""
    issued_at = claims.get("iat")
    return isinstance(issued_at, int) and -60 <= time.time() - issued_at <= seconds


def from_base64url(text: str) -> bytes:
    """Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)

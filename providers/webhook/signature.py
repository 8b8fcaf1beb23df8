"""How a receiver knows that an event is ours: Standard Webhooks 1.0.0 (https://www.standardwebhooks.com), and GitHub's way."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32  # of 24 to 64


def new_secret() -> str:
    """A secret as it is shown to its owner: `whsec_` and base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key(secret: str) -> bytes:
    """The bytes behind a secret. Raises ValueError for what is none."""
    decoded = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    if not secret.startswith(PREFIX) or not 24 <= len(decoded) <= 64:
        raise ValueError("a secret is whsec_ and 24 to 64 bytes in base64")
    return decoded


def standard(event_id: str, timestamp: int, body: bytes, keys: Iterable[bytes]) -> str:
    """The header `webhook-signature`: one signature by each key that is valid now."""
    text = f"{event_id}.{timestamp}.".encode() + body
    return " ".join("v1," + base64.b64encode(hmac.digest(key, text, "sha256")).decode() for key in keys)


def github(body: bytes, secret: str) -> str:
    """The header `X-Hub-Signature-256`: over the body alone, so that an old call can be played again."""
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()

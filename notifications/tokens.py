"""Tokens that prove themselves: a few bytes and our mark on them, for those who call us without a key."""

from __future__ import annotations

import base64
import hmac

from django.conf import settings

MARK_BYTES = 16


def make(purpose: str, content: bytes) -> str:
    """A token of letters, digits, `-` and `_`: the same for the same content, good for this purpose alone."""
    return base64.urlsafe_b64encode(content + _mark(purpose, content)).rstrip(b"=").decode()


def read(purpose: str, token: str) -> bytes | None:
    """What a token of ours holds; None for any other."""
    try:
        given = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    content, mark = given[:-MARK_BYTES], given[-MARK_BYTES:]
    return content if hmac.compare_digest(mark, _mark(purpose, content)) else None


def _mark(purpose: str, content: bytes) -> bytes:
    return hmac.digest(settings.ADDRESS_KEY, f"token:{purpose}:".encode() + content, "sha256")[:MARK_BYTES]

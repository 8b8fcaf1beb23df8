"""How Courier signs its webhooks: an HMAC with SHA-256 over the time in milliseconds, a dot and the body as it came.

https://www.courier.com/docs/platform/workspaces/outbound-webhooks (read 2026-11), whose code has the dot that its text leaves out.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from providers.signatures import is_equal

HEADER = "courier-signature"


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Check a webhook against the secret of its destination. An empty one is never right."""
    parts = dict(part.strip().partition("=")[::2] for part in headers.get(HEADER, "").split(","))
    signed = f"{parts.get('t', '')}.".encode(errors="replace") + body
    expected = hmac.digest(secret.encode(), signed, "sha256").hex()
    return is_equal(parts.get("signature", ""), expected) and bool(secret and parts.get("t"))

"""Signature Version 4: what AWS wants of every call, with the time in it.

Source, read 2026-11: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import SplitResult, quote, urlsplit

from providers.messages import HttpRequest

ALGORITHM = "AWS4-HMAC-SHA256"
DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs for one key, region and service. `session_token` belongs to temporary keys, "" to others."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    region: str
    service: str
    session_token: str = field(default="", repr=False)

    def sign(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Add the time and the signature. Signed are method, URL, body, content type and all X-Amz headers.

        The URL must be percent-encoded, its path free of dot segments.
        """
        stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        headers = {**request.headers, "X-Amz-Date": stamp}
        if self.session_token:
            headers["X-Amz-Security-Token"] = self.session_token
        signed = _signed_headers(urlsplit(request.url), headers)
        scope = f"{stamp[:8]}/{self.region}/{self.service}/aws4_request"
        digest = hashlib.sha256(canonical_request(request, signed).encode()).hexdigest()
        text = "\n".join((ALGORITHM, stamp, scope, digest))
        signature = hmac.digest(self._key(stamp[:8]), text.encode(), "sha256").hex()
        headers["Authorization"] = (
            f"{ALGORITHM} Credential={self.access_key_id}/{scope}, "
            f"SignedHeaders={';'.join(signed)}, Signature={signature}"
        )
        return replace(request, headers=headers)

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.secret_access_key}".encode()
        for part in (day, self.region, self.service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key


def canonical_request(request: HttpRequest, signed: Mapping[str, str]) -> str:
    """Spell a request in the one way in which it is signed. `signed` are headers by lower-case name, in order."""
    parts = urlsplit(request.url)
    return "\n".join(
        (
            request.method,
            quote(parts.path or "/", safe="/~"),  # encoded a second time: so do all services but S3
            _canonical_query(parts.query),
            *(f"{name}:{value}" for name, value in signed.items()),
            "",
            ";".join(signed),
            hashlib.sha256(request.body).hexdigest(),
        )
    )


def _canonical_query(query: str) -> str:
    pairs = sorted(pair.partition("=")[::2] for pair in query.split("&") if pair)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _signed_headers(url: SplitResult, headers: Mapping[str, str]) -> dict[str, str]:
    own = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    chosen = {name: value for name, value in own.items() if name == "content-type" or name.startswith("x-amz-")}
    return dict(sorted({**chosen, "host": _host(url)}.items()))


def _host(url: SplitResult) -> str:
    """Say what a client writes into the Host header."""
    name = url.hostname or ""
    host = f"[{name}]" if ":" in name else name
    return host if url.port in (None, DEFAULT_PORTS.get(url.scheme)) else f"{host}:{url.port}"

"""How webhooks prove that they are genuine. All comparisons take the same time whatever is compared."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import unquote_to_bytes, urlsplit

Pairs = list[tuple[bytes, bytes]]

_DEFAULT_PORTS = {"https": 443, "http": 80}


def is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode(errors="replace"))


def is_basic(authorization: str, user: str, password: str) -> bool:
    """Check an Authorization header against a user and a password. Empty ones are never right."""
    scheme, _, encoded = authorization.partition(" ")
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except ValueError:
        given = b""
    given_user, _, given_password = given.partition(b":")
    is_user = hmac.compare_digest(given_user, user.encode())
    is_password = hmac.compare_digest(given_password, password.encode())
    return scheme.lower() == "basic" and is_user and is_password and bool(user and password)


def is_hmac(signature: str, signed: Iterable[bytes], key: str, digest: str) -> bool:
    """Check a base64 HMAC over any one of several readings of what was signed. An empty key is never right."""
    right = [is_equal(signature, base64.b64encode(hmac.digest(key.encode(), text, digest)).decode()) for text in signed]
    return bool(key) and any(right)


def is_standard_webhook(headers: Mapping[str, str], body: bytes, secret: str, *, prefix: str) -> bool:
    """Check a call after Standard Webhooks (https://www.standardwebhooks.com), which Svix calls by its own `prefix` of headers.

    v1 is an HMAC with SHA-256. While a secret is being replaced the header holds a signature by each.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        return False
    call_id, sent_at = (headers.get(f"{prefix}-{name}", "") for name in ("id", "timestamp"))
    text = f"{call_id}.{sent_at}.".encode(errors="replace") + body
    expected = "v1," + base64.b64encode(hmac.digest(key, text, "sha256")).decode()
    right = [is_equal(given, expected) for given in headers.get(f"{prefix}-signature", "").split(" ")]
    return bool(key) and any(right)


def is_sha256(hexadecimal: str, data: bytes) -> bool:
    return is_equal(hexadecimal.lower(), hashlib.sha256(data).hexdigest())


def url_forms(url: str) -> set[str]:
    """Spell a URL with and without a port: proxies on either side add or drop it."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return {url}
    bare = parts.netloc.removesuffix(f":{parts.port}")
    return {url} | {url.replace(f"//{parts.netloc}", f"//{netloc}", 1) for netloc in (bare, f"{bare}:{port}")}


def form_pairs(body: bytes) -> Pairs:
    """Read a form as bytes, since a signature is over bytes: empty values and repeated names included."""
    pairs = [part.partition(b"=")[::2] for part in body.replace(b"+", b" ").split(b"&") if part]
    return [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, value in pairs]


def form_text(value: bytes) -> str:
    """Read a name or a value of a form: UTF-8, or Latin-1 where it is not."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")

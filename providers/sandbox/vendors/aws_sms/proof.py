"""How callers prove themselves to AWS (Signature Version 4), and SNS to those that it calls (a signature by RSA).

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html,
https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from providers.sandbox.wire import Request

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<id>[^/, ]+)/(?P<scope>(?P<day>\d{8})/[a-z0-9-]+/[a-z0-9-]+/aws4_request), ?"
    r"SignedHeaders=(?P<names>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
CLOCK_SECONDS = 5 * 60  # how far the caller's clock may be off
SERVICE = "sms-voice"


def access_key_id(request: Request) -> str | None:
    found = AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    return found["id"] if found else None


def is_signed(request: Request, path: str, secret: str, now: datetime) -> bool:
    """Whether a request was signed with this secret, minutes ago at most. `path` is as the caller called it."""
    found = AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    stamp = request.headers.get("x-amz-date", "")
    if found is None or found["scope"].split("/")[2] != SERVICE or not _is_fresh(stamp, now):
        return False
    names = found["names"].split(";")
    must = {"host", "x-amz-date"} | {name for name in request.headers if name.startswith("x-amz-")}
    if stamp[:8] != found["day"] or names != sorted(names) or not must <= set(names):
        return False
    query = "&".join(sorted(request.query.split("&"))) if request.query else ""
    lines = [request.method, quote(path, safe="/~"), query]
    lines += [f"{name}:{request.headers.get(name, '').strip()}" for name in names]
    lines += ["", found["names"], hashlib.sha256(request.body).hexdigest()]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{found['scope']}\n{digest}"
    key = reduce(_step, found["scope"].split("/"), f"AWS4{secret}".encode())
    return hmac.compare_digest(_step(key, text).hex(), found["signature"])


def _step(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _is_fresh(stamp: str, now: datetime) -> bool:
    try:
        signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs((now - signed_at).total_seconds()) <= CLOCK_SECONDS


@lru_cache(maxsize=1)
def sns_key() -> rsa.RSAPrivateKey:
    """The key with which this process plays SNS."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@lru_cache(maxsize=1)
def certificate() -> bytes:
    """Its certificate, PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(sns_key().public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(sns_key(), hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def signature(call: Mapping[str, str]) -> str:
    """Sign a notification, SignatureVersion 2."""
    names = [name for name in ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type") if name in call]
    text = "".join(f"{name}\n{call[name]}\n" for name in names)
    return base64.b64encode(sns_key().sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())).decode()

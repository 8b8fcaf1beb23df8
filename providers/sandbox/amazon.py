"""What AWS's services have in common: how callers prove themselves (Signature Version 4), and how SNS calls and signs.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html,
https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from typing import Any, ClassVar
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.vendor import Vendor
from providers.sandbox.wire import Reply, Request, encode_json

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<id>[^/, ]+)/(?P<scope>(?P<day>\d{8})/[a-z0-9-]+/[a-z0-9-]+/aws4_request), ?"
    r"SignedHeaders=(?P<names>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
SNS_HOST = "sns.us-east-1.amazonaws.com"
CERTIFICATE = "/SimpleNotificationService.pem"
TOPIC = "arn:aws:sns:us-east-1:123456789012:landfall"  # where the account names none
CLOCK_SECONDS = 5 * 60  # how far the caller's clock may be off


class AmazonVendor(Vendor):
    """A service that knows its callers by their keys and tells what happened through an SNS topic.

    SNS signs with a key of this process's own; its certificate is at CERTIFICATE, as at the vendor's SigningCertURL.
    """

    needs = ("access_key_id", "secret_access_key")
    service: ClassVar[str]  # the name that calls are signed for

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.accounts = {ledger.account.credentials["access_key_id"]: ledger for ledger in self.book.of(self.provider)}
        if self.accounts:
            certificate()  # made now, not by the first two threads that want it

    def handle(self, request: Request) -> Reply:
        if request.method == "GET" and request.path == CERTIFICATE:
            return Reply(200, certificate(), content_type="application/x-pem-file")
        return super().handle(request)

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        ledger = self.accounts.get(access_key_id(request) or "")
        if ledger is None:
            return None, False
        secret = ledger.account.credentials["secret_access_key"]
        path = f"/{self.provider}{request.path}"
        return ledger, is_signed(request, path, self.service, secret, datetime.now(UTC))

    def unauthorized_name(self, request: Request) -> str:
        """What the exception is called that a call without proof meets."""
        if "authorization" not in request.headers:
            return "MissingAuthenticationTokenException"
        known = access_key_id(request) in self.accounts
        return "InvalidSignatureException" if known else "UnrecognizedClientException"

    def published(self, ledger: Ledger, message: Message, url: str, name: str, content: Mapping[str, Any]) -> Callback:
        """The call of SNS that tells of an event with this name."""
        topic_arn = ledger.account.credentials.get("topic_arn") or TOPIC
        call = notification(encode_json(content).decode(), topic_arn, f"{message.id}/{name}")
        headers = notification_headers(call)
        return Callback(message.id, url, headers, encode_json(call), _again, self.pace.webhook_retries)


def access_key_id(request: Request) -> str | None:
    found = AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    return found["id"] if found else None


def is_signed(request: Request, path: str, service: str, secret: str, now: datetime) -> bool:
    """Whether a request was signed with this secret, minutes ago at most. `path` is as the caller called it."""
    found = AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    stamp = request.headers.get("x-amz-date", "")
    if found is None or found["scope"].split("/")[2] != service or not _is_fresh(stamp, now):
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


def notification(text: str, topic_arn: str, key: str) -> dict[str, str]:
    """A call of SNS, signed. Repeated, it has the same id: `key` makes it."""
    call = {
        "Type": "Notification",
        "MessageId": str(uuid.uuid5(uuid.NAMESPACE_URL, key)),
        "TopicArn": topic_arn,
        "Message": text,
        "Timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z",
        "SignatureVersion": "2",
    }
    return call | {
        "Signature": signature(call),
        "SigningCertURL": f"https://{SNS_HOST}{CERTIFICATE}",
        "UnsubscribeURL": f"https://{SNS_HOST}/?Action=Unsubscribe&SubscriptionArn={topic_arn}",
    }


def notification_headers(call: Mapping[str, str]) -> dict[str, str]:
    return {
        "Content-Type": "text/plain; charset=UTF-8",
        "User-Agent": "Amazon Simple Notification Service Agent",
        "x-amz-sns-message-type": call["Type"],
        "x-amz-sns-message-id": call["MessageId"],
        "x-amz-sns-topic-arn": call["TopicArn"],
    }


def _again(outcome: Outcome) -> bool:
    """SNS repeats after a 5xx, a 429 and where there was no answer; a 4xx is the end of it."""
    return not outcome.isdecimal() or outcome == "429" or outcome >= "500"

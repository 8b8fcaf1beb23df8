"""Calls of Amazon SNS: a JSON object that holds its own signature, made with the key of a certificate of Amazon's.

Source, read 2026-11: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html

The call says where its certificate can be had. That is not looked at: the certificate is pinned in the account. The
signature alone proves no more than that SNS made the call, for anybody's topic; so the topic, which is signed, is pinned too.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature as WrongSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from providers import reading
from providers.errors import InvalidSignature
from providers.messages import Headers, WebhookRequest

NOTIFICATION = "Notification"
SUBSCRIPTION = "SubscriptionConfirmation"
UNSUBSCRIPTION = "UnsubscribeConfirmation"

_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
# What is signed of a call, in this order.
SIGNED = {
    NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    SUBSCRIPTION: _CONFIRMATION,
    UNSUBSCRIPTION: _CONFIRMATION,
}
OPTIONAL = "Subject"
# By SignatureVersion, an attribute of the topic: 1 unless somebody changed it.
HASHES: dict[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303


def genuine_call(request: WebhookRequest, certificates: str, topics: Collection[str]) -> Mapping[str, Any]:
    """Check that SNS made a call, for one of these topics. Raises InvalidSignature.

    `certificates` are PEM, one after the other: any may have signed.
    """
    call = reading.json_object(request.body) or {}
    kind = call.get("Type")
    if not isinstance(kind, str) or Headers(request.headers).get("x-amz-sns-message-type") != kind:
        raise InvalidSignature("no call of SNS")
    if not any(topic and topic == call.get("TopicArn") for topic in topics):
        raise InvalidSignature("a topic that is not ours")
    if not _is_signed(call, certificates):
        raise InvalidSignature("the signature is missing or wrong")
    return call


def record_in(call: Mapping[str, Any]) -> dict[str, Any]:
    """Read the record inside a notification, {} where there is none."""
    return reading.json_object(str(call.get("Message")).encode(errors="replace")) or {}


def _is_signed(call: Mapping[str, Any], certificates: str) -> bool:
    text, version = _signed_text(call), call.get("SignatureVersion")
    if text is None or not isinstance(version, str) or version not in HASHES:
        return False
    try:
        signature = base64.b64decode(call.get("Signature") or "", validate=True)
    except (ValueError, TypeError):
        return False
    return any(_is_right(key, signature, text, HASHES[version]) for key in _keys(certificates))


def _is_right(key: RSAPublicKey, signature: bytes, text: bytes, digest: hashes.HashAlgorithm) -> bool:
    try:
        key.verify(signature, text, padding.PKCS1v15(), digest)
    except WrongSignature:
        return False
    return True


def _signed_text(call: Mapping[str, Any]) -> bytes | None:
    """Join what is signed: each name and each value on a line of its own. None where something is missing."""
    names = [name for name in SIGNED.get(call["Type"], ()) if name != OPTIONAL or call.get(name) is not None]
    values = [call.get(name) for name in names]
    if not names or not all(isinstance(value, str) for value in values):
        return None
    return "".join(f"{name}\n{value}\n" for name, value in zip(names, values, strict=True)).encode(errors="replace")


@lru_cache(maxsize=64)
def _keys(certificates: str) -> tuple[RSAPublicKey, ...]:
    """Read the public keys of some certificates; none where they cannot be read."""
    try:
        keys = [certificate.public_key() for certificate in x509.load_pem_x509_certificates(certificates.encode())]
    except ValueError:
        return ()
    return tuple(key for key in keys if isinstance(key, RSAPublicKey))

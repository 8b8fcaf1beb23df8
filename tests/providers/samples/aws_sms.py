"""AWS End User Messaging: an account, calls of SNS signed with a key made here, and the sample for the contract test."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from providers.aws_sms import AwsSms
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample

TOPIC = "arn:aws:sns:us-east-1:123456789012:sms-events"
INBOUND_TOPIC = "arn:aws:sns:us-east-1:123456789012:sms-in"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SIGNED = {
    "Notification": "Message MessageId Subject Timestamp TopicArn Type",
    "SubscriptionConfirmation": "Message MessageId SubscribeURL Timestamp Token TopicArn Type",
    "UnsubscribeConfirmation": "Message MessageId SubscribeURL Timestamp Token TopicArn Type",
}
HASHES = {"1": hashes.SHA1(), "2": hashes.SHA256()}


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def new_certificate(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2027, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


KEY = new_key()
CERTIFICATE = new_certificate(KEY)


def aws_sms(**changes: Any) -> AwsSms:
    """An account; credentials and settings may be changed by name."""
    credentials = {
        "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": SECRET_KEY,
        "signing_certificate": CERTIFICATE,
        "topic_arn": TOPIC,
        "inbound_topic_arn": INBOUND_TOPIC,
        "session_token": "",
    }
    credentials |= {name: changes.pop(name) for name in credentials if name in changes}
    settings = {"from": "+15005550006", "configuration_set": "notify", **changes}
    return AwsSms(Account("aws", credentials, settings, callback_url="https://notify.example.com/webhooks/aws/"))


def sns_call(message: str, *, key: rsa.RSAPrivateKey = KEY, **changes: Any) -> WebhookRequest:
    """A call of SNS, signed as it signs, written a second time. `changes` are made before; None leaves a field out."""
    kind = changes.get("Type", "Notification")
    call = {
        "Type": kind,
        "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
        "TopicArn": TOPIC,
        "Message": message,
        "Timestamp": "2026-01-15T10:00:04.123Z",
        "SignatureVersion": "1",
        **changes,
    }
    call = {name: value for name, value in call.items() if value is not None}
    text = ""
    for name in SIGNED.get(kind, "Message").split():
        if name in call:
            text += name + "\n" + str(call[name]) + "\n"
    digest = HASHES.get(call.get("SignatureVersion"), HASHES["1"])
    signature = key.sign(text.encode(errors="replace"), padding.PKCS1v15(), digest)
    call["Signature"] = base64.b64encode(signature).decode()
    call["SigningCertURL"] = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0000.pem"
    return raw_call(json.dumps(call).encode(), kind)


def raw_call(body: bytes, kind: str = "Notification") -> WebhookRequest:
    headers = {"x-amz-sns-message-type": kind, "Content-Type": "text/plain; charset=UTF-8"}
    return WebhookRequest("POST", "https://notify.example.com/webhooks/aws/", Headers(headers), body)


def sns_webhook(body: bytes) -> WebhookRequest:
    return sns_call(body.decode(errors="replace"))


SAMPLE = Sample(
    aws_sms(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    sns_webhook,
    secrets=(SECRET_KEY, CERTIFICATE),
    fields=(
        *("MessageId", "__type", "Reason", "Fields", "Name", "DestinationPhoneNumber", "ValidationException"),
        *("com.amazonaws.pinpointsmsvoicev2#ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT"),
        *("eventType", "TEXT_DELIVERED", "TEXT_INVALID", "isFinal", "eventTimestamp", "messageId", "context"),
        *("attempt", ATTEMPT.id, "inboundMessageId", "originationNumber", "destinationNumber", "messageBody"),
    ),
    answered=lambda id: {"MessageId": id},
)

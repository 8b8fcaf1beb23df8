"""FCM: a service account with a key made here, and the sample for the contract test."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from providers.fcm import Fcm
from providers.messages import Account, Channel, OutgoingMessage, Push
from tests.providers.samples.base import Sample, no_webhook

DEVICE = "fEXAMPLEtoken0000000000:APA91bEXAMPLE_registration_token_not_real_01"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PRIVATE_KEY = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
CREDENTIALS = {
    "project_id": "example-prod",
    "client_email": "sender@example-prod.iam.gserviceaccount.com",
    "private_key": PRIVATE_KEY,
    "private_key_id": "0123456789abcdef",
}


def fcm(**settings: Any) -> Fcm:
    return Fcm(Account("fcm", CREDENTIALS, settings))


SAMPLE = Sample(
    fcm(),
    OutgoingMessage(
        Channel.PUSH,
        f"fcm:{DEVICE}",
        "Order 10482 is on its way",
        useful_seconds=3600,
        push=Push("Order shipped", {"order": "10482"}, receipt="cmVjZWlwdA", is_urgent=True),
    ),
    no_webhook,
    secrets=(PRIVATE_KEY,),
    fields=(
        *("error", "code", "message", "status", "details", "@type", "errorCode", "fieldViolations", "field", "name"),
        *("type.googleapis.com/google.firebase.fcm.v1.FcmError", "message.token", "UNREGISTERED", "INVALID_ARGUMENT"),
        *("SENDER_ID_MISMATCH", "QUOTA_EXCEEDED", "UNAVAILABLE", "NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED"),
    ),
    answered=lambda id: {"name": id},
    is_keyed_by_message=True,
)

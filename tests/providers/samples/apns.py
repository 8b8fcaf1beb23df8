"""APNs: an account with a key made here, and the sample for the contract test."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from providers.apns import Apns
from providers.messages import Account, Channel, OutgoingMessage, Push
from tests.providers.samples.base import Sample, no_webhook

DEVICE = "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f01"
KEY = ec.generate_private_key(ec.SECP256R1())
PRIVATE_KEY = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
CREDENTIALS = {
    "team_id": "DEF123GHIJ",
    "key_id": "ABC123DEFG",
    "private_key": PRIVATE_KEY,
    "topic": "com.example.shop",
}


def apns(**settings: Any) -> Apns:
    return Apns(Account("apns", CREDENTIALS, settings))


SAMPLE = Sample(
    apns(),
    OutgoingMessage(
        Channel.PUSH,
        f"apns:{DEVICE}",
        "Order 10482 is on its way",
        useful_seconds=3600,
        push=Push("Order shipped", {"order": "10482"}, receipt="cmVjZWlwdA", is_urgent=True),
    ),
    no_webhook,
    secrets=(PRIVATE_KEY,),
    fields=(
        "reason",
        "timestamp",
        "BadDeviceToken",
        "Unregistered",
        "ExpiredProviderToken",
        "Shutdown",
        "TopicDisallowed",
    ),
    of_the_text=frozenset({"aps"}),
    id_header="apns_id",
    is_keyed_by_message=True,
)

"""Web Push: an account, a browser that it may push to, and the sample for the tests of all providers."""

from __future__ import annotations

import json
from typing import Any

from providers.messages import Account, Channel, OutgoingMessage, Push
from providers.sandbox.browser import AUTH, P256DH
from providers.webpush import WebPush
from tests.providers.samples.base import Sample, no_webhook

VAPID_KEY = "eNS3oNT41qbKQAlDg-lG4jkyrC9vJuu3fIOdVHTnUic"  # of the vector, for tests only
CREDENTIALS = {"vapid_private_key": VAPID_KEY}
ENDPOINT = "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJU01"


def webpush(**settings: Any) -> WebPush:
    return WebPush(Account("webpush", CREDENTIALS, {"contact": "mailto:ops@example.com", **settings}))


def device(endpoint: str = ENDPOINT, **changes: str) -> str:
    return "webpush:" + json.dumps({"endpoint": endpoint, "p256dh": P256DH, "auth": AUTH, **changes})


MESSAGE = OutgoingMessage(
    Channel.PUSH,
    device(),
    "Order 10482 is on its way",
    useful_seconds=3600,
    push=Push("Order shipped", {"order": "10482"}, receipt="cmVjZWlwdA", is_urgent=True),
)
SAMPLE = Sample(webpush(), MESSAGE, no_webhook, secrets=(VAPID_KEY,), fields=(), has_vendor=False)

"""Twilio: an account, its webhooks, and the sample for the contract test."""

from __future__ import annotations

import base64
import hashlib
import hmac
from urllib.parse import parse_qsl

from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from providers.twilio import Twilio
from tests.providers.samples.base import ATTEMPT, Sample

AUTH_TOKEN = "a1b2c3d4e5f60718293a4b5c6d7e8f90"
TWILIO_URL = f"https://notify.example.com/webhooks/twilio/?attempt={ATTEMPT.id}"


def twilio(**settings: str) -> Twilio:
    credentials = {"account_sid": "AC00000000000000000000000000000001", "auth_token": AUTH_TOKEN}
    return Twilio(
        Account(
            "twilio",
            credentials | {name: settings.pop(name) for name in Twilio.optional_credential_names if name in settings},
            settings or {"from": "+15005550006"},
            callback_url="https://notify.example.com/webhooks/twilio/",
        )
    )


def twilio_signature(url: str, body: bytes, key: str = AUTH_TOKEN) -> str:
    """Sign as Twilio does, written a second time."""
    pairs = sorted(set(parse_qsl(body.decode("latin-1"), keep_blank_values=True, encoding="latin-1")))
    text = url.encode() + "".join(name + value for name, value in pairs).encode("latin-1")
    return base64.b64encode(hmac.new(key.encode(), text, hashlib.sha1).digest()).decode()


def twilio_webhook(body: bytes, url: str = TWILIO_URL) -> WebhookRequest:
    headers = {"X-Twilio-Signature": twilio_signature(url, body), "Content-Type": "application/x-www-form-urlencoded"}
    return WebhookRequest("POST", url, Headers(headers), body)


SAMPLE = Sample(
    twilio(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    twilio_webhook,
    secrets=(AUTH_TOKEN,),
    fields=(
        *("sid", "status", "num_segments", "code", "messages", "next_page_uri", "to", "from", "body"),
        *(
            "date_created",
            "error_code",
            "delivered",
            "failed",
            "30005",
            "21610",
            "+14155550100",
            "+15005550006",
        ),
        *("MessageSid", "MessageStatus", "ErrorCode", "RawDlrDoneDate", "Your code is 123456"),
        *("Fri, 15 Jan 2027 10:00:01 +0000", "SM00000000000000000000000000000001"),
    ),
)

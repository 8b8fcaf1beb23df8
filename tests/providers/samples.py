"""What the contract test needs to know about each provider. A new provider brings its sample."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from providers.base import Provider
from providers.messages import (
    Ability,
    Account,
    AttemptRef,
    Channel,
    Headers,
    HttpResponse,
    OutgoingMessage,
    SentMessage,
    WebhookRequest,
)
from providers.postmark import Postmark
from providers.resend import Resend
from providers.twilio import Twilio

PAYLOADS = Path(__file__).parent / "payloads"
CASES = Path(__file__).parents[1] / "cases"
ATTEMPT = AttemptRef("0197b0c2f0c17cc0a1b2c3d4e5f60718-1")
NOW = datetime(2027, 1, 15, 10, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Sample:
    """`signed` makes a genuine webhook of a body; `statuses` and `fields` are words the vendor uses, for nonsense made of them."""

    provider: Provider
    message: OutgoingMessage
    signed: Callable[[bytes], WebhookRequest]
    secrets: tuple[str, ...]
    fields: tuple[str, ...]
    not_processed: frozenset[int] = frozenset()  # 5xx that the vendor documents as not processed

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def can_find(self) -> bool:
        return bool({Ability.FIND_BY_REFERENCE, Ability.FIND_BY_RECIPIENT} & self.provider.abilities)

    @property
    def sent(self) -> SentMessage:
        return SentMessage(self.message, ATTEMPT, NOW, deadline_seconds=10)


def payload(name: str) -> bytes:
    return (PAYLOADS / name).read_bytes().strip()


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


def answer(status: int, body: bytes | str | dict[str, Any] = b"", **headers: str) -> HttpResponse:
    data = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    return HttpResponse(status, Headers({name.replace("_", "-"): value for name, value in headers.items()}), data)


def http_file(name: str, read: Callable[[str], bytes] = case) -> HttpResponse:
    """Read an answer as it was on the wire."""
    head, _, body = read(name).replace(b"\r\n", b"\n").partition(b"\n\n")
    status, *lines = head.decode().split("\n")
    return HttpResponse(
        int(status.split()[1]), Headers(dict(line.split(": ", 1) for line in lines)), body.rstrip(b"\n")
    )


# Twilio

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


# Postmark


def postmark(**settings: str) -> Postmark:
    credentials = {
        "server_token": "00000000-1111-2222-3333-444444444444",
        "webhook_user": "pm-user",
        "webhook_password": "pm-pass-9f2c",
    }
    return Postmark(Account("postmark", credentials, {"from": "no-reply@notify.example.com", **settings}))


def postmark_webhook(body: bytes | dict[str, Any]) -> WebhookRequest:
    authorization = json.loads(payload("postmark/webhook-auth-vector.json"))["expected_header"].partition(": ")[2]
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = Headers({"Authorization": authorization, "Content-Type": "application/json"})
    return WebhookRequest("POST", "https://notify.example.com/webhooks/postmark/", headers, data)


# Resend

RESEND_VECTOR = json.loads(payload("resend/signature-vector.json"))
RESEND_SECRET = RESEND_VECTOR["signing_secret"]


def resend(**settings: str) -> Resend:
    credentials = {"api_key": "re_EXAMPLE_0000000000000000000000", "webhook_secret": RESEND_SECRET}
    return Resend(Account("resend", credentials, {"from": "no-reply@notify.example.com", **settings}))


def resend_webhook(body: bytes | dict[str, Any], call_id: str = "msg_2pXq9vNw7cT4sK1rLbE6yHd3ZfA") -> WebhookRequest:
    """Sign as Svix does, written a second time."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    text = b".".join((call_id.encode(), b"1796055640", data))
    proof = hmac.new(base64.b64decode(RESEND_SECRET.split("_")[1]), text, hashlib.sha256).digest()
    headers = Headers(
        {
            "svix-id": call_id,
            "svix-timestamp": "1796055640",
            "svix-signature": f"v1,{base64.b64encode(proof).decode()}",
            "Content-Type": "application/json",
        }
    )
    return WebhookRequest("POST", "https://notify.example.com/webhooks/resend/", headers, data)


SAMPLES = {
    sample.name: sample
    for sample in (
        Sample(
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
        ),
        Sample(
            postmark(),
            OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
            postmark_webhook,
            secrets=("00000000-1111-2222-3333-444444444444", "pm-pass-9f2c"),
            fields=(
                *("ErrorCode", "Message", "MessageID", "TotalCount", "Messages", "Metadata", "attempt", ATTEMPT.id),
                *("Status", "Sent", "MessageEvents", "Type", "Details", "Recipient", "ReceivedAt", "RecordType"),
                *("Bounce", "HardBounce", "SubscriptionChange", "SubscriptionChanged", "SuppressSending", "TypeCode"),
                *("SuppressionReason", "ManualSuppression", "300", "406", "2026-11-30T16:20:31.1182113Z", "ID"),
            ),
            not_processed=frozenset({503}),
        ),
        Sample(
            resend(),
            OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
            resend_webhook,
            secrets=("re_EXAMPLE_0000000000000000000000", RESEND_SECRET),
            fields=(
                *(
                    "statusCode",
                    "name",
                    "message",
                    "id",
                    "last_event",
                    "type",
                    "data",
                    "email_id",
                    "created_at",
                    "tags",
                ),
                *("attempt", ATTEMPT.id, "bounce", "subType", "suppressed", "failed", "reason", "previous_bounce"),
                *("email.bounced", "email.suppressed", "email.failed", "contact.created", "Permanent", "delivered"),
                *("validation_error", "rate_limit_exceeded", "invalid_idempotent_request", "Invalid `to` field"),
                "2026-11-30T16:20:34.126Z",
            ),
        ),
    )
}

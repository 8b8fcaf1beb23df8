"""Resend, e-mail.

API reference, read 2026-11: https://resend.com/docs/api-reference/errors,
https://resend.com/docs/api-reference/emails/send-email, https://resend.com/docs/dashboard/emails/idempotency-keys,
https://resend.com/docs/dashboard/webhooks/event-types; fields as in github.com/resend/resend-openapi (August 2026).
Mails cannot be searched. An unclear send is settled by its idempotency key: the same call again returns the first id.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from providers import reading, retry_after
from providers.base import Provider, error_for_status
from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.messages import (
    Ability,
    AttemptRef,
    Channel,
    DeliveryEvent,
    EventKind,
    Headers,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)
from providers.signatures import is_equal

# Their error name -> our error. One name comes with several statuses, so the name is read first.
REFUSALS: dict[str, type[ProviderError]] = {
    "missing_api_key": AuthenticationFailed,
    "invalid_api_key": AuthenticationFailed,
    "restricted_api_key": AuthenticationFailed,
    "invalid_from_address": SenderNotAllowed,  # the sender is the account's
    "invalid_to_address": InvalidRecipient,  # in older copies of their list
    "missing_required_field": InvalidRequest,
    "invalid_parameter": InvalidRequest,  # or the address: FAULTS
    "invalid_attachment": InvalidRequest,
    "invalid_access": InvalidRequest,
    "invalid_region": InvalidRequest,
    "invalid_idempotency_key": InvalidRequest,  # not 1 to 256 characters
    "not_found": InvalidRequest,
    "method_not_allowed": InvalidRequest,
    "security_error": InvalidRequest,  # about the mail: another provider should not get it either
    "rate_limit_exceeded": RateLimited,
    "daily_quota_exceeded": InsufficientBalance,  # a 429 as well, but no wait of minutes helps
    "monthly_quota_exceeded": InsufficientBalance,
    # The first call with this key is still running, and nobody knows yet how it ends.
    "concurrent_idempotent_requests": OutcomeUnknown,
    # The key went out before, with other bytes. That call may have sent: their advice, a fresh key, could send twice.
    "invalid_idempotent_request": OutcomeUnknown,
    "application_error": OutcomeUnknown,
    "internal_server_error": OutcomeUnknown,
}
# "validation_error" is about the request, the key or the sender; its status tells which.
VALIDATION_ERRORS: dict[int, type[ProviderError]] = {
    400: InvalidRequest,
    401: AuthenticationFailed,
    403: SenderNotAllowed,  # domain not verified; a test domain, which reaches its owner only
    422: InvalidRequest,
}
# Where only their text tells whose fault it is. The status of a wrong key has changed over the years.
VAGUE = ("validation_error", "invalid_parameter")
FAULTS: dict[str, type[ProviderError]] = {
    "Invalid `to` field": InvalidRecipient,
    "API key is invalid": AuthenticationFailed,
}

# What a report means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)

EVENTS: dict[str, Meaning] = {
    "email.scheduled": (EventKind.ACCEPTED, None),
    "email.sent": (EventKind.SENT, None),
    "email.delivery_delayed": (EventKind.SENT, None),  # they are still trying
    "email.delivered": (EventKind.DELIVERED, None),
    "email.complained": (EventKind.COMPLAINED, "complaint"),
    "email.failed": (EventKind.FAILED, None),
    # Not listed and so without effect: opened and clicked, email.received, contact.* and domain.*.
}
BOUNCES: dict[str, Meaning] = {
    "permanent": (EventKind.BOUNCED, "hard_bounce"),
    "transient": (EventKind.NOT_REACHED, None),
    "undetermined": (EventKind.NOT_REACHED, None),
}
# Kinds of bounce that another mail may not meet.
NOT_THE_ADDRESS = {"messagetoolarge", "contentrejected", "attachmentrejected"}
# Never handed on: the address is on their list for what it did to an earlier mail.
SUPPRESSIONS: dict[str, Meaning] = {
    "previous_bounce": (EventKind.FAILED, "hard_bounce"),
    "previous_complaint": (EventKind.FAILED, "complaint"),
}
STATUSES: dict[str, Meaning] = {
    "queued": (EventKind.ACCEPTED, None),
    "scheduled": (EventKind.ACCEPTED, None),
    "sent": (EventKind.SENT, None),
    "delivery_delayed": (EventKind.SENT, None),
    "delivered": (EventKind.DELIVERED, None),
    # Only the last event is told, and these follow a delivery.
    "opened": (EventKind.DELIVERED, None),
    "clicked": (EventKind.DELIVERED, None),
    "complained": (EventKind.COMPLAINED, "complaint"),
    "bounced": (EventKind.NOT_REACHED, None),  # hard or soft is told by webhook only
    "failed": (EventKind.FAILED, None),
    "suppressed": (EventKind.FAILED, None),  # for what, is told by webhook only
    "canceled": (EventKind.FAILED, None),
}


class Resend(Provider):
    """`useful_seconds` has no counterpart: Resend keeps trying as long as it likes.

    An `api_key` that may only send is refused status look-ups; sending and receipts work with it.
    """

    name = "resend"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.KEYS, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("api_key", "webhook_secret")
    setting_names = ("from",)
    default_base_url = "https://api.resend.com"
    key_life_seconds = 23 * 60 * 60.0  # they keep keys for 24 hours; a repeat must arrive before that

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call that sends.

        The same attempt and words give the same bytes, however much later: a key protects no other payload.
        """
        if message.channel not in self.channels:
            raise UnsupportedFeature("Resend sends e-mail only")
        if re.search(r"[\s,;<>]", message.to):
            raise UnsupportedFeature("an address with a comma or the like could be taken for several")
        if not self.account.settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        fields = {
            "from": self.account.settings["from"],
            "to": [message.to],
            "subject": re.sub(r"[\r\n]+", " ", reading.clean(message.subject or "")),
            "text": reading.clean(message.text),
            "headers": {"X-Attempt-Id": attempt.id},
            "tags": [{"name": "attempt", "value": attempt.id}],  # ASCII letters, digits, _ and -: so are our ids
        }
        if message.html is not None:
            fields["html"] = reading.clean(message.html)
        headers = {**self._headers(), "Content-Type": "application/json"}
        if attempt.key is not None:
            headers["Idempotency-Key"] = attempt.key
        return HttpRequest("POST", f"{self.base_url}/emails", headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        fields = reading.json_object(answer.body) or {}
        if not 200 <= answer.status < 300:
            raise _refusal(answer, fields)
        message_id = reading.identifier(fields.get("id"))
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id)

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}

    # Looking up

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", f"{self.base_url}/emails/{quote(provider_message_id, safe='')}", self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        mail = (reading.json_object(answer.body) if answer.status == 200 else None) or {}
        message_id, status = reading.identifier(mail.get("id")), reading.word(mail.get("last_event"))
        if message_id is None or not status:
            return []
        kind, suppress = STATUSES.get(status.lower(), NOTHING)
        known = {name: mail.get(name) for name in ("id", "created_at", "last_event")}  # without text and addresses
        return [
            DeliveryEvent(
                kind=kind,
                dedupe_key=reading.fingerprint("polled", message_id, status),
                provider_message_id=message_id,
                provider_status=status,
                suppress=suppress,
                raw=json.dumps(known).encode(),
            )
        ]

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check the signature, then translate. Raises InvalidSignature, MalformedWebhook.

        How old the call is does not matter: its id is signed, so a call that somebody kept and plays again is one more
        repetition of an event already on file.
        """
        headers = Headers(request.headers)
        if not _is_genuine(headers, request.body, self.account.credentials.get("webhook_secret", "")):
            raise InvalidSignature("the signature is missing or wrong")
        call_id = reading.identifier(headers.get("svix-id"))
        report = reading.json_object(request.body)
        if call_id is None or report is None or not (told := reading.word(report.get("type"))):
            raise MalformedWebhook("the webhook is no JSON object with a type, or has no id")
        data = _part(report, "data")
        message_id = reading.identifier(data.get("email_id"))
        attempt = reading.identifier(_part(data, "tags").get("attempt"))
        if message_id is None and attempt is None and told.startswith("email."):
            raise MalformedWebhook("the webhook names no message")
        (kind, suppress), reason = _meaning(told.lower(), data)
        return [
            DeliveryEvent(
                kind=kind,
                dedupe_key=call_id,
                attempt=attempt,
                provider_message_id=message_id,
                provider_status=told,
                error_code=reason,
                occurred_at=reading.iso_time(report.get("created_at")),
                suppress=suppress,
                raw=request.body,
            )
        ]


def _refusal(answer: HttpResponse, fields: Mapping[str, Any]) -> ProviderError:
    name = reading.word(fields.get("name"))
    if not re.fullmatch("[a-z_]{1,50}", name):
        name = ""  # no name of theirs, and perhaps an address
    kind = _refusal_kind(answer.status, name, str(fields.get("message")))
    return kind(
        f"HTTP {answer.status}, {name}" if name else f"HTTP {answer.status}",
        code=name,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
    )


def _refusal_kind(status: int, name: str, message: str) -> type[ProviderError]:
    by_status = VALIDATION_ERRORS if name == "validation_error" else {}
    listed = REFUSALS.get(name) or by_status.get(status)
    if listed is not None and name in VAGUE:
        return next((error for start, error in FAULTS.items() if message.startswith(start)), listed)
    return listed or error_for_status(status)


def _is_genuine(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Check the Svix scheme (https://docs.svix.com/receiving/verifying-payloads/how-manual): v1 is an HMAC with SHA-256.

    While a secret is being replaced the header holds a signature by each.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        return False
    call_id, sent_at = (headers.get(name, "") for name in ("svix-id", "svix-timestamp"))
    text = f"{call_id}.{sent_at}.".encode(errors="replace") + body
    expected = "v1," + base64.b64encode(hmac.digest(key, text, "sha256")).decode()
    right = [is_equal(given, expected) for given in headers.get("svix-signature", "").split(" ")]
    return bool(key) and any(right)


def _meaning(told: str, data: Mapping[str, Any]) -> tuple[Meaning, str]:
    """What an event means, and its reason in their words."""
    if told == "email.bounced":
        bounce = _part(data, "bounce")
        kind, suppress = BOUNCES.get(reading.word(bounce.get("type")).lower(), NOTHING)
        code = reading.word(bounce.get("subType"), limit=50)
        return (kind, None if code.lower() in NOT_THE_ADDRESS else suppress), code
    reason = reading.word(_part(data, told.removeprefix("email.")).get("reason"), limit=50)
    if told == "email.suppressed":
        return SUPPRESSIONS.get(reason.lower(), (EventKind.FAILED, None)), reason
    return EVENTS.get(told, NOTHING), reason


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}

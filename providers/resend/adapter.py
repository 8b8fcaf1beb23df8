"""The adapter for Resend.

API reference, read 2026-11: https://resend.com/docs/api-reference/errors,
https://resend.com/docs/api-reference/emails/send-email, https://resend.com/docs/dashboard/emails/idempotency-keys,
https://resend.com/docs/dashboard/webhooks/event-types; fields as in github.com/resend/resend-openapi (August 2026).
Mails cannot be searched. An unclear send is settled by its idempotency key: the same call again returns the first id.
So /emails/batch is not used. It takes 100 mails without files under one key, and that key protects this very list as a
whole: a mail of it that is repeated by itself, or beside others, would go out a second time, and nothing could tell.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from mimetypes import MimeTypes
from typing import Any, ClassVar
from urllib.parse import quote

from providers import mail_parts, reading
from providers.base import Provider
from providers.errors import (
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.mails import named, quoted
from providers.messages import (
    Ability,
    Attachment,
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
from providers.resend.codes import BOUNCES, EVENTS, NOT_THE_ADDRESS, NOTHING, STATUSES, SUPPRESSIONS, Meaning
from providers.resend.refusals import refusal
from providers.signatures import is_standard_webhook

# Which kind a file is by its name, without what this machine knows besides.
KINDS = MimeTypes()


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
    unverified: ClassVar[tuple[str, ...]] = (
        "A file whose name says another kind than its content type is not sent there: the field reports such mails as lost.",
        "Whether a mailbox with letters beyond ASCII before the @ is taken; none is sent there.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call that sends.

        The same attempt and words give the same bytes, however much later: a key protects no other payload.
        """
        if message.channel not in self.channels:
            raise UnsupportedFeature("Resend sends e-mail only")
        if not self.account.settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        fields: dict[str, Any] = {
            "from": quoted(*named(str(self.account.settings["from"]))),
            "to": [quoted(*mail_parts.recipient(message))],
            "subject": mail_parts.subject(message),
            "text": reading.clean(message.text),
            "headers": mail_parts.headers(message, attempt.id),
            "tags": [{"name": "attempt", "value": attempt.id}],  # ASCII letters, digits, _ and -: so are our ids
        }
        if message.html is not None:
            fields["html"] = reading.clean(message.html)
        if answered := mail_parts.reply_to(message):
            fields["reply_to"] = answered
        if files := mail_parts.files(message):
            fields["attachments"] = [_file(file) for file in files]
        headers = {**self._headers(), "Content-Type": "application/json"}
        if attempt.key is not None:
            headers["Idempotency-Key"] = attempt.key
        return HttpRequest("POST", f"{self.base_url}/emails", headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        fields = reading.json_object(answer.body) or {}
        if not 200 <= answer.status < 300:
            raise refusal(answer, fields)
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
        secret = self.account.credentials.get("webhook_secret", "")
        if not is_standard_webhook(headers, request.body, secret, prefix="svix"):
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


def _file(file: Attachment) -> dict[str, str]:
    """A file as they want it. One whose name belies its type they are said to drop in silence, the mail with it."""
    kind, _ = KINDS.guess_type(file.name)
    if kind and kind != file.content_type.partition(";")[0].strip().lower():
        raise UnsupportedFeature("a file's name says another kind than its content type")
    fields = {
        "filename": file.name,
        "content": base64.b64encode(file.content).decode(),
        "content_type": file.content_type,
    }
    return fields if file.content_id is None else fields | {"content_id": file.content_id}


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

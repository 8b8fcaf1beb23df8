"""Postmark, e-mail.

API reference, read 2026-11: https://postmarkapp.com/developer/api/email-api,
https://postmarkapp.com/developer/api/messages-api, https://postmarkapp.com/developer/webhooks/webhooks-overview.
There is no idempotency key, but our attempt id travels as metadata, can be searched for and returns in every webhook.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from providers import mail_parts, reading, retry_after
from providers.base import Provider, error_for_status
from providers.errors import (
    InvalidRecipient,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RecipientUnavailable,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.mails import named, quoted
from providers.messages import (
    Ability,
    Attachment,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
    FindResult,
    Found,
    Headers,
    HttpRequest,
    HttpResponse,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.postmark.codes import ADDRESS_FAULTS, BY_STATUS, INACTIVE, REFUSALS
from providers.postmark.records import metadata_of, reported, status_events
from providers.signatures import is_basic

FOUND_AT_ONCE = 20  # more attempts than a message can have


class Postmark(Provider):
    """`useful_seconds` has no counterpart: Postmark keeps trying as long as it likes.

    `message_stream` is the server's stream that carries the mails, "outbound" if it is not set: one account for each.
    """

    name = "postmark"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.RECEIPTS, Ability.BATCH})
    credential_names = ("server_token", "webhook_user", "webhook_password")
    setting_names = ("from", "message_stream")
    default_base_url = "https://api.postmarkapp.com"
    look_up_delay_seconds = 5.0
    batch_limit = 500
    unverified: ClassVar[tuple[str, ...]] = (
        "Whether a mailbox with letters beyond ASCII before the @ is taken; none is sent there.",
    )
    refused_webhook_status = 401  # "403 stops the retries for good", and the fault may be in our own roll-out

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("Postmark sends e-mail only")
        if not self.account.settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        fields: dict[str, Any] = {
            "From": quoted(*named(str(self.account.settings["from"]))),
            "To": quoted(*mail_parts.recipient(message)),
            "Subject": mail_parts.subject(message),
            "TextBody": reading.clean(message.text),
            "Metadata": {"attempt": attempt.id, "message": attempt.message},
            "Headers": [
                {"Name": name, "Value": value} for name, value in mail_parts.headers(message, attempt.id).items()
            ],
            "MessageStream": self._stream(),
            "TrackOpens": False,
            "TrackLinks": "None",
        }
        if message.html is not None:
            fields["HtmlBody"] = reading.clean(message.html)
        if answered := mail_parts.reply_to(message):
            fields["ReplyTo"] = answered
        if files := mail_parts.files(message):
            fields["Attachments"] = [_file(file) for file in files]
        headers = {**self._headers(), "Content-Type": "application/json"}
        return HttpRequest("POST", f"{self.base_url}/email", headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        fields = reading.json_object(answer.body) or {}
        if error := _refusal(answer, fields):
            raise error
        message_id = reading.identifier(fields.get("MessageID"))
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        # ErrorCode may be missing here, and then Message says "… delivery may be delayed".
        return SendResult(message_id, "OK" if fields.get("Message") == "OK" else "")

    def batch_request(self, requests: Sequence[HttpRequest]) -> HttpRequest:
        body = b"[" + b",".join(request.body for request in requests) + b"]"
        return HttpRequest("POST", f"{self.base_url}/email/batch", requests[0].headers, body)

    def batch_answers(self, answer: HttpResponse, count: int) -> list[HttpResponse]:
        """A batch is answered 200 with a list; anything else is said of all its messages."""
        if answer.status != 200:
            return [answer] * count
        items = reading.json_list(answer.body)
        if items is None or len(items) != count or not all(isinstance(item, dict) for item in items):
            raise OutcomeUnknown("the answer does not tell of each message", http_status=answer.status)
        return [_alone(item, answer) for item in items]

    def _stream(self) -> str:
        return str(self.account.settings.get("message_stream") or "outbound")

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "X-Postmark-Server-Token": self.account.credentials["server_token"]}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        name, value = _searched_by(sent)
        query = {"count": FOUND_AT_ONCE, "offset": 0, f"metadata_{name}": value, "messagestream": self._stream()}
        return HttpRequest("GET", f"{self.base_url}/messages/outbound?{urlencode(query)}", self._headers())

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        fields = reading.json_object(answer.body) if answer.status == 200 else None
        messages = fields.get("Messages") if fields else None
        if fields is None or not isinstance(messages, list):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        if not messages and reading.number(fields.get("TotalCount")) == 0:
            return NotThere()
        name, value = _searched_by(sent)
        for message in messages:
            message_id = reading.identifier(message.get("MessageID")) if isinstance(message, dict) else None
            # A search that ignored our filter would show somebody else's message.
            if message_id is None or reading.word(metadata_of(message).get(name)) != value:
                break
            if message_id not in sent.owned_ids:
                return Found(message_id, tuple(status_events(message)))
        else:
            if sent.any_attempt and reading.number(fields.get("TotalCount")) == len(messages):
                return NotThere()  # but those we know of
        return CannotTell("the answer shows no message that could be this attempt's")

    def status_request(self, provider_message_id: str) -> HttpRequest:
        path = f"/messages/outbound/{quote(provider_message_id, safe='')}/details"
        return HttpRequest("GET", f"{self.base_url}{path}", self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        message = reading.json_object(answer.body) if answer.status == 200 else None
        if message is None or reading.identifier(message.get("MessageID")) is None:
            return []
        return status_events(message)

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        user, password = (self.account.credentials.get(name, "") for name in ("webhook_user", "webhook_password"))
        if not is_basic(Headers(request.headers).get("Authorization", ""), user, password):
            raise InvalidSignature("user or password is missing or wrong")
        report = reading.json_object(request.body)
        if report is None or not reading.word(report.get("RecordType")):
            raise MalformedWebhook("the webhook is no JSON object with a RecordType")
        return [reported(report, request.body, self._stream())]


def _file(file: Attachment) -> dict[str, str]:
    fields = {
        "Name": file.name,
        "Content": base64.b64encode(file.content).decode(),
        "ContentType": file.content_type,
    }
    return fields if file.content_id is None else fields | {"ContentID": f"cid:{file.content_id}"}


def _alone(item: Mapping[str, Any], answer: HttpResponse) -> HttpResponse:
    """What one message of a batch would have been answered by itself: a refusal has the status 422 there."""
    status = 422 if reading.number(item.get("ErrorCode")) else 200
    return HttpResponse(status, answer.headers, json.dumps(item).encode())


def _refusal(answer: HttpResponse, fields: Mapping[str, Any]) -> ProviderError | None:
    code, message = reading.number(fields.get("ErrorCode")) or 0, str(fields.get("Message"))
    kind = _refusal_kind(answer.status, code, message)
    if kind is None:
        return None
    return kind(
        f"HTTP {answer.status}, code {code}" if code else f"HTTP {answer.status}",
        code=str(code) if code else "",
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress="inactive" if kind is RecipientUnavailable else None,
    )


def _refusal_kind(status: int, code: int, message: str) -> type[ProviderError] | None:
    if status >= 500:  # may have been sent, whatever its code
        return BY_STATUS.get(status) or error_for_status(status)
    if code == 300 and message.startswith(ADDRESS_FAULTS):
        return InvalidRecipient
    if code in REFUSALS:
        return REFUSALS[code]
    if not 200 <= status < 300:
        return BY_STATUS.get(status) or error_for_status(status)
    if code:
        return OutcomeUnknown
    return RecipientUnavailable if INACTIVE in message else None


def _searched_by(sent: SentMessage) -> tuple[str, str]:
    """What a search goes by: only one of them may be asked for."""
    return ("message", sent.attempt.message) if sent.any_attempt else ("attempt", sent.attempt.id)

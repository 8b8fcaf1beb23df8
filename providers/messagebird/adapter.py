"""Sending, look-ups and webhooks of MessageBird's REST API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import quote

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.callback_urls import parameters, query_of
from providers.errors import (
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
)
from providers.messagebird import records
from providers.messagebird.codes import ABOUT_A_PARAMETER, PARAMETERS, REFUSALS
from providers.messagebird.signature import is_genuine
from providers.messages import (
    Ability,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
    FindResult,
    HttpRequest,
    HttpResponse,
    InboundMessage,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.signatures import form_pairs, form_text

LONGEST_VALIDITY_SECONDS = 48 * 60 * 60  # what holds where none is given
PAGE_SIZE = 100
NUMBER = re.compile(r"[1-9][0-9]{6,14}")  # E.164 without its plus; a short code is shorter


class MessageBird(Provider):
    """Searches by our reference, though their list cannot: it is read from the newest message back to before the call.

    An account with more than a few hundred messages between a call and its look-up learns no more than "cannot tell".
    """

    name = "messagebird"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("access_key", "signing_key")
    setting_names = ("from", "senders")
    default_base_url = "https://rest.messagebird.com"
    unverified: ClassVar[tuple[str, ...]] = (
        "The meaning of MessageBird's refusal codes is from memory.",
        "That reports go to the reportUrl of each message, by GET, is from memory and an example.",
        "The bounds of validity are not known; one second to 48 hours are used.",
        "That the list of messages begins with the newest is checked on each page; its largest page is not known.",
        "Delivery code 103 for an opt-out, and the shape of incoming messages, are known from another project's code.",
        "A 5xx is taken for unclear, though the vendor calls repeating such a request safe.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        sender = self.require_sender(message.country)
        fields: dict[str, Any] = {
            "originator": _without_plus(sender),
            "recipients": [_without_plus(message.to)],
            "body": reading.clean(message.text),
            "reference": attempt.id,  # without one there are no reports
            "datacoding": "auto",  # their default is plain, which has no letters but GSM's
        }
        if self.account.callback_url is not None:
            fields["reportUrl"] = self.account.callback_url
        if message.useful_seconds is not None:
            fields["validity"] = min(max(message.useful_seconds, 1), LONGEST_VALIDITY_SECONDS)
        headers = {**self._headers(), "Content-Type": "application/json"}
        return HttpRequest("POST", f"{self.base_url}/messages", headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        message = read_json(answer)
        message_id = reading.identifier(message.get("id")) if isinstance(message, dict) else None
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        recipient = next(iter(records.recipients_of(message)), {})
        return SendResult(
            message_id, reading.word(recipient.get("status")), reading.number(recipient.get("messagePartCount")) or None
        )

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"AccessKey {self.account.credentials['access_key']}"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        # No filter: what their words for number and time do exactly is not known, and one too narrow would say "not there".
        offset = reading.number(page) or 0
        return HttpRequest("GET", f"{self.base_url}/messages?limit={PAGE_SIZE}&offset={offset}", self._headers())

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        page = reading.json_object(answer.body) if answer.status == 200 else None
        messages = page.get("items") if page else None
        if page is None or not isinstance(messages, list):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        return records.find(page, messages, sent)

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", f"{self.base_url}/messages/{quote(provider_message_id, safe='')}", self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        message = reading.json_object(answer.body) if answer.status == 200 else None
        return records.polled(message) if message else []

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        fields = self._genuine_fields(request)
        if _is_incoming(fields):
            return []
        message_id = reading.identifier(fields.get("id"))
        if message_id is None or not reading.word(fields.get("status")):
            raise MalformedWebhook("the report names no message or no status")
        told_at = reading.word(fields.get("statusDatetime"))
        event = records.event(message_id, fields, told_at=told_at, raw=_raw(request))
        return [replace(event, attempt=reading.identifier(fields.get("reference")))]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        fields = self._genuine_fields(request)
        if not _is_incoming(fields):
            return []
        # A message to a short code has names of its own.
        message_id = reading.identifier(fields.get("mid") or fields.get("id"))
        if message_id is None:
            raise MalformedWebhook("the incoming message has no id")
        to_short_code = "shortcode" in fields
        received_at = fields.get("createdDatetime") or fields.get("receive_datetime")
        return [
            InboundMessage(
                dedupe_key=message_id,
                sender=_with_plus(fields["originator"]),
                recipient=_with_plus(fields.get("shortcode" if to_short_code else "recipient", "")),
                text=reading.clean(fields.get("message" if to_short_code else "body", "")),
                received_at=reading.iso_time(received_at) or _compact_time(received_at),
                raw=_raw(request),
            )
        ]

    def _genuine_fields(self, request: WebhookRequest) -> Mapping[str, str]:
        """Check the signature, then read the query and, of a POST, the form. Raises InvalidSignature."""
        if not is_genuine(request, self.account.credentials.get("signing_key", "")):
            raise InvalidSignature("the signature is missing or wrong")
        form = {form_text(name): form_text(value) for name, value in form_pairs(request.body)}
        return {**parameters(request.url), **form}


def _refusal(answer: HttpResponse) -> ProviderError:
    kind, error = error_for_status(answer.status), _error(answer)
    code = reading.number(error.get("code"))
    # Any 5xx may have been sent, whatever its code.
    if kind not in (OutcomeUnknown, RateLimited) and (listed := REFUSALS.get(code or 0)) is not None:
        about = reading.word(error.get("parameter")) if code in ABOUT_A_PARAMETER else ""
        kind = PARAMETERS.get(about, listed)
    return kind(
        f"HTTP {answer.status}" if code is None else f"HTTP {answer.status}, code {code}",
        code="" if code is None else str(code),
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
    )


def _error(answer: HttpResponse) -> Mapping[str, Any]:
    """The first error whose code we know, else the first."""
    told = (reading.json_object(answer.body) or {}).get("errors")
    errors = [error for error in told if isinstance(error, dict)] if isinstance(told, list) else []
    known = (error for error in errors if reading.number(error.get("code")) in REFUSALS)
    return next(known, errors[0] if errors else {})


def _is_incoming(fields: Mapping[str, str]) -> bool:
    """Tell a message that came in from a report: it has a sender, and no status."""
    return bool(fields.get("originator")) and "status" not in fields


def _raw(request: WebhookRequest) -> bytes:
    """What came: of a GET the query, since it has no body."""
    return request.body or query_of(request.url).encode(errors="replace")


def _without_plus(number: str) -> str:
    return number[1:] if NUMBER.fullmatch(number[1:]) and number.startswith("+") else number


def _with_plus(number: str) -> str:
    return f"+{number}" if NUMBER.fullmatch(number) else reading.clean(number)


def _compact_time(value: str | None) -> datetime | None:
    """Read 20270115100000, as short codes have it."""
    try:
        return datetime.strptime(value or "", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None

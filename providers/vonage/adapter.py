"""Vonage Messages API, SMS.

API reference, read 2026-11: https://developer.vonage.com/en/api/messages,
https://developer.vonage.com/en/getting-started/concepts/webhooks (signed webhooks), shapes from the Python SDK 4.9.1 and
a 2022 copy of Nexmo/api-specification.
There is no idempotency key: posting twice sends twice. Messages are looked up in Reports, a product of its own; without
it the account's `may_read` is false. A callback that is not answered with a 2xx comes again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.errors import (
    InvalidRequest,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    UnsupportedFeature,
)
from providers.messages import (
    Ability,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    Headers,
    HttpRequest,
    HttpResponse,
    InboundMessage,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.signatures import is_sha256
from providers.vonage.codes import BY_STATUS, FAILURES, PARAMETERS, REFUSALS, SENDER_FAULTS, STATUSES, SUPPRESS
from providers.vonage.tokens import claims_of, token_for
from providers.vonage_shared import (
    REPORTS_DELAY_SECONDS,
    Record,
    Reports,
    basic,
    read_page,
    search,
    with_plus,
    without_plus,
)

SHORTEST_VALIDITY_SECONDS, LONGEST_VALIDITY_SECONDS = 20, 604_800
TEXT_LIMIT = 1000  # characters; the current SDK lets 3,200 through
INDIAN = ("entity_id", "content_id")  # settings that go with messages to India only


class Vonage(Provider):
    """Calls carry a token by the application's key where the account has one, else the API key and secret.

    Settings: `text_limit` instead of 1,000 characters; `reports_url` where Reports are not at the account's `base_url`;
    `entity_id` and `content_id` are the sender's registration in India.
    """

    name = "vonage"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("api_key", "api_secret", "signature_secret")
    optional_credential_names = ("application_id", "private_key")
    setting_names = ("from", "senders", "text_limit", "reports_url", *INDIAN)
    default_base_url = "https://api.nexmo.com"
    sender_faults = SENDER_FAULTS
    look_up_delay_seconds = REPORTS_DELAY_SECONDS
    unverified: ClassVar[tuple[str, ...]] = (
        "Whether a text may have 1,000 or 3,200 characters: 1,000 are enforced, setting text_limit changes that.",
        "How far reports are behind: a minute is supposed.",
        "Whether a report of many records comes in pages: a link to the next page is followed where there is one.",
        "Whether regional hosts serve Reports as well: setting reports_url says where they are.",
        "The meaning of code 1320, message already sent: it changes nothing.",
        "Whether callbacks to the address in a message are signed where the call was made with key and secret.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        sender = without_plus(self.require_sender(message.country))
        text = reading.clean(message.text)
        if len(text) > int(self.account.settings.get("text_limit") or TEXT_LIMIT):
            raise UnsupportedFeature("the text is longer than Vonage takes")
        fields: dict[str, Any] = {
            "channel": "sms",
            "message_type": "text",
            "to": without_plus(message.to),
            "from": sender,
            "text": text,
            "client_ref": attempt.id,
            "sms": {"encoding_type": "auto", **self._registration(message.country)},
        }
        if message.useful_seconds is not None:
            fields["ttl"] = min(max(message.useful_seconds, SHORTEST_VALIDITY_SECONDS), LONGEST_VALIDITY_SECONDS)
        if self.account.callback_url is not None:
            fields |= {"webhook_url": self.account.callback_url, "webhook_version": "v1"}
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if not self._has_key:
            headers["Authorization"] = basic(self.account.credentials)
        return HttpRequest("POST", f"{self.base_url}/v1/messages", headers, json.dumps(fields).encode())

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Add the token to what has no other proof. Raises AuthenticationFailed for a key that is none."""
        if "Authorization" in request.headers:
            return request
        application_id, private_key = (self.account.credentials[name] for name in self.optional_credential_names)
        token = token_for(request, application_id=application_id, private_key=private_key, now=now)
        return replace(request, headers={**request.headers, "Authorization": f"Bearer {token}"})

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        taken = read_json(answer)
        message_id = reading.identifier(taken.get("message_uuid")) if isinstance(taken, dict) else None
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id)

    @property
    def _has_key(self) -> bool:
        return all(self.account.credentials.get(name) for name in self.optional_credential_names)

    def _registration(self, country: str) -> dict[str, str]:
        settings = self.account.settings
        return {name: str(settings[name]) for name in INDIAN if country == "IN" and settings.get(name)}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        return self._reports.of_call(sent, page)

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        records = search(answer, sent, attempt_in=str)
        if not isinstance(records, tuple):
            return records
        if len({record.id for record in records}) > 1:
            return CannotTell("the attempt is on record more than once")
        return Found(records[0].id, tuple(_polled(record) for record in records))

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return self._reports.of_ids(provider_message_id)

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        page = read_page(answer)
        return [_polled(record) for record in page.records if record.status] if page else []

    @property
    def _reports(self) -> Reports:
        return Reports(self.account, "MESSAGES")

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        report = self._genuine_report(request)
        if "status" not in report and "message_type" in report:
            return []  # somebody wrote to us
        message_id, status = reading.identifier(report.get("message_uuid")), reading.word(report.get("status"))
        if message_id is None or not status:
            raise MalformedWebhook("the callback names no message or no status")
        error = report.get("error")
        code = _code(error) if isinstance(error, dict) else ""
        told_at = reading.word(report.get("timestamp"))
        event = _event(message_id, status, code, told_at=told_at, raw=request.body)
        attempt = reading.identifier(report.get("client_ref"))
        return [replace(event, attempt=attempt, occurred_at=reading.iso_time(report.get("timestamp")))]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        report = self._genuine_report(request)
        message_id = reading.identifier(report.get("message_uuid"))
        if "status" in report or message_id is None or report.get("channel") != "sms":
            return []
        text = report.get("text")
        return [
            InboundMessage(
                dedupe_key=message_id,
                sender=with_plus(report.get("from")),
                recipient=with_plus(report.get("to")),
                text=reading.clean(text) if isinstance(text, str) else "",
                received_at=reading.iso_time(report.get("timestamp")),
                raw=request.body,
            )
        ]

    def _genuine_report(self, request: WebhookRequest) -> Mapping[str, Any]:
        """Check the token, and that it was made for this body; their SDK leaves the second out.

        How old it is does not matter: it fits one body only, and a report that is played again is already on file.
        """
        scheme, _, token = Headers(request.headers).get("Authorization", "").partition(" ")
        claims = claims_of(token.strip(), self.account.credentials.get("signature_secret", ""))
        if scheme.lower() != "bearer" or claims is None:
            raise InvalidSignature("the token is missing or wrong")
        body_hash = claims.get("payload_hash")
        if not isinstance(body_hash, str) or not is_sha256(body_hash, request.body):
            raise InvalidSignature("the token is for another body")
        if (report := reading.json_object(request.body)) is None:
            raise MalformedWebhook("the callback is no JSON object")
        return report


def _refusal(answer: HttpResponse) -> ProviderError:
    fields = reading.json_object(answer.body) or {}
    code = _code(fields)
    kind = _refusal_kind(answer.status, code, _wrong_parameters(fields))
    return kind(
        f"HTTP {answer.status}, code {code}" if code else f"HTTP {answer.status}",
        code=code,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress=SUPPRESS.get(code) if kind is REFUSALS.get(code) else None,
        advice=SENDER_FAULTS.get(code, ""),
    )


def _refusal_kind(status: int, code: str, wrong: set[str]) -> type[ProviderError]:
    by_status = error_for_status(status)
    if by_status is OutcomeUnknown or status in BY_STATUS:  # any 5xx may have been sent, whatever its code
        return BY_STATUS.get(status, by_status)
    kind = REFUSALS.get(code, by_status)
    if kind is InvalidRequest and len(wrong) == 1:
        [name] = wrong
        return PARAMETERS.get(name, kind)
    return kind


def _code(error: Mapping[str, Any]) -> str:
    """Read a code: a number or a name at the end of the error's address, else a number as its title."""
    link = re.search("#([A-Za-z0-9-]{1,50})$", reading.word(error.get("type"), limit=500))
    title = re.fullmatch("[0-9]{1,9}", reading.word(error.get("title")))
    return link[1] if link else title[0] if title else ""


def _wrong_parameters(fields: Mapping[str, Any]) -> set[str]:
    wrong = fields.get("invalid_parameters")
    items = wrong if isinstance(wrong, list) else []
    return {reading.word(item.get("name")) for item in items if isinstance(item, dict)}


def _event(message_id: str, status: str, code: str, *, told_at: str, raw: bytes) -> DeliveryEvent:
    kind = STATUSES.get(status.lower(), EventKind.UNKNOWN)
    if kind is EventKind.FAILED:
        kind = FAILURES.get(code, kind)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(message_id, status, code, "", told_at),
        provider_message_id=message_id,
        provider_status=status,
        error_code="" if code == "0" else code,
        suppress=SUPPRESS.get(code) if kind is EventKind.FAILED else None,
        raw=raw,
    )


def _polled(record: Record) -> DeliveryEvent:
    event = _event(record.id, record.status, record.error_code, told_at="polled", raw=record.raw)
    return replace(event, occurred_at=record.finalized_at)

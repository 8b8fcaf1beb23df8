"""Our words to MySMSGate's and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote

from providers import reading, retry_after
from providers.base import Provider, error_for_status
from providers.errors import (
    AccountError,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    SenderNotAllowed,
    UnknownRefusal,
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
    HttpRequest,
    HttpResponse,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    StatusPage,
    WebhookRequest,
)
from providers.mysmsgate.history import is_it, may_be, reaches_back
from providers.mysmsgate.words import BY_STATUS, STATUSES, by_words, id_of, is_no_report, status_of

TEXT_FIELDS = ("message", "text")
SLOTS = (0, 1)  # the first SIM, the second
PAGE_SIZE = 200


class MySmsGate(Provider):
    """A sender is a phone, by its `device_id`.

    A country's phone is in the setting `senders`, everybody else's in `from`; without one, the phones listed in `devices`
    take turns, and without any, MySMSGate chooses. `useful_seconds` has no counterpart: a text waits for its phone.
    """

    name = "mysmsgate"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_RECIPIENT, Ability.STATUS, Ability.LIST_STATUSES, Ability.RECEIPTS})
    credential_names = ("api_key",)
    setting_names = ("from", "senders", "devices", "slot", "text_field", "send_client_message_id")
    default_base_url = "https://mysmsgate.net"
    look_up_delay_seconds = 15.0  # records appeared 4 to 13 s after the call
    signs_webhooks = False
    unverified: ClassVar[tuple[str, ...]] = (
        "All paths, fields, statuses and error texts: they are from third parties' code and the vendor's articles.",
        "Whether the text belongs in `message` or in `text` (setting text_field).",
        "Whether client_message_id is taken with a message and comes back in reports (setting send_client_message_id).",
        "Which errors mean that nothing was sent; a 5xx and an HTML page are unclear.",
        "That `status` answers name the message's id: without it a status is not used.",
        "That the times in the history are UTC, and that it shows each message within 15 seconds.",
        "Whether webhooks are repeated, and what they look like for texts that come in: those are not read.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        text_field = self.account.settings.get("text_field") or TEXT_FIELDS[0]
        if text_field not in TEXT_FIELDS:
            raise AccountError("the setting text_field is neither message nor text")
        fields = {"to": message.to, text_field: reading.clean(message.text), **self._phone(message, attempt)}
        if self.account.settings.get("send_client_message_id"):
            fields["client_message_id"] = attempt.id
        headers = {**self._headers(), "Content-Type": "application/json"}
        return HttpRequest("POST", f"{self.base_url}/api/v1/send", headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        fields = reading.json_object(answer.body) or {}
        message_id = id_of(fields)
        if not 200 <= answer.status < 300 or (message_id is None and fields.get("success") is False):
            raise _refusal(answer, fields)
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id, status_of(fields))

    def _phone(self, message: OutgoingMessage, attempt: AttemptRef) -> dict[str, Any]:
        device = self.sender_for(message.country) or self._in_turn(attempt)
        slot = self.account.settings.get("slot")
        if slot not in (None, "") and reading.number(slot) not in SLOTS:
            raise AccountError("the setting slot is neither 0 nor 1")
        chosen = {"device_id": device or None, "slot": reading.number(slot)}
        return {name: value for name, value in chosen.items() if value is not None}

    def _in_turn(self, attempt: AttemptRef) -> str:
        """Pick one of `devices` by the message's id: all attempts of one message go through the same phone."""
        devices = self.account.settings.get("devices") or []
        if not isinstance(devices, list) or not all(isinstance(device, str) and device for device in devices):
            raise SenderNotAllowed("the setting devices is no list of device ids")
        if not devices:
            return ""
        digest = hashlib.sha256(attempt.message.encode()).digest()
        chosen: str = devices[int.from_bytes(digest[:8]) % len(devices)]
        return chosen

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        return self._history_request()

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        records = _history(answer)
        if records is None:
            return CannotTell(f"no history in the answer (HTTP {answer.status})")
        candidates = [record for record in records if may_be(record, sent)]
        if len(candidates) == 1 and is_it(candidates[0], sent):
            message_id = id_of(candidates[0]) or ""
            return Found(message_id, tuple(_polled(message_id, status_of(candidates[0]))))
        if candidates:
            return CannotTell("several messages could be this one, or one that could has lost its number, time or id")
        return NotThere() if reaches_back(records, sent) else CannotTell("the history shown begins after the call")

    def status_request(self, provider_message_id: str) -> HttpRequest:
        url = f"{self.base_url}/api/v1/sms?id={quote(provider_message_id, safe='')}"
        return HttpRequest("GET", url, self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        fields = (reading.json_object(answer.body) if answer.status == 200 else None) or {}
        nested = sms if isinstance(sms := fields.get("sms"), dict) else {}
        message_id, status = id_of(fields) or id_of(nested), status_of(fields) or status_of(nested)
        return _polled(message_id, status) if message_id else []

    def statuses_request(self, since: datetime, until: datetime, page: str | None = None) -> HttpRequest:
        return self._history_request()

    def statuses_result(self, answer: HttpResponse) -> StatusPage:
        told = [(id_of(record), status_of(record)) for record in _history(answer) or ()]
        return StatusPage([event for message_id, status in told if message_id for event in _polled(message_id, status)])

    def _history_request(self) -> HttpRequest:
        """Ask for the newest messages: there is no known way to ask for one recipient or time, or to turn the page."""
        return HttpRequest("GET", f"{self.base_url}/api/v1/history?direction=out&limit={PAGE_SIZE}", self._headers())

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Translate. Raises MalformedWebhook.

        Nobody can tell whether it is genuine. An empty call, a ping and a text that came in are no reports.
        """
        if not request.body.strip():
            return []
        report = reading.json_object(request.body)
        if report is None:
            raise MalformedWebhook("the webhook is no JSON object")
        message_id, status = id_of(report), status_of(report)
        if is_no_report(report):
            return []
        if message_id is None or not status:
            raise MalformedWebhook("the webhook names no message or no status")
        return [
            DeliveryEvent(
                kind=STATUSES.get(status.lower(), EventKind.UNKNOWN),
                dedupe_key=reading.fingerprint(message_id, status.lower(), reading.word(report.get("timestamp"))),
                attempt=reading.identifier(report.get("client_message_id")),
                provider_message_id=message_id,
                provider_status=status,
                occurred_at=reading.iso_time(report.get("timestamp")),
                raw=request.body,
            )
        ]


def _history(answer: HttpResponse) -> list[dict[str, Any]] | None:
    page = reading.json_object(answer.body) if answer.status == 200 else None
    records = page.get("history") if page else None
    is_history = isinstance(records, list) and all(isinstance(record, dict) for record in records)
    return records if is_history else None


def _refusal(answer: HttpResponse, fields: Mapping[str, Any]) -> ProviderError:
    kind = UnknownRefusal if 200 <= answer.status < 300 else error_for_status(answer.status)
    if kind is UnknownRefusal:
        kind = by_words(fields) or BY_STATUS.get(answer.status, kind)
    return kind(
        f"HTTP {answer.status}",
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
    )


def _polled(message_id: str, status: str) -> list[DeliveryEvent]:
    """Make an event of a status. The same status gives the same event, whichever answer told it."""
    if not status:
        return []
    return [
        DeliveryEvent(
            kind=STATUSES.get(status.lower(), EventKind.UNKNOWN),
            dedupe_key=reading.fingerprint("polled", message_id, status.lower()),
            provider_message_id=message_id,
            provider_status=status,
            raw=json.dumps({"id": message_id, "status": status}).encode(),  # without text and number
        )
    ]

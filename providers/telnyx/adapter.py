"""Our words to Telnyx's and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from providers import reading, retry_after
from providers.base import Provider, error_for_status
from providers.callback_urls import attempt_of, with_attempt
from providers.errors import (
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    UnknownRefusal,
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
    InboundMessage,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)
from providers.telnyx import codes
from providers.telnyx.signature import is_signed


class Telnyx(Provider):
    """`useful_seconds` has no counterpart: how long Telnyx tries is not ours to say.

    A country without a sender of its own gets the setting `from`, or a number of the messaging profile's pool.
    """

    name = "telnyx"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.KEYS, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("api_key", "webhook_public_key")
    setting_names = ("from", "senders", "messaging_profile_id")
    default_base_url = "https://api.telnyx.com"
    key_life_seconds = 23 * 60 * 60.0  # they replay for 24 hours; a repeat must arrive before that
    sender_faults: ClassVar[Mapping[str, str]] = {str(code): advice for code, advice in codes.SENDER_FAULTS.items()}
    unverified: ClassVar[tuple[str, ...]] = (
        "The HTTP status of a message that was taken (read as any 2xx).",
        "What answers a call whose first call with the same key is still running; a 409 or 422 with an unlisted code is unclear.",
        "The code that tells a key used for other bytes.",
        "Code 20100 for an empty balance, and HTTP 409 with code 40300.",
        "That delivery_unconfirmed is final.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call that sends.

        The same attempt and words give the same bytes, however much later: a key protects no other payload.
        """
        self.require_plain_sms(message)
        fields: dict[str, Any] = {**self._sender(message), "to": message.to, "text": reading.clean(message.text)}
        if self.account.callback_url is not None:
            fields["webhook_url"] = with_attempt(self.account.callback_url, attempt)
            fields["use_profile_webhooks"] = False  # else each report comes twice
        headers = {**self._headers(), "Content-Type": "application/json"}
        if attempt.key is not None:
            headers["Idempotency-Key"] = attempt.key
        return HttpRequest("POST", f"{self.base_url}/v2/messages", headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        record = _part(reading.json_object(answer.body), "data")
        message_id = reading.identifier(record.get("id"))
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id, _status(record), reading.number(record.get("parts")) or None)

    def _sender(self, message: OutgoingMessage) -> dict[str, str]:
        profile = str(self.account.settings.get("messaging_profile_id") or "")
        sender = self.sender_for(message.country) if profile else self.require_sender(message.country)
        named = {"from": sender, "messaging_profile_id": profile}
        return {name: value for name, value in named.items() if value}

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}

    # Looking up

    def status_request(self, provider_message_id: str) -> HttpRequest:
        """Describe the question; Telnyx answers it for 10 days."""
        url = f"{self.base_url}/v2/messages/{quote(provider_message_id, safe='')}"
        return HttpRequest("GET", url, self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        record = _part(reading.json_object(answer.body), "data") if answer.status == 200 else {}
        message_id, status = reading.identifier(record.get("id")), _status(record)
        if message_id is None or not status:
            return []
        kind, code, suppress = _meaning(record)
        known = {"id": message_id, "status": status, "code": code, "completed_at": record.get("completed_at")}
        return [
            DeliveryEvent(
                kind=kind,
                dedupe_key=reading.fingerprint("polled", message_id, status, code),
                provider_message_id=message_id,
                provider_status=status,
                error_code=code,
                occurred_at=reading.iso_time(record.get("completed_at") or record.get("sent_at")),
                suppress=suppress,
                raw=json.dumps(known).encode(),  # without text and numbers
            )
        ]

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check the signature, then translate. Raises InvalidSignature, MalformedWebhook.

        How old the call is does not matter: its id is signed, so a call that somebody kept and plays again is one more
        repetition of an event already on file. Nor does the address it came to, which is not signed.
        """
        told, event, record = self._genuine(request)
        if _is_inbound(told, record):
            return []
        message_id, status = reading.identifier(record.get("id")), _status(record)
        is_report = told.startswith("message.")
        if is_report and (message_id is None or not status):
            raise MalformedWebhook("the webhook names no message or no status")
        kind, code, suppress = _meaning(record) if is_report else (EventKind.UNKNOWN, "", None)
        repeated = reading.fingerprint(message_id, told, status, code, reading.word(event.get("occurred_at")))
        return [
            DeliveryEvent(
                kind=kind,
                dedupe_key=reading.identifier(event.get("id")) or repeated,
                attempt=_attempt(record),
                provider_message_id=message_id,
                provider_status=status if is_report else told,
                error_code=code,
                occurred_at=reading.iso_time(event.get("occurred_at")),
                suppress=suppress,
                raw=request.body,
            )
        ]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        told, event, record = self._genuine(request)
        if not _is_inbound(told, record):
            return []
        message_id = reading.identifier(record.get("id"))
        sender, recipient = _number(_part(record, "from")), _number(_first(record.get("to")))
        if message_id is None or not sender or not recipient:
            raise MalformedWebhook("the message that came in has no id, no sender or no recipient")
        text = record.get("text")
        return [
            InboundMessage(
                dedupe_key=message_id,
                sender=sender,
                recipient=recipient,
                text=reading.clean(text) if isinstance(text, str) else "",
                received_at=reading.iso_time(record.get("received_at") or event.get("occurred_at")),
                raw=request.body,
            )
        ]

    def _genuine(self, request: WebhookRequest) -> tuple[str, Mapping[str, Any], Mapping[str, Any]]:
        """Check the signature; give the type of the event, the event, and the record of the message it is about."""
        public_key = self.account.credentials.get("webhook_public_key", "")
        if not is_signed(Headers(request.headers), request.body, public_key):
            raise InvalidSignature("the signature is missing or wrong")
        event = _part(reading.json_object(request.body), "data")
        told = reading.word(event.get("event_type"))
        if not told:
            raise MalformedWebhook("the webhook is no event")
        return told, event, _part(event, "payload")


def _refusal(answer: HttpResponse) -> ProviderError:
    errors = _part_list(reading.json_object(answer.body), "errors")
    code, listed = _fault(errors)
    kind = error_for_status(answer.status)
    if kind is OutcomeUnknown:  # any 5xx may have been sent, whatever its code
        listed = None
    elif listed is None and kind is UnknownRefusal:
        kind = _unlisted(answer.status, code)
    return (listed or kind)(
        f"HTTP {answer.status}" if code is None else f"HTTP {answer.status}, code {code}",
        code=reading.word(code, limit=50),
        http_status=answer.status,
        retry_after_seconds=_wait_seconds(answer, code, listed),
        suppress=codes.SUPPRESS.get(code or 0) if listed else None,
        advice=codes.SENDER_FAULTS.get(code or 0, ""),
    )


def _fault(errors: list[Mapping[str, Any]]) -> tuple[int | None, type[ProviderError] | None]:
    """Pick the error that we know, or else the first one."""
    found: list[tuple[int | None, type[ProviderError] | None]] = []
    for error in errors:
        code = reading.number(error.get("code"))
        listed = codes.REFUSALS.get(code or 0)
        if code in codes.PHONE_NUMBERS:
            listed = codes.NUMBERS_BY_PARAMETER.get(_parameter(error))
        found.append((code, listed))
    known = [pair for pair in found if pair[1] is not None]
    return next(iter([*known, *found]), (None, None))


def _unlisted(status: int, code: int | None) -> type[ProviderError]:
    """A conflict of keys, under a code nobody has seen, is no proof that the first call did not send."""
    is_general = code is not None and code not in codes.MESSAGING_CODES and code not in codes.PHONE_NUMBERS
    if status in codes.CONFLICT_STATUSES and is_general:
        return OutcomeUnknown
    return codes.BY_STATUS.get(status, UnknownRefusal)


def _wait_seconds(answer: HttpResponse, code: int | None, listed: type[ProviderError] | None) -> float | None:
    asked = retry_after.from_headers(answer.headers)
    return codes.WAITS_SECONDS.get(code or 0) if asked is None and listed else asked


def _parameter(error: Mapping[str, Any]) -> str:
    """Say which field an error is about: {"pointer": "/to"} or {"parameter": "to"}."""
    source = _part(error, "source")
    return reading.word(source.get("pointer") or source.get("parameter")).strip("/").partition("/")[0]


def _meaning(record: Mapping[str, Any]) -> tuple[EventKind, str, str | None]:
    """Read a record: the kind of event, their error code, and why the number must not be used again."""
    kind = codes.STATUSES.get(_status(record).lower(), EventKind.UNKNOWN)
    told = [code for error in _part_list(record, "errors") if (code := reading.number(error.get("code"))) is not None]
    code = next(iter(sorted(told, key=lambda code: code == codes.WARNING)), None)
    if kind is EventKind.FAILED:
        kind = codes.FAILURES.get(code or 0, kind)
    suppress = codes.SUPPRESS.get(code or 0) if kind is EventKind.FAILED else None
    return kind, reading.word(code, limit=50), suppress


def _is_inbound(told: str, record: Mapping[str, Any]) -> bool:
    return told == "message.received" or record.get("direction") == "inbound"


def _attempt(record: Mapping[str, Any]) -> str | None:
    url = record.get("webhook_url")
    return attempt_of(url) if isinstance(url, str) else None


def _status(record: Mapping[str, Any]) -> str:
    return reading.word(_first(record.get("to")).get("status"))


def _number(party: Mapping[str, Any]) -> str:
    return reading.word(party.get("phone_number"))


def _first(parties: object) -> Mapping[str, Any]:
    return next(iter(_objects(parties)), {})


def _part(fields: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    part = fields.get(name) if fields else None
    return part if isinstance(part, dict) else {}


def _part_list(fields: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    return list(_objects(fields.get(name) if fields else None))


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    return (part for part in (value if isinstance(value, list) else []) if isinstance(part, dict))

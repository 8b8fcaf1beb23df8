"""Sending and look-ups of Bird's API; its webhooks are read in `webhooks`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.bird import webhooks
from providers.bird.codes import FIELDS, REFUSALS, SENDER_FAULTS, STATUS_ERRORS, TYPES, meaning
from providers.bird.webhooks import attempt_of, part
from providers.errors import InvalidRequest, OutcomeUnknown, ProviderError
from providers.messages import (
    Ability,
    Account,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
    FindResult,
    Found,
    HttpRequest,
    HttpResponse,
    InboundMessage,
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    StatusPage,
    WebhookRequest,
)

REGION = re.compile(r"(?:bk|bm)_([a-z]{2}[0-9]{1,3})_")  # how a key begins
USUAL_CATEGORY = "transactional"
STATUSES_PAGE_SIZE = 100  # taken for their most: it is not documented
EARLY = timedelta(seconds=2)  # their clock against ours


class Bird(Provider):
    """`useful_seconds` is not passed on: their validity period is a preview, refused with 422 outside it, and the bytes of
    a repeated call must not depend on when it is made.

    Setting `category` is what the texts are: transactional (if not set), marketing, authentication or service. Of
    "authentication" the vendor keeps no text.
    """

    name = "bird"
    channels = frozenset({Channel.SMS})
    abilities = frozenset(
        {Ability.KEYS, Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.LIST_STATUSES, Ability.RECEIPTS}
    )
    credential_names = ("api_key", "webhook_secret")
    setting_names = ("from", "senders", "category")
    default_base_url = "https://eu1.platform.bird.com"  # another where the key names another region
    sender_faults = SENDER_FAULTS
    key_life_seconds = 2.5 * 60 * 60  # they keep keys for "roughly 3 hours"; a repeat must arrive before that
    unverified: ClassVar[tuple[str, ...]] = (
        "Nothing was tried against the live API; the fields are those of the official SDK.",
        "Of the error codes for SMS only the names are known, not the numbers.",
        "That a 503 was not processed is taken from its meaning, not from a sentence of the vendor's.",
        "Whether a 429 is kept under its idempotency key, as other refusals are, is not documented.",
        "The largest page of the list is not documented: statuses are listed by 100.",
        "The shape of incoming messages is taken from an example with sender and text only.",
    )

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        region = REGION.match(account.credentials.get("api_key", ""))
        if region is not None and not account.base_url:
            self.base_url = f"https://{region[1]}.platform.bird.com"

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call that sends.

        The same attempt and words give the same bytes, however much later: a key protects no other payload.
        """
        self.require_plain_sms(message)
        sender = self.require_sender(message.country)
        fields = {
            "to": message.to,
            "from": sender,
            "text": reading.clean(message.text),
            "category": str(self.account.settings.get("category") or USUAL_CATEGORY),
            "metadata": {"attempt": attempt.id},
        }
        headers = {**self._headers(), "Content-Type": "application/json"}
        if attempt.key is not None:
            headers["Idempotency-Key"] = attempt.key
        return HttpRequest("POST", self._url(), headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        message = read_json(answer)
        message_id = reading.identifier(message.get("id")) if isinstance(message, dict) else None
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        segments = reading.number(part(message, "segments").get("count")) or None
        return SendResult(message_id, reading.word(message.get("status")), segments)

    def _url(self, rest: str = "") -> str:
        return f"{self.base_url}/v1/sms/messages{rest}"

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        return self._list_request({"to": sent.message.to}, page)

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        page = reading.json_object(answer.body) if answer.status == 200 else None
        messages = page.get("data") if page else None
        if page is None or not isinstance(messages, list):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        records = [message for message in messages if isinstance(message, dict)]
        for message in records:
            message_id = reading.identifier(message.get("id"))
            if message_id is not None and message_id not in sent.owned_ids and _is_ours(message, sent):
                return Found(message_id, tuple(_polled(message)))
        if any(_has_lost_its_metadata(message, sent) for message in records):
            return CannotTell("a message to this number shows no metadata")
        return _next_page(page, records, sent)

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", self._url(f"/{quote(provider_message_id, safe='')}"), self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        return _polled((reading.json_object(answer.body) if answer.status == 200 else None) or {})

    def statuses_request(self, since: datetime, until: datetime, page: str | None = None) -> HttpRequest:
        span = {"created_after": _time(since), "created_before": _time(until)}
        return self._list_request({**span, "limit": str(STATUSES_PAGE_SIZE)}, page)

    def statuses_result(self, answer: HttpResponse) -> StatusPage:
        page = (reading.json_object(answer.body) if answer.status == 200 else None) or {}
        messages = page.get("data")
        records = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
        events = [event for message in records for event in _polled(message)]
        oldest_at = reading.earliest(map(_created_at, records))
        return StatusPage(events, reading.identifier(page.get("next_cursor")), oldest_at)

    def _list_request(self, filters: Mapping[str, str], page: str | None) -> HttpRequest:
        query = {**filters, "direction": "outbound"} | ({} if page is None else {"starting_after": page})
        return HttpRequest("GET", self._url(f"?{urlencode(query, errors='replace')}"), self._headers())

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        return webhooks.events(*self._genuine(request), request.body)

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        return webhooks.inbound(*self._genuine(request), request.body)

    def _genuine(self, request: WebhookRequest) -> tuple[str, dict[str, Any]]:
        return webhooks.genuine(request, self.account.credentials.get("webhook_secret", ""))


def _refusal(answer: HttpResponse) -> ProviderError:
    body = reading.json_object(answer.body) or {}
    error = part(body, "error") or body  # the SDK reads it without its envelope, too
    words = [reading.word(error.get(name)) for name in ("code", "name", "type")]
    # Only what looks like a word of theirs, and holds no address.
    known = [word for word in words if re.fullmatch(r"E[0-9]{5}|[A-Za-z_]{1,50}", word)]
    code = next((word for word in known if word in REFUSALS), known[0] if known else "")
    return _refusal_kind(answer.status, known, error)(
        f"HTTP {answer.status}, {code}" if code else f"HTTP {answer.status}",
        code=code,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        advice=SENDER_FAULTS.get(code, ""),
    )


def _refusal_kind(status: int, words: Sequence[str], error: Mapping[str, Any]) -> type[ProviderError]:
    by_status = STATUS_ERRORS.get(status) or error_for_status(status)
    if status == 429 or not 400 <= status < 500 or by_status is OutcomeUnknown:
        return by_status
    listed = [kind for word in words if (kind := {**TYPES, **REFUSALS}.get(word)) is not None]
    kind = listed[0] if listed else by_status
    return _fault(error, kind) if kind is InvalidRequest and "validation_error" in words else kind


def _fault(error: Mapping[str, Any], kind: type[ProviderError]) -> type[ProviderError]:
    """Say whose fault a field is that they do not take."""
    details = error.get("details")
    named = (
        [error, *(detail for detail in details if isinstance(detail, dict))] if isinstance(details, list) else [error]
    )
    return next((FIELDS[name] for told in named if (name := reading.word(told.get("param"))) in FIELDS), kind)


def _polled(message: Mapping[str, Any]) -> list[DeliveryEvent]:
    """Read a message record. The same status gives the same event, however often it is asked for."""
    message_id, status = reading.identifier(message.get("id")), reading.word(message.get("status"))
    if message_id is None or not status:
        return []
    error = part(message, "last_error")
    code = reading.word(error.get("code"), limit=50)
    kind, suppress = meaning(status, code)
    times = {"delivered": message.get("delivered_at"), "sent": message.get("sent_at")}
    shown = {name: message.get(name) for name in ("id", "status", "created_at", "sent_at", "delivered_at")}
    return [
        DeliveryEvent(
            kind=kind,
            dedupe_key=reading.fingerprint("polled", message_id, status, code),
            provider_message_id=message_id,
            provider_status=status,
            error_code=code,
            occurred_at=reading.iso_time(times.get(status.lower(), error.get("occurred_at"))),
            suppress=suppress,
            raw=json.dumps(shown | {"error_code": code}).encode(),  # without text and numbers
        )
    ]


def _is_ours(message: Mapping[str, Any], sent: SentMessage) -> bool:
    attempt = attempt_of(message) or ""
    return attempt == sent.attempt.id or (sent.any_attempt and attempt.startswith(f"{sent.attempt.message}-"))


def _has_lost_its_metadata(message: Mapping[str, Any], sent: SentMessage) -> bool:
    created_at = _created_at(message)
    return not part(message, "metadata") and (created_at is None or created_at >= sent.began_at - EARLY)


def _created_at(message: Mapping[str, Any]) -> datetime | None:
    return reading.iso_time(message.get("created_at"))


def _next_page(page: Mapping[str, Any], records: Sequence[Mapping[str, Any]], sent: SentMessage) -> FindResult:
    """Turn the page, unless this one (newest first) already reaches back to before the call."""
    dates = [date for message in records if (date := _created_at(message)) is not None]
    if dates and dates[-1] < sent.began_at - EARLY:
        return NotThere()
    if "next_cursor" not in page:
        return CannotTell("the answer does not tell whether the list goes on")
    cursor = reading.identifier(page["next_cursor"])
    return NextPage(cursor) if cursor else NotThere()


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

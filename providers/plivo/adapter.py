"""Plivo, SMS.

API reference, read 2026-11: https://plivo.com/docs/messaging/api/message/send-a-message,
https://plivo.com/docs/messaging/api/message/list-all-messages,
https://plivo.com/docs/messaging/api/message/message-status-callbacks,
https://plivo.com/docs/messaging/api/message/handling-incoming; shapes and signatures from the Python SDK 4.63.
There is no idempotency key and no reference: posting twice sends twice. Their records hold no text either, so a message is
only found again where no other one went to the same number at the same time.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.callback_urls import attempt_of, parameters, query_of, with_attempt
from providers.errors import (
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    SenderNotRegistered,
    UnsupportedFeature,
)
from providers.messages import (
    Ability,
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
from providers.plivo.codes import ENABLE_COUNTRY, NO_CREDIT, REFUSALS, SENDER_FAULTS
from providers.plivo.records import bare, certain, event, polled, status_page
from providers.plivo.signature import is_genuine, pairs_of
from providers.signatures import form_text

SHORTEST_EXPIRY_SECONDS, LONGEST_EXPIRY_SECONDS = 5, 10799  # https://support.plivo.com, "Message Expiry"
PAGE_SIZE = 20  # their most
EARLY_SECONDS = 2  # their clock, in whole seconds, against ours
LATE_SECONDS = 60
TIMES = ("DeliveryReportTime", "SentTime", "QueuedTime")


class Plivo(Provider):
    """`senders` and `from` hold numbers or names; where they hold none for a country, `powerpack_uuid` chooses one.

    `v3_only`: do not believe a webhook that has a signature of version 2 alone, which does not cover what it reports.
    """

    name = "plivo"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_RECIPIENT, Ability.STATUS, Ability.LIST_STATUSES, Ability.RECEIPTS})
    credential_names = ("auth_id", "auth_token")
    setting_names = ("from", "senders", "powerpack_uuid", "v3_only")
    default_base_url = "https://api.plivo.com"
    sender_faults: ClassVar[Mapping[str, str]] = {str(code): advice for code, advice in SENDER_FAULTS.items()}
    look_up_delay_seconds = 15.0  # not documented
    unverified: ClassVar[tuple[str, ...]] = (
        "How soon a message is in Plivo's list: we wait 15 seconds.",
        "Whether the list's filter by number wants a plus, as Plivo's pages say, though its answers have none.",
        "Which version of signature comes with reports about SMS: we believe 3, or 2 where there is no 3.",
        "How letters beyond ASCII are signed: Plivo's SDK for Python encodes them twice; we believe that and the plain way.",
        "How one invalid number is refused: as a list of invalid numbers, or by a text that is not documented.",
        "The status of a refusal for want of credit: we go by its text.",
        "The time zone of the times in reports: they only tell reports apart.",
        "Codes 60, 70, 80, 90, 100, 110, 200, 201, 300, 900, 910 and 1000, known from copies of Plivo's table.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        if "<" in message.to:
            raise UnsupportedFeature("dst is a list: a number with < in it would be taken for several")
        fields: dict[str, object] = {
            **self._sender(message.country),
            "dst": message.to.removeprefix("+"),
            "text": reading.clean(message.text),
            "type": "sms",
        }
        if self.account.callback_url is not None:
            fields |= {"url": with_attempt(self.account.callback_url, attempt), "method": "POST"}
        if message.useful_seconds is not None:
            fields["message_expiry"] = min(max(message.useful_seconds, SHORTEST_EXPIRY_SECONDS), LONGEST_EXPIRY_SECONDS)
        headers = {**self._headers(), "Content-Type": "application/json"}
        return HttpRequest("POST", self._url(), headers, json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        fields = read_json(answer)
        taken = fields.get("message_uuid") if isinstance(fields, dict) else None
        uuids = [uuid for item in (taken if isinstance(taken, list) else ()) if (uuid := reading.identifier(item))]
        if uuids:
            return SendResult(uuids[0])
        if not taken and isinstance(fields, dict) and fields.get("invalid_number"):
            # There was one number, so it is ours.
            raise InvalidRecipient("the number is not valid", http_status=answer.status, suppress="invalid")
        raise OutcomeUnknown("the answer names no message", http_status=answer.status)

    def _sender(self, country: str) -> dict[str, str]:
        """Say who sends, by the names of their fields: a number or name, else a powerpack."""
        powerpack = self.account.settings.get("powerpack_uuid")
        if powerpack and not self.sender_for(country):
            return {"powerpack_uuid": str(powerpack)}
        return {"src": self.require_sender(country).removeprefix("+")}

    def _url(self, uuid: str | None = None) -> str:
        auth_id = quote(self.account.credentials["auth_id"], safe="")
        message = "" if uuid is None else f"{quote(uuid, safe='')}/"
        return f"{self.base_url}/v1/Account/{auth_id}/Message/{message}"

    def _headers(self) -> dict[str, str]:
        user, token = (self.account.credentials[name] for name in self.credential_names)
        basic = base64.b64encode(f"{user}:{token}".encode()).decode()
        return {"Authorization": f"Basic {basic}", "Accept": "application/json"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        return self._list_request(*_window(sent), page, to_number=sent.message.to)

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        page = reading.json_object(answer.body) if answer.status == 200 else None
        records, meta = (page.get("objects"), page.get("meta")) if page else (None, None)
        if not isinstance(records, list) or not isinstance(meta, dict):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        candidates = [record for record in records if not isinstance(record, dict) or self._may_be(record, sent)]
        link = meta.get("next")
        if len(candidates) == 1 and not link and (uuid := certain(candidates[0], sent)):
            return Found(uuid, tuple(polled(candidates[0])))
        if candidates:
            return CannotTell("several messages could be this one, or one that could lacks its number or time")
        if link:
            return NextPage(link) if isinstance(link, str) else CannotTell("the next page has no address")
        total, offset = reading.number(meta.get("total_count")), reading.number(meta.get("offset")) or 0
        if total is None or total > offset + len(records):
            return CannotTell("the list is not complete")
        return NotThere()

    def _may_be(self, record: Mapping[str, Any], sent: SentMessage) -> bool:
        """Whether a record can be ours. What it lacks or masks (their setting `log`) speaks for it."""
        earliest, latest = _window(sent)
        made_at = reading.iso_time(record.get("message_time"))
        to, sender = bare(record.get("to_number")), bare(record.get("from_number"))
        ours = bare(self.sender_for(sent.message.country))
        return (
            reading.identifier(record.get("message_uuid")) not in sent.owned_ids
            and record.get("message_direction") != "inbound"
            and (to == bare(sent.message.to) or not to.isdecimal())
            and (not ours or not sender or sender == ours)
            and (made_at is None or earliest <= made_at <= latest)
        )

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", self._url(provider_message_id), self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        return polled(reading.json_object(answer.body) or {}) if answer.status == 200 else []

    def statuses_request(self, since: datetime, until: datetime, page: str | None = None) -> HttpRequest:
        return self._list_request(since, until, page)

    def statuses_result(self, answer: HttpResponse) -> StatusPage:
        return status_page((reading.json_object(answer.body) if answer.status == 200 else None) or {})

    def _list_request(self, since: datetime, until: datetime, page: str | None, **filters: str) -> HttpRequest:
        query = {
            **filters,
            "message_direction": "outbound",
            "message_time__gte": _time(since),
            "message_time__lte": _time(until + timedelta(seconds=1)),  # a part of a second is cut off
            "limit": PAGE_SIZE,
            # Of their link only the offset counts: a host in it is never called.
            "offset": reading.number(parameters(page or "").get("offset")) or 0,
        }
        return HttpRequest("GET", f"{self._url()}?{urlencode(query)}", self._headers())

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        fields = self._genuine_fields(request)
        if _is_inbound(fields):
            return []
        uuid, status = reading.identifier(fields.get("MessageUUID")), reading.word(fields.get("Status"))
        if uuid is None or not status:
            raise MalformedWebhook("the callback names no message or no status")
        times = [reading.word(fields.get(name)) for name in ("Sequence", "PartInfo", *TIMES)]
        told = event(uuid, status, fields.get("ErrorCode"), told_at=times, raw=_raw(request))
        return [replace(told, attempt=attempt_of(request.url))]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        fields = self._genuine_fields(request)
        if not _is_inbound(fields):
            return []
        uuid = reading.identifier(fields.get("MessageUUID"))
        if uuid is None:
            raise MalformedWebhook("the message has no id")
        sender, recipient = (_with_plus(reading.word(fields.get(name))) for name in ("From", "To"))
        text = reading.clean(fields.get("Text") or fields.get("Body") or "")
        return [InboundMessage(uuid, sender, recipient, text, raw=_raw(request))]

    def _genuine_fields(self, request: WebhookRequest) -> Mapping[str, str]:
        auth_token = self.account.credentials.get("auth_token", "")
        if not is_genuine(request, auth_token, v3_only=bool(self.account.settings.get("v3_only"))):
            raise InvalidSignature("the signature is missing or wrong")
        return {form_text(name): form_text(value) for name, value in pairs_of(request)}


def _refusal(answer: HttpResponse) -> ProviderError:
    text = (reading.json_object(answer.body) or {}).get("error")
    kind = REFUSALS.get(answer.status) or error_for_status(answer.status)
    if 400 <= answer.status < 500 and isinstance(text, str) and NO_CREDIT in text.lower():
        kind = InsufficientBalance
    return kind(
        f"HTTP {answer.status}",
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        advice=ENABLE_COUNTRY if kind is SenderNotRegistered else "",
    )


def _window(sent: SentMessage) -> tuple[datetime, datetime]:
    """Say between which times they can have made the record."""
    return (
        sent.began_at - timedelta(seconds=EARLY_SECONDS),
        sent.began_at + timedelta(seconds=sent.deadline_seconds + LATE_SECONDS),
    )


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _is_inbound(fields: Mapping[str, str]) -> bool:
    return "Status" not in fields and ("Text" in fields or "Body" in fields)


def _with_plus(number: str) -> str:
    return f"+{number}" if re.fullmatch("[1-9][0-9]{6,14}", number) else number


def _raw(request: WebhookRequest) -> bytes:
    """What was told, wherever it was: by GET it is in the query."""
    return request.body or query_of(request.url).encode(errors="replace")

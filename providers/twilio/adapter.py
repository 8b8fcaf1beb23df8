"""Twilio, SMS.

API reference, read 2026-11: https://www.twilio.com/docs/messaging/api/message-resource; shapes from twilio/twilio-oai.
There is no idempotency key and no reference to search by: posting twice sends twice.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.callback_urls import attempt_of, query_of, with_attempt
from providers.errors import MalformedWebhook, OutcomeUnknown, ProviderError, SenderNotAllowed
from providers.forms import form
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
    OutgoingMessage,
    SendResult,
    SentMessage,
    StatusPage,
    WebhookRequest,
)
from providers.twilio.codes import REFUSALS, SENDER_FAULTS, SUPPRESS
from providers.twilio.records import created_at, event, next_page, polled, status_events, status_page, window, words
from providers.twilio.signature import genuine_fields

LONGEST_VALIDITY_SECONDS = 36000
PAGE_SIZE = 100  # a page of 1,000 long messages would be longer than the transport lets through
STATUSES_PAGE_SIZE = 400  # the same, but here a page too long costs nothing: messages are asked about one by one

SENDERS = {"from": "From", "messaging_service_sid": "MessagingServiceSid"}  # by their record's name, by their form's
SERVICE = re.compile("MG[0-9a-fA-F]{32}")  # no name of a sender is that long


class Twilio(Provider):
    name = "twilio"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_RECIPIENT, Ability.STATUS, Ability.LIST_STATUSES, Ability.RECEIPTS})
    credential_names = ("account_sid", "auth_token")
    optional_credential_names = ("api_key_sid", "api_key_secret", "webhook_secret")
    setting_names = ("from", "messaging_service_sid")
    default_base_url = "https://api.twilio.com"
    sender_faults: ClassVar[Mapping[str, str]] = {str(code): advice for code, advice in SENDER_FAULTS.items()}

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        sender = {SENDERS[name]: value for name, value in self._sender.items()}
        if not sender:
            raise SenderNotAllowed("the account names neither a sender nor a messaging service")
        fields = {"To": message.to, **sender, "Body": reading.clean(message.text)}
        if self.account.callback_url is not None:
            fields["StatusCallback"] = with_attempt(self.account.callback_url, attempt)
        if message.useful_seconds is not None:
            fields["ValidityPeriod"] = str(min(max(message.useful_seconds, 1), LONGEST_VALIDITY_SECONDS))
        return HttpRequest("POST", self._messages_url, self._headers_of_a_form, form(fields))

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        message = read_json(answer)
        sid = reading.identifier(message.get("sid")) if isinstance(message, dict) else None
        if sid is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        # "0" means not known yet: a messaging service has not chosen the sender.
        return SendResult(sid, reading.word(message.get("status")), reading.number(message.get("num_segments")) or None)

    @cached_property
    def _sender(self) -> dict[str, str]:
        """Say who sends, by the names their records use: a number, a name or a service, which may stand in `from` as well."""
        named = {name: str(value) for name in SENDERS if (value := self.account.settings.get(name))}
        if SERVICE.fullmatch(named.get("from", "")):
            named = {"messaging_service_sid": named.pop("from")} | named
        return named

    def _url(self, resource: str) -> str:
        sid = quote(self.account.credentials["account_sid"], safe="")
        return f"{self.base_url}/2010-04-01/Accounts/{sid}/{resource}"

    @cached_property
    def _messages_url(self) -> str:
        return self._url("Messages.json")

    @cached_property
    def _headers_of_a_form(self) -> dict[str, str]:
        return {**self._headers, "Content-Type": "application/x-www-form-urlencoded"}

    @cached_property
    def _headers(self) -> dict[str, str]:
        credentials = self.account.credentials
        user, secret = credentials["account_sid"], credentials["auth_token"]
        if credentials.get("api_key_sid"):
            user, secret = credentials["api_key_sid"], credentials.get("api_key_secret", "")
        basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
        return {"Authorization": f"Basic {basic}", "Accept": "application/json"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        # No date filter: theirs is by date of sending, which a queued message may not have yet.
        fixed = {"From": self._sender["from"]} if "from" in self._sender else {}
        return self._list_request({"To": sent.message.to, **fixed, "PageSize": PAGE_SIZE}, page)

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        page = reading.json_object(answer.body) if answer.status == 200 else None
        messages = page.get("messages") if page else None
        if page is None or not isinstance(messages, list):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        candidates = [message for message in messages if isinstance(message, dict) and self._may_be(message, sent)]
        # Word by word: whether they keep line ends and outer blanks is not documented.
        matches = [message for message in candidates if words(message.get("body")) == words(sent.message.text)]
        if len(matches) == 1 and created_at(matches[0]) is not None:
            return Found(matches[0]["sid"], (polled(matches[0]),))
        if matches or not all(words(message.get("body")) for message in candidates):
            return CannotTell("several messages could be this one, or one that could has lost its text or date")
        return next_page(page, messages, sent)

    def _may_be(self, message: Mapping[str, Any], sent: SentMessage) -> bool:
        sid, made_at = reading.identifier(message.get("sid")), created_at(message)
        earliest, latest = window(sent)
        return (
            message.get("to") == sent.message.to
            and all(message.get(name) == sender for name, sender in self._sender.items())
            and sid is not None
            and sid not in sent.owned_ids
            and (made_at is None or earliest <= made_at <= latest)
        )

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", self._url(f"Messages/{quote(provider_message_id, safe='')}.json"), self._headers)

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        message = reading.json_object(answer.body) if answer.status == 200 else None
        return status_events(message or {})

    def statuses_request(self, since: datetime, until: datetime, page: str | None = None) -> HttpRequest:
        """Describe the list of what was sent in a span of time. A queued message has no date of sending, and is not in it."""
        latest = until + timedelta(seconds=1)  # a part of a second is cut off
        query = {"DateSent>": _time(since), "DateSent<": _time(latest), "PageSize": STATUSES_PAGE_SIZE}
        return self._list_request(query, page)

    def statuses_result(self, answer: HttpResponse) -> StatusPage:
        return status_page((reading.json_object(answer.body) if answer.status == 200 else None) or {})

    def _list_request(self, fields: Mapping[str, Any], page: str | None) -> HttpRequest:
        query = urlencode(fields)
        if page is not None:  # of their link only the query counts: a host in it is never called
            query = quote(query_of(page), safe="%&=+", errors="replace")
        return HttpRequest("GET", f"{self._messages_url}?{query}", self._headers)

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        fields = genuine_fields(request, self.account.credentials)
        if _is_inbound(fields):
            return []
        sid = reading.identifier(fields.get("MessageSid") or fields.get("SmsSid"))
        status = reading.word(fields.get("MessageStatus") or fields.get("SmsStatus"))
        if sid is None or not status:
            raise MalformedWebhook("the callback names no message or no status")
        # The carrier's time tells reports apart, but it has no zone: it is no time of ours.
        dlr_date = reading.word(fields.get("RawDlrDoneDate"))
        told = event(sid, status, fields.get("ErrorCode"), told_at=dlr_date, raw=request.body)
        return [replace(told, attempt=attempt_of(request.url))]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        """Texts that come in: https://www.twilio.com/docs/messaging/guides/webhook-request."""
        fields = genuine_fields(request, self.account.credentials)
        sid = reading.identifier(fields.get("MessageSid") or fields.get("SmsSid"))
        if not _is_inbound(fields) or sid is None:
            return []
        sender, recipient = reading.word(fields.get("From")), reading.word(fields.get("To"))
        return [InboundMessage(sid, sender, recipient, reading.clean(fields["Body"]), raw=request.body)]


def _is_inbound(fields: Mapping[str, Any]) -> bool:
    return isinstance(fields.get("Body"), str) and reading.word(fields.get("SmsStatus")) == "received"


def _refusal(answer: HttpResponse) -> ProviderError:
    code = reading.number((reading.json_object(answer.body) or {}).get("code"))
    kind = error_for_status(answer.status)
    listed = REFUSALS.get(code or 0)
    if kind is not OutcomeUnknown and listed:  # any 5xx may have been sent, whatever its code
        kind = listed
    return kind(
        f"HTTP {answer.status}" if code is None else f"HTTP {answer.status}, code {code}",
        code="" if code is None else str(code),
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress=SUPPRESS.get(code or 0) if kind is listed else None,
        advice=SENDER_FAULTS.get(code or 0, ""),
    )


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""Twilio, SMS.

API reference, read 2026-11: https://www.twilio.com/docs/messaging/api/message-resource,
https://www.twilio.com/docs/api/errors, https://www.twilio.com/docs/usage/webhooks/webhooks-security; shapes from
twilio/twilio-oai, signatures from the Python SDK 9.13.
There is no idempotency key and no reference to search by: posting twice sends twice.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.callback_urls import attempt_of, parameters, query_of, with_attempt
from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InsufficientBalance,
    InvalidRecipient,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientOptedOut,
    RouteRejected,
    SenderNotAllowed,
)
from providers.forms import form
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
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.signatures import Pairs, form_pairs, form_text, is_hmac, is_sha256, url_forms

# Refusal code -> our error. A code not listed is judged by its HTTP status.
REFUSALS: dict[int, type[ProviderError]] = {
    14107: RateLimited,  # send rate exceeded
    20003: AuthenticationFailed,
    20429: RateLimited,  # "not processed", and may be retried with backoff
    21211: InvalidRecipient,
    21212: SenderNotAllowed,  # the sender is no valid number
    21408: SenderNotAllowed,  # the region is not enabled for this account: ours to mend
    21602: ContentRejected,  # no body
    21603: SenderNotAllowed,  # no sender
    21606: SenderNotAllowed,  # the sender cannot send SMS
    21608: SenderNotAllowed,  # a trial account may write to verified numbers only
    21610: RecipientOptedOut,
    21611: RateLimited,  # this sender's queue is full
    21612: RouteRejected,  # this sender cannot reach this recipient
    21614: InvalidRecipient,  # not a mobile number
    21617: ContentRejected,  # over 1,600 characters
    21635: InvalidRecipient,  # a landline
    21703: SenderNotAllowed,  # the messaging service has no senders
    63038: InsufficientBalance,  # the account's daily limit
}

# Codes, in refusals and in receipts, that make it certain that the number must not be used again.
SUPPRESS = {
    21211: "invalid",
    21610: "opted_out",
    21614: "invalid",
    30005: "unreachable",  # "unknown handset"
    30006: "unreachable",  # a landline or an unreachable carrier: "do not retry the same SMS"
}

STATUSES = {
    "accepted": EventKind.ACCEPTED,
    "scheduled": EventKind.ACCEPTED,
    "queued": EventKind.ACCEPTED,
    "sending": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "read": EventKind.DELIVERED,
    "partially_delivered": EventKind.DELIVERED,
    "undelivered": EventKind.FAILED,
    "failed": EventKind.FAILED,
    "canceled": EventKind.FAILED,
}

# What "undelivered" and "failed" mean with these codes. Any other code is for good.
FAILURES = {
    30001: EventKind.NOT_REACHED,  # queue overflow
    30003: EventKind.NOT_REACHED,  # "unreachable destination handset", which may be temporary
    30008: EventKind.NOT_REACHED,  # "unknown error"
    30017: EventKind.NOT_REACHED,  # carrier congestion
    30022: EventKind.NOT_REACHED,  # carrier rate limit
    30036: EventKind.EXPIRED,  # the validity period ran out
}

LONGEST_VALIDITY_SECONDS = 36000
PAGE_SIZE = 100  # a page of 1,000 long messages would be longer than the transport lets through
EARLY_SECONDS = 2  # their clock, in whole seconds, against ours
LATE_SECONDS = 60

SIGNATURE = "X-Twilio-Signature"
SIGNATURE_SETTINGS = "X-Twilio-Webhooks-Signature-Settings"
DIGESTS = {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}

SENDERS = {"from": "From", "messaging_service_sid": "MessagingServiceSid"}  # by their record's name, by their form's


class Twilio(Provider):
    name = "twilio"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_RECIPIENT, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("account_sid", "auth_token")
    optional_credential_names = ("api_key_sid", "api_key_secret", "webhook_secret")
    setting_names = ("from", "messaging_service_sid")
    default_base_url = "https://api.twilio.com"

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
        """Say who sends, by the names their records use."""
        return {name: str(value) for name in SENDERS if (value := self.account.settings.get(name))}

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
        query = urlencode({"To": sent.message.to, **fixed, "PageSize": PAGE_SIZE})
        if page is not None:  # of their link only the query counts: a host in it is never called
            query = quote(query_of(page), safe="%&=+", errors="replace")
        return HttpRequest("GET", f"{self._messages_url}?{query}", self._headers)

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        page = reading.json_object(answer.body) if answer.status == 200 else None
        messages = page.get("messages") if page else None
        if page is None or not isinstance(messages, list):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        candidates = [message for message in messages if isinstance(message, dict) and self._may_be(message, sent)]
        # Word by word: whether they keep line ends and outer blanks is not documented.
        matches = [message for message in candidates if _words(message.get("body")) == _words(sent.message.text)]
        if len(matches) == 1 and _created_at(matches[0]) is not None:
            return Found(matches[0]["sid"], (_polled(matches[0]),))
        if matches or not all(_words(message.get("body")) for message in candidates):
            return CannotTell("several messages could be this one, or one that could has lost its text or date")
        return _next_page(page, messages, sent)

    def _may_be(self, message: Mapping[str, Any], sent: SentMessage) -> bool:
        sid, created_at = reading.identifier(message.get("sid")), _created_at(message)
        earliest, latest = _window(sent)
        return (
            message.get("to") == sent.message.to
            and all(message.get(name) == sender for name, sender in self._sender.items())
            and sid is not None
            and sid not in sent.owned_ids
            and (created_at is None or earliest <= created_at <= latest)
        )

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", self._url(f"Messages/{quote(provider_message_id, safe='')}.json"), self._headers)

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        message = reading.json_object(answer.body) if answer.status == 200 else None
        if message is None or reading.identifier(message.get("sid")) is None or not reading.word(message.get("status")):
            return []
        return [_polled(message)]

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        fields = self._genuine_fields(request)
        if _is_inbound(fields):
            return []
        sid = reading.identifier(fields.get("MessageSid") or fields.get("SmsSid"))
        status = reading.word(fields.get("MessageStatus") or fields.get("SmsStatus"))
        if sid is None or not status:
            raise MalformedWebhook("the callback names no message or no status")
        # The carrier's time tells reports apart, but it has no zone: it is no time of ours.
        dlr_date = reading.word(fields.get("RawDlrDoneDate"))
        attempt = attempt_of(request.url)
        event = _event(sid, status, fields.get("ErrorCode"), told_at=dlr_date, raw=request.body)
        return [replace(event, attempt=attempt)]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        """Texts that come in: https://www.twilio.com/docs/messaging/guides/webhook-request."""
        fields = self._genuine_fields(request)
        sid = reading.identifier(fields.get("MessageSid") or fields.get("SmsSid"))
        if not _is_inbound(fields) or sid is None:
            return []
        sender, recipient = reading.word(fields.get("From")), reading.word(fields.get("To"))
        return [InboundMessage(sid, sender, recipient, reading.clean(fields["Body"]), raw=request.body)]

    def _genuine_fields(self, request: WebhookRequest) -> Mapping[str, Any]:
        headers = Headers(request.headers)
        signature, settings = headers.get(SIGNATURE, ""), headers.get(SIGNATURE_SETTINGS)
        body_hash = parameters(request.url).get("bodySHA256")
        if body_hash is not None and "form" not in headers.get("Content-Type", ""):
            if not self._is_signed(request.url, [b""], signature, settings) or not is_sha256(body_hash, request.body):
                raise InvalidSignature("the signature or the hash of the body is wrong")
            if (fields := reading.json_object(request.body)) is None:
                raise MalformedWebhook("the callback is no JSON object")
            return fields
        pairs = form_pairs(request.body)
        decoded = [(form_text(name), form_text(value)) for name, value in pairs]
        # Whether they sign a text that is not UTF-8 as the bytes it is or as the letters it shows is not documented.
        readings = {_signed(pairs), _signed([(name.encode(), value.encode()) for name, value in decoded])}
        if not self._is_signed(request.url, readings, signature, settings):
            raise InvalidSignature("the signature is missing or wrong")
        return dict(decoded)

    def _is_signed(self, url: str, readings: Iterable[bytes], signature: str, settings: str | None) -> bool:
        """Check a signature: HMAC-SHA1 by the auth token, or as the settings header says, e.g. key=…,algorithm=HMAC_SHA256."""
        key, algorithm = self.account.credentials.get("auth_token", ""), "HMAC_SHA1"
        if settings:
            key = self.account.credentials.get("webhook_secret", "")
            named = dict(part.strip().split("=", 1) for part in settings.split(",") if "=" in part)
            algorithm = named.get("algorithm", algorithm).upper()
        if algorithm not in DIGESTS:
            return False
        signed = [form.encode(errors="replace") + text for form in url_forms(url) for text in readings]
        return is_hmac(signature, signed, key, DIGESTS[algorithm])


def _is_inbound(fields: Mapping[str, Any]) -> bool:
    return isinstance(fields.get("Body"), str) and reading.word(fields.get("SmsStatus")) == "received"


def _signed(pairs: Pairs) -> bytes:
    """Join names and values as they are signed: sorted, each pair once."""
    return b"".join(name + value for name, value in sorted(set(pairs)))


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
    )


def _event(sid: str, status: str, error_code: object, *, told_at: str, raw: bytes) -> DeliveryEvent:
    code = reading.number(error_code) or 0
    kind = STATUSES.get(status.lower(), EventKind.UNKNOWN)
    if status.lower() in ("failed", "undelivered"):
        kind = FAILURES.get(code, kind)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(sid, status, str(code), "", told_at),
        provider_message_id=sid,
        provider_status=status,
        error_code=str(code) if code else "",
        suppress=SUPPRESS.get(code) if kind is EventKind.FAILED else None,
        raw=raw,
    )


def _polled(message: Mapping[str, Any]) -> DeliveryEvent:
    """Read a message record. The same status gives the same event, though their date moves with the price, too."""
    raw = json.dumps({name: value for name, value in message.items() if name != "body"}).encode()
    sid, status = reading.identifier(message.get("sid")) or "", reading.word(message.get("status"))
    event = _event(sid, status, message.get("error_code"), told_at="polled", raw=raw)
    return replace(event, occurred_at=reading.mail_time(message.get("date_updated")))


def _words(text: object) -> list[str]:
    return reading.clean(text).split() if isinstance(text, str) else []


def _created_at(message: Mapping[str, Any]) -> datetime | None:
    return reading.mail_time(message.get("date_created"))


def _window(sent: SentMessage) -> tuple[datetime, datetime]:
    """Say between which times they can have made the record."""
    return (
        sent.began_at - timedelta(seconds=EARLY_SECONDS),
        sent.began_at + timedelta(seconds=sent.deadline_seconds + LATE_SECONDS),
    )


def _next_page(page: Mapping[str, Any], messages: Sequence[Any], sent: SentMessage) -> NextPage | NotThere:
    """Turn the page, unless this one (newest first) already reaches back to before the call."""
    link = page.get("next_page_uri")
    dates = [_created_at(message) for message in messages if isinstance(message, dict)]
    reaches_back = any(date < _window(sent)[0] for date in dates if date is not None)
    return NextPage(link) if isinstance(link, str) and link and not reaches_back else NotThere()

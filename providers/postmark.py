"""Postmark, e-mail.

API reference, read 2026-11: https://postmarkapp.com/developer/api/overview (errors),
https://postmarkapp.com/developer/api/email-api, https://postmarkapp.com/developer/api/messages-api,
https://postmarkapp.com/developer/webhooks/webhooks-overview.
There is no idempotency key, but our attempt id travels as metadata, can be searched for and returns in every webhook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status
from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientUnavailable,
    SenderNotAllowed,
    Unavailable,
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
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)
from providers.signatures import is_basic

# ErrorCode -> our error. These are no HTTP statuses, whatever they look like: they are read first.
REFUSALS: dict[int, type[ProviderError]] = {
    10: AuthenticationFailed,
    100: Unavailable,  # maintenance
    300: InvalidRequest,  # or the address: ADDRESS_FAULTS
    400: SenderNotAllowed,  # no such sender signature
    401: SenderNotAllowed,  # sender signature not confirmed
    402: InvalidRequest,  # not JSON
    403: InvalidRequest,  # a field is wrong
    405: InsufficientBalance,
    406: RecipientUnavailable,  # "inactive": it bounced, complained or was suppressed by hand
    409: InvalidRequest,  # JSON headers missing
    410: InvalidRequest,  # over 500 in a batch
    411: InvalidRequest,  # forbidden kind of attachment
    412: SenderNotAllowed,  # account pending
    413: SenderNotAllowed,  # account may not send
    429: RateLimited,
    1101: InvalidRequest,  # templates, as are 1120 to 1131
    **dict.fromkeys(range(1120, 1132), InvalidRequest),
    1226: InvalidRequest,  # unknown message stream
}
# Without a code. "503: planned service outage", nothing was kept; a 500 "usually" lost the message, so it may have it.
BY_STATUS: dict[int, type[ProviderError]] = {413: InvalidRequest, 415: InvalidRequest, 503: Unavailable}

# The one place where their text decides: code 300 is also about From, Reply-To and metadata.
ADDRESS_FAULTS = ("Invalid 'To'", "Error parsing 'To'")
INACTIVE = "will not deliver to these inactive addresses"  # in a 200 that hides a refusal

# What a report means, and why the address must not be used again where that is certain.
Meaning = tuple[EventKind, str | None]
NOTHING: Meaning = (EventKind.UNKNOWN, None)
DELAYED: Meaning = (EventKind.SENT, None)  # they are still trying
FAILED: Meaning = (EventKind.FAILED, None)

RECORDS: dict[str, Meaning] = {
    "delivery": (EventKind.DELIVERED, None),
    "spamcomplaint": (EventKind.COMPLAINED, "complaint"),
}
BOUNCES: dict[str, Meaning] = {
    "hardbounce": (EventKind.BOUNCED, "hard_bounce"),
    "bademailaddress": (EventKind.BOUNCED, "hard_bounce"),
    "softbounce": (EventKind.NOT_REACHED, None),
    "undeliverable": (EventKind.NOT_REACHED, None),
    "transient": DELAYED,
    "dnserror": DELAYED,
    "spamnotification": (EventKind.COMPLAINED, "complaint"),
    "spamcomplaint": (EventKind.COMPLAINED, "complaint"),
    "unsubscribe": (EventKind.OPTED_OUT, None),  # of this stream, by a mail: the mailbox works
    "blocked": FAILED,
    "dmarcpolicy": FAILED,
    "manuallydeactivated": FAILED,
    "smtpapierror": FAILED,
    "templaterenderingfailed": FAILED,
    "unconfirmed": FAILED,
    # Not listed and so without effect: AutoResponder (a holiday reply), ChallengeVerification, Subscribe, AddressChange,
    # OpenRelayTest, VirusNotification, InboundError, Unknown.
}
SUPPRESSIONS: dict[str, Meaning] = {
    "hardbounce": (EventKind.BOUNCED, "hard_bounce"),
    "spamcomplaint": (EventKind.COMPLAINED, "complaint"),
    "manualsuppression": (EventKind.OPTED_OUT, "opted_out"),
}
STATUSES: dict[str, Meaning] = {
    "queued": (EventKind.ACCEPTED, None),
    "processed": (EventKind.ACCEPTED, None),
    "scheduled": (EventKind.ACCEPTED, None),
    "sent": (EventKind.SENT, None),  # no delivery: that is in the events
    "blocked": FAILED,
    "failed": FAILED,
}
MESSAGE_EVENTS: dict[str, Meaning] = {
    "delivered": (EventKind.DELIVERED, None),
    "transient": DELAYED,
    # They do not say whether hard or soft. A hard one is told by webhook, or as code 406 if we try again.
    "bounced": (EventKind.NOT_REACHED, None),
}
FOUND_AT_ONCE = 20  # more attempts than a message can have
TIMES = ("DeliveredAt", "BouncedAt", "ChangedAt", "ReceivedAt")


class Postmark(Provider):
    """`useful_seconds` has no counterpart: Postmark keeps trying as long as it likes."""

    name = "postmark"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.RECEIPTS, Ability.BATCH})
    credential_names = ("server_token", "webhook_user", "webhook_password")
    setting_names = ("from", "message_stream")
    default_base_url = "https://api.postmarkapp.com"
    look_up_delay_seconds = 5.0
    batch_limit = 500
    refused_webhook_status = 401  # "403 stops the retries for good", and the fault may be in our own roll-out

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("Postmark sends e-mail only")
        if re.search(r"[\s,;<>]", message.to):
            raise UnsupportedFeature("To is a list: an address with a comma or the like would be taken for several")
        if not self.account.settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        fields = {
            "From": self.account.settings["from"],
            "To": message.to,
            "Subject": re.sub(r"[\r\n]+", " ", reading.clean(message.subject or "")),
            "TextBody": reading.clean(message.text),
            "Metadata": {"attempt": attempt.id, "message": attempt.message},
            "Headers": [{"Name": "X-Attempt-Id", "Value": attempt.id}],
            "MessageStream": self._stream(),
            "TrackOpens": False,
            "TrackLinks": "None",
        }
        if message.html is not None:
            fields["HtmlBody"] = reading.clean(message.html)
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
        name, value = _metadata_of(sent)
        query = {"count": FOUND_AT_ONCE, "offset": 0, f"metadata_{name}": value, "messagestream": self._stream()}
        return HttpRequest("GET", f"{self.base_url}/messages/outbound?{urlencode(query)}", self._headers())

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        fields = reading.json_object(answer.body) if answer.status == 200 else None
        messages = fields.get("Messages") if fields else None
        if fields is None or not isinstance(messages, list):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        if not messages and reading.number(fields.get("TotalCount")) == 0:
            return NotThere()
        name, value = _metadata_of(sent)
        for message in messages:
            message_id = reading.identifier(message.get("MessageID")) if isinstance(message, dict) else None
            # A search that ignored our filter would show somebody else's message.
            if message_id is None or reading.word(_metadata(message).get(name)) != value:
                break
            if message_id not in sent.owned_ids:
                return Found(message_id, tuple(_status_events(message)))
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
        return _status_events(message)

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        user, password = (self.account.credentials.get(name, "") for name in ("webhook_user", "webhook_password"))
        if not is_basic(Headers(request.headers).get("Authorization", ""), user, password):
            raise InvalidSignature("user or password is missing or wrong")
        report = reading.json_object(request.body)
        if report is None or not reading.word(report.get("RecordType")):
            raise MalformedWebhook("the webhook is no JSON object with a RecordType")
        message_id, attempt = reading.identifier(report.get("MessageID")), _attempt(report)
        if message_id is None and attempt is None and report["RecordType"] != "SubscriptionChange":
            raise MalformedWebhook("the webhook names no message")
        kind, suppress = _meaning(report)
        told_at = _told_at(report)
        return [
            DeliveryEvent(
                kind=kind,
                dedupe_key=_report_key(report, told_at or request.body.hex()),
                attempt=attempt,
                provider_message_id=message_id,
                provider_status=reading.word(report.get("Type") or report["RecordType"]),
                error_code=reading.word(report.get("TypeCode") or report.get("SuppressionReason"), limit=50),
                occurred_at=reading.iso_time(told_at),
                suppress=suppress,
                raw=request.body,
            )
        ]


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
    if code == 300 and message.startswith(ADDRESS_FAULTS):
        return InvalidRecipient
    if code in REFUSALS:
        return REFUSALS[code]
    if not 200 <= status < 300:
        return BY_STATUS.get(status) or error_for_status(status)
    if code:
        return OutcomeUnknown
    return RecipientUnavailable if INACTIVE in message else None


def _attempt(record: Mapping[str, Any]) -> str | None:
    return reading.identifier(_metadata(record).get("attempt"))


def _metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = record.get("Metadata")
    return metadata if isinstance(metadata, dict) else {}


def _metadata_of(sent: SentMessage) -> tuple[str, str]:
    """What a search goes by: only one of them may be asked for."""
    return ("message", sent.attempt.message) if sent.any_attempt else ("attempt", sent.attempt.id)


def _meaning(report: Mapping[str, Any]) -> Meaning:
    record = reading.word(report["RecordType"]).lower()
    if record == "bounce":
        return BOUNCES.get(reading.word(report.get("Type")).lower(), NOTHING)
    if record == "subscriptionchange":
        return _suppression(report)
    return RECORDS.get(record, NOTHING)


def _suppression(change: Mapping[str, Any]) -> Meaning:
    if str(change.get("SuppressSending")).lower() != "true":
        return NOTHING
    return SUPPRESSIONS.get(reading.word(change.get("SuppressionReason")).lower(), NOTHING)


def _told_at(report: Mapping[str, Any]) -> str:
    return next((time for name in TIMES if (time := reading.word(report.get(name)))), "")


def _report_key(report: Mapping[str, Any], told_at: str) -> str:
    """Tell reports apart, which have no id of their own but bounces."""
    record_id = report.get("ID") or report.get("MessageID")
    recipient = report.get("Recipient") or report.get("Email")
    return reading.fingerprint(*(reading.word(part) for part in (report["RecordType"], record_id, recipient)), told_at)


def _status_events(message: Mapping[str, Any]) -> list[DeliveryEvent]:
    """Read a message record: its status, and the events that `details` add."""
    status, reports = reading.word(message.get("Status")), message.get("MessageEvents")
    known = {name: message.get(name) for name in ("MessageID", "Status", "ReceivedAt")}  # without text and addresses
    events = [_status_event(message, STATUSES.get(status.lower(), NOTHING), status, "", known)] if status else []
    for report in reports if isinstance(reports, list) else []:
        if isinstance(report, dict):
            word, details = reading.word(report.get("Type")), report.get("Details")
            meaning = MESSAGE_EVENTS.get(word.lower(), NOTHING)
            if word.lower() == "subscriptionchanged" and isinstance(details, dict):
                meaning = _suppression(details)
            events.append(_status_event(message, meaning, word, _told_at(report), report))
    return events


def _status_event(
    message: Mapping[str, Any], meaning: Meaning, word: str, told_at: str, source: object
) -> DeliveryEvent:
    message_id = reading.identifier(message.get("MessageID"))
    kind, suppress = meaning
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint("polled", message_id, word, told_at),
        attempt=_attempt(message),
        provider_message_id=message_id,
        provider_status=word,
        occurred_at=reading.iso_time(told_at),
        suppress=suppress,
        raw=json.dumps(source).encode(),
    )

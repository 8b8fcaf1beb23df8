"""Vonage SMS API, the older of their two.

API reference, read 2026-11: https://developer.vonage.com/en/api/sms, shapes from Nexmo/api-specification (July 2021) and
the Python SDK 4.9.1.
HTTP 200 says nothing: each part of a text has a status of its own in the answer, and later receipts of its own.
There is no idempotency key: posting twice sends twice. Messages are looked up in Reports, a product of its own; without
it the account's `may_read` is false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.errors import (
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    UnknownRefusal,
)
from providers.messages import (
    Ability,
    AttemptRef,
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
    WebhookRequest,
)
from providers.signatures import form_text
from providers.vonage_shared import (
    REPORTS_DELAY_SECONDS,
    Reports,
    basic,
    read_page,
    search,
    with_plus,
    without_plus,
)
from providers.vonage_sms.alphabet import alphabet_and_parts
from providers.vonage_sms.codes import REFUSALS, SENDER_FAULTS, SENDER_FAULTS_IN_RECEIPTS, SUPPRESS, TAKEN
from providers.vonage_sms.receipts import (
    attempt_in,
    is_signed,
    pairs_of,
    part_event,
    raw_of,
    reference,
    whole_event,
)

SHORTEST_VALIDITY_SECONDS, LONGEST_VALIDITY_SECONDS = 20, 604_800
INDIAN = {"entity_id": "entity-id", "content_id": "content-id"}  # settings that go with messages to India only


class VonageSms(Provider):
    """The provider's id of a long text is the ids of its parts, joined by commas as far as they can be kept.

    A long text is delivered when a look-up finds all its parts delivered; their receipts alone never show that.
    Receipts are believed only if they are signed, which support switches on. Settings: `signature_method` is hmac_md5,
    hmac_sha1, hmac_sha256, hmac_sha512 or md5_hash, unset any HMAC; `reports_url` where Reports are not at the account's
    `base_url`; `entity_id` and `content_id` are the sender's registration in India.
    """

    name = "vonage_sms"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("api_key", "api_secret", "signature_secret")
    setting_names = ("from", "senders", "signature_method", "reports_url", *INDIAN)
    default_base_url = "https://rest.nexmo.com"
    sender_faults = SENDER_FAULTS_IN_RECEIPTS
    callback_url_characters = 100  # in the SDK
    look_up_delay_seconds = REPORTS_DELAY_SECONDS
    unverified: ClassVar[tuple[str, ...]] = (
        "How far reports are behind: a minute is supposed.",
        "Whether a report has a record for each part: a long text is only called delivered if it has.",
        "Whether a report of many records comes in pages: a link to the next page is followed where there is one.",
        "Whether a signature covers a text that is not UTF-8 as bytes or as letters: both are accepted.",
        "The wait in milliseconds in the text of a throttled answer: it is read where it is there.",
        "That times in receipts are in UTC.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        sender = without_plus(self.require_sender(message.country))
        text = reading.clean(message.text)
        alphabet, parts = alphabet_and_parts(text)
        form = {
            "from": sender,
            "to": without_plus(message.to),
            "text": text,
            "type": alphabet,
            "client-ref": reference(attempt, parts),
            **self._registration(message.country),
        }
        if message.useful_seconds is not None:
            seconds = min(max(message.useful_seconds, SHORTEST_VALIDITY_SECONDS), LONGEST_VALIDITY_SECONDS)
            form["ttl"] = str(seconds * 1000)  # in milliseconds here
        if self.account.callback_url is not None:
            form |= {"status-report-req": "1", "callback": self.account.callback_url}
        headers = {
            "Authorization": basic(self.account.credentials),
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return HttpRequest("POST", f"{self.base_url}/sms/json", headers, urlencode(form).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise error_for_status(answer.status)(
                f"HTTP {answer.status}",
                http_status=answer.status,
                retry_after_seconds=retry_after.from_headers(answer.headers),
            )
        parts = _parts(answer)
        refused = [part for part in parts if _status(part) != TAKEN]
        if refused:
            raise _refusal(answer, refused, taken=len(parts) - len(refused))
        ids = [message_id for part in parts if (message_id := reading.identifier(part.get("message-id")))]
        if len(ids) < len(parts):
            raise OutcomeUnknown("the answer does not name the message", http_status=answer.status)
        return SendResult(_joined(ids), segments=len(parts))

    def _registration(self, country: str) -> dict[str, str]:
        settings = self.account.settings
        return {
            theirs: str(settings[ours]) for ours, theirs in INDIAN.items() if country == "IN" and settings.get(ours)
        }

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        return self._reports.of_call(sent, page)

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        records = search(answer, sent, attempt_in)
        if not isinstance(records, tuple):
            return records
        return Found(_joined([record.id for record in records]), (whole_event(records),))

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return self._reports.of_ids(provider_message_id)

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        page = read_page(answer)
        records = [record for record in page.records if record.status] if page else []
        return [whole_event(records)] if records else []

    @property
    def _reports(self) -> Reports:
        return Reports(self.account, "SMS")

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        fields = self._genuine_fields(request)
        if "status" not in fields and _is_inbound(fields):
            return []
        if reading.identifier(fields.get("messageId")) is None or not reading.word(fields.get("status")):
            raise MalformedWebhook("the receipt names no message or no status")
        return [part_event(fields, raw_of(request))]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        """Read a text; each part of a long one comes by itself and stays so."""
        fields = self._genuine_fields(request)
        message_id = reading.identifier(fields.get("messageId"))
        if "status" in fields or message_id is None or "text" not in fields:
            return []
        return [
            InboundMessage(
                dedupe_key=message_id,
                sender=with_plus(fields.get("msisdn")),
                recipient=with_plus(fields.get("to")),
                text=reading.clean(fields["text"]),
                received_at=reading.iso_time(fields.get("message-timestamp")),
                raw=raw_of(request),
            )
        ]

    def _genuine_fields(self, request: WebhookRequest) -> dict[str, str]:
        """Check the signature, which covers all fields. How old it is does not matter: a receipt has its effect once."""
        pairs = pairs_of(request)
        secret = self.account.credentials.get("signature_secret", "")
        if not is_signed(pairs, secret, self.account.settings.get("signature_method")):
            raise InvalidSignature("the signature is missing or wrong")
        return {form_text(name): form_text(value) for name, value in pairs}


def _is_inbound(fields: Mapping[str, str]) -> bool:
    return "messageId" in fields and not fields.keys().isdisjoint({"text", "data", "keyword"})


def _parts(answer: HttpResponse) -> Sequence[Mapping[str, Any]]:
    """Read the parts that an answer tells of. Raises OutcomeUnknown if those are not all."""
    fields = read_json(answer)
    parts = fields.get("messages") if isinstance(fields, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) and _status(part) for part in parts):
        raise OutcomeUnknown("the answer does not tell what became of the message", http_status=answer.status)
    if (reading.number(fields.get("message-count")) or 0) > len(parts):
        raise OutcomeUnknown("the answer does not tell of all parts", http_status=answer.status)
    return parts


def _status(part: Mapping[str, Any]) -> str:
    status = reading.word(part.get("status"))
    return status if re.fullmatch("[0-9]{1,9}", status) else ""


def _refusal(answer: HttpResponse, refused: Sequence[Mapping[str, Any]], *, taken: int) -> ProviderError:
    """Say what parts that were not taken mean. Where others were, all of it again would repeat those."""
    codes = list(map(_status, refused))
    kinds = [REFUSALS.get(code, UnknownRefusal) for code in codes]
    code, kind = codes[0], kinds[0]
    if taken or OutcomeUnknown in kinds:
        kind = OutcomeUnknown
    return kind(
        f"status {code}" if not taken else f"status {code}, but {taken} of {taken + len(refused)} parts were taken",
        code=code,
        http_status=answer.status,
        retry_after_seconds=_wait_seconds(answer, refused[0]) if kind is RateLimited else None,
        suppress=SUPPRESS.get(code) if kind is REFUSALS.get(code) else None,
        advice=SENDER_FAULTS.get(code, ""),
    )


def _wait_seconds(answer: HttpResponse, part: Mapping[str, Any]) -> float | None:
    """Read how long to wait: only a text tells, "please wait [ 250 ] and retry", in milliseconds."""
    wait = re.search(r"\[ *([0-9]{1,6}) *\]", reading.word(part.get("error-text"), limit=200))
    return retry_after.from_headers(answer.headers) or (int(wait[1]) / 1000 if wait else None)


def _joined(ids: Sequence[str]) -> str:
    """Make one id of several: as many, from the first, as can be kept."""
    joined = ids[0]
    for part_id in dict.fromkeys(ids[1:]):
        if len(joined) + len(part_id) >= reading.ID_LIMIT:
            break
        joined += f",{part_id}"
    return joined

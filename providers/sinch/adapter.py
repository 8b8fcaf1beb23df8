"""Sinch, SMS by the batches API of a service plan.

API reference, read 2026-11: https://developers.sinch.com/docs/sms/api-reference/sms/batches,
https://developers.sinch.com/docs/sms/api-reference/sms/webhooks,
https://developers.sinch.com/docs/sms/api-reference/status-codes; shapes and signatures from the Python SDK 2.3.
There is no idempotency key, but our attempt id travels as `client_reference`, can be searched for and returns in reports.
A batch is one text to many numbers under one reference: no place for many messages of ours, each with its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from providers import reading, retry_after
from providers.base import Provider, error_for_status, read_json
from providers.errors import (
    InvalidRecipient,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
)
from providers.messages import (
    Ability,
    Account,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
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
    StatusPage,
    WebhookRequest,
)
from providers.signatures import is_basic, is_hmac
from providers.sinch import receipts
from providers.sinch.codes import BY_STATUS, FAULTS, REFUSALS, SENDER_FAULTS, VAGUE

REGIONS = ("us", "eu", "au", "br", "ca")
SHORTEST_VALIDITY_SECONDS = 30  # their clock against ours: an expiry in the past would be refused
LONGEST_VALIDITY_SECONDS = 3 * 24 * 60 * 60  # their default and their most
USEFUL_SECONDS = "X-Useful-Seconds"  # for ourselves: `authorize` takes it off the call
PAGE_SIZE = 100  # their most
EARLY = timedelta(hours=1)  # a search by reference needs no narrow time, only one before the call
SIGNATURE = "x-sinch-webhook-signature"


class Sinch(Provider):
    """`region` chooses the vendor's host where the account names no base_url; "us" if it is not set.

    A service plan signs its webhooks (`webhook_secret`) or calls with a user and a password, as Sinch has set it up for the
    customer. With neither, no webhook is believed.
    """

    name = "sinch"
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.LIST_STATUSES, Ability.RECEIPTS})
    credential_names = ("service_plan_id", "api_token")
    optional_credential_names = ("webhook_secret", "webhook_user", "webhook_password")
    setting_names = ("from", "senders", "region")
    default_base_url = "https://us.sms.api.sinch.com"
    sender_faults: ClassVar[Mapping[str, str]] = {str(code): advice for code, advice in SENDER_FAULTS.items()}
    look_up_delay_seconds = 5.0
    refused_webhook_status = 503  # a 4xx loses the report for good, and the fault may be in our own roll-out
    unverified: ClassVar[tuple[str, ...]] = (
        "How soon a batch is found by its reference: we wait 5 seconds.",
        "The list's filter by reference is in the SDK and not in older documents; a list without it tells nothing.",
        "Which reports their list holds besides final ones, and whether its times are the messages' or the reports'.",
        "The names of refusals, known from older copies of the documentation.",
        "A 500 is said to mean that nothing was processed; we search all the same.",
        "How a text with ${…} is escaped: we send the dollar sign as a parameter.",
        "The regions au, br and ca.",
    )

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        region = account.settings.get("region")
        if not account.base_url and region in REGIONS:
            self.base_url = f"https://{region}.sms.api.sinch.com"

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        fields: dict[str, object] = {
            "to": [message.to.removeprefix("+")],
            "type": "mt_text",
            **_as_body(reading.clean(message.text)),
            "client_reference": attempt.id,
            "delivery_report": "none",
        }
        if sender := self.sender_for(message.country):  # without one the plan's own is used
            fields["from"] = sender.removeprefix("+")
        if self.account.callback_url is not None:
            fields |= {"delivery_report": "per_recipient", "callback_url": self.account.callback_url}
        headers = {**self._headers(), "Content-Type": "application/json"}
        if message.useful_seconds is not None and message.useful_seconds < LONGEST_VALIDITY_SECONDS:
            headers[USEFUL_SECONDS] = str(max(message.useful_seconds, SHORTEST_VALIDITY_SECONDS))
        return HttpRequest("POST", self._url(), headers, json.dumps(fields).encode())

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Say when the message is useful no more: a time of day, so it cannot be said before the call."""
        headers = dict(request.headers)
        useful = headers.pop(USEFUL_SECONDS, None)
        if useful is None:
            return request
        fields = json.loads(request.body) | {"expire_at": _time(now + timedelta(seconds=int(useful)))}
        return replace(request, headers=headers, body=json.dumps(fields).encode())

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        batch = read_json(answer)
        batch_id = reading.identifier(batch.get("id")) if isinstance(batch, dict) else None
        if batch_id is None:
            raise OutcomeUnknown("the answer names no batch", http_status=answer.status)
        return SendResult(batch_id)

    def _url(self, resource: str = "") -> str:
        return f"{self._plan_url()}/batches{resource}"

    def _plan_url(self) -> str:
        return f"{self.base_url}/xms/v1/{quote(self.account.credentials['service_plan_id'], safe='')}"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.account.credentials['api_token']}", "Accept": "application/json"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        """Describe the search by reference, or by time alone where the number of the attempt is not certain."""
        number = reading.number(page) or 0
        query = {"start_date": _time(sent.began_at - EARLY), "page": number, "page_size": PAGE_SIZE}
        if not sent.any_attempt:
            query["client_reference"] = sent.attempt.id
        return HttpRequest("GET", f"{self._url()}?{urlencode(query)}", self._headers())

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        page = reading.json_object(answer.body) if answer.status == 200 else None
        batches, count = (page.get("batches"), reading.number(page.get("count"))) if page else (None, None)
        if page is None or not isinstance(batches, list) or count is None:
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        for batch in batches:
            batch_id = reading.identifier(batch.get("id")) if isinstance(batch, dict) else None
            if batch_id is None:
                return CannotTell("a batch has no id")
            if _is_ours(batch, sent) and batch_id not in sent.owned_ids:
                return Found(batch_id)
        if batches and not sent.any_attempt:  # a search that ignored our filter shows somebody else's
            return CannotTell("the list shows no batch that could be this attempt's")
        number = reading.number(page.get("page")) or 0
        if count > number * PAGE_SIZE + len(batches):
            return NextPage(str(number + 1)) if batches else CannotTell("the list is not complete")
        return NotThere()

    def status_request(self, provider_message_id: str) -> HttpRequest:
        resource = f"/{quote(provider_message_id, safe='')}/delivery_report?type=full"
        return HttpRequest("GET", self._url(resource), self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        report = reading.json_object(answer.body) if answer.status == 200 else None
        return receipts.polled(report) if report else []

    def statuses_request(self, since: datetime, until: datetime, page: str | None = None) -> HttpRequest:
        query = {
            "start_date": _time(since),
            "end_date": _time(until),
            "page": reading.number(page) or 0,
            "page_size": PAGE_SIZE,
        }
        return HttpRequest("GET", f"{self._plan_url()}/delivery_reports?{urlencode(query)}", self._headers())

    def statuses_result(self, answer: HttpResponse) -> StatusPage:
        return receipts.polled_page(
            (reading.json_object(answer.body) if answer.status == 200 else None) or {}, PAGE_SIZE
        )

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check that the call is genuine, then translate it. Raises InvalidSignature, MalformedWebhook.

        How old it is does not matter: one that somebody kept and plays again is a repetition of what is on file.
        """
        report = self._genuine(request)
        return [] if receipts.is_inbound(report) else receipts.events(report, request.body)

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        return receipts.inbound(self._genuine(request), request.body)

    def _genuine(self, request: WebhookRequest) -> Mapping[str, Any]:
        if not self._is_genuine(Headers(request.headers), request.body):
            raise InvalidSignature("signature or password is missing or wrong")
        report = reading.json_object(request.body)
        if report is None:
            raise MalformedWebhook("the webhook is no JSON object")
        return report

    def _is_genuine(self, headers: Headers, body: bytes) -> bool:
        """Check the signature, an HMAC with SHA-256, where there is a secret for it, else user and password."""
        secret, user, password = (self.account.credentials.get(name, "") for name in self.optional_credential_names)
        if not secret:
            return is_basic(headers.get("Authorization", ""), user, password)
        nonce, sent_at = (headers.get(f"{SIGNATURE}-{part}", "") for part in ("nonce", "timestamp"))
        signed = body + f".{nonce}.{sent_at}".encode(errors="replace")
        return is_hmac(headers.get(SIGNATURE, ""), [signed], secret, "sha256")


def _as_body(text: str) -> dict[str, object]:
    """A text as they take it: what looks like a parameter of theirs, ${…}, would be replaced, or refused with code 405."""
    if "${" not in text:
        return {"body": text}
    return {"body": text.replace("${", "${dollar}{"), "parameters": {"dollar": {"default": "$"}}}


def _refusal(answer: HttpResponse) -> ProviderError:
    fields = reading.json_object(answer.body) or {}
    code = reading.word(fields.get("code"))
    if not re.fullmatch("[a-z_]{1,50}", code):
        code = ""  # no name of theirs, and perhaps a number
    kind = _refusal_kind(answer.status, code, str(fields.get("text")))
    return kind(
        f"HTTP {answer.status}, {code}" if code else f"HTTP {answer.status}",
        code=code,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress="invalid" if kind is InvalidRecipient else None,
    )


def _refusal_kind(status: int, code: str, text: str) -> type[ProviderError]:
    by_status = BY_STATUS.get(status) or error_for_status(status)
    if status == 429 or by_status is OutcomeUnknown:  # any 5xx may have been sent, whatever its name
        return by_status
    if code == VAGUE:
        return next((error for pattern, error in FAULTS if pattern.search(text)), REFUSALS[code])
    return REFUSALS.get(code, by_status)


def _is_ours(batch: Mapping[str, Any], sent: SentMessage) -> bool:
    reference = reading.identifier(batch.get("client_reference")) or ""
    if sent.any_attempt:
        return AttemptRef(reference).message == sent.attempt.message
    return reference == sent.attempt.id


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

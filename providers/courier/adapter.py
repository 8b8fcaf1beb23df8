"""The adapter for Courier; see the package."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from providers import mail_parts, reading, retry_after
from providers.base import Provider, error_for_status
from providers.courier.codes import BY_STATUS, CARRYING_FILES
from providers.courier.records import is_readable, told
from providers.courier.signature import is_signed
from providers.errors import (
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    UnsupportedFeature,
)
from providers.mails import named
from providers.messages import (
    Ability,
    Attachment,
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
    NextPage,
    NotThere,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)

# They would try again for three days, and send what ours has replaced long since. The same for all, whatever
# `useful_seconds` says: a repeat under a key has to have the same bytes.
THEIR_TRIES_MILLISECONDS = 60_000
LIMIT_SECONDS = 60.0  # what their guide asks for after a 429 that names no wait
REPORT = "message:updated"


class Courier(Provider):
    """Sends e-mail by the vendors that are set up at Courier: one of them where `provider` names it, in Courier's own word
    for it (`aws-ses`, `sendgrid`, …), else the first that takes it. So a second account is no other way out if the same
    vendor stands behind it. Without `from` a mail has the sender that is set up there.

    Files go by a `provider` of which it is known that it gets them (`amply`, `aws-ses`, `mailgun`, `postmark`). Pictures
    in the text and one-click unsubscribing cannot be carried, so marketing goes another way; the name of a recipient and
    `useful_seconds` have no counterpart: Courier's own tries end after a minute.
    Reports come from an outbound webhook that is set up at Courier, signed with `webhook_secret`. Complaints are not told.
    """

    name = "courier"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.KEYS, Ability.FIND_BY_REFERENCE, Ability.STATUS, Ability.RECEIPTS})
    credential_names = ("api_key", "webhook_secret")
    setting_names = ("from", "provider")
    default_base_url = "https://api.courier.com"
    look_up_delay_seconds = 60.0
    key_life_seconds = 23 * 60 * 60.0  # they keep keys for at least 24 hours; a repeat must arrive before that
    keeps_failures = True
    unverified: ClassVar[tuple[str, ...]] = (
        "No call was ever made to Courier, and its own specification was not at hand: fields are those of its Python SDK.",
        "How soon a search by tag shows a message; that the search is by one tag alone, and that each page tells of a next.",
        "The body of a refusal; what a message is called whose time for tries is up.",
        "That what is given for the channel replaces the rendered mail in all its parts; the fields of a file.",
        "Of a mail without HTML, Courier makes an HTML part of its own.",
        "That a bounce is told with what the server said: else no bounce suppresses an address.",
        "Whether an address with letters beyond ASCII before the @ is taken; none is sent there.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call that sends.

        Text and subject stand in it twice: as data, which nothing is read into, and as the mail that replaces what Courier
        makes of them. The message's own id is a tag beside the attempt's, since a repeat goes under its first attempt.
        """
        if message.channel not in self.channels:
            raise UnsupportedFeature("Courier sends e-mail only here")
        mail = self._mail(message)
        channel: dict[str, Any] = {"override": mail}
        if vendor := self.account.settings.get("provider"):
            channel["providers"] = [str(vendor)]
        fields = {
            "to": {"email": mail_parts.recipient(message)[1]},
            "content": {"title": "{{subject}}", "body": "{{text}}"},
            "data": {"subject": mail["subject"], "text": mail["text"]},
            "routing": {"method": "single", "channels": ["email"]},
            "channels": {"email": channel},
            "metadata": {"trace_id": attempt.id, "tags": [attempt.id, attempt.message]},
            "timeout": {"message": THEIR_TRIES_MILLISECONDS},
        }
        headers = {**self._headers(), "Content-Type": "application/json", "Idempotency-Key": attempt.key or attempt.id}
        return HttpRequest("POST", f"{self.base_url}/send", headers, json.dumps({"message": fields}).encode())

    def _mail(self, message: OutgoingMessage) -> dict[str, Any]:
        """The mail as it is to be. Raises UnsupportedFeature."""
        mail: dict[str, Any] = {
            "subject": mail_parts.subject(message),
            "text": reading.clean(message.text),
            "tracking": {"open": False},
        }
        if sender := self.account.settings.get("from"):
            mail["from"] = mail_parts.written(*named(str(sender)))
        if message.html is not None:
            mail["html"] = reading.clean(message.html)
        if answered := mail_parts.reply_to(message):
            mail["reply_to"] = answered
        if message.mail and message.mail.unsubscribe_url:
            raise UnsupportedFeature("Courier sets no headers, so nobody could unsubscribe with one click")
        if files := mail_parts.files(message):
            mail["attachments"] = [self._file(file) for file in files]
        return mail

    def _file(self, file: Attachment) -> dict[str, str]:
        if self.account.settings.get("provider") not in CARRYING_FILES:
            raise UnsupportedFeature("files go by the vendors that are known to get them")
        if file.content_id is not None:
            raise UnsupportedFeature("Courier has no pictures in the text")
        return {
            "filename": file.name,
            "contentType": file.content_type,
            "data": base64.b64encode(file.content).decode(),
        }

    def send_result(self, answer: HttpResponse) -> SendResult:
        """Read the answer to a send. To a message for one recipient it is the message's own id."""
        fields = reading.json_object(answer.body)
        if not 200 <= answer.status < 300:
            raise _refusal(answer, fields)
        message_id = reading.identifier((fields or {}).get("requestId"))
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id)

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        """Describe the search for what came of any attempt of a message: all of them are in its books or looked for."""
        query = {"tags": sent.attempt.message} | ({} if page is None else {"cursor": page})
        return HttpRequest("GET", f"{self.base_url}/messages?{urlencode(query, errors='replace')}", self._headers())

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        fields = (reading.json_object(answer.body) if answer.status == 200 else None) or {}
        results, paging = fields.get("results"), fields.get("paging")
        if not isinstance(results, list) or not isinstance(paging, dict):
            return CannotTell(f"no list in the answer (HTTP {answer.status})")
        events = [told(record) for record in results if isinstance(record, dict) and is_readable(record)]
        new = [event for event in events if event.provider_message_id not in sent.owned_ids]
        if new:
            return Found(str(new[0].provider_message_id), (new[0],))
        if len(events) < len(results) or not isinstance(paging.get("more"), bool):
            return CannotTell("a list that cannot be read")
        cursor = reading.identifier(paging.get("cursor"))
        if paging["more"]:
            return NextPage(cursor) if cursor else CannotTell("there is more of the list, and nothing leads to it")
        return NotThere()

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return HttpRequest("GET", f"{self.base_url}/messages/{quote(provider_message_id, safe='')}", self._headers())

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        record = (reading.json_object(answer.body) if answer.status == 200 else None) or {}
        return [told(record)] if is_readable(record) else []

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check the signature, then translate. Raises InvalidSignature, MalformedWebhook.

        How old the call is, or how far ahead its clock, does not matter: it tells that a message is in a status, and told
        again by somebody who kept the call that is a repetition of an event already on file.
        """
        if not is_signed(Headers(request.headers), request.body, self.account.credentials.get("webhook_secret", "")):
            raise InvalidSignature("the signature is missing or wrong")
        report = reading.json_object(request.body) or {}
        kind, record = reading.word(report.get("type")), report.get("data")
        if not kind:
            raise MalformedWebhook("the webhook is no JSON object with a type")
        if kind != REPORT:  # about templates, audiences
            dedupe_key = reading.fingerprint("other", request.body.decode(errors="replace"))
            return [DeliveryEvent(EventKind.UNKNOWN, dedupe_key, provider_status=kind, raw=request.body)]
        if not isinstance(record, dict) or not is_readable(record):
            raise MalformedWebhook("the report names no message, or no status")
        return [told(record, request.body)]


def _refusal(answer: HttpResponse, fields: Mapping[str, Any] | None) -> ProviderError:
    """Judge a refusal by its status, and one that is not in their shape as somebody else's on the way."""
    is_theirs = fields is not None and isinstance(fields.get("message"), str)
    kind = BY_STATUS.get(answer.status) if is_theirs else None
    wait = retry_after.from_headers(answer.headers)
    return (kind or error_for_status(answer.status))(
        f"HTTP {answer.status}",
        http_status=answer.status,
        retry_after_seconds=LIMIT_SECONDS if wait is None and kind is RateLimited else wait,
    )

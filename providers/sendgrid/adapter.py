"""The adapter for SendGrid.

API reference, read 2026-11: https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send,
https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event; Email Logs as in github.com/twilio/sendgrid-oai
(January 2026). There is no idempotency key. Our attempt id travels as an argument and returns in every event.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import quote

from providers import mail_parts, reading
from providers.base import Provider
from providers.errors import (
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.mails import ascii_domain, named
from providers.messages import (
    Ability,
    Attachment,
    AttemptRef,
    CannotTell,
    Channel,
    DeliveryEvent,
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
from providers.sendgrid.records import ATTEMPT, attempt_of, logged, received_id, reported, unreadable
from providers.sendgrid.refusals import refusal
from providers.sendgrid.signature import is_signed

FOUND_AT_ONCE = 50
# How far from a call's beginning, by our clock, the logs may say that its mail was made.
EARLIER, LATER = timedelta(minutes=2), timedelta(minutes=5)
QUIET = {"enable": False}


class SendGrid(Provider):
    """For accounts in the EU the base URL is `https://api.eu.sendgrid.com`.

    `webhook_public_key` is the verification key that the settings of the event webhook show, signed events being on.
    An unclear call is looked for in the Email Logs: by recipient and time, and then by our id in what is found. How soon
    the logs show a mail is not documented. Where that leaves a doubt too many, where the plan has no Email Logs, or where
    the API key may not read them, set `may_read` to false: then the client's `on_unclear` decides at once.
    """

    name = "sendgrid"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.FIND_BY_REFERENCE, Ability.RECEIPTS})
    credential_names = ("api_key", "webhook_public_key")
    setting_names = ("from",)
    default_base_url = "https://api.sendgrid.com"
    look_up_delay_seconds = 60.0
    unverified: ClassVar[tuple[str, ...]] = (
        "Which plans have Email Logs, how long they are kept, and that they show a mail within a minute.",
        "How a quote is written in a query of the Email Logs: twice, as in SQL.",
        "What a 403 says; the reasons of drops, which are collected from what others have met.",
        "That refused webhooks are repeated, for 24 hours.",
        "Whether a mailbox with letters beyond ASCII before the @ is taken; none is sent there.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("SendGrid sends e-mail only")
        if not self.account.settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        fields: dict[str, Any] = {
            "personalizations": [
                {"to": [_person(*mail_parts.recipient(message))], "custom_args": {ATTEMPT: attempt.id}}
            ],
            "from": _person(*named(str(self.account.settings["from"]))),
            "subject": mail_parts.subject(message),
            "content": _content(message),
            "headers": mail_parts.headers(message, attempt.id),
            "tracking_settings": {
                "click_tracking": {"enable": False, "enable_text": False},
                "open_tracking": QUIET,
                "subscription_tracking": QUIET,
            },
        }
        if answered := mail_parts.reply_to(message):
            fields["reply_to"] = {"email": answered}
        if files := mail_parts.files(message):
            fields["attachments"] = [_file(file) for file in files]
        return self._post("/v3/mail/send", fields)

    def send_result(self, answer: HttpResponse) -> SendResult:
        """Read the answer to a send. It has no body: the mail's id is a header."""
        if not 200 <= answer.status < 300:
            raise refusal(answer)
        message_id = reading.identifier(answer.headers.get("X-Message-Id"))
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id)

    def _post(self, path: str, fields: Mapping[str, Any]) -> HttpRequest:
        headers = {**self._headers(), "Content-Type": "application/json"}
        return HttpRequest("POST", f"{self.base_url}{path}", headers, json.dumps(fields).encode())

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}

    # Looking up

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        """Describe the search, or with a `page` the question about one mail that it found: only that tells our id."""
        if page is not None:
            return HttpRequest("GET", f"{self.base_url}/v3/logs/{quote(page, safe='')}", self._headers())
        since = sent.began_at - EARLIER
        until = sent.began_at + timedelta(seconds=sent.deadline_seconds) + LATER
        query = (
            f"to_email = {_quoted(ascii_domain(sent.message.to))}"
            f" AND sg_message_id_created_at > {_timestamp(since)} AND sg_message_id_created_at < {_timestamp(until)}"
        )
        return self._post("/v3/logs", {"query": query, "limit": FOUND_AT_ONCE})

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        fields = reading.json_object(answer.body) if answer.status == 200 else None
        if fields is None:
            return CannotTell(f"no logs in the answer (HTTP {answer.status})")
        if "messages" not in fields:
            return _found(fields, sent)
        return _chosen(fields["messages"], sent)

    # Webhooks

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check the signature, then translate each event. Raises InvalidSignature, MalformedWebhook.

        How old the call is does not matter: events have ids, and one that somebody kept and plays again is a repetition.
        """
        key = self.account.credentials.get("webhook_public_key", "")
        if not is_signed(Headers(request.headers), request.body, key):
            raise InvalidSignature("the signature is missing or wrong")
        members = reading.json_list(request.body)
        if members is None:
            raise MalformedWebhook("the webhook is no list")
        return [
            reported(member) if isinstance(member, dict) and reading.word(member.get("event")) else unreadable(member)
            for member in members
        ]


def _person(name: str, address: str) -> dict[str, str]:
    return {"email": address, "name": name} if name else {"email": address}


def _content(message: OutgoingMessage) -> list[dict[str, str]]:
    """The text before the HTML, as they want it. A part without a letter is refused, so an empty one is left out."""
    html = reading.clean(message.html or "")
    parts = [{"type": "text/plain", "value": reading.clean(message.text)}] if message.text or not html else []
    return [*parts, {"type": "text/html", "value": html}] if html else parts


def _file(file: Attachment) -> dict[str, str]:
    fields = {
        "content": base64.b64encode(file.content).decode(),
        "type": file.content_type,
        "filename": file.name,
        "disposition": "attachment",
    }
    return fields if file.content_id is None else fields | {"disposition": "inline", "content_id": file.content_id}


def _chosen(listed: object, sent: SentMessage) -> FindResult:
    """Which of the mails in a list to ask about: of those that are no other attempt's, the one made nearest to the call."""
    mails = [mail for mail in listed if isinstance(mail, dict)] if isinstance(listed, list) else []
    made_at = {
        id: reading.iso_time(mail.get("sg_message_id_created_at"))
        for mail in mails
        if (id := reading.identifier(mail.get("sg_message_id")))
    }
    if not isinstance(listed, list) or len(made_at) < len(listed) or len(listed) >= FOUND_AT_ONCE:
        return CannotTell("a list that is not complete or cannot be read")
    new = [id for id in made_at if received_id(id) not in sent.owned_ids]
    return NextPage(min(new, key=lambda id: _distance(made_at[id], sent.began_at))) if new else NotThere()


def _found(mail: Mapping[str, Any], sent: SentMessage) -> FindResult:
    """Whether one mail of the logs is the one that is looked for."""
    attempt, message_id = attempt_of(mail), received_id(mail.get("sg_message_id"))
    if attempt is None or message_id is None or message_id in sent.owned_ids:
        return CannotTell("the logs show no mail that could be this attempt's")
    is_ours = AttemptRef(attempt).message == sent.attempt.message if sent.any_attempt else attempt == sent.attempt.id
    return Found(message_id, logged(mail)) if is_ours else CannotTell("the logs show another mail")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _timestamp(time: datetime) -> str:
    return f'TIMESTAMP "{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"'


def _distance(made_at: datetime | None, began_at: datetime) -> float:
    return abs((made_at - began_at).total_seconds()) if made_at else float("inf")

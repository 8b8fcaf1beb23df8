"""Two of the vendors behind the adapter `anymail`: Mailgun and Brevo, told apart by what is called."""

from __future__ import annotations

import base64
import re
import time
import uuid
from dataclasses import replace
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback, webhook_place
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.anymail.shapes import (
    BREVO,
    MAILGUN,
    Mail,
    brevo_event,
    brevo_mail,
    mailgun_event,
    mailgun_mail,
)
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

MAILGUN_SEND = re.compile(r"/[^/]+/messages")
BREVO_SEND = "/smtp/email"
KEY_LIFE_SECONDS = 15 * 60


class AnymailVendor(Vendor):
    """The books hold what is mailed: a call repeated with a key of Brevo's is no second message."""

    provider = "anymail"
    needs = ("api_key",)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._by_key = {ledger.account.credentials["api_key"]: ledger for ledger in ledgers}
        self._firsts: dict[tuple[str, str], Message] = {}  # by account and idempotency key

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        key = request.headers.get("api-key") or _basic_password(request.headers.get("authorization", ""))
        ledger = self._by_key.get(key)
        return ledger, ledger is not None

    def kind(self, request: Request) -> str:
        return "send" if request.method == "POST" and _esp(request) is not None else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        esp = _esp(request)
        if kind != "send" or esp is None:
            return self.refusal(404, 0)
        try:
            mail = mailgun_mail(request) if esp == MAILGUN else brevo_mail(request)
        except (ValueError, KeyError, TypeError):
            return self.refusal(400, 0, "something is missing")
        if roles.of_address(mail.to).refusal:
            return self.refusal(400, 0, "to parameter is not a valid address. please check documentation")
        with ledger.lock:  # of two calls at once with one key, one is the first
            first = self._first(ledger, mail)
            if first is not None:
                return replace(self.receipt(first), note=f"{first.id}, asked for before")
            return self._take(ledger, mail)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        text = message or "Refused by the sandbox."
        return json_reply(status, {"message": text, "code": "invalid_parameter"})

    def unauthorized(self, request: Request) -> Reply:
        return json_reply(401, {"message": "Forbidden", "code": "unauthorized"})

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0, "too many requests")

    def receipt(self, message: Message) -> Reply:
        if message.content.esp == MAILGUN:
            return json_reply(200, {"id": message.id, "message": "Queued. Thank you."})
        return json_reply(201, {"messageId": message.id})

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = word.value

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        place = webhook_place(ledger.account.webhook_url)
        at = dict(message.reached).get(word, message.updated_at)
        if message.content.esp == MAILGUN:
            content = mailgun_event(message, word, at, ledger.account.credentials.get("webhook_signing_key", ""))
        else:
            content = brevo_event(message, word, at)
        if place is None or content is None:
            return None
        url, authorization = place
        name = (content.get("event-data") or content)["event"]
        headers = {"Content-Type": JSON, **authorization}
        return name, Callback(message.id, url, headers, encode_json(content), _again, self.pace.webhook_retries)

    def _take(self, ledger: Ledger, mail: Mail) -> Reply:
        message = Message(
            id=f"<{uuid.uuid4().hex}@sandbox.invalid>",
            to=mail.to,
            text=f"{mail.subject}\n{mail.text}",
            attempt=mail.attempt,
            role=roles.of_address(mail.to),
            content=mail,
            status="queued",
        )
        if mail.key is not None:
            self._firsts[ledger.slug, mail.key] = message
        return self.take(ledger, message)

    def _first(self, ledger: Ledger, mail: Mail) -> Message | None:
        first = self._firsts.get((ledger.slug, mail.key)) if mail.key is not None else None
        if first is None or time.time() - first.taken_at >= KEY_LIFE_SECONDS:
            return None
        # The books may have been emptied since.
        return first if any(message is first for message in ledger.all()) else None


def _esp(request: Request) -> str | None:
    if request.path == BREVO_SEND:
        return BREVO
    return MAILGUN if MAILGUN_SEND.fullmatch(request.path) else None


def _basic_password(authorization: str) -> str:
    _, _, encoded = authorization.partition(" ")
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2") and outcome != "406"  # which ends Mailgun's retries for good

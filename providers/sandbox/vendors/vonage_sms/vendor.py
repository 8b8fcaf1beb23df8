"""Vonage SMS API, the vendor's side. Contract: its OpenAPI file of 2021 and the vendor's pages (read 2026-11).

It answers 200 whatever it thinks of a message, and reports by GET, a call for each part.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Word
from providers.sandbox.segments import segment_count
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.vonage import reports
from providers.sandbox.vendors.vonage_sms.rules import (
    BAD_CREDENTIALS,
    INVALID,
    ROLE_REFUSALS,
    TEXTS,
    THROTTLED,
    as_received,
    objection,
)
from providers.sandbox.vendors.vonage_sms.shapes import Sms, receipt, records, refused, signed, taken
from providers.sandbox.wire import Reply, Request, json_reply

SEND = "/sms/json"
STATUSES = {Word.SENT: "accepted", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "rejected"}
BLOCKED = 14  # by the operator


class VonageSmsVendor(Vendor):
    provider = "vonage_sms"
    needs = ("api_key", "api_secret", "signature_secret")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._by_key = {ledger.account.credentials["api_key"]: ledger for ledger in self.book.of(self.provider)}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        user, password = reports.basic(request.headers.get("authorization", "")) or ("", "")
        ledger = self._by_key.get(user)
        return ledger, ledger is not None and password == ledger.account.credentials["api_secret"]

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        return reports.kind(request) if request.method == "GET" and request.path == reports.PATH else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind in ("find", "status"):
            return reports.report(request, ledger, "SMS", records)
        return self.refusal(404, 0)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their own no comes with HTTP 200; what has no code of theirs is said by the web server in front."""
        if not code:
            return json_reply(status, {"title": message or "Refused by the sandbox"})
        return json_reply(200, refused(code, message or TEXTS.get(code, "Refused by the sandbox")))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, BAD_CREDENTIALS if request.path == SEND else 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, taken(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word is Word.UNDELIVERABLE:
            message.error_code = BLOCKED

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        sms: Sms = message.content
        url = sms.callback_url or ledger.account.webhook_url
        if url is None:
            return None
        status, code = STATUSES[word], BLOCKED if word is Word.UNDELIVERABLE else 0
        at = dict(message.reached).get(word, message.updated_at)
        credentials = ledger.account.credentials
        fields = signed(
            receipt(message, credentials["api_key"], status, code, at), credentials["signature_secret"], time.time()
        )
        address = f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}"
        key = sms.part_ids[0]  # one sender for all parts
        return status, Callback(key, address, {}, b"", _again, self.pace.webhook_retries, method="GET")

    def _report(self, ledger: Ledger, message: Message, word: Word) -> None:
        super()._report(ledger, message, word)
        for part_id in message.content.part_ids[1:]:
            super()._report(ledger, replace(message, id=part_id), word)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        try:
            form = request.form
        except UnicodeDecodeError:
            return self.refusal(200, INVALID)
        role = roles.of_number(form.get("to", ""))
        code = objection(form) or ROLE_REFUSALS.get(role.refusal or "")
        if code is not None:
            return self.refusal(200, code)
        to = f"+{form['to']}"
        if self.busy(ledger, to, role):
            return self.refusal(200, THROTTLED)
        text, reference = as_received(form), form.get("client-ref", "")
        part_ids = tuple(_new_id() for _ in range(segment_count(text)))
        message = Message(
            id=part_ids[0],
            to=to,
            text=text,
            attempt=reference or None,
            role=role,
            content=Sms(form["from"], reference, form.get("callback") or None, part_ids),
            status="buffered",
        )
        return self.take(ledger, message, [("id", part_id.lower()) for part_id in part_ids])


def _new_id() -> str:
    return f"0A{os.urandom(7).hex().upper()}"


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

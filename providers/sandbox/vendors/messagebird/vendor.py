"""MessageBird's REST API, the vendor's side. Contract: its SDK and support pages (read 2026-11).

Messages to several recipients are left out. An opt-out is no refusal here: the message is taken, and reported as failed.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from itertools import islice
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.messagebird.rules import TEXTS, Objection, read, recipients_of
from providers.sandbox.vendors.messagebird.shapes import (
    STATUSES,
    Sms,
    error,
    failure,
    page_of,
    record,
    report,
    token,
    with_query,
)
from providers.sandbox.wire import Reply, Request, json_reply

MESSAGES = "/messages"
SINGLE = re.compile(r"/messages/([0-9a-f]{32})")
PAGE_SIZE, PAGE_SIZE_LIMIT = 20, 200
TRIES = 10
FAILS_LATER = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)


class MessageBirdVendor(Vendor):
    provider = "messagebird"
    needs = ("access_key", "signing_key")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._by_key = {ledger.account.credentials["access_key"]: ledger for ledger in self.book.of(self.provider)}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        ledger = self._by_key.get(key) if scheme == "AccessKey" else None
        return ledger, ledger is not None

    def kind(self, request: Request) -> str:
        if request.path == MESSAGES:
            return {"POST": "send", "GET": "find"}.get(request.method, "other")
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind == "find":
            return self._list(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        if kind == "status" and asked is not None and (message := ledger.get(asked[1])) is not None:
            with ledger.lock:
                return json_reply(200, record(message))
        return self.refusal(404, 20) if asked else self.refusal(405 if request.path == MESSAGES else 404, 98)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """`message` may name the parameter that is at fault."""
        return _no(Objection(status, code, TEXTS.get(code, "Refused by the sandbox"), message))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 2, "access_key")

    def rate_limited(self) -> Reply:
        return self.refusal(429, 21)

    def receipt(self, message: Message) -> Reply:
        return json_reply(201, record(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word is Word.UNDELIVERABLE:
            message.error_code = failure(message)

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        sms: Sms = message.content
        address = sms.report_url or ledger.account.webhook_url
        if address is None or not sms.reference:  # they report only what has a reference
            return None
        fields = report(message, word, dict(message.reached).get(word, message.updated_at))
        url = with_query(address, fields)
        proof = token(ledger.account.credentials["signing_key"], url, time.time())
        headers = {"MessageBird-Signature-JWT": proof, "Accept": "*/*"}
        waits = self.pace.webhook_retries[: TRIES - 1]
        return fields["status"], Callback(message.id, url, headers, b"", _again, waits, method="GET")

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return _no(asked)
        [number] = recipients_of(asked)
        to = f"+{number.removeprefix('+')}"
        role = _role(to)
        if self.busy(ledger, to, role):
            return self.rate_limited()
        sms = Sms(
            str(asked["originator"]),
            asked.get("reference"),
            asked.get("reportUrl"),
            asked.get("validity"),
            asked.get("datacoding", "plain"),
        )
        return self.take(
            ledger,
            Message(
                id=os.urandom(16).hex(),
                to=to,
                text=asked["body"],
                attempt=sms.reference,
                role=role,
                content=sms,
                status="sent",
            ),
        )

    def _list(self, request: Request, ledger: Ledger) -> Reply:
        asked = request.parameters
        try:
            offset, limit = int(asked.get("offset", 0)), int(asked.get("limit", PAGE_SIZE))
        except ValueError:
            return self.refusal(422, 10, "offset")
        if offset < 0 or not 1 <= limit <= PAGE_SIZE_LIMIT:
            return self.refusal(422, 10, "limit")
        with ledger.lock:
            total = sum(1 for _ in ledger.newest_first())
            messages = list(islice(ledger.newest_first(), offset, offset + limit))
            page = page_of(messages, offset=offset, limit=limit, total=total)
        return json_reply(200, page, note=f"{len(messages)} found")


def _role(number: str) -> Role:
    role = roles.of_number(number)
    return replace(role, steps=FAILS_LATER, refusal=None) if role.name == "opted out" else role


def _no(objection: Objection) -> Reply:
    return json_reply(objection.status, error(objection))


def _again(outcome: Outcome) -> bool:
    return outcome != "200"

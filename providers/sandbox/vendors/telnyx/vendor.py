"""Telnyx Messaging, the vendor's side. Contract: its error reference and its Python SDK (read 2026-11).

Idempotency keys are documented; what answers a call whose first call still runs is not: here 409, as is usual.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any

from providers.sandbox import roles
from providers.sandbox.bearer import BearerVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Word
from providers.sandbox.vendors.telnyx.rules import CONFLICT, KEY, TITLES, Objection, read
from providers.sandbox.vendors.telnyx.shapes import (
    STATUSES,
    UNDELIVERABLE,
    Sms,
    error,
    event,
    private_key,
    record,
    signed,
    sms_of,
)
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

SEND = "/v2/messages"
SINGLE = re.compile(r"/v2/messages/([0-9a-fA-F-]{36})")
KEY_LIFE_SECONDS = 24 * 60 * 60
FURTHER_TRIES = 2  # of a report; a failover URL is left out


@dataclass(frozen=True, slots=True)
class First:
    """The first call with some idempotency key. Times are monotonic; `ends_at` is when Telnyx is through with it."""

    message: Message
    digest: bytes
    answer: Reply
    began_at: float
    ends_at: float


class TelnyxVendor(BearerVendor):
    """Signs with the credential `webhook_private_key` (base64 of 32 bytes), which only the sandbox has.

    The books hold what is sent: a call repeated with its idempotency key is no second message.
    """

    provider = "telnyx"
    needs = ("api_key", "webhook_private_key")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._signing = {
            ledger.slug: private_key(ledger.account.credentials["webhook_private_key"]) for ledger in ledgers
        }
        self._firsts: dict[tuple[str, str], First] = {}  # by account and idempotency key

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        if kind == "status" and asked is not None and (message := ledger.get(asked[1].lower())) is not None:
            with ledger.lock:
                return json_reply(200, {"data": record(message)})
        return self.refusal(404, 10005)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        return _no(Objection(status, code), message)

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 10009)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 10011)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, {"data": record(message)})

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word is Word.UNDELIVERABLE:
            message.error_code = UNDELIVERABLE

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        sms: Sms = message.content
        if sms.webhook_url is None:
            return None
        told = event(message, word, dict(message.reached).get(word, message.updated_at))
        body = encode_json(told)
        headers = {"Content-Type": JSON, **signed(self._signing[ledger.slug], body, time.time())}
        waits = self.pace.webhook_retries[:FURTHER_TRIES]
        return told["data"]["event_type"], Callback(message.id, sms.webhook_url, headers, body, _again, waits)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        key = request.headers.get("idempotency-key")
        if key is None:
            return self._take(request, ledger)[0]
        if not KEY.fullmatch(key):
            return self.refusal(400, 10015)
        with ledger.lock:  # of two calls at once with one key, one is the first
            if (first := self._first(ledger, key)) is not None:
                return self._repeated(first, request)
            reply, message = self._take(request, ledger)
            if message is not None:
                began_at = time.monotonic()
                ends_at = began_at + self._busy_seconds(ledger, reply)
                kept = self.receipt(message)
                self._firsts[ledger.slug, key] = First(message, _digest(request), kept, began_at, ends_at)
            return reply

    def _take(self, request: Request, ledger: Ledger) -> tuple[Reply, Message | None]:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return _no(asked), None
        role = roles.of_number(asked["to"])
        if self.busy(ledger, asked["to"], role):
            return self.rate_limited(), None
        sms = sms_of(asked)
        if sms.webhook_url is None:
            sms = replace(sms, webhook_url=ledger.account.webhook_url)  # the profile's
        message = Message(
            id=str(uuid.uuid4()),
            to=asked["to"],
            text=asked["text"],
            attempt=_attempt(sms.webhook_url),
            role=role,
            content=sms,
            status="queued",
        )
        return self.take(ledger, message), message

    def _first(self, ledger: Ledger, key: str) -> First | None:
        first = self._firsts.get((ledger.slug, key))
        if first is None or time.monotonic() - first.began_at >= KEY_LIFE_SECONDS:
            return None
        # The books may have been emptied since.
        return first if any(message is first.message for message in ledger.all()) else None

    def _repeated(self, first: First, request: Request) -> Reply:
        if first.digest != _digest(request):
            return self.refusal(422, CONFLICT)
        if time.monotonic() < first.ends_at:
            return self.refusal(409, CONFLICT)
        return replace(first.answer, note=f"{first.message.id}, asked for before")

    def _busy_seconds(self, ledger: Ledger, reply: Reply) -> float:
        """How long Telnyx works on a call. One whose answer never comes is worked on as long as a slow one."""
        busy = reply.delay_seconds if reply.withheld_seconds is None else self.pace.slow_answer
        return busy + ledger.faults.latency_seconds


def _no(objection: Objection, message: str | None = None) -> Reply:
    status, code, pointer = objection
    title = message or TITLES.get(code, "Refused by the sandbox")
    return json_reply(status, {"errors": [error(code, title, pointer)]})


def _digest(request: Request) -> bytes:
    return hashlib.sha256(f"{request.query}\n".encode() + request.body).digest()


def _attempt(webhook_url: str | None) -> str | None:
    found = re.search(r"[?&]attempt=([^&#]+)", webhook_url or "")
    return found[1] if found else None


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

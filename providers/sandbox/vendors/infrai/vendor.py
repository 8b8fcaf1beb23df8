"""Infrai, SMS, the vendor's side. Contract: its pages and samples that use it (read 2026-11); much is a guess.

It reports nothing: statuses are asked for. A call without an idempotency key gets one made of its body, so that the same
words to the same number are sent once. Opted-out numbers are taken and suppressed.
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
from providers.sandbox.roles import Role, Word
from providers.sandbox.vendors.infrai.rules import USUAL_CODES, Objection, read
from providers.sandbox.vendors.infrai.shapes import STATES, Sms, error, history, status, taken
from providers.sandbox.wire import Reply, Request, json_reply

SEND = "/v1/sms/send"
SINGLE = re.compile(r"/v1/sms/(status|events)/([A-Za-z0-9_-]{1,64})")
KEY_LIFE_SECONDS = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class First:
    """The first call with some key, at a monotonic time."""

    message: Message
    digest: bytes
    began_at: float


class InfraiVendor(BearerVendor):
    provider = "infrai"
    needs = ("api_key",)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._firsts: dict[tuple[str, str], First] = {}  # by account and idempotency key

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        message = ledger.get(asked[2]) if kind == "status" and asked is not None else None
        if asked is None or message is None:
            return self.refusal(404, 0)
        with ledger.lock:
            return json_reply(200, status(message) if asked[1] == "status" else history(message))

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their codes are names: `message` is one, else the status decides."""
        return json_reply(status, error(message or USUAL_CODES.get(status, "INTERNAL_ERROR")))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, taken(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        return None

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return self.refusal(asked.status, 0, asked.code)
        digest = hashlib.sha256(request.body).digest()
        key = request.headers.get("idempotency-key") or asked.get("idempotency_key") or digest.hex()
        with ledger.lock:  # of two calls at once with one key, one is the first
            first = self._first(ledger, key)
            if first is not None:
                return self._repeated(first, digest)
            role = roles.of_number(asked["to"])
            if self.busy(ledger, asked["to"], role):
                return self.rate_limited()
            message = _message(asked, role)
            self._firsts[ledger.slug, key] = First(message, digest, time.monotonic())
            return self.take(ledger, message)

    def _first(self, ledger: Ledger, key: str) -> First | None:
        first = self._firsts.get((ledger.slug, key))
        if first is None or time.monotonic() - first.began_at >= KEY_LIFE_SECONDS:
            return None
        # The books may have been emptied since.
        return first if any(message is first.message for message in ledger.all()) else None

    def _repeated(self, first: First, digest: bytes) -> Reply:
        if first.digest != digest:
            return self.refusal(409, 0)
        return replace(self.receipt(first.message), note=f"{first.message.id}, asked for before")


def _message(asked: dict[str, Any], role: Role) -> Message:
    is_suppressed = role.refusal == "opted out"
    return Message(
        id=f"sms_{uuid.uuid4().hex}",
        to=asked["to"],
        text=asked.get("body", ""),
        attempt=asked.get("idempotency_key"),
        role=role,
        content=Sms(asked.get("from"), asked.get("vendor", "sandbox")),
        status="suppressed" if is_suppressed else "queued",
    )

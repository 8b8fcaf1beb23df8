"""Infrai's side of both its channels: one envelope, keys, and no reports. Contract: its pages and samples that use it (read
2026-11); much is a guess. Only INSUFFICIENT_CREDIT is known to be a code of theirs; the others are the sandbox's own.

A call without an idempotency key gets one made of its body, so that the same words to the same recipient are sent once.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from providers.sandbox.bearer import BearerVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.roles import Word
from providers.sandbox.wire import Reply, Request, json_reply

KEY_LIFE_SECONDS = 24 * 60 * 60
USUAL_CODES = {
    401: "UNAUTHORIZED",
    402: "INSUFFICIENT_CREDIT",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "IDEMPOTENCY_CONFLICT",
    429: "RATE_LIMITED",
}


class Objection(NamedTuple):
    status: int
    code: str


@dataclass(frozen=True, slots=True)
class First:
    """The first call with some key, at a monotonic time."""

    message: Message
    digest: bytes
    began_at: float


class InfraiService(BearerVendor):
    needs = ("api_key",)
    send_path: ClassVar[str]
    states: ClassVar[Mapping[Word, str]]
    price: ClassVar[float]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._firsts: dict[tuple[str, str], First] = {}  # by account and idempotency key

    @abstractmethod
    def read(self, body: bytes) -> dict[str, Any] | Objection:
        """Read a request to send, or say what is the first thing wrong with it."""

    @abstractmethod
    def message(self, asked: dict[str, Any]) -> Message:
        """What a request to send asks for."""

    @abstractmethod
    def taken(self, message: Message) -> dict[str, Any]:
        """What the answer to a send tells of a message."""

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their codes are names: `message` is one, else the status decides."""
        name = message or USUAL_CODES.get(status, "INTERNAL_ERROR")
        return json_reply(status, self.envelope(None, {"code": name, "hint": "refused by the sandbox"}))

    def envelope(self, data: Any, error: Any = None) -> dict[str, Any]:
        metadata = {
            "cost_usd": 0.0 if data is None else self.price,
            "latency_ms": 1,
            "vendor": "sandbox",
            "cache_hit": False,
            "request_id": str(uuid.uuid4()),
        }
        return {"ok": error is None, "data": data, "error": error, "metadata": metadata}

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, self.envelope(self.taken(message)))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = self.states[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        return None

    def send(self, request: Request, ledger: Ledger) -> Reply:
        """Take a message, or answer as at the first call with its key."""
        asked = self.read(request.body)
        if isinstance(asked, Objection):
            return self.refusal(asked.status, 0, asked.code)
        digest = hashlib.sha256(request.body).digest()
        key = request.headers.get("idempotency-key") or asked.get("idempotency_key") or digest.hex()
        with ledger.lock:  # of two calls at once with one key, one is the first
            first = self._first(ledger, key)
            if first is not None:
                return self._repeated(first, digest)
            message = self.message(asked)
            if self.busy(ledger, message.to, message.role):
                return self.rate_limited()
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

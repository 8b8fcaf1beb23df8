"""Resend, the vendor's side. Contract: Resend's documentation and OpenAPI file (read 2026-11).

A mail may have many recipients; the first decides what becomes of it. /emails/batch and the lists are left out.
An address that bounced hard or complained is suppressed: mails to it are taken and go nowhere.
"""

from __future__ import annotations

import base64
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
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendors.resend.rules import KEY_LIMIT, TEXTS, USUAL_NAMES, Objection, read
from providers.sandbox.vendors.resend.shapes import EVENTS, email, event, mail_of, signed
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

SEND = "/emails"
SINGLE = re.compile(r"/emails/([0-9a-fA-F-]{36})")
KEY_LIFE_SECONDS = 24 * 60 * 60
GONE_FOR_GOOD = {Word.HARD_BOUNCE, Word.COMPLAINT}
SUPPRESSED = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)


@dataclass(frozen=True, slots=True)
class First:
    """The first call with some idempotency key. Times are monotonic; `ends_at` is when Resend is through with it."""

    message: Message
    digest: bytes  # of the payload
    began_at: float
    ends_at: float


class ResendVendor(BearerVendor):
    """The books hold what is mailed: a call repeated with its idempotency key is no second message."""

    provider = "resend"
    needs = ("api_key", "webhook_secret")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._secrets = {ledger.slug: _secret(ledger.account.credentials["webhook_secret"]) for ledger in ledgers}
        self._firsts: dict[tuple[str, str], First] = {}  # by account and idempotency key

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        if kind == "status" and asked is not None:
            message = ledger.get(asked[1].lower())
            if message is None:
                return self.refusal(404, 0, "Email not found")
            with ledger.lock:
                return json_reply(200, email(message))
        return self.refusal(405 if asked or request.path == SEND else 404, 0)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Resend's codes are names: where `message` is one of them, it is the name, else the status decides."""
        name = message if message in TEXTS else USUAL_NAMES.get(status, "application_error")
        return _no(Objection(status, name, TEXTS[name] if message in (None, name) else str(message)))

    def unauthorized(self, request: Request) -> Reply:
        if "authorization" not in request.headers:
            return self.refusal(401, 0)
        return _no(Objection(401 if request.path == SEND else 400, "validation_error", TEXTS["invalid_api_key"]))

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, {"id": message.id})

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = EVENTS[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word in GONE_FOR_GOOD:
            ledger.inactive.add(message.to.lower())

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url = ledger.account.webhook_url
        if url is None:
            return None
        content = event(message, word, dict(message.reached).get(word, message.updated_at))
        name, body = content["type"], encode_json(content)
        proof = signed(self._secrets[ledger.slug], message, name, body, time.time())
        headers = {"Content-Type": JSON, "User-Agent": "Svix-Webhooks/1.0", **proof}
        return name, Callback(message.id, url, headers, body, _again, self.pace.webhook_retries)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        key = request.headers.get("idempotency-key")
        if key is None:
            return self._take(request, ledger)[0]
        if not 1 <= len(key) <= KEY_LIMIT:
            return self.refusal(400, 0, "invalid_idempotency_key")
        with ledger.lock:  # of two calls at once with one key, one is the first
            first = self._first(ledger, key)
            if first is not None:
                return self._repeated(first, request)
            reply, message = self._take(request, ledger)
            if message is not None:
                began_at = time.monotonic()
                ends_at = began_at + self._busy_seconds(ledger, reply)
                self._firsts[ledger.slug, key] = First(message, _digest(request), began_at, ends_at)
            return reply

    def _take(self, request: Request, ledger: Ledger) -> tuple[Reply, Message | None]:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return _no(asked), None
        mail = mail_of(asked)
        first, *others = mail.recipients
        message = Message(
            id=str(uuid.uuid4()),
            to=first,
            text=f"{mail.subject}\n{mail.text or mail.html}",
            attempt=mail.tags.get("attempt"),
            role=_role(first, ledger),
            content=mail,
            status="queued",
        )
        return self.take(ledger, message, [("to", address.lower()) for address in others]), message

    def _first(self, ledger: Ledger, key: str) -> First | None:
        first = self._firsts.get((ledger.slug, key))
        if first is None or time.monotonic() - first.began_at >= KEY_LIFE_SECONDS:
            return None
        # The books may have been emptied since.
        return first if any(message is first.message for message in ledger.all()) else None

    def _repeated(self, first: First, request: Request) -> Reply:
        if first.digest != _digest(request):
            return self.refusal(409, 0, "invalid_idempotent_request")
        if time.monotonic() < first.ends_at:
            return self.refusal(409, 0, "concurrent_idempotent_requests")
        return replace(self.receipt(first.message), note=f"{first.message.id}, asked for before")

    def _busy_seconds(self, ledger: Ledger, reply: Reply) -> float:
        """How long Resend works on a call. One whose answer never comes is worked on as long as a slow one.

        Not for as long as its connection is kept: who waited for the answer in vain shall learn the id by repeating.
        """
        busy = reply.delay_seconds if reply.withheld_seconds is None else self.pace.slow_answer
        return busy + ledger.faults.latency_seconds


def _role(address: str, ledger: Ledger) -> Role:
    role = roles.of_address(address)
    if address.lower() in ledger.inactive:
        return Role("suppressed", SUPPRESSED, role.answering)
    return role


def _no(objection: Objection) -> Reply:
    status, name, message = objection
    return json_reply(status, {"statusCode": status, "name": name, "message": message})


def _digest(request: Request) -> bytes:
    return hashlib.sha256(request.body).digest()


def _secret(written: str) -> bytes:
    """Raises ValueError for what is no secret of theirs."""
    return base64.b64decode(written.removeprefix("whsec_"), validate=True)


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

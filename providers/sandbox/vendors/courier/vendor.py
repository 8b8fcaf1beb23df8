"""Courier, e-mail, the vendor's side. Contract: its documentation and its Python SDK (read 2026-11).

One recipient, and one vendor behind it that always works. Templates, cancelling and histories are left out. An address that
no vendor takes is no refusal: the message is taken, and told to be unroutable.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from providers.sandbox import roles
from providers.sandbox.bearer import BearerVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendors.courier.rules import override_of, read
from providers.sandbox.vendors.courier.shapes import STATUSES, details, error, listed, page_of, report, signed
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

SEND, MESSAGES = "/send", "/messages"
SINGLE = re.compile(r"/messages/([A-Za-z0-9-]{1,64})")
PAGE_SIZE = 25
KEY_LIFE_SECONDS = 24 * 60 * 60
UNROUTABLE = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)
TYPES = {401: "authentication_error", 403: "authorization_error", 409: "conflict", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True)
class First:
    """What the first call with some key was answered. Times are monotonic; until `ends_at` it is still running."""

    reply: Reply
    message: Message | None  # None: it failed
    began_at: float
    ends_at: float


class CourierVendor(BearerVendor):
    """A call repeated with its key is answered as the first one was, and so is one whose first was answered with a 5xx.

    Neither refusals nor a machine in front that fails (fault `outage`) is kept; a 5xx of its own (fault `refuse`) is.
    """

    provider = "courier"
    needs = ("api_key", "webhook_secret")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._firsts: dict[tuple[str, str], First] = {}  # by account and idempotency key

    def handle(self, request: Request) -> Reply:
        reply = super().handle(request)
        ledger, is_proven = self.caller(request)
        if ledger is not None and is_proven and reply.status >= 500 and reply.content_type == JSON:
            self._keep(request, ledger, reply, None)
        return reply

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        if request.method == "GET" and request.path == MESSAGES:
            return "find"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind == "find":
            return self._search(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        if kind == "status" and asked is not None and (message := ledger.get(asked[1])) is not None:
            with ledger.lock:
                return json_reply(200, details(message))
        return self.refusal(404, 0, "Message not found")

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        kind = TYPES.get(status, "internal_error" if status >= 500 else "invalid_request_error")
        return json_reply(status, error(message or "Refused by the sandbox", kind))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0, "Unauthorized")

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0, "Too many requests")

    def receipt(self, message: Message) -> Reply:
        return json_reply(202, {"requestId": message.id})

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES.get(word, message.status)
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url = ledger.account.webhook_url
        if url is None or word not in STATUSES:
            return None
        body = encode_json(report(message, word))
        proof = signed(ledger.account.credentials["webhook_secret"], body, time.time())
        headers = {"Content-Type": JSON, **proof}
        return STATUSES[word], Callback(message.id, url, headers, body, _again, self.pace.webhook_retries)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        with ledger.lock:  # of two calls at once with one key, one is the first
            first = self._first(request, ledger)
            if first is not None:
                return self._repeated(first)
            asked = read(request.body)
            if isinstance(asked, str):
                return self.refusal(400, 0, asked)
            message = _message(asked)
            tags = asked.get("metadata", {}).get("tags", [])
            reply = self.take(ledger, message, [("tag", tag) for tag in tags])
            self._keep(request, ledger, reply, message)
            return reply

    def _keep(self, request: Request, ledger: Ledger, reply: Reply, message: Message | None) -> None:
        key = request.headers.get("idempotency-key")
        if key:
            now = time.monotonic()
            first = First(reply, message, now, now + self._busy_seconds(ledger, reply))
            self._firsts.setdefault((ledger.slug, key), first)

    def _first(self, request: Request, ledger: Ledger) -> First | None:
        place = ledger.slug, request.headers.get("idempotency-key", "")
        first = self._firsts.get(place)
        if first is None:
            return None
        # The books may have been emptied since.
        is_known = first.message is None or any(message is first.message for message in ledger.all())
        if is_known and time.monotonic() - first.began_at < KEY_LIFE_SECONDS:
            return first
        del self._firsts[place]
        return None

    def _repeated(self, first: First) -> Reply:
        if time.monotonic() < first.ends_at:
            return self.refusal(409, 0, "A request with this idempotency key is running")
        note = f"{first.message.id if first.message else 'a failure'}, once more"
        return replace(first.reply, delay_seconds=0.0, withheld_seconds=None, dropped=False, note=note)

    def _busy_seconds(self, ledger: Ledger, reply: Reply) -> float:
        """How long Courier works on a call. One whose answer never comes is worked on as long as a slow one."""
        busy = reply.delay_seconds if reply.withheld_seconds is None else self.pace.slow_answer
        return busy + ledger.faults.latency_seconds

    def _search(self, request: Request, ledger: Ledger) -> Reply:
        asked = request.parameters
        if not asked.get("tags") or set(asked) - {"tags", "cursor"}:
            return self.refusal(400, 0, "The sandbox plays the search for one tag.")
        with ledger.lock:
            shown = ledger.newest_first(("tag", asked["tags"]), before=asked.get("cursor") or None)
            found = list(islice(shown, PAGE_SIZE + 1))
            page = [listed(message) for message in found[:PAGE_SIZE]]
        cursor = found[PAGE_SIZE - 1].id if len(found) > PAGE_SIZE else None
        return json_reply(200, page_of(page, cursor), note=f"{len(page)} found")


def _message(asked: Any) -> Message:
    to, mail = asked["to"]["email"], override_of(asked)
    role = roles.of_address(to)
    content = asked.get("content", {})
    return Message(
        id=f"1-{secrets.token_hex(4)}-{secrets.token_hex(12)}",
        to=to,
        text=f"{mail.get('subject', content.get('title'))}\n{mail.get('text', content.get('body'))}",
        attempt=asked.get("metadata", {}).get("trace_id"),
        role=Role("invalid", UNROUTABLE, role.answering) if role.refusal else role,
        content=asked,
        status="ENQUEUED",
    )


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

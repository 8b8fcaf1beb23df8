"""Bird's SMS API, the vendor's side. Contract: its documentation and its SDK's models (read 2026-11).

Templates, batches and the event sms.accepted are left out. A recipient who opted out is no refusal: the message is taken,
and reported as rejected.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from providers.sandbox import roles
from providers.sandbox.bearer import BearerVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendors.bird.rules import CODES, KEY_LIMIT, Objection, read
from providers.sandbox.vendors.bird.shapes import Sms, error, event, new_id, page_of, record, signed, status_of
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

MESSAGES = "/v1/sms/messages"
SINGLE = re.compile(r"/v1/sms/messages/(sms_[0-9a-z]{26})")
PAGE_SIZE, PAGE_SIZE_LIMIT = 25, 100
SPAN = {"created_after": 0.0, "created_before": float("inf")}  # and what holds where a list names no time
KEY_LIFE_SECONDS = 3 * 60 * 60
REJECTED = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)
REPLAYED = ("Idempotency-Replay", "true")
NAMES = {status: name for name, (_, _, status) in reversed(CODES.items())}


@dataclass(frozen=True, slots=True)
class First:
    """The first call with some idempotency key, and its answer. Times are monotonic; until `ends_at` it is still running."""

    reply: Reply
    message: Message | None  # None: refused
    digest: bytes  # of the payload
    began_at: float
    ends_at: float


class BirdVendor(BearerVendor):
    """The books hold what is sent: a call repeated with its idempotency key is no second message."""

    provider = "bird"
    needs = ("api_key", "webhook_secret")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._secrets = {ledger.slug: _secret(ledger.account.credentials["webhook_secret"]) for ledger in ledgers}
        self._firsts: dict[tuple[str, str], First] = {}  # by account and idempotency key

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
        return _no(Objection("NotFound"))

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Bird's codes are names: where `message` is one of them, it is the name, else the status decides."""
        name = message if message in CODES else NAMES.get(status, "InvalidRequest")
        return replace(_no(Objection(name)), status=status)

    def unauthorized(self, request: Request) -> Reply:
        return _no(Objection("Unauthorized"))

    def rate_limited(self) -> Reply:
        return _no(Objection("RateLimitExceeded"))

    def receipt(self, message: Message) -> Reply:
        return json_reply(202, record(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = status_of(message, word)
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url = ledger.account.webhook_url
        if url is None:
            return None
        content = event(message, word, dict(message.reached).get(word, message.updated_at))
        name, body = content["type"], encode_json(content)
        call_id = f"msg_{hashlib.sha256(f'{message.id} {name}'.encode()).hexdigest()[:26]}"  # one for all tries
        proof = signed(self._secrets[ledger.slug], call_id, body, time.time())
        headers = {"Content-Type": JSON, **proof}
        return name, Callback(message.id, url, headers, body, _again, self.pace.webhook_retries)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        key = request.headers.get("idempotency-key")
        if key is None:
            return self._take(request, ledger)[0]
        if not 1 <= len(key) <= KEY_LIMIT:
            return _no(Objection("InvalidRequest"))
        with ledger.lock:  # of two calls at once with one key, one is the first
            first = self._first(ledger, key)
            if first is not None:
                return _repeated(first, request)
            reply, message = self._take(request, ledger)
            if reply.status != 429:  # whether they keep that one is not documented
                began_at = time.monotonic()
                ends_at = began_at + self._busy_seconds(ledger, reply)
                self._firsts[ledger.slug, key] = First(reply, message, _digest(request), began_at, ends_at)
            return reply

    def _take(self, request: Request, ledger: Ledger) -> tuple[Reply, Message | None]:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return _no(asked), None
        role = _role(asked["to"])
        if self.busy(ledger, asked["to"], role):
            return self.rate_limited(), None
        metadata = asked.get("metadata")
        message = Message(
            id=new_id("sms"),
            to=asked["to"],
            text=asked["text"],
            attempt=(metadata or {}).get("attempt"),
            role=role,
            content=Sms(asked["from"], asked["category"], metadata, asked.get("tags")),
            status="accepted",
        )
        return self.take(ledger, message), message

    def _first(self, ledger: Ledger, key: str) -> First | None:
        first = self._firsts.get((ledger.slug, key))
        if first is None or time.monotonic() - first.began_at >= KEY_LIFE_SECONDS:
            return None
        # The books may have been emptied since.
        is_known = first.message is None or any(message is first.message for message in ledger.all())
        return first if is_known else None

    def _busy_seconds(self, ledger: Ledger, reply: Reply) -> float:
        """How long Bird works on a call. One whose answer never comes is worked on as long as a slow one."""
        busy = reply.delay_seconds if reply.withheld_seconds is None else self.pace.slow_answer
        return busy + ledger.faults.latency_seconds

    def _list(self, request: Request, ledger: Ledger) -> Reply:
        asked = request.parameters
        size = asked.get("limit", str(PAGE_SIZE))
        if not size.isdecimal() or not 1 <= int(size) <= PAGE_SIZE_LIMIT:
            return _no(Objection("ValidationError", "limit", "must be 1 to 100"))
        try:
            earliest, latest = (_seconds(asked.get(name), bound) for name, bound in SPAN.items())
        except ValueError:
            return _no(Objection("ValidationError", "created_after", "must be a time"))
        if asked.get("direction") == "inbound":
            return json_reply(200, page_of([], more=False))
        key = ("to", asked["to"].lower()) if "to" in asked else None
        with ledger.lock:
            shown = ledger.newest_first(key, before=asked.get("starting_after") or None)
            in_time = (message for message in shown if earliest <= message.taken_at <= latest)
            messages = list(islice(in_time, int(size) + 1))
            page = page_of(messages[: int(size)], more=len(messages) > int(size))
        return json_reply(200, page, note=f"{len(page['data'])} found")


def _seconds(written: str | None, bound: float) -> float:
    """Read an ISO 8601 time. Raises ValueError."""
    return bound if written is None else datetime.fromisoformat(written).timestamp()


def _repeated(first: First, request: Request) -> Reply:
    if first.digest != _digest(request):
        return _no(Objection("IdempotencyKeyReuse"))
    if time.monotonic() < first.ends_at:
        return _no(Objection("RequestInProgress"))
    plain = Reply(first.reply.status, first.reply.body)
    return replace(plain, headers=(REPLAYED,), note=f"{first.message.id if first.message else 'a refusal'}, once more")


def _role(number: str) -> Role:
    role = roles.of_number(number)
    return replace(role, steps=REJECTED, refusal=None) if role.name == "opted out" else role


def _no(objection: Objection) -> Reply:
    return json_reply(CODES[objection.name][2], error(objection))


def _digest(request: Request) -> bytes:
    return hashlib.sha256(request.body).digest()


def _secret(written: str) -> bytes:
    """Raises ValueError for what is no secret of theirs."""
    return base64.b64decode(written.removeprefix("whsec_"), validate=True)


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

"""Plivo, the vendor's side. Contract: Plivo's documentation and Python SDK (read 2026-11).

One number a call. A number that is none is answered as one of many would be; one that said STOP is taken and fails later.
"""

from __future__ import annotations

import base64
import binascii
import operator
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.plivo.rules import TEXTS, Objection, bare, read
from providers.sandbox.vendors.plivo.shapes import (
    STATES,
    Sms,
    error,
    none_taken,
    one,
    page_of,
    report,
    sender_of,
    signed,
    taken,
)
from providers.sandbox.wire import Reply, Request, json_reply

LIST = re.compile(r"/v1/Account/([^/]+)/Message/")
SINGLE = re.compile(r"/v1/Account/([^/]+)/Message/([0-9a-f-]{36})/")
PAGE_SIZE = 20
DEFAULT_SECONDS = 24 * 60 * 60  # how far back a list without times reaches
SPAM, STOPPED = 30, 200
STOP = "opted out"
STOPPED_STEPS = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "message_time__gt": operator.gt,
    "message_time__gte": operator.ge,
    "message_time__lt": operator.lt,
    "message_time__lte": operator.le,
    "message_time": operator.eq,
}
PAGING = (("limit", PAGE_SIZE), ("offset", 0))
EXACT = ("message_direction", "message_state", "from_number", "to_number", "error_code")


class PlivoVendor(Vendor):
    provider = "plivo"
    needs = ("auth_id", "auth_token")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._accounts = {ledger.account.credentials["auth_id"]: ledger for ledger in self.book.of(self.provider)}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        auth_id, token = _basic(request.headers.get("authorization", ""))
        found = LIST.fullmatch(request.path) or SINGLE.fullmatch(request.path)
        asked = found[1] if found else auth_id
        ledger = self._accounts.get(asked)
        return ledger, ledger is not None and (auth_id, token) == (asked, ledger.account.credentials["auth_token"])

    def kind(self, request: Request) -> str:
        if LIST.fullmatch(request.path):
            return {"POST": "send", "GET": "find"}.get(request.method, "other")
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind == "find":
            return self._list(request, ledger)
        found = SINGLE.fullmatch(request.path)
        if kind == "status" and found is not None and (message := ledger.get(found[2])) is not None:
            with ledger.lock:
                return json_reply(200, one(message))
        return self.refusal(405 if LIST.fullmatch(request.path) else 404, 0)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Plivo's refusals have no code."""
        return json_reply(status, error(message or TEXTS.get(status, "Refused by the sandbox")))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return json_reply(202, taken([message.id]))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = _state(message, word)
        if word is Word.SENT:
            message.sent_at = message.updated_at
        else:
            message.error_code = _code(message, word)

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        sms: Sms = message.content
        if sms.callback_url is None:
            return None
        state, url = _state(message, word), sms.callback_url
        fields = report(message, word, state)
        body = urlencode(fields).encode()
        if sms.method == "GET":
            url, body = f"{url}{'&' if '?' in url else '?'}{body.decode()}", b""
        nonce = str(int.from_bytes(os.urandom(8), "big")).zfill(20)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "Plivo",
            **signed(ledger.account.credentials["auth_token"], sms.method, url, fields, nonce),
        }
        return state, Callback(message.id, url, headers, body, _again, self.pace.webhook_retries, method=sms.method)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return self.refusal(asked.status, 0, asked.text)
        to = f"+{bare(asked['dst'])}"
        role = roles.of_number(to)
        if role.refusal == "invalid":
            return json_reply(202, none_taken(asked["dst"]))
        if self.busy(ledger, to, role):
            return self.rate_limited()
        callback_url = asked.get("url")
        sender = bare(asked["src"]) if asked.get("src") else None
        auth_id = ledger.account.credentials["auth_id"]
        return self.take(
            ledger,
            Message(
                id=str(uuid.uuid4()),
                to=to,
                text=asked["text"],
                attempt=_attempt(callback_url),
                role=Role(STOP, STOPPED_STEPS) if role.refusal else role,
                content=Sms(auth_id, sender, asked.get("powerpack_uuid"), callback_url, asked.get("method", "POST")),
                status="queued",
            ),
        )

    def _list(self, request: Request, ledger: Ledger) -> Reply:
        filters = {name: value for name, value in request.parameters.items() if name in (*EXACT, *COMPARISONS)}
        try:
            limit, offset = (int(request.parameters.get(name, default)) for name, default in PAGING)
            times = {name: _seconds(value) for name, value in filters.items() if name in COMPARISONS}
        except ValueError:
            return self.refusal(400, 0)
        if not 1 <= limit <= PAGE_SIZE or offset < 0:
            return self.refusal(400, 0)
        key = ("to", f"+{bare(filters['to_number'])}") if "to_number" in filters else None
        with ledger.lock:
            matching = list(_matching(ledger.newest_first(key), filters, times))
            shown = matching[offset : offset + limit]
            total = len(matching)
            page = page_of(shown, path=request.path, filters=filters, limit=limit, offset=offset, total=total)
        return json_reply(200, page, note=f"{len(shown)} found")


def _matching(messages: Iterable[Message], filters: Mapping[str, str], times: Mapping[str, float]) -> Iterator[Message]:
    earliest = 0.0 if times else datetime.now(UTC).timestamp() - DEFAULT_SECONDS
    for message in messages:
        shown = {
            "message_direction": "outbound",
            "message_state": message.status,
            "from_number": sender_of(message),
            "error_code": "" if message.error_code is None else f"{message.error_code:03}",
        }
        if (
            message.taken_at >= earliest
            and all(COMPARISONS[name](message.taken_at, asked) for name, asked in times.items())
            and all(filters.get(name, value).removeprefix("+") == value for name, value in shown.items())
        ):
            yield message


def _seconds(text: str) -> float:
    """Read YYYY-MM-DD HH:MM[:SS[.uuuuuu]], UTC. Raises ValueError."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _state(message: Message, word: Word) -> str:
    return "failed" if message.role.name == STOP else STATES[word]


def _code(message: Message, word: Word) -> int:
    if word is Word.DELIVERED:
        return 0
    return STOPPED if message.role.name == STOP else SPAM


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return (user, password) if scheme.lower() == "basic" else ("", "")


def _attempt(callback_url: str | None) -> str | None:
    return parse_qs(urlsplit(callback_url or "").query).get("attempt", [None])[-1]


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

"""Twilio Programmable Messaging, the vendor's side. Contract: twilio.md and Twilio's OpenAPI file (read 2026-11)."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import NOT_CONNECTED, Outcome
from providers.sandbox.roles import Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.twilio.rules import INVALID_PARAMETER, ROLE_REFUSALS, TEXTS, objection
from providers.sandbox.vendors.twilio.shapes import (
    Sms,
    error,
    messages_path,
    page_of,
    report,
    resource,
    sender_of,
    signature,
)
from providers.sandbox.wire import Reply, Request, json_reply

LIST = re.compile(r"/2010-04-01/Accounts/(AC[0-9a-fA-F]{32})/Messages\.json")
SINGLE = re.compile(r"/2010-04-01/Accounts/(AC[0-9a-fA-F]{32})/Messages/((?:SM|MM)[0-9a-fA-F]{32})\.json")
PAGE_SIZE, PAGE_SIZE_LIMIT = 50, 1000
STATUSES = {Word.SENT: "sent", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "undelivered"}
BLOCKED = 30004  # for good, yet no proof that the number is none: another text may reach it
Span = tuple[float, float]
DAY_SECONDS = 24 * 60 * 60
DATE_FILTERS = ("DateSent", "DateSent<", "DateSent>")


class TwilioVendor(Vendor):
    provider = "twilio"
    needs = ("account_sid", "auth_token")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._accounts = {ledger.account.credentials["account_sid"]: ledger for ledger in self.book.of(self.provider)}
        self._passes = {sid: set(_passes(ledger.account.credentials)) for sid, ledger in self._accounts.items()}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        found = LIST.fullmatch(request.path) or SINGLE.fullmatch(request.path)
        given = _basic(request.headers.get("authorization", ""))
        if found is not None:
            sid = found[1]
            return self._accounts.get(sid), given in self._passes.get(sid, ())
        for sid, passes in self._passes.items():
            if given in passes:
                return self._accounts[sid], True
        return None, False

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
                return json_reply(200, resource(message))
        if found is None and LIST.fullmatch(request.path):
            return self.refusal(405, 20004)
        return self.refusal(404, 20404, f"The requested resource {request.path} was not found")

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        return json_reply(status, error(status, code, message or TEXTS.get(code, "Refused by the sandbox")))

    def unauthorized(self, request: Request) -> Reply:
        return replace(self.refusal(401, 20003), headers=(("WWW-Authenticate", 'Basic realm="Twilio API"'),))

    def rate_limited(self) -> Reply:
        return self.refusal(429, 20429)

    def receipt(self, message: Message) -> Reply:
        return json_reply(201, resource(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word is Word.UNDELIVERABLE:
            message.error_code = BLOCKED

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        sms: Sms = message.content
        if sms.callback_url is None:
            return None
        status = STATUSES[word]
        # The fragment is for Twilio itself: neither sent nor signed.
        url, _, overrides = sms.callback_url.partition("#")
        done_at = None if word is Word.SENT else dict(message.reached).get(word)
        code = BLOCKED if word is Word.UNDELIVERABLE else None
        fields = report(message, status, error_code=code, done_at=done_at)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
            "User-Agent": "TwilioProxy/1.1",
            "Accept": "*/*",
            "I-Twilio-Idempotency-Token": os.urandom(16).hex(),
            "X-Twilio-Signature": signature(ledger.account.credentials["auth_token"], url, fields),
        }
        waits = (0.0,) * _connection_retries(overrides)
        return status, Callback(message.id, url, headers, urlencode(fields).encode(), _not_connected, waits)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        try:
            form = request.form
        except UnicodeDecodeError:
            return self.refusal(400, INVALID_PARAMETER, "The request body is not UTF-8")
        to, service = form.get("To", ""), form.get("MessagingServiceSid") or None
        role = roles.of_number(to)
        code = objection(form) or ROLE_REFUSALS.get(role.refusal or "")
        if code is not None:
            return self.refusal(400, code)
        if self.busy(ledger, to, role):
            return self.rate_limited()
        sender, callback_url = form.get("From") or None, form.get("StatusCallback") or None
        sms = Sms(ledger.account.credentials["account_sid"], sender, service, callback_url)
        return self.take(
            ledger,
            Message(
                id="SM" + os.urandom(16).hex(),
                to=to,
                text=form["Body"],
                attempt=_attempt(callback_url),
                role=role,
                content=sms,
                status="accepted" if service else "queued",
            ),
        )

    def _list(self, request: Request, ledger: Ledger) -> Reply:
        asked = request.parameters
        filters = {name: asked[name] for name in ("To", "From", *DATE_FILTERS) if asked.get(name)}
        try:
            size = min(max(int(asked.get("PageSize", PAGE_SIZE)), 1), PAGE_SIZE_LIMIT)
            number, token = int(asked.get("Page", 0)), asked.get("PageToken", "")
            span = _span({name: filters[name] for name in DATE_FILTERS if name in filters})
        except ValueError:
            return self.refusal(400, INVALID_PARAMETER, "Invalid paging or date")
        key = ("to", filters["To"].lower()) if "To" in filters else None
        with ledger.lock:
            shown = _matching(
                ledger.newest_first(key, before=token.removeprefix("PA") or None), filters.get("From"), span
            )
            messages = list(islice(shown, size + 1))
            path = messages_path(ledger.account.credentials["account_sid"])
            page = page_of(
                messages[:size], path=path, filters=filters, number=number, size=size, more=len(messages) > size
            )
        return json_reply(200, page, note=f"{len(messages[:size])} found")


def _matching(messages: Iterable[Message], sender: str | None, span: Span | None) -> Iterator[Message]:
    for message in messages:
        if sender is not None and sender_of(message) != sender:
            continue
        if span is not None and (message.sent_at is None or not span[0] <= int(message.sent_at) < span[1]):
            continue
        yield message


def _span(filters: Mapping[str, str]) -> Span | None:
    """From when, and until before when messages were sent that are asked for. A date is the whole day. Raises ValueError."""
    if not filters:
        return None
    earliest, latest = 0.0, float("inf")
    for name, text in filters.items():
        moment = datetime.fromisoformat(text)
        at = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        if name != "DateSent<":
            earliest = max(earliest, at)
        if name != "DateSent>":
            latest = min(latest, at + (DAY_SECONDS if len(text) == len("YYYY-MM-DD") else 1))
    return earliest, latest


def _passes(credentials: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield credentials["account_sid"], credentials["auth_token"]
    if credentials.get("api_key_sid"):
        yield credentials["api_key_sid"], credentials["api_key_secret"]


def _basic(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return user, password


def _attempt(callback_url: str | None) -> str | None:
    return parse_qs(urlsplit(callback_url or "").query).get("attempt", [None])[-1]


def _connection_retries(overrides: str) -> int:
    given = parse_qs(overrides).get("rc", ["1"])[0]
    return min(int(given), 5) if given.isdecimal() else 1


def _not_connected(outcome: Outcome) -> bool:
    return outcome == NOT_CONNECTED

"""Sinch, the vendor's side: batches of a service plan. Contract: Sinch's documentation (read 2026-11).

One recipient a batch. A number that said STOP is taken and reported as "Deleted"; the code of that is not documented.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.sinch.rules import NAMES, Objection, filled_in, read, time_of
from providers.sandbox.vendors.sinch.shapes import (
    QUEUED,
    STATUSES,
    Batch,
    batch_of,
    batch_report,
    new_id,
    recipient_report,
    signed,
)
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

BATCHES = re.compile(r"/xms/v1/([^/]+)/batches")
BATCH = re.compile(r"/xms/v1/([^/]+)/batches/([^/]+)")
REPORT = re.compile(r"/xms/v1/([^/]+)/batches/([^/]+)/delivery_report")
RECIPIENT = re.compile(r"/xms/v1/([^/]+)/batches/([^/]+)/delivery_report/([^/]+)")
REPORTS = re.compile(r"/xms/v1/([^/]+)/delivery_reports")
PATHS = (BATCHES, BATCH, REPORT, RECIPIENT, REPORTS)
PAGE_SIZE, PAGE_SIZE_LIMIT = 30, 100
DEFAULT_SECONDS = 24 * 60 * 60  # how far back a list without a date reaches
AT_ONCE = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)
STOP, UNMATCHED = Role("opted out", AT_ONCE), Role("unmatched parameter", AT_ONCE)
ENDS = {STOP.name: ("Deleted", 1), UNMATCHED.name: ("Aborted", 405)}
NAMES_BY_STATUS = {400: "syntax_constraint_violation", 403: "missing_callback_url"}


class SinchVendor(Vendor):
    provider = "sinch"
    needs = ("service_plan_id", "api_token")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._plans = {ledger.account.credentials["service_plan_id"]: ledger for ledger in ledgers}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        found = _found(request)
        ledger = self._plans.get(unquote(found[1])) if found else None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        is_proven = ledger is not None and token == ledger.account.credentials["api_token"]
        return ledger, is_proven and scheme.lower() == "bearer"

    def kind(self, request: Request) -> str:
        if BATCHES.fullmatch(request.path):
            return {"POST": "send", "GET": "find"}.get(request.method, "other")
        if request.method == "GET" and REPORTS.fullmatch(request.path):
            return "find"
        return "status" if request.method == "GET" and _found(request) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind == "find":
            return self._list(request, ledger)
        found = _found(request)
        if kind == "other" or found is None:
            return Reply(405)
        message = ledger.get(unquote(found[2]))
        if message is None:
            return Reply(404)
        with ledger.lock:
            return self._shown(request, message)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Sinch's codes are names: where `message` is one of them, it is the name, else the status decides."""
        if status not in NAMES_BY_STATUS:
            return Reply(status)
        name = message if message in NAMES else NAMES_BY_STATUS[status]
        return _no(Objection(status, name, message or "Refused by the sandbox"))

    def unauthorized(self, request: Request) -> Reply:
        return Reply(401)

    def rate_limited(self) -> Reply:
        return Reply(429)

    def receipt(self, message: Message) -> Reply:
        return json_reply(201, batch_of(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status, code = _told(message, word)
        if word is Word.SENT:
            message.sent_at = message.updated_at
        else:
            message.error_code = code

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        batch: Batch = message.content
        if batch.url is None or batch.reports == "none":
            return None
        if word is Word.SENT and batch.reports != "per_recipient":
            return None
        status, code = _told(message, word)
        if batch.reports.startswith("per_recipient"):
            content = recipient_report(message, status, code, dict(message.reached).get(word, message.updated_at))
        else:
            content = batch_report(message, status, code, is_full=batch.reports == "full")
        body = encode_json(content)
        headers = {"Content-Type": JSON, "User-Agent": "Sinch", **self._proof(ledger, body)}
        return status, Callback(message.id, batch.url, headers, body, _again, self.pace.webhook_retries)

    def _proof(self, ledger: Ledger, body: bytes) -> dict[str, str]:
        """How a plan proves that it calls: a signature, or a user and a password, or not at all."""
        credentials = ledger.account.credentials
        if credentials.get("webhook_secret"):
            return signed(credentials["webhook_secret"], body, time.time())
        if credentials.get("webhook_user"):
            basic = f"{credentials['webhook_user']}:{credentials.get('webhook_password', '')}"
            return {"Authorization": f"Basic {base64.b64encode(basic.encode()).decode()}"}
        return {}

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        default_url = ledger.account.webhook_url
        asked = read(request.body, datetime.now(UTC), default_url)
        if isinstance(asked, Objection):
            return _no(asked)
        number = asked["to"][0].removeprefix("+")
        role = roles.of_number(number)
        if self.busy(ledger, number, role):
            return self.rate_limited()
        text = filled_in(asked["body"], asked.get("parameters", {}), number)
        if text is None:
            role = UNMATCHED
        elif role.refusal:
            role = STOP
        reference = asked.get("client_reference")
        message = Message(
            id=new_id(),
            to=f"+{number}",
            text=asked["body"] if text is None else text,
            attempt=reference,
            role=role,
            content=Batch(asked, asked.get("delivery_report", "none"), asked.get("callback_url", default_url)),
            status=QUEUED[0],
        )
        return self.take(ledger, message, [("client_reference", reference)] if reference else ())

    def _list(self, request: Request, ledger: Ledger) -> Reply:
        asked = request.parameters
        try:
            number, size = int(asked.get("page", 0)), int(asked.get("page_size", PAGE_SIZE))
            earliest = (
                time_of(asked["start_date"]).timestamp() if "start_date" in asked else time.time() - DEFAULT_SECONDS
            )
            latest = time_of(asked["end_date"]).timestamp() if "end_date" in asked else float("inf")
        except ValueError:
            return self.refusal(400, 0, "syntax_invalid_parameter_format")
        if number < 0 or not 1 <= size <= PAGE_SIZE_LIMIT:
            return self.refusal(400, 0)
        reference = asked.get("client_reference")
        key = None if reference is None else ("client_reference", reference)
        senders = [sender.strip().removeprefix("+") for sender in asked.get("from", "").split(",") if sender.strip()]
        with ledger.lock:
            if REPORTS.fullmatch(request.path):
                name, entries = "delivery_reports", _reports(ledger.newest_first(key), earliest, latest)
            else:
                times = (message for message in ledger.newest_first(key) if earliest <= message.taken_at < latest)
                name, entries = "batches", [batch_of(message) for message in _from(times, senders)]
        shown = entries[number * size :][:size]
        return json_reply(200, {"count": len(entries), "page": number, "page_size": size, name: shown})

    def _shown(self, request: Request, message: Message) -> Reply:
        if BATCH.fullmatch(request.path):
            return json_reply(200, batch_of(message))
        status, code = _now(message)
        if recipient := RECIPIENT.fullmatch(request.path):
            if unquote(recipient[3]).removeprefix("+") != message.to.removeprefix("+"):
                return Reply(404)
            return json_reply(200, recipient_report(message, status, code, message.updated_at))
        is_full = request.parameters.get("type", "summary") == "full"
        return json_reply(200, batch_report(message, status, code, is_full=is_full))


def _found(request: Request) -> re.Match[str] | None:
    return next((found for path in PATHS if (found := path.fullmatch(request.path))), None)


def _reports(messages: Iterable[Message], earliest: float, latest: float) -> list[dict[str, Any]]:
    """The newest report about each recipient, where there is one; their times are the reports' own."""
    return [
        recipient_report(message, *_now(message), message.updated_at)
        for message in messages
        if message.reached and earliest <= message.updated_at < latest
    ]


def _from(messages: Iterable[Message], senders: list[str]) -> Iterator[Message]:
    for message in messages:
        asked: Mapping[str, Any] = message.content.asked
        if not senders or asked.get("from", "").removeprefix("+") in senders:
            yield message


def _told(message: Message, word: Word) -> tuple[str, int]:
    return ENDS.get(message.role.name, STATUSES[word])


def _now(message: Message) -> tuple[str, int]:
    return _told(message, message.reached[-1][0]) if message.reached else QUEUED


def _no(objection: Objection) -> Reply:
    status, code, text = objection
    return json_reply(status, {"code": code, "text": text})


def _again(outcome: Outcome) -> bool:
    """Whether they call again: for what is no answer, for 429 and 5xx; any other 4xx loses the report."""
    return not outcome.isdecimal() or outcome == "429" or outcome.startswith("5")

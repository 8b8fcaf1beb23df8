"""MySMSGate, the vendor's side, as far as articles and integrations let one guess it (read 2026-11).

/devices is left out: any device is there and online. Reports are not signed, and sent once.
"""

from __future__ import annotations

import time
from itertools import count, islice
from typing import Any

from providers.sandbox import roles
from providers.sandbox.bearer import BearerVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Word
from providers.sandbox.vendors.mysmsgate.rules import TEXTS, Objection, read, text_of
from providers.sandbox.vendors.mysmsgate.shapes import STATUSES, entry, error, report, single, sms_of, taken
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

KINDS = {
    ("POST", "/api/v1/send"): "send",
    ("GET", "/api/v1/history"): "find",
    ("GET", "/api/v1/sms"): "status",
}
PAGE_SIZE_LIMIT = 200


class MySmsGateVendor(BearerVendor):
    provider = "mysmsgate"
    needs = ("api_key",)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._ids = count(int(time.time() * 1000))  # so that a sandbox started later gives no id twice

    def kind(self, request: Request) -> str:
        return KINDS.get((request.method, request.path), "other")

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind == "find":
            return self._history(request, ledger)
        message = ledger.get(request.parameters.get("id", "")) if kind == "status" else None
        if message is None:
            return self.refusal(404, 0)
        with ledger.lock:
            return json_reply(200, single(message))

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """MySMSGate has no codes."""
        return json_reply(status, error(message or TEXTS.get(status, "Refused by the sandbox")))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return json_reply(202, taken(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url = ledger.account.webhook_url
        if url is None:
            return None
        told = report(message, word, dict(message.reached).get(word, message.updated_at))
        return told["status"], Callback(message.id, url, {"Content-Type": JSON}, encode_json(told), _never)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return self.refusal(asked.status, 0, asked.text)
        to = asked["to"]
        role = roles.of_number(to)
        if self.busy(ledger, to, role):
            return self.rate_limited()
        sms = sms_of(asked)
        message = Message(
            id=str(next(self._ids)),
            to=to,
            text=text_of(asked),
            attempt=sms.reference,
            role=role,
            content=sms,
            status="pending",
        )
        return self.take(ledger, message)

    def _history(self, request: Request, ledger: Ledger) -> Reply:
        """Newest first. What came in is never there."""
        limit = request.parameters.get("limit", "")
        size = min(int(limit), PAGE_SIZE_LIMIT) if limit.isdecimal() else PAGE_SIZE_LIMIT
        with ledger.lock:
            shown = [entry(message) for message in islice(ledger.newest_first(), size)]
        is_out = request.parameters.get("direction", "out") == "out"
        return json_reply(200, {"history": shown if is_out else []}, note=f"{len(shown)} shown")


def _never(outcome: Outcome) -> bool:
    return False

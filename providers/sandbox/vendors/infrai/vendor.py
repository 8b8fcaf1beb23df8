"""Infrai, SMS, the vendor's side; see `providers/sandbox/infrai.py`. Opted-out numbers are taken and suppressed."""

from __future__ import annotations

import re
import uuid
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.infrai import InfraiService, Objection
from providers.sandbox.vendors.infrai.rules import read
from providers.sandbox.vendors.infrai.shapes import STATES, Sms, history, status, taken
from providers.sandbox.wire import Reply, Request, json_reply

SINGLE = re.compile(r"/v1/sms/(status|events)/([A-Za-z0-9_-]{1,64})")


class InfraiVendor(InfraiService):
    provider = "infrai"
    send_path = "/v1/sms/send"
    states = STATES
    price = 0.0079

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == self.send_path:
            return "send"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self.send(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        message = ledger.get(asked[2]) if kind == "status" and asked is not None else None
        if asked is None or message is None:
            return self.refusal(404, 0)
        with ledger.lock:
            return json_reply(200, self.envelope(status(message) if asked[1] == "status" else history(message)))

    def read(self, body: bytes) -> dict[str, Any] | Objection:
        return read(body)

    def message(self, asked: dict[str, Any]) -> Message:
        role = roles.of_number(asked["to"])
        return Message(
            id=f"sms_{uuid.uuid4().hex}",
            to=asked["to"],
            text=asked.get("body", ""),
            attempt=asked.get("idempotency_key"),
            role=role,
            content=Sms(asked.get("from"), asked.get("vendor", "sandbox")),
            status="suppressed" if role.refusal == "opted out" else "queued",
        )

    def taken(self, message: Message) -> dict[str, Any]:
        return taken(message)

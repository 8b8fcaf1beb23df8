"""Infrai, e-mail, the vendor's side; see `providers/sandbox/infrai.py`. Of several recipients the first one's role is played."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.infrai import InfraiService, Objection
from providers.sandbox.roles import Word
from providers.sandbox.vendors.infrai_email.rules import addresses_of, read
from providers.sandbox.wire import Reply, Request, json_reply

SINGLE = re.compile(r"/v1/email/get/([A-Za-z0-9_-]{1,64})")

STATES = {
    Word.SENT: "sent",
    Word.DELIVERED: "delivered",
    Word.HARD_BOUNCE: "bounced",
    Word.SOFT_BOUNCE: "failed",
    Word.COMPLAINT: "complained",
}


class InfraiEmailVendor(InfraiService):
    provider = "infrai_email"
    send_path = "/v1/email/send"
    states = STATES
    price = 0.0004

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == self.send_path:
            return "send"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self.send(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        message = ledger.get(asked[1]) if kind == "status" and asked is not None else None
        if message is None:
            return self.refusal(404, 0)
        with ledger.lock:
            return json_reply(200, self.envelope(self._record(message, message.status)))

    def read(self, body: bytes) -> dict[str, Any] | Objection:
        return read(body)

    def message(self, asked: dict[str, Any]) -> Message:
        to = addresses_of(asked["to"])[0]
        return Message(
            id=f"em_{uuid.uuid4().hex}",
            to=to,
            text=f"{asked['subject']}\n{asked.get('text') or asked.get('html', '')}",
            attempt=asked.get("idempotency_key"),
            role=roles.of_address(to),
            content=asked,
            status="queued",
        )

    def taken(self, message: Message) -> dict[str, Any]:
        return self._record(message, "queued")

    def _record(self, message: Message, state: str) -> dict[str, Any]:
        asked: dict[str, Any] = message.content
        return {
            "email_id": message.id,
            "state": state,
            "to": addresses_of(asked["to"]),
            "subject": asked["subject"],
            "vendor": asked.get("vendor", "sandbox"),
            "created_at": datetime.fromtimestamp(message.taken_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

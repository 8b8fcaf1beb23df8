"""SendGrid, the vendor's side. Contract: its documentation and OpenAPI file (January 2026).

One personalization; of many recipients the first decides what becomes of the mail. An address that bounced hard or
complained is suppressed: mails to it are taken and dropped. Every report is a list of one event.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import time
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import unquote

from providers.sandbox import roles
from providers.sandbox.bearer import BearerVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendors.sendgrid.rules import Objection, read
from providers.sandbox.vendors.sendgrid.shapes import (
    EVENTS,
    STATUSES,
    SUFFIX,
    details,
    iso,
    listed,
    mail_of,
    private_key,
    signed,
    webhook_event,
)
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

SEND, LOGS = "/v3/mail/send", "/v3/logs"
SINGLE = re.compile(r"/v3/logs/([^/]+)")
# Only the query that asks for a recipient and a time is played.
QUERY = re.compile(
    r"to_email = '(?P<to>(?:[^']|'')*)'"
    r' AND sg_message_id_created_at > TIMESTAMP "(?P<since>[^"]+)"'
    r' AND sg_message_id_created_at < TIMESTAMP "(?P<until>[^"]+)"'
)
LIMIT, MOST = 10, 1000
GONE_FOR_GOOD = {Word.HARD_BOUNCE, Word.COMPLAINT}
DROPPED = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)
TEXTS = {401: "The provided authorization grant is invalid, expired, or revoked", 429: "too many requests"}
FIELD = re.compile(r"[a-z_0-9.]+")


class SendGridVendor(BearerVendor):
    """Signs with the credential `webhook_private_key` (base64 of DER), which only the sandbox has."""

    provider = "sendgrid"
    needs = ("api_key", "webhook_private_key")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._keys = {ledger.slug: private_key(ledger.account.credentials["webhook_private_key"]) for ledger in ledgers}

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        if request.method == "POST" and request.path == LOGS:
            return "find"
        return "status" if request.method == "GET" and SINGLE.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind == "find":
            return self._search(request, ledger)
        asked = SINGLE.fullmatch(request.path)
        if kind == "status" and asked is not None:
            message = ledger.get(unquote(asked[1]).removesuffix(SUFFIX))
            if message is None:
                return self.refusal(404, 0)
            with ledger.lock:
                return json_reply(200, details(message))
        return self.refusal(404, 0)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """They have no codes: where `message` looks like a field's name, it is the field that is wrong."""
        field = message if message and FIELD.fullmatch(message) else None
        return _no(Objection(field, TEXTS.get(status) or message or "Refused by the sandbox"), status)

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 0)

    def receipt(self, message: Message) -> Reply:
        return Reply(202, headers=(("X-Message-Id", message.id),))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = STATUSES[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word in GONE_FOR_GOOD:
            ledger.inactive.add(message.to.lower())

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url = ledger.account.webhook_url
        if url is None:
            return None
        event = webhook_event(message, word, dict(message.reached).get(word, message.updated_at))
        body = encode_json([event]) + b"\r\n"
        headers = {"Content-Type": JSON, "User-Agent": "SendGrid Event API"}
        headers |= signed(self._keys[ledger.slug], body, time.time())
        name = EVENTS[word]["event"]
        return name, Callback(message.id, url, headers, body, _again, self.pace.webhook_retries)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        asked = read(request.body)
        if isinstance(asked, Objection):
            return _no(asked)
        mail = mail_of(asked)
        first, *others = [person["email"] for person in asked["personalizations"][0]["to"]]
        message = Message(
            id=base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("="),
            to=first,
            text=f"{mail.subject}\n{mail.text}",
            attempt=mail.arguments.get("landfall_attempt"),
            role=_role(first, ledger),
            content=mail,
            status="processed",
        )
        return self.take(ledger, message, [("to", address.lower()) for address in others])

    def _search(self, request: Request, ledger: Ledger) -> Reply:
        try:
            asked = json.loads(request.body)
            query = QUERY.fullmatch(asked["query"])
            limit = int(asked.get("limit", LIMIT))
            since, until = (datetime.fromisoformat(query[name]) for name in ("since", "until"))  # type: ignore[index]
        except (ValueError, KeyError, TypeError):
            return _no(Objection("query", "The sandbox plays the query for a recipient and a time."))
        if query is None or not 1 <= limit <= MOST:
            return _no(Objection("limit", "1 to 1000"))
        with ledger.lock:
            shown = ledger.newest_first(("to", query["to"].replace("''", "'").lower()))
            in_time = (mail for mail in shown if iso(since.timestamp()) < iso(mail.taken_at) < iso(until.timestamp()))
            page = [listed(message) for message in islice(in_time, limit)]
        return json_reply(200, {"messages": page}, note=f"{len(page)} found")


def _role(address: str, ledger: Ledger) -> Role:
    role = roles.of_address(address)
    return Role("suppressed", DROPPED, role.answering) if address.lower() in ledger.inactive else role


def _no(objection: Objection, status: int = 400) -> Reply:
    field, message = objection
    return json_reply(status, {"errors": [{"message": message, "field": field, "help": None}]})


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

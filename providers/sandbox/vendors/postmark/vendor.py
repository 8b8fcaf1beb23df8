"""Postmark, the vendor's side. Contract: postmark.md (read 2026-11).

A mail may have many recipients; the first active one decides what becomes of it. In a batch each mail has its own answer;
roles decide what becomes of it there, but neither delay nor swallow the answer to all.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback, webhook_place
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Word
from providers.sandbox.vendor import DROP, Vendor
from providers.sandbox.vendors.postmark.rules import INACTIVE, NOTHING_SUPPLIED, TEXTS, addresses_of, objection
from providers.sandbox.vendors.postmark.shapes import Mail, details, found, sent, webhook, whole
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

SEND, SEND_BATCH, SEARCH = "/email", "/email/batch", "/messages/outbound"
BATCH_LIMIT = 500
DETAILS = re.compile(r"/messages/outbound/([0-9a-fA-F-]{36})/details")
COUNT_LIMIT, DEPTH_LIMIT = 500, 10_000
GONE_FOR_GOOD = {Word.HARD_BOUNCE, Word.COMPLAINT}

# Search parameter -> whether a message answers to it. Dates may be days or times.
FILTERS: dict[str, Callable[[Message, str], bool]] = {
    "recipient": lambda message, value: value.lower() in map(str.lower, message.content.recipients),
    "fromemail": lambda message, value: message.content.sender_address.lower() == value.lower(),
    "tag": lambda message, value: message.content.tag == value,
    "subject": lambda message, value: message.content.subject == value,
    "status": lambda message, value: message.status.lower() == value.lower(),
    "messagestream": lambda message, value: message.content.stream == value,
    "fromdate": lambda message, value: whole(message.taken_at)[: len(value)] >= value,
    "todate": lambda message, value: whole(message.taken_at)[: len(value)] <= value,
}


class PostmarkVendor(Vendor):
    provider = "postmark"
    needs = ("server_token",)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._by_token = {ledger.account.credentials["server_token"]: ledger for ledger in self.book.of(self.provider)}
        self._webhooks = {ledger.slug: webhook_place(ledger.account.webhook_url) for ledger in self._by_token.values()}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        ledger = self._by_token.get(request.headers.get("x-postmark-server-token", ""))
        return ledger, ledger is not None

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path in (SEND, SEND_BATCH):
            return "send"
        if request.method == "GET" and request.path == SEARCH:
            return "find"
        return "status" if request.method == "GET" and DETAILS.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger) if request.path == SEND else self._send_batch(request, ledger)
        if kind == "find":
            return self._search(request, ledger)
        if kind == "status" and (asked := DETAILS.fullmatch(request.path)) is not None:
            message = ledger.get(asked[1].lower())
            if message is None:
                return self.refusal(422, 701)
            with ledger.lock:
                return json_reply(200, details(message))
        return Reply(404)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        return json_reply(status, {"ErrorCode": code, "Message": message or TEXTS.get(code, "Refused by the sandbox.")})

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 10, None if "x-postmark-server-token" in request.headers else NOTHING_SUPPLIED)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 429)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, sent(message))

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        if word is Word.SENT:
            message.status, message.sent_at = "Sent", message.updated_at
        if word in GONE_FOR_GOOD:
            ledger.inactive.add(message.to.lower())

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        place = self._webhooks[ledger.slug]
        content = webhook(message, word, dict(message.reached).get(word, message.updated_at))
        if place is None or content is None:
            return None
        url, authorization = place
        headers = {"Content-Type": JSON, "Accept": JSON, "User-Agent": "Postmark", **authorization}
        body = encode_json(content)
        return content["RecordType"], Callback(message.id, url, headers, body, _again, self.pace.webhook_retries)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        if JSON not in request.headers.get("content-type", ""):
            return self.refusal(422, 409)
        try:
            asked = json.loads(request.body)
        except ValueError:
            return self.refusal(422, 402)
        return self._take(asked, ledger)

    def _send_batch(self, request: Request, ledger: Ledger) -> Reply:
        if JSON not in request.headers.get("content-type", ""):
            return self.refusal(422, 409)
        try:
            mails = json.loads(request.body)
        except ValueError:
            return self.refusal(422, 402)
        if not isinstance(mails, list) or not all(isinstance(mail, dict) for mail in mails):
            return self.refusal(422, 402)
        if len(mails) > BATCH_LIMIT:
            return self.refusal(422, 410)
        answers = [json.loads(self._take(mail, ledger).body) for mail in mails]
        return DROP if ledger.faults.accept_then_drop else json_reply(200, answers)

    def _take(self, asked: Any, ledger: Ledger) -> Reply:
        fault = objection(asked)
        if fault is not None:
            return self.refusal(422, *fault)
        mail = _mail(asked, ledger.inactive)
        active = [address for address in mail.recipients if address not in mail.inactive]
        if not active:
            return self.refusal(422, 406, INACTIVE.format(addresses=", ".join(mail.inactive)))
        message = Message(
            id=str(uuid.uuid4()),
            to=active[0],
            text=f"{mail.subject}\n{mail.text or mail.html}",
            attempt=mail.metadata.get("attempt"),
            role=roles.of_address(active[0]),
            content=mail,
            status="Queued",
        )
        also = [("to", address.lower()) for address in mail.recipients if address != message.to]
        return self.take(ledger, message, [*also, *_metadata_keys(mail.metadata)])

    def _search(self, request: Request, ledger: Ledger) -> Reply:
        asked = request.parameters
        try:
            count, offset = int(asked.pop("count")), int(asked.pop("offset"))
        except (KeyError, ValueError):
            return self.refusal(422, 403, "The parameters 'count' and 'offset' are required.")
        if not (1 <= count <= COUNT_LIMIT and 0 <= offset <= DEPTH_LIMIT - count):
            return self.refusal(422, 403, f"'count' is up to {COUNT_LIMIT}, 'count' and 'offset' up to {DEPTH_LIMIT}.")
        metadata = [(name.lower(), value) for name, value in asked.items() if name.lower().startswith("metadata_")]
        if len(metadata) > 1:
            return self.refusal(422, 403, "Only one metadata filter is allowed.")
        recipient = [("to", asked["recipient"].lower())] if "recipient" in asked else []
        tests = [(FILTERS[name.lower()], value) for name, value in asked.items() if name.lower() in FILTERS]
        with ledger.lock:
            shown = ledger.newest_first(next(iter([*metadata, *recipient]), None))
            messages = [message for message in shown if all(test(message, value) for test, value in tests)]
            page = [found(message) for message in messages[offset : offset + count]]
        return json_reply(200, {"TotalCount": len(messages), "Messages": page}, note=f"{len(messages)} found")


def _mail(asked: Mapping[str, Any], inactive: set[str]) -> Mail:
    to, cc, bcc = (tuple(addresses_of(asked.get(field))) for field in ("To", "Cc", "Bcc"))
    return Mail(
        sender=asked["From"],
        sender_address=addresses_of(asked["From"])[0][1],
        to=to,
        cc=cc,
        bcc=bcc,
        subject=asked.get("Subject") or "",
        text=asked.get("TextBody"),
        html=asked.get("HtmlBody"),
        tag=asked.get("Tag") or "",
        stream=asked.get("MessageStream") or "outbound",
        metadata=asked.get("Metadata") or {},
        reply_to=asked.get("ReplyTo") or "",
        attachments=tuple(asked.get("Attachments") or ()),
        headers={header["Name"]: header["Value"] for header in asked.get("Headers") or ()},
        track_opens=bool(asked.get("TrackOpens")),
        track_links=asked.get("TrackLinks") or "None",
        inactive=tuple(address for _, address in (*to, *cc, *bcc) if address.lower() in inactive),
    )


def _metadata_keys(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(f"metadata_{name.lower()}", value) for name, value in metadata.items()]


def _again(outcome: Outcome) -> bool:
    return outcome not in ("200", "403")  # a 403 ends the retries for good (postmark.md)

"""Vonage Messages API, the vendor's side. Contract: its OpenAPI file of 2022 and the vendor's pages (read 2026-11).

Nothing is said of a number that opted out until the report: the message is taken, then rejected.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.vonage import reports
from providers.sandbox.vendors.vonage.rules import TITLES, USUAL, NotJson, objection, problem, read
from providers.sandbox.vendors.vonage.shapes import Sms, claims_in, is_valid, record, report, signed
from providers.sandbox.wire import JSON, Reply, Request, encode_json, json_reply

SEND = "/v1/messages"
STATUSES = {Word.SENT: "submitted", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "undeliverable"}
BLOCKED, OPTED_OUT = 1280, 1240
REJECTED = (Step(lambda pace: pace.delivered_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)


class VonageVendor(Vendor):
    provider = "vonage"
    needs = ("api_key", "api_secret", "signature_secret")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._by_key = {ledger.account.credentials["api_key"]: ledger for ledger in ledgers}
        self._by_application = {
            application_id: ledger
            for ledger in ledgers
            if (application_id := ledger.account.credentials.get("application_id"))
        }
        self._public_keys = {
            slug: _public_key(ledger.account.credentials["private_key"])
            for slug, ledger in ((ledger.slug, ledger) for ledger in self._by_application.values())
        }

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        authorization = request.headers.get("authorization", "")
        if (given := reports.basic(authorization)) is not None:
            ledger = self._by_key.get(given[0])
            return ledger, ledger is not None and given[1] == ledger.account.credentials["api_secret"]
        scheme, _, token = authorization.partition(" ")
        ledger = self._by_application.get(str(claims_in(token).get("application_id")))
        if ledger is None or scheme.lower() != "bearer":
            return None, False
        # Reports take the key and secret only.
        return ledger, request.path == SEND and is_valid(token, self._public_keys[ledger.slug], time.time())

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path == SEND:
            return "send"
        return reports.kind(request) if request.method == "GET" and request.path == reports.PATH else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "send":
            return self._send(request, ledger)
        if kind in ("find", "status"):
            return reports.report(request, ledger, "MESSAGES", lambda message, account: [record(message, account)])
        return self.refusal(404, 0)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        link = f"/messages#{code}" if code else USUAL.get(status, "#sandbox")
        return json_reply(status, problem(link, message or TITLES.get(code, "Refused by the sandbox")))

    def unauthorized(self, request: Request) -> Reply:
        return self.refusal(401, 0)

    def rate_limited(self) -> Reply:
        return self.refusal(429, 1010)

    def receipt(self, message: Message) -> Reply:
        return json_reply(202, {"message_uuid": message.id})

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status, message.error_code = _outcome(message, word)
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        sms: Sms = message.content
        url = sms.webhook_url or ledger.account.webhook_url
        if url is None:
            return None
        status, code = _outcome(message, word)
        at = dict(message.reached).get(word, message.updated_at)
        body = encode_json(report(message, status, code, at))
        credentials = ledger.account.credentials
        proof = signed(credentials["signature_secret"], credentials["api_key"], body, time.time())
        headers = {"Content-Type": JSON, "Authorization": proof}
        return status, Callback(message.id, url, headers, body, _again, self.pace.webhook_retries)

    def _send(self, request: Request, ledger: Ledger) -> Reply:
        try:
            asked = read(request.body)
        except NotJson:
            return json_reply(422, problem("#invalid-json", "The request body did not contain valid JSON"))
        wrong = objection(asked)
        role = roles.of_number(str(asked.get("to")))
        if wrong is not None:
            return _no(wrong.code, wrong.parameter)
        if role.refusal == "invalid":
            return _no(1150, "to")
        to = f"+{asked['to']}"
        if self.busy(ledger, to, role):
            return self.rate_limited()
        if role.refusal is not None:
            role = Role(role.name, REJECTED)
        reference = asked.get("client_ref", "")
        id = str(uuid.uuid4())
        message = Message(
            id=id,
            to=to,
            text=asked["text"],
            attempt=reference or None,
            role=role,
            content=Sms(asked["from"], reference, asked.get("webhook_url")),
            status="submitted",
        )
        return self.take(ledger, message, [("id", id)])


def _outcome(message: Message, word: Word) -> tuple[str, int | None]:
    if word is not Word.UNDELIVERABLE:
        return STATUSES[word], None
    return ("rejected", OPTED_OUT) if message.role.name == "opted out" else (STATUSES[word], BLOCKED)


def _no(code: int, parameter: str) -> Reply:
    return json_reply(422, problem(f"/messages#{code}", TITLES[code], parameter))


def _public_key(pem: str) -> RSAPublicKey:
    """Raises ValueError for a key that is none of theirs."""
    key = load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("the application's key is no RSA key")
    return key.public_key()


def _again(outcome: Outcome) -> bool:
    return not outcome.startswith("2")

"""Amazon SES, the vendor's side, with the SNS topic that its events go to.

Contract: the service model in botocore 1.44.8 and the developer guide (read 2026-11). Only SendEmail with simple content
and one recipient is played, in any region. Mails without a configuration set are not reported. An address that bounced
hard or complained is on the account's suppression list: mails to it are taken and bounce.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from providers.sandbox import roles
from providers.sandbox.amazon import AmazonVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.roles import Role, Step, Word
from providers.sandbox.vendors.ses.rules import Objection, objection
from providers.sandbox.vendors.ses.shapes import EVENTS, Mail, event, mail_of
from providers.sandbox.wire import Reply, Request, json_reply

SEND = "/v2/email/outbound-emails"
THROTTLED = Objection("TooManyRequestsException", "Maximum sending rate exceeded.")
# What a status means when a fault names no exception.
USUAL = {401: "UnrecognizedClientException", 403: "AccessDeniedException", 429: "TooManyRequestsException"}
GONE_FOR_GOOD = {Word.HARD_BOUNCE, Word.COMPLAINT}
SUPPRESSED = (Step(lambda pace: pace.sent_after, Word.UNDELIVERABLE, (Word.UNDELIVERABLE,)),)


class SesVendor(AmazonVendor):
    provider = "ses"
    service = "ses"

    def kind(self, request: Request) -> str:
        return "send" if request.method == "POST" and request.path == SEND else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind != "send":
            return _no(Objection("UnknownOperationException", "The sandbox plays SendEmail."), 404)
        try:
            asked = json.loads(request.body)
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            return _no(Objection("SerializationException", "No JSON object."))
        return self._send(asked, ledger)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their codes are names: `message` is an exception, or an exception and its text with a colon between them."""
        exception, _, text = (message or USUAL.get(status, "BadRequestException")).partition(": ")
        return _no(Objection(exception, text or "Refused by the sandbox"), status)

    def unauthorized(self, request: Request) -> Reply:
        return _no(Objection(self.unauthorized_name(request), "Refused by the sandbox"), 403)

    def rate_limited(self) -> Reply:
        return _no(THROTTLED, 429)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, {"MessageId": message.id})

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = EVENTS[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at
        if word in GONE_FOR_GOOD:
            ledger.inactive.add(message.to.lower())

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url, mail = ledger.account.webhook_url, message.content
        if url is None or not isinstance(mail, Mail) or mail.configuration_set is None:
            return None
        at = dict(message.reached).get(word, message.updated_at)
        return EVENTS[word], self.published(ledger, message, url, EVENTS[word], event(message, word, at))

    def _send(self, asked: dict[str, Any], ledger: Ledger) -> Reply:
        wrong = objection(asked)
        if wrong is not None:
            return _no(wrong)
        mail = mail_of(asked)
        message = Message(
            id=f"0100{uuid.uuid4().hex[:12]}-{uuid.uuid4()}-000000",
            to=mail.to,
            text=f"{mail.subject}\n{mail.text}",
            attempt=mail.tags.get("attempt"),
            role=_role(mail.to, ledger),
            content=mail,
            status="Queued",
        )
        return self.take(ledger, message)


def _role(address: str, ledger: Ledger) -> Role:
    role = roles.of_address(address)
    return Role("suppressed", SUPPRESSED, role.answering) if address.lower() in ledger.inactive else role


def _no(wrong: Objection, status: int = 400) -> Reply:
    named = (("x-amzn-ErrorType", wrong.exception),)
    return json_reply(status, {"message": wrong.message}, headers=named)

"""AWS End User Messaging SMS, the vendor's side, with the SNS topic that its events go to.

Contract: the service model in botocore 1.44.8 and the user guides (read 2026-11). Only SendTextMessage is played, in any
region. Messages without a configuration set are not reported.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from providers.sandbox import roles
from providers.sandbox.amazon import AmazonVendor
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.roles import Word
from providers.sandbox.vendors.aws_sms.rules import Objection, objection
from providers.sandbox.vendors.aws_sms.shapes import (
    EVENTS,
    Sms,
    error,
    event,
    sms_of,
)
from providers.sandbox.wire import Reply, Request, json_reply

TARGET = "PinpointSMSVoiceV2.SendTextMessage"
CONTENT_TYPE = "application/x-amz-json-1.0"
THROTTLED = Objection("ThrottlingException")
# What a status means when a fault names no exception.
USUAL = {401: "UnrecognizedClientException", 403: "AccessDeniedException", 429: "ThrottlingException"}


class AwsSmsVendor(AmazonVendor):
    provider = "aws_sms"
    service = "sms-voice"

    def kind(self, request: Request) -> str:
        is_send = request.method == "POST" and request.path == "/" and request.headers.get("x-amz-target") == TARGET
        return "send" if is_send else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind != "send":
            return _no(Objection("UnknownOperationException"))
        if request.headers.get("content-type") != CONTENT_TYPE:
            return _no(Objection("SerializationException"))
        try:
            asked = json.loads(request.body)
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            return _no(Objection("SerializationException"))
        return self._send(asked, ledger)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their codes are names: `message` is an exception, or an exception and its reason with a slash between them."""
        exception, _, reason = (message or USUAL.get(status, "ConflictException")).partition("/")
        return _no(Objection(exception, reason or None), status)

    def unauthorized(self, request: Request) -> Reply:
        return _no(Objection(self.unauthorized_name(request)))

    def rate_limited(self) -> Reply:
        return _no(THROTTLED)

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, {"MessageId": message.id}, content_type=CONTENT_TYPE)

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = EVENTS[word]
        if word is Word.SENT:
            message.sent_at = message.updated_at

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        url, sms = ledger.account.webhook_url, message.content
        if url is None or not isinstance(sms, Sms) or sms.configuration_set is None:
            return None
        at = dict(message.reached).get(word, message.updated_at)
        return EVENTS[word], self.published(ledger, message, url, EVENTS[word], event(message, word, at))

    def _send(self, asked: dict[str, Any], ledger: Ledger) -> Reply:
        wrong = objection(asked)
        if wrong is not None:
            return _no(wrong)
        to, sms = asked["DestinationPhoneNumber"], sms_of(asked)
        role = roles.of_number(to)
        if self.busy(ledger, to, role):
            return self.rate_limited()
        message = Message(
            id=str(uuid.uuid4()),
            to=to,
            text=asked.get("MessageBody", ""),
            attempt=sms.context.get("attempt"),
            role=role,
            content=sms,
            status="TEXT_QUEUED",
        )
        if asked.get("DryRun"):
            return self.receipt(message)
        return self.take(ledger, message)


def _no(wrong: Objection, status: int = 400) -> Reply:
    return json_reply(status, error(wrong, "Refused by the sandbox"), content_type=CONTENT_TYPE)

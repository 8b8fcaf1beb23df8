"""AWS End User Messaging SMS, the vendor's side, with the SNS topic that its events go to.

Contract: the service model in botocore 1.44.8 and the user guides (read 2026-11). Only SendTextMessage is played, in any
region. SNS signs with a key of this process's own; its certificate is at CERTIFICATE, as at the vendor's SigningCertURL.
Messages without a configuration set are not reported.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.aws_sms.proof import access_key_id, certificate, is_signed
from providers.sandbox.vendors.aws_sms.rules import Objection, objection
from providers.sandbox.vendors.aws_sms.shapes import (
    EVENTS,
    Sms,
    error,
    event,
    notification,
    notification_headers,
    sms_of,
)
from providers.sandbox.wire import Reply, Request, encode_json, json_reply

SNS_HOST = "sns.us-east-1.amazonaws.com"
CERTIFICATE = "/SimpleNotificationService.pem"
TARGET = "PinpointSMSVoiceV2.SendTextMessage"
CONTENT_TYPE = "application/x-amz-json-1.0"
TOPIC = "arn:aws:sns:us-east-1:123456789012:landfall"  # where the account names none
THROTTLED = Objection("ThrottlingException")
# What a status means when a fault names no exception.
USUAL = {401: "UnrecognizedClientException", 403: "AccessDeniedException", 429: "ThrottlingException"}


class AwsSmsVendor(Vendor):
    provider = "aws_sms"
    needs = ("access_key_id", "secret_access_key")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._accounts = {ledger.account.credentials["access_key_id"]: ledger for ledger in self.book.of(self.provider)}
        if self._accounts:
            certificate()  # made now, not by the first two threads that want it

    def handle(self, request: Request) -> Reply:
        if request.method == "GET" and request.path == CERTIFICATE:
            return Reply(200, certificate(), content_type="application/x-pem-file")
        return super().handle(request)

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        ledger = self._accounts.get(access_key_id(request) or "")
        if ledger is None:
            return None, False
        secret = ledger.account.credentials["secret_access_key"]
        return ledger, is_signed(request, f"/{self.provider}{request.path}", secret, datetime.now(UTC))

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
        if "authorization" not in request.headers:
            return _no(Objection("MissingAuthenticationTokenException"))
        known = access_key_id(request) in self._accounts
        return _no(Objection("InvalidSignatureException" if known else "UnrecognizedClientException"))

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
        text = encode_json(event(message, word, at)).decode()
        topic_arn = ledger.account.credentials.get("topic_arn") or TOPIC
        call = notification(text, topic_arn, SNS_HOST, CERTIFICATE, f"{message.id}/{EVENTS[word]}")
        headers = notification_headers(call)
        return EVENTS[word], Callback(message.id, url, headers, encode_json(call), _again, self.pace.webhook_retries)

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


def _again(outcome: Outcome) -> bool:
    """SNS repeats after a 5xx, a 429 and where there was no answer; a 4xx is the end of it."""
    return not outcome.isdecimal() or outcome == "429" or outcome >= "500"

"""The adapter for Amazon SES; see the package."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from providers import mail_parts, reading, retry_after
from providers.aws.exceptions import THROTTLED, exception_in
from providers.aws.service import DEFAULT_REGION, AwsService
from providers.base import error_for_status
from providers.errors import (
    OutcomeUnknown,
    ProviderError,
    SenderNotAllowed,
    UnsupportedFeature,
)
from providers.mails import named
from providers.messages import (
    Ability,
    Attachment,
    AttemptRef,
    Channel,
    DeliveryEvent,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
)
from providers.ses import events
from providers.ses.codes import EXCEPTIONS, TEXTS

CHARSET = "UTF-8"
CODE_LIMIT = 50
HEADER_LIMIT = 900
TYPE_LIMIT, NAME_LIMIT = 78, 255
# Settings that go into each call as they are.
EXTRAS = {"configuration_set": "ConfigurationSetName", "tenant": "TenantName"}


class Ses(AwsService):
    """Events come only for mails sent with a `configuration_set` that publishes its events to the topic `topic_arn`.

    `signing_certificate` is what SNS signs with in this region, PEM; `SigningCertURL` in any message of the topic leads to
    it, e.g. in one received by e-mail (protocol email-json). SNS changes it every year or so: the next one may stand behind
    it beforehand. Addresses are ASCII: a domain beyond it in its ASCII form, and no such letters before the @.
    """

    name = "ses"
    endpoint = "email"
    service = "ses"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.RECEIPTS})
    credential_names = ("access_key_id", "secret_access_key", "signing_certificate", "topic_arn")
    optional_credential_names = ("session_token",)
    setting_names = ("from", "region", *EXTRAS)
    default_base_url = f"https://email.{DEFAULT_REGION}.amazonaws.com"
    unverified: ClassVar[tuple[str, ...]] = (
        "No call was ever made to AWS: requests are checked against the published model, signatures against published vectors.",
        "No genuine SNS call was at hand: its signature is checked as documented, with certificates of our own making.",
        "How SNS changes its signing certificate, and how long before, is not documented.",
        "Which texts come with a MessageRejected, a BadRequestException and a TooManyRequestsException.",
        "The complete list of events, and that a bounce is final even where it is transient.",
        "That a file's content id is written without angle brackets.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("SES sends e-mail only")
        self.require_region()
        settings = self.account.settings
        if not settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        fields: dict[str, Any] = {
            "FromEmailAddress": _ascii(mail_parts.written(*named(str(settings["from"])))),
            "Destination": {"ToAddresses": [_ascii(mail_parts.written(*mail_parts.recipient(message)))]},
            "Content": {
                "Simple": {
                    "Subject": _text(mail_parts.subject(message)),
                    "Body": _body(message),
                    "Headers": [
                        _header(name, value) for name, value in mail_parts.headers(message, attempt.id).items()
                    ],
                }
            },
            "EmailTags": [{"Name": "attempt", "Value": attempt.id}],  # ASCII letters, digits, _ and -: so are our ids
            **{field: str(settings[name]) for name, field in EXTRAS.items() if settings.get(name)},
        }
        if answered := mail_parts.reply_to(message):
            fields["ReplyToAddresses"] = [_ascii(answered)]
        if files := mail_parts.files(message):
            fields["Content"]["Simple"]["Attachments"] = [_file(file) for file in files]
        headers = {"Content-Type": "application/json"}
        return HttpRequest("POST", f"{self.base_url}/v2/email/outbound-emails", headers, json.dumps(fields).encode())

    def refusal(self, answer: HttpResponse) -> ProviderError:
        return _refusal(answer)

    # Webhooks

    def reports(self, record: Mapping[str, Any], call_id: str, raw: bytes) -> list[DeliveryEvent]:
        return [events.receipt(record, call_id, raw)]


def _ascii(mailbox: str) -> str:
    if not mailbox.isascii():
        raise UnsupportedFeature("SES takes ASCII addresses only")
    return mailbox


def _header(name: str, value: str) -> dict[str, str]:
    if len(value) > HEADER_LIMIT:
        raise UnsupportedFeature("a header is longer than SES takes")
    return {"Name": name, "Value": value}


def _text(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": CHARSET}


def _body(message: OutgoingMessage) -> dict[str, Any]:
    body = {"Text": _text(reading.clean(message.text))}
    return body if message.html is None else body | {"Html": _text(reading.clean(message.html))}


def _file(file: Attachment) -> dict[str, str]:
    if len(file.content_type) > TYPE_LIMIT or len(file.name) > NAME_LIMIT:
        raise UnsupportedFeature("a file's name or type is longer than SES takes")
    fields = {
        "FileName": file.name,
        "ContentType": file.content_type,
        "ContentDisposition": "ATTACHMENT",
        "ContentTransferEncoding": "BASE64",
        "RawContent": base64.b64encode(file.content).decode(),
    }
    return (
        fields if file.content_id is None else fields | {"ContentDisposition": "INLINE", "ContentId": file.content_id}
    )


def _refusal(answer: HttpResponse) -> ProviderError:
    fields = reading.json_object(answer.body) or {}
    exception = exception_in(answer, fields)
    kind = error_for_status(answer.status)
    listed = _listed(exception, fields)
    if listed is not None and (kind is not OutcomeUnknown or exception in THROTTLED):
        kind = listed  # any other 5xx may have been sent, whatever it is called
    return kind(
        f"HTTP {answer.status}, {exception}" if exception else f"HTTP {answer.status}",
        code=exception[:CODE_LIMIT],
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
    )


def _listed(exception: str, fields: Mapping[str, Any]) -> type[ProviderError] | None:
    text = str(fields.get("message") or fields.get("Message")).lower()
    by_text = (kind for name, start, kind in TEXTS if name == exception and text.startswith(start))
    return next(by_text, None) or EXCEPTIONS.get(exception)

"""The adapter for AWS End User Messaging; see the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from providers import reading, retry_after
from providers.aws import sns
from providers.aws.exceptions import THROTTLED, exception_in, name_in
from providers.aws.service import DEFAULT_REGION, AwsService
from providers.aws_sms import events
from providers.aws_sms.codes import EXCEPTIONS, FIELDS, REASONS, SENDER_FAULTS, SUPPRESS_REASONS, VAGUE
from providers.base import error_for_status
from providers.errors import (
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
)
from providers.messages import (
    Ability,
    AttemptRef,
    Channel,
    DeliveryEvent,
    HttpRequest,
    HttpResponse,
    InboundMessage,
    OutgoingMessage,
    WebhookRequest,
)

SERVICE = "sms-voice"
LIFE_SECONDS = (5, 259_200)  # the least and the most TimeToLive
CODE_LIMIT = 50
# Settings that go into each call as they are.
EXTRAS = {
    "configuration_set": "ConfigurationSetName",
    "max_price": "MaxPrice",
    "protect_configuration": "ProtectConfigurationId",
}


class AwsSms(AwsService):
    """Events come only for messages sent with a `configuration_set` that has `topic_arn` as a destination.

    `signing_certificate` is what SNS signs with in this region, PEM; `SigningCertURL` in any message of the topic leads to
    it, e.g. in one received by e-mail (protocol email-json). SNS changes it every year or so: the next one may stand behind
    it beforehand. Calls that we do not believe are answered 503, since SNS repeats after a 5xx and never after a 4xx: within
    the hour that a topic's delivery policy may last, a new certificate can be put in and nothing is lost.
    A pinned certificate is preferred to a shared secret in the address: it stands in no log and proves each body. Its price
    is this care.
    """

    name = "aws_sms"
    endpoint = SERVICE
    service = SERVICE
    topic_names = ("topic_arn", "inbound_topic_arn")
    channels = frozenset({Channel.SMS})
    abilities = frozenset({Ability.RECEIPTS})
    credential_names = ("access_key_id", "secret_access_key", "signing_certificate", "topic_arn")
    optional_credential_names = ("session_token", "inbound_topic_arn")
    setting_names = ("from", "senders", "region", "message_type", *EXTRAS)
    default_base_url = f"https://{SERVICE}.{DEFAULT_REGION}.amazonaws.com"
    unverified: ClassVar[tuple[str, ...]] = (
        "No call was ever made to AWS: requests are checked against the published model, signatures against published vectors.",
        "No genuine SNS call was at hand: its signature is checked as documented, with certificates of our own making.",
        "How SNS changes its signing certificate, and how long before, is not documented.",
        "How errors are named on the wire (__type), and with which HTTP status, is from other AWS services.",
        "How a ValidationException names its field is known from the model only.",
        "Which reasons a SendTextMessage can really meet is not documented; their meanings are taken from their names.",
    )

    # Sending

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        self.require_region()
        sender = self.require_sender(message.country)
        settings = self.account.settings
        fields: dict[str, Any] = {
            "DestinationPhoneNumber": message.to,
            "OriginationIdentity": sender,
            "MessageBody": reading.clean(message.text),
            "MessageType": str(settings.get("message_type") or "TRANSACTIONAL"),
            "Context": {"attempt": attempt.id},
            **{field: str(settings[name]) for name, field in EXTRAS.items() if settings.get(name)},
        }
        if message.useful_seconds is not None:
            least, most = LIFE_SECONDS
            fields["TimeToLive"] = min(max(message.useful_seconds, least), most)
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": "PinpointSMSVoiceV2.SendTextMessage",
        }
        return HttpRequest("POST", f"{self.base_url}/", headers, json.dumps(fields).encode())

    def refusal(self, answer: HttpResponse) -> ProviderError:
        return _refusal(answer)

    # Webhooks

    def reports(self, record: Mapping[str, Any], call_id: str, raw: bytes) -> list[DeliveryEvent]:
        return [] if events.is_inbound(record) else [events.receipt(record, raw)]

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        call = self.genuine_call(request)
        record = sns.record_in(call) if call["Type"] == sns.NOTIFICATION else {}
        return [events.inbound(record, call, request.body)] if events.is_inbound(record) else []


def _refusal(answer: HttpResponse) -> ProviderError:
    fields = reading.json_object(answer.body) or {}
    exception, reason = exception_in(answer, fields), name_in(fields.get("Reason"))
    kind = error_for_status(answer.status)
    listed = _listed(exception, reason, fields)
    if listed is not None and (kind is not OutcomeUnknown or exception in THROTTLED):
        kind = listed  # any other 5xx may have been sent, whatever it is called
    called = "/".join(filter(None, (exception, reason)))
    return kind(
        f"HTTP {answer.status}, {called}" if called else f"HTTP {answer.status}",
        code=(reason or exception)[:CODE_LIMIT],
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
        suppress=SUPPRESS_REASONS.get(reason) if kind is listed else None,
        advice=SENDER_FAULTS.get(reason, ""),
    )


def _listed(exception: str, reason: str, fields: Mapping[str, Any]) -> type[ProviderError] | None:
    if exception == "ValidationException" and (reason in VAGUE or not reason):
        return _by_field(fields.get("Fields"))
    return REASONS.get(reason) or THROTTLED.get(exception) or EXCEPTIONS.get(exception)


def _by_field(named: object) -> type[ProviderError]:
    """Say whose fault a wrong field is. Several of them are nobody's in particular: our bug."""
    parts = named if isinstance(named, list) else []
    names = {reading.word(part.get("Name")).lower() for part in parts if isinstance(part, dict)}
    return FIELDS.get(names.pop(), InvalidRequest) if len(names) == 1 else InvalidRequest

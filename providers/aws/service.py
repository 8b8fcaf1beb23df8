"""One service of AWS in one region, with the SNS topic that its events come through."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from providers import reading
from providers.aws import sns
from providers.aws.sigv4 import Signer
from providers.base import Provider, read_json
from providers.errors import AuthenticationFailed, MalformedWebhook, OutcomeUnknown, ProviderError
from providers.messages import (
    Account,
    DeliveryEvent,
    EventKind,
    HttpRequest,
    HttpResponse,
    SendResult,
    WebhookRequest,
)

DEFAULT_REGION = "us-east-1"
SUBSCRIBE_URL = re.compile(r"https://sns\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/\S*")


class AwsService(Provider):
    """Credentials are a key, the certificate that SNS signs with, and the topics that are believed.

    Calls that we do not believe are answered 503, since SNS repeats after a 5xx and never after a 4xx.
    """

    endpoint: ClassVar[str]  # the first word of the host
    service: ClassVar[str]  # the name that calls are signed for
    topic_names: ClassVar[tuple[str, ...]] = ("topic_arn",)  # credentials that name a topic of ours
    refused_webhook_status = 503

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self.region = str(account.settings.get("region") or DEFAULT_REGION)
        if not account.base_url and self._region_is_named_well:
            self.base_url = f"https://{self.endpoint}.{self.region}.amazonaws.com"

    def require_region(self) -> None:
        """Raises AuthenticationFailed for a region that could not be part of a host's name."""
        if not self._region_is_named_well:
            raise AuthenticationFailed("the account's region is no name of one")

    @property
    def _region_is_named_well(self) -> bool:
        return re.fullmatch(r"[a-z0-9-]{1,40}", self.region) is not None

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        credentials = self.account.credentials
        signer = Signer(
            credentials["access_key_id"],
            credentials["secret_access_key"],
            self.region,
            self.service,
            credentials.get("session_token", ""),
        )
        return signer.sign(request, now)

    def subscribe_url(self, request: WebhookRequest) -> str | None:
        """Say which address, once called, confirms a subscription; None for other calls. Raises InvalidSignature.

        SNS sends it once, when somebody subscribes our address, and nothing else until it is called.
        """
        call = self.genuine_call(request)
        url = str(call.get("SubscribeURL"))
        return url if call["Type"] == sns.SUBSCRIPTION and SUBSCRIBE_URL.fullmatch(url) else None

    def genuine_call(self, request: WebhookRequest) -> Mapping[str, Any]:
        """Read a call of SNS for one of our topics. Raises InvalidSignature."""
        credentials = self.account.credentials
        topics = [credentials.get(name, "") for name in self.topic_names]
        return sns.genuine_call(request, credentials.get("signing_certificate", ""), topics)

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise self.refusal(answer)
        fields = read_json(answer)
        message_id = reading.identifier(fields.get("MessageId")) if isinstance(fields, dict) else None
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id)

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check the signature, then translate. Raises InvalidSignature, MalformedWebhook.

        How old the call is does not matter: one that somebody kept and plays again is a repetition of an event on file.
        """
        call = self.genuine_call(request)
        if call["Type"] == sns.SUBSCRIPTION:
            return []
        if call["Type"] == sns.UNSUBSCRIPTION:
            return [_subscription_ended(call, request.body)]
        record = sns.record_in(call)
        if not record:
            raise MalformedWebhook("the notification holds no JSON object")
        return self.reports(record, call["MessageId"], request.body)

    @abstractmethod
    def refusal(self, answer: HttpResponse) -> ProviderError:
        """What an answer that is no yes means."""

    @abstractmethod
    def reports(self, record: Mapping[str, Any], call_id: str, raw: bytes) -> list[DeliveryEvent]:
        """What a notification's record reports; `call_id` is the same for repetitions of one notification."""


def _subscription_ended(call: Mapping[str, Any], raw: bytes) -> DeliveryEvent:
    """Keep the news that no more events will come: somebody ended the subscription."""
    key = reading.fingerprint(call["Type"], call["MessageId"])
    return DeliveryEvent(EventKind.UNKNOWN, dedupe_key=key, provider_status=call["Type"], raw=raw)

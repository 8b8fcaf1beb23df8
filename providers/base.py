"""What the product may ask of any provider: translations between our words and its API. No I/O, no retries, no clock."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from providers.errors import (
    AuthenticationFailed,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import (
    Ability,
    Account,
    AttemptRef,
    Channel,
    DeliveryEvent,
    FindResult,
    HttpRequest,
    HttpResponse,
    InboundMessage,
    OutgoingMessage,
    SendResult,
    SentMessage,
    WebhookRequest,
)


class Provider(ABC):
    """One provider, constructed for one account.

    `send_result` raises the ProviderError that describes the answer; an answer that cannot be read is OutcomeUnknown.
    """

    name: ClassVar[str]  # in the registry, in the database: never changes
    channels: ClassVar[frozenset[Channel]]
    abilities: ClassVar[frozenset[Ability]]
    default_base_url: ClassVar[str]  # the vendor's own
    credential_names: ClassVar[tuple[str, ...]]  # what `Account.credentials` must hold
    optional_credential_names: ClassVar[tuple[str, ...]] = ()  # and may hold
    setting_names: ClassVar[tuple[str, ...]] = ()  # what `Account.settings` may hold
    look_up_delay_seconds: ClassVar[float] = 5.0  # how long after the call a search may still lag
    key_life_seconds: ClassVar[float] = 0.0  # how long an idempotency key protects; 0 without Ability.KEYS
    batch_limit: ClassVar[int] = 1  # messages in one call, with Ability.BATCH
    batch_bytes: ClassVar[int] = 10_000_000  # in one call
    refused_webhook_status: ClassVar[int] = 403  # HTTP status for a webhook we do not believe
    signs_webhooks: ClassVar[bool] = True  # False: a report counts only after a status call agrees
    unverified: ClassVar[tuple[str, ...]] = ()  # what nobody could check without the vendor, in sentences

    def __init__(self, account: Account) -> None:
        self.account = account
        self.base_url = (account.base_url or self.default_base_url).rstrip("/")

    @abstractmethod
    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call that sends. Raises UnsupportedFeature instead of dropping a field in silence."""

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Add what proves who calls and may not be older than the call: a signature or a token with the time in it.

        Done just before a request leaves, whatever it asks; the request without it is what is on file as its hash.
        """
        return request

    @abstractmethod
    def send_result(self, answer: HttpResponse) -> SendResult:
        """Read the answer to a send. Raises ProviderError."""

    def batch_request(self, requests: Sequence[HttpRequest]) -> HttpRequest:
        """Describe the one call that makes all these sends."""
        raise UnsupportedFeature(f"{self.name} takes one message a call")

    def batch_answers(self, answer: HttpResponse, count: int) -> list[HttpResponse]:
        """Take the answer to a batch apart: what each message would have been answered alone, in the order of the requests.

        Raises OutcomeUnknown for an answer that does not tell of each.
        """
        raise UnsupportedFeature(f"{self.name} takes one message a call")

    def find_request(self, sent: SentMessage, page: str | None = None) -> HttpRequest:
        """Describe the search for a message that may have been sent."""
        raise UnsupportedFeature(f"{self.name} cannot be searched")

    def find_result(self, answer: HttpResponse, sent: SentMessage) -> FindResult:
        """Read the answer to a search. Never raises for an answer it cannot read: that is CannotTell."""
        raise UnsupportedFeature(f"{self.name} cannot be searched")

    def status_request(self, provider_message_id: str) -> HttpRequest:
        """Describe the question how far one message has come."""
        raise UnsupportedFeature(f"{self.name} has no status look-up")

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        """Read the answer to a status question; an answer that cannot be read says nothing: an empty list."""
        raise UnsupportedFeature(f"{self.name} has no status look-up")

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check that the call is genuine, then translate it. Raises InvalidSignature, MalformedWebhook."""
        raise UnsupportedFeature(f"{self.name} sends no webhooks")

    def parse_inbound(self, request: WebhookRequest) -> list[InboundMessage]:
        """Read what recipients wrote, where a webhook carries that. Raises InvalidSignature, MalformedWebhook."""
        return []

    def require_plain_sms(self, message: OutgoingMessage) -> None:
        """Let an SMS pass. Raises UnsupportedFeature for anything else."""
        if message.channel not in self.channels or message.subject or message.html:
            raise UnsupportedFeature(f"{self.name} sends plain SMS here")

    def sender_for(self, country: str) -> str:
        """Say who sends to a country (ISO 3166-1 alpha-2): setting `senders` by country, else setting `from`; "" if nobody."""
        senders = self.account.settings.get("senders") or {}
        return str(senders.get(country) or self.account.settings.get("from") or "")


def read_json(answer: HttpResponse) -> Any:
    """Read a JSON body, whatever its content type says. Raises OutcomeUnknown, since an unreadable answer proves nothing."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise OutcomeUnknown("the answer is not JSON", http_status=answer.status) from error


def error_for_status(status: int) -> type[ProviderError]:
    """Judge an answer by its HTTP status alone, where its body says nothing we know: an HTML page, an unlisted code.

    408 is no refusal: a server that closes an idle connection says it to a request it never read, a proxy to one that
    it passed on.
    """
    if status == 429:
        return RateLimited
    if status in (401, 403):
        return AuthenticationFailed
    if 400 <= status < 500 and status != 408:
        return UnknownRefusal
    return OutcomeUnknown

"""What the product may ask of any provider: translations between our words and its API. No I/O, no retries, no clock."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from providers.errors import (
    AuthenticationFailed,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    SenderNotAllowed,
    SenderNotRegistered,
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
    MailRequest,
    OutgoingMessage,
    SendResult,
    SentMessage,
    StatusPage,
    Token,
    WebhookRequest,
)


class Provider(ABC):
    """One provider, constructed for one account.

    Sends are HTTP calls, or mails handed to a mail server; answers to mails are MailResponses. All else is HTTP.
    `send_result` raises the ProviderError that describes the answer; an answer that cannot be read is OutcomeUnknown.
    """

    name: ClassVar[str]  # in the registry, in the database: never changes
    channels: ClassVar[frozenset[Channel]]
    abilities: frozenset[Ability]  # an account's settings may make a difference
    default_base_url: ClassVar[str]  # the vendor's own
    credential_names: ClassVar[tuple[str, ...]]  # what `Account.credentials` must hold
    optional_credential_names: ClassVar[tuple[str, ...]] = ()  # and may hold
    setting_names: ClassVar[tuple[str, ...]] = ()  # what `Account.settings` may hold
    look_up_delay_seconds: ClassVar[float] = 5.0  # how long after the call a search may still lag
    reach: ClassVar[str] = (
        ""  # what addresses begin with that only this provider reaches, up to a colon; "" for all of its channels
    )
    schedule_seconds: ClassVar[
        tuple[float, ...]
    ] = ()  # waits between tries, where the field has agreed on them; else ours
    calls_at_once: ClassVar[int | None] = None  # of one process to one account; None: as many as it has connections
    proves_delivery: ClassVar[bool] = False  # what takes a message is its recipient
    wants_token: ClassVar[bool] = False  # with each send, one that has to be asked for
    has_doubts: ClassVar[bool] = False  # some of its errors are doubtful (`ProviderError.is_doubtful`)
    key_life_seconds: float = 0.0  # how long an idempotency key protects; 0 without Ability.KEYS
    keeps_failures: ClassVar[bool] = False  # what got a 5xx under a key gets it again under that key
    batch_limit: ClassVar[int] = 1  # messages in one call, with Ability.BATCH
    batch_bytes: ClassVar[int] = 10_000_000  # in one call
    callback_url_characters: ClassVar[int | None] = None  # of the address for its reports, at most
    refused_webhook_status: ClassVar[int] = 403  # HTTP status for a webhook we do not believe
    signs_webhooks: ClassVar[bool] = True  # False: a report counts only after a status call agrees
    sender_faults: ClassVar[Mapping[str, str]] = {}  # by error code of reports: how to mend a sender
    unverified: ClassVar[tuple[str, ...]] = ()  # what nobody could check without the vendor, in sentences

    def __init__(self, account: Account) -> None:
        self.account = account
        self.base_url = (account.base_url or self.default_base_url).rstrip("/")

    @staticmethod
    def new_secret() -> str:
        """A fresh secret to share with who is called; "" where the vendor makes them."""
        return ""

    @abstractmethod
    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest | MailRequest:
        """Describe the call that sends. Raises UnsupportedFeature instead of dropping a field in silence."""

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Add what proves who calls and may not be older than the call: a signature or a token with the time in it.

        Done just before a request leaves, whatever it asks; the request without it is what is on file as its hash.
        """
        return request

    def token_request(self, now: datetime) -> HttpRequest:
        """Describe the call that asks for a token, where the provider wants one."""
        raise UnsupportedFeature(f"{self.name} hands out no tokens")

    def token_result(self, answer: HttpResponse) -> Token:
        """Read the answer to that. Raises ProviderError: AccountError where asking again is of no use."""
        raise UnsupportedFeature(f"{self.name} hands out no tokens")

    def with_token(self, request: HttpRequest, token: Token) -> HttpRequest:
        """Add the token to a send, just before it leaves."""
        raise UnsupportedFeature(f"{self.name} hands out no tokens")

    @abstractmethod
    def send_result(self, answer: Any) -> SendResult:
        """Read the answer to a send. Raises ProviderError."""

    def batch_request(self, requests: Sequence[Any]) -> HttpRequest:
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

    def statuses_request(self, since: datetime, until: datetime, page: str | None = None) -> HttpRequest:
        """Describe the question how far all messages have come that were sent in a span of time, newest first.

        A list may show others as well, or lack some: what it does not tell is asked message by message.
        """
        raise UnsupportedFeature(f"{self.name} does not list its messages")

    def statuses_result(self, answer: HttpResponse) -> StatusPage:
        """Read a page of the list, each record as `status_result` reads it alone; one that cannot be read says nothing."""
        raise UnsupportedFeature(f"{self.name} does not list its messages")

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

    def require_sender(self, country: str) -> str:
        """Say who sends to a country. Raises SenderNotRegistered where the account names senders for others, SenderNotAllowed
        where it names none at all."""
        if sender := self.sender_for(country):
            return sender
        if self.account.settings.get("senders"):
            there = f"for {country}" if country else "for numbers of no country"
            raise SenderNotRegistered(
                f"the account names no sender {there}", advice=f"Name a sender {there} in the account's settings."
            )
        raise SenderNotAllowed("the account names no sender")


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

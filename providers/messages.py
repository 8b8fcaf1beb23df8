"""What goes to a provider and what comes back, in our words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Channel(StrEnum):
    """How a message travels; the comment says what `to` looks like."""

    SMS = "sms"  # E.164 with plus
    EMAIL = "email"  # addr-spec, without a display name
    PUSH = "push"  # a service and its own name of a device: `fcm:TOKEN`, `apns:TOKEN`, `webpush:SUBSCRIPTION`
    WEBHOOK = "webhook"  # the name of an endpoint


class EventKind(StrEnum):
    """What a delivery event reports. How kinds outrank each other is the product's business, not a provider's."""

    ACCEPTED = "accepted"  # the provider has the message
    SENT = "sent"  # handed on towards the recipient
    NOT_REACHED = "not_reached"  # not delivered for a passing reason: phone off, mailbox full
    EXPIRED = "expired"  # the provider gave up: its validity period ran out
    FAILED = "failed"  # not delivered for good
    DELIVERED = "delivered"  # the recipient has it
    BOUNCED = "bounced"  # hard bounce of an e-mail; may follow a delivery
    COMPLAINED = "complained"  # the recipient called it spam
    OPTED_OUT = "opted_out"  # the recipient wants no more of these
    NOT_THERE = "not_there"  # a look-up found nothing (never sent by a provider, written by us)
    UNKNOWN = "unknown"  # a word we do not know: kept, counted, changes nothing


class Ability(StrEnum):
    """What a provider's API can do beyond sending."""

    KEYS = "keys"  # the same key never reaches the recipient twice: it is dropped, or replaces the first
    FIND_BY_REFERENCE = "find_by_reference"  # search by our attempt id
    FIND_BY_RECIPIENT = "find_by_recipient"  # search by recipient, compared by content and time
    STATUS = "status"  # ask for one message by the provider's id
    RECEIPTS = "receipts"  # reports arrive by webhook
    BATCH = "batch"  # many messages in one call
    LIST_STATUSES = "list_statuses"  # many statuses in one call


@dataclass(frozen=True, slots=True)
class Account:
    """One set of credentials at one provider: what an adapter is constructed with.

    `base_url` None means the vendor's own. `callback_url` is where receipts for this account arrive, None without receipts.
    """

    slug: str
    credentials: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    base_url: str | None = None
    callback_url: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that travels with a mail. `content_id` is set where the HTML shows it: `<img src="cid:…">`."""

    name: str
    content_type: str
    content: bytes
    content_id: str | None = None


@dataclass(frozen=True, slots=True)
class Mail:
    """What only an e-mail has. `unsubscribe_url` takes the POST of RFC 8058, with one click and no question."""

    to_name: str | None = None
    reply_to: str | None = None  # addr-spec
    attachments: tuple[Attachment, ...] = ()
    unsubscribe_url: str | None = None


@dataclass(frozen=True, slots=True)
class Push:
    """What only a push has. `receipt` is what the app sends back to us to say that it has it; "" where nobody waits for that."""

    title: str | None = None
    data: Mapping[str, str] = field(default_factory=dict)  # for the app
    receipt: str = ""
    is_urgent: bool = False  # wakes the device


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A rendered message for one recipient. `useful_seconds` is how long from now it is still worth delivering.

    `text` is what is read: of an SMS, an e-mail, a push; of a webhook it is the body, JSON that goes out byte for byte, and
    `event` the message that told it first, if this one tells it again.
    """

    channel: Channel
    to: str
    text: str
    subject: str | None = None
    html: str | None = None
    useful_seconds: int | None = None
    country: str = ""  # of a number, ISO 3166-1 alpha-2; "" where there is none
    mail: Mail | None = None
    push: Push | None = None
    event: str = ""


@dataclass(frozen=True, slots=True)
class AttemptRef:
    """Names one attempt on the wire. `id` is `<message uuid hex>-<number>`; `key` is the idempotency key, if the provider takes one."""

    id: str
    key: str | None = None

    @property
    def message(self) -> str:
        """What all attempts of one message have in common."""
        return self.id.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """What may have been sent: all a provider needs to look for it.

    `owned_ids` are provider message ids that belong to other attempts already; they are never ours. `any_attempt`: it may
    have been sent under another number than `attempt` says, since our books are older than its sending.
    """

    message: OutgoingMessage
    attempt: AttemptRef
    began_at: datetime
    deadline_seconds: float
    owned_ids: frozenset[str] = frozenset()
    any_attempt: bool = False


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`is_foreign`: its address was given by somebody else, so it may lead to no machine of ours.

    `needs_http2`: its server speaks nothing older.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    is_foreign: bool = False
    needs_http2: bool = False

    @property
    def parts(self) -> tuple[bytes, ...]:
        """What makes two requests the same: all but the headers, which hold secrets and the time."""
        return (self.method.encode(), self.url.encode(), self.body)


@dataclass(frozen=True, slots=True)
class Token:
    """What a provider gave us to show with each call, and for how many seconds from now it is good."""

    value: str = field(repr=False)
    life_seconds: float


class MailSecurity(StrEnum):
    """How a mail server is spoken to. Nothing falls back to less."""

    STARTTLS = "starttls"  # plain until both sides switch to TLS
    TLS = "tls"  # from the first byte
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mails are handed in, and as whom; without `username` as nobody. `client_name` is what we call ourselves."""

    host: str
    port: int
    security: MailSecurity
    client_name: str = ""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MailRequest:
    """One mail for one recipient. `body` is all of it, header too, as it travels: every line ends in CRLF. But for its date,
    which is when it leaves.

    `needs_smtputf8`: letters beyond ASCII in an address, which a server takes only if it says so (RFC 6531).
    """

    server: MailServer
    sender: str  # of the envelope: who hears of a bounce
    recipient: str = field(repr=False)
    body: bytes = field(repr=False)
    needs_smtputf8: bool = False

    @property
    def parts(self) -> tuple[bytes, ...]:
        """What makes two requests the same: all but user and password."""
        server = f"{self.server.host}:{self.server.port}"
        return (server.encode(), self.sender.encode(), self.recipient.encode(), self.body)


class Headers(Mapping[str, str]):
    """Header values by name, without regard to case. Of a repeated name the last value counts."""

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._items = {name.lower(): value for name, value in (items or {}).items()}

    def __getitem__(self, name: str) -> str:
        return self._items[name.lower()]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete answer. `body` is capped by the transport, never cut in silence: a longer answer is an error.

    But to a foreign request, where it ends at the cap: a stranger's yes counts, however much it says besides.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=Headers)
    body: bytes = b""


class MailStep(StrEnum):
    """What a mail server was asked when it gave the answer that counts."""

    GREETING = "greeting"  # and who we are
    SECURITY = "security"
    LOGIN = "login"
    SENDER = "sender"
    RECIPIENT = "recipient"
    DATA = "data"  # whether it would take the mail now
    END = "end"  # the mail itself: the only answer by which one is taken


@dataclass(frozen=True, slots=True)
class MailResponse:
    """A complete answer of a mail server: its reply code, its text, and at which step it came.

    `lacks` names the extension without which nothing could be sent, where the server does not offer it; `status` is 0 then.
    """

    status: int
    body: bytes = b""
    step: MailStep = MailStep.END
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The provider took the message. `provider_status` is its own word for what it will do now."""

    provider_message_id: str | None
    provider_status: str = ""
    segments: int | None = None


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A provider's call to us: `url` as the provider called it (public scheme, host, path and query), `body` as raw bytes."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class DeliveryEvent:
    """One report about one message.

    `attempt` is our attempt id where the report carries it. `dedupe_key` is equal for repetitions of one report and for
    nothing else. `suppress` names the reason when the report makes it certain that the address must not be used again.
    """

    kind: EventKind
    dedupe_key: str
    attempt: str | None = None
    provider_message_id: str | None = None
    provider_status: str = ""
    error_code: str = ""
    occurred_at: datetime | None = None
    suppress: str | None = None
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A text that somebody sent to one of our numbers. `sender` and `recipient` are E.164 with plus, or as the vendor wrote them.

    `dedupe_key` is equal for repetitions of one message and for nothing else.
    """

    dedupe_key: str
    sender: str
    recipient: str
    text: str
    received_at: datetime | None = None
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Found:
    """The provider has it, under this id, and says so far what `events` hold."""

    provider_message_id: str
    events: tuple[DeliveryEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class NotThere:
    """A clear no: the search would have shown it."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """Neither yes nor no; `reason` in a few words."""

    reason: str


@dataclass(frozen=True, slots=True)
class NextPage:
    """Not on this page: ask `find_request(sent, page=page)` next."""

    page: str


@dataclass(frozen=True, slots=True)
class StatusPage:
    """What a page of a provider's list tells of its messages, whoever's they are; it goes back to those of `oldest_at`.

    `next_page`: ask `statuses_request(since, until, page=next_page)` next; None where there is no more.
    """

    events: Sequence[DeliveryEvent] = ()
    next_page: str | None = None
    oldest_at: datetime | None = None


FindResult = Found | NotThere | CannotTell | NextPage

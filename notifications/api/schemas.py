"""What the API says, as it documents it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from notifications.states import State

ShownState = Literal[
    "accepted",
    "in_progress",
    "delivered",
    "unconfirmed",
    "failed",
    "expired",
    "suppressed",
    "cancelled",
    "dead_lettered",
]

SoughtState = Literal[
    "open", "delivered", "unconfirmed", "failed", "expired", "suppressed", "cancelled", "dead_lettered"
]


class AcceptedOut(Schema):
    """The promise: only what never changes."""

    id: UUID
    accepted_at: datetime


class DryStepOut(Schema):
    """A message as it would be sent now; `account` is empty where nobody would. Those of one `step` go at once.

    `price` is an estimate: what the account's operator says a message, or each SMS, costs there; null where unknown.
    """

    step: int = Field(description="From 1.")
    channel: str
    address: str
    country: str
    account: str
    encoding: Literal["gsm7", "ucs2", ""]
    segments: int
    not_in_gsm7: list[str]
    price: str | None


class DryRunOut(Schema):
    """What a request would come to."""

    route: str
    steps: list[DryStepOut]


class AttemptOut(Schema):
    number: int
    account: str
    outcome: str
    error: str
    error_code: str
    began_at: datetime
    ended_at: datetime


class StepOut(Schema):
    """One message of a step that has begun; a step of several channels or devices has several, at once.

    The address is masked; some time after the end it reads `redacted`.
    """

    step: int = Field(description="From 1.")
    channel: str
    address: str
    state: State
    reason: str
    attempts: list[AttemptOut]


class MomentOut(Schema):
    at: datetime
    kind: Literal["notification", "attempt", "report", "escalation", "turn"]
    text: str


class SummaryOut(Schema):
    id: UUID
    state: ShownState
    reference: str
    route: str
    priority: str
    accepted_at: datetime
    ended_at: datetime | None


class NotificationOut(SummaryOut):
    """Everything that is known about a notification."""

    reason: str
    explanation: str
    steps: list[StepOut]
    events: list[MomentOut]


class PageOut(Schema):
    """`next_cursor` asks for the next page; null on the last."""

    items: list[SummaryOut]
    next_cursor: UUID | None


class CancelledMessageOut(Schema):
    id: UUID
    result: Literal["stopped", "already_at_the_provider", "unknown", "ended"]


class CancelledOut(Schema):
    messages: list[CancelledMessageOut]


class AcceptedBatchOut(Schema):
    """The promise for a whole file: only what never changes."""

    id: UUID
    accepted_at: datetime
    accepted: int = Field(description="Notifications.")
    skipped: int = Field(description="Rows.")


class EndsOut(Schema):
    delivered: int
    unconfirmed: int
    failed: int
    expired: int
    suppressed: int
    cancelled: int
    dead_lettered: int


class BatchOut(AcceptedBatchOut):
    """`accepted` is the sum of `open`, all of `ends`, and `deleted`: notifications that were kept long enough."""

    state: Literal["accepted", "paused", "cancelled"]
    reference: str
    route: str
    priority: str
    open: int
    ends: EndsOut
    deleted: int


class ChangedBatchOut(Schema):
    """How many messages were `paused`, `resumed`, or met one of the results of a cancellation."""

    id: UUID
    state: Literal["accepted", "paused", "cancelled"]
    messages: dict[str, int]


class EndpointOut(Schema):
    """An endpoint of yours. `off_reason` says why it is off; its events are kept meanwhile. `failing_since` is null while it works."""

    name: str
    url: str
    event_types: list[str]
    owner_email: str
    headers: dict[str, str]
    is_on: bool
    off_reason: str
    failing_since: datetime | None
    created_at: datetime


class MadeEndpointOut(EndpointOut):
    """`secret` is shown this once."""

    secret: str


class SecretOut(Schema):
    """`secret` is shown this once; the one before signs beside it until `previous_until`."""

    secret: str
    previous_until: datetime


class SearchIn(Schema):
    """All of it must fit; newest first."""

    state: SoughtState | None = Field(None, description="How it ended, or `open`.")
    reference: str | None = Field(None, max_length=200)
    recipient: str | None = Field(None, max_length=320, description="A phone number or an e-mail address.")
    incident: str | None = Field(None, max_length=200)
    accepted_from: datetime | None = Field(None, description="With a time zone.")
    accepted_until: datetime | None = Field(None, description="With a time zone; not included.")
    cursor: UUID | None = Field(None, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)

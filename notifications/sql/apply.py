"""Apply: reports about messages are stored as received, matched, and judged later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from notifications.sql.rows import Table, execute, fetch, unique
from notifications.sql.suppressions import UNSUBSCRIBED
from providers.messages import EventKind


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A report to store. `message_id` and `attempt_number` are set where the report names our attempt."""

    account_id: int
    dedupe_key: str
    source: str
    kind: str
    message_id: UUID | None
    attempt_number: int | None
    provider_message_id: str | None
    provider_status: str
    error_code: str
    suppress: str
    occurred_at: datetime | None
    raw: bytes


EVENTS = Table(
    "e",
    {
        "account_id": "bigint",
        "dedupe_key": "text",
        "source": "text",
        "kind": "text",
        "message_id": "uuid",
        "attempt_number": "int2",
        "provider_message_id": "text",
        "provider_status": "text",
        "error_code": "text",
        "suppress": "text",
        "occurred_at": "timestamptz",
        "raw": "bytea",
    },
)

# An attempt id counts only if the message was really sent, or is being sent, by that account; else the report waits.
STORE = f"""
INSERT INTO delivery_event (account_id, dedupe_key, source, kind, message_id, attempt_number, provider_message_id,
    provider_status, error_code, suppress, occurred_at, raw)
SELECT e.account_id, e.dedupe_key, e.source, e.kind, known.message_id, known.number,
    e.provider_message_id, e.provider_status, e.error_code, e.suppress, e.occurred_at, e.raw
FROM {EVENTS.sql}
LEFT JOIN LATERAL (
    SELECT message_id, number FROM attempt
    WHERE message_id = e.message_id AND number = e.attempt_number AND account_id = e.account_id
    UNION ALL
    SELECT message_id, attempt FROM outbox
    WHERE message_id = e.message_id AND attempt = e.attempt_number AND account_id = e.account_id
    LIMIT 1
) known ON true
ON CONFLICT (account_id, dedupe_key) DO NOTHING
RETURNING id"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A report that has its message and has not been applied."""

    id: int
    message_id: UUID
    attempt_number: int
    suppress: str
    account_id: int
    kind: str
    error_code: str


WAITING = """
SELECT e.id, coalesce(e.message_id, a.message_id), coalesce(e.attempt_number, a.number), e.suppress,
    e.account_id, e.kind, e.error_code
FROM delivery_event e
LEFT JOIN LATERAL (
    SELECT message_id, number FROM attempt
    WHERE e.message_id IS NULL AND account_id = e.account_id AND provider_message_id = e.provider_message_id
    LIMIT 1
) a ON true
WHERE e.applied_at IS NULL AND (e.message_id IS NOT NULL OR a.message_id IS NOT NULL)
ORDER BY e.received_at LIMIT %(limit)s FOR NO KEY UPDATE OF e SKIP LOCKED"""

APPLIED = """
UPDATE delivery_event SET applied_at = clock_timestamp(), message_id = w.message_id, attempt_number = w.number
FROM unnest(%(ids)s::bigint[], %(messages)s::uuid[], %(numbers)s::int2[]) AS w(id, message_id, number)
WHERE delivery_event.id = w.id"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one attempt of a message is known to have come to, from one source."""

    message_id: UUID
    attempt_number: int
    kind: EventKind
    provider_message_id: str | None
    provider_status: str
    error_code: str


# What was repeated under one key is one message to its provider, whichever attempt the report names.
EVIDENCE = """
SELECT e.message_id, coalesce(repeated.last, e.attempt_number), e.kind, e.provider_message_id, e.provider_status,
    e.error_code
FROM delivery_event e LEFT JOIN LATERAL (
    SELECT max(later.number) AS last FROM attempt a JOIN LATERAL (
        SELECT number FROM attempt
        WHERE message_id = a.message_id AND account_id = a.account_id AND provider_key = a.provider_key
        UNION ALL
        SELECT attempt FROM outbox
        WHERE message_id = a.message_id AND account_id = a.account_id AND provider_key = a.provider_key
    ) later ON true
    WHERE a.message_id = e.message_id AND a.number = e.attempt_number AND a.provider_key IS NOT NULL
) repeated ON true
WHERE e.message_id = ANY (%(ids)s)
UNION ALL
SELECT message_id, number, 'accepted', provider_message_id, '', ''
FROM attempt WHERE message_id = ANY (%(ids)s) AND outcome = 'taken'"""

ADOPT = """
UPDATE attempt SET provider_message_id = coalesce(attempt.provider_message_id, f.provider_message_id),
    looked_up = coalesce(f.looked_up, attempt.looked_up)
FROM unnest(%(ids)s::uuid[], %(numbers)s::int2[], %(provider_ids)s::text[], %(looked_up)s::text[])
    AS f(message_id, number, provider_message_id, looked_up)
WHERE attempt.message_id = f.message_id AND attempt.number = f.number"""

# What is for good takes the place of what is for a while; what keeps everything from an address, of what keeps one category.
SUPPRESS = f"""
INSERT INTO suppression (channel, address_hash, reason, source, until)
SELECT DISTINCT ON (channel, address_hash) channel, address_hash, reason, source, until
FROM unnest(%(channels)s::text[], %(hashes)s::text[], %(reasons)s::text[], %(sources)s::text[], %(untils)s::timestamptz[])
    AS s(channel, address_hash, reason, source, until)
ORDER BY channel, address_hash, until DESC NULLS FIRST, reason = '{UNSUBSCRIBED}'
ON CONFLICT (channel, address_hash) DO UPDATE
    SET reason = excluded.reason, source = excluded.source, until = excluded.until, created_at = now()
    WHERE suppression.until <= now() OR excluded.until IS NULL AND (
        suppression.until IS NOT NULL
        OR suppression.reason = '{UNSUBSCRIBED}' AND excluded.reason <> '{UNSUBSCRIBED}'
    )"""


def store_events(events: Sequence[NewEvent]) -> int:
    """Store reports as received, each once. Returns how many were new."""
    return len(execute(STORE, EVENTS.parameters(events)))


def waiting_events(limit: int) -> list[Waiting]:
    """Lock reports that can be applied now, oldest first; what others are applying is passed over."""
    return fetch(Waiting, WAITING, {"limit": limit})


def mark_applied(events: Sequence[Waiting]) -> None:
    """Note reports as applied, with the message and attempt they were matched to."""
    execute(
        APPLIED,
        {
            "ids": [event.id for event in events],
            "messages": [event.message_id for event in events],
            "numbers": [event.attempt_number for event in events],
        },
    )


def evidence(message_ids: Iterable[UUID]) -> list[Evidence]:
    """All that is known about the attempts of messages."""
    rows = execute(EVIDENCE, {"ids": unique(message_ids)})
    return [Evidence(row[0], row[1], EventKind(row[2]), *row[3:]) for row in rows]


@dataclass(frozen=True, slots=True)
class Adoption:
    """A provider's message id, or a look-up's finding, that belongs to an attempt already on file."""

    message_id: UUID
    number: int
    provider_message_id: str | None = None
    looked_up: str | None = None


def adopt(adoptions: Sequence[Adoption]) -> None:
    """Add provider ids and findings to attempts."""
    execute(
        ADOPT,
        {
            "ids": [row.message_id for row in adoptions],
            "numbers": [row.number for row in adoptions],
            "provider_ids": [row.provider_message_id for row in adoptions],
            "looked_up": [row.looked_up for row in adoptions],
        },
    )


@dataclass(frozen=True, slots=True)
class SuppressedAddress:
    """`until` None means for good."""

    channel: str
    address_hash: str
    reason: str
    source: str
    until: datetime | None = None


def suppress(addresses: Sequence[SuppressedAddress]) -> None:
    """Suppress addresses; one that is suppressed already keeps its first reason, unless this one keeps more from it."""
    execute(
        SUPPRESS,
        {
            "channels": [row.channel for row in addresses],
            "hashes": [row.address_hash for row in addresses],
            "reasons": [row.reason for row in addresses],
            "sources": [row.source for row in addresses],
            "untils": [row.until for row in addresses],
        },
    )

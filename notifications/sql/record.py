"""Record: what became of messages goes on file, whoever found out. The only statement that moves a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from notifications.models.attempt import Outcome
from notifications.sql.rows import Table, execute, one_line
from notifications.states import State, check_move


@dataclass(slots=True, kw_only=True)
class Verdict:
    """What is known of one message now, and what comes next. Raises InvalidMove if its states do not allow it.

    `due_at` None ends the promise. `outcome` is set when the open attempt has ended; then the fields after it describe it.
    """

    message_id: UUID
    leaving: State
    state: State
    reason: str = ""
    lane: str | None = None
    due_at: datetime | None = None
    account_id: int | None = None
    tried: list[int] = field(default_factory=list)
    rerouted: bool = False
    tries: int = 0
    checks: int = 0
    not_there: int = 0
    perhaps_sent: bool = False
    escalate_at: datetime | None = None
    escalated: bool = False  # its window ran out now
    settles: bool = False  # the next step may be owed, though this has not ended
    receipt_deadline: datetime | None = None
    segments: int | None = None
    cost: Decimal | None = None
    outcome: Outcome | None = None
    error: str = ""
    error_code: str = ""
    http_status: int | None = None
    provider_message_id: str | None = None
    answer: str = ""

    def __post_init__(self) -> None:
        check_move(self.leaving, self.state)


VERDICTS = Table(
    "v",
    {
        "message_id": "uuid",
        "leaving": "text",
        "state": "text",
        "reason": "text",
        "lane": "text",
        "due_at": "timestamptz",
        "account_id": "bigint",
        "tried": "bigint[]",
        "rerouted": "bool",
        "tries": "int2",
        "checks": "int2",
        "not_there": "int2",
        "perhaps_sent": "bool",
        "escalate_at": "timestamptz",
        "escalated": "bool",
        "receipt_deadline": "timestamptz",
        "segments": "int2",
        "cost": "numeric",
        "outcome": "text",
        "error": "text",
        "error_code": "text",
        "http_status": "int2",
        "provider_message_id": "text",
        "answer": "text",
    },
)

# Whose verdicts count: the holder's where its claim still stands …
_SAID = """SELECT v.*, held.attempt AS number, held.account_id AS attempt_account, held.provider_key, held.request_hash,
        held.useful_seconds, held.began_at"""
HELD = f"""
    {_SAID} FROM {VERDICTS.sql} JOIN outbox held ON held.message_id = v.message_id
    WHERE held.claim = %(claim)s ORDER BY v.message_id FOR NO KEY UPDATE OF held"""
# … or those of a transaction that has locked notifications, entries and messages already (lock.py).
LOCKED = f"""
    {_SAID} FROM {VERDICTS.sql} JOIN message m ON m.id = v.message_id LEFT JOIN outbox held ON held.message_id = m.id"""

# An attempt that is on file already was filed by a fenced holder, whose answer came late.
RECORD = """
WITH v AS MATERIALIZED ({held}
), closed AS (
    DELETE FROM outbox USING v WHERE outbox.message_id = v.message_id AND v.due_at IS NULL
), kept AS (
    UPDATE outbox SET claim = NULL, strikes = 0, lane = v.lane, due_at = v.due_at,
        attempt = NULL, account_id = NULL, provider_key = NULL, request_hash = NULL, useful_seconds = NULL, began_at = NULL,
        turn_at = NULL, turn_account = NULL
    FROM v WHERE outbox.message_id = v.message_id AND v.due_at IS NOT NULL
), moved AS (
    UPDATE message SET state = v.state, reason = v.reason, account_id = v.account_id, tried = v.tried,
        rerouted = v.rerouted, tries = v.tries, checks = v.checks, not_there = v.not_there, perhaps_sent = v.perhaps_sent,
        attempt_count = CASE WHEN v.outcome IS NULL THEN message.attempt_count ELSE v.number END,
        escalate_at = v.escalate_at, receipt_deadline = v.receipt_deadline,
        escalated_at = CASE WHEN v.escalated THEN clock_timestamp() ELSE message.escalated_at END,
        segments = coalesce(v.segments, message.segments), cost = coalesce(v.cost, message.cost)
    FROM v WHERE message.id = v.message_id AND message.state = v.leaving
    RETURNING message.id, v.state, v.leaving, v.reason, v.error, v.error_code
), filed AS (
    INSERT INTO attempt (message_id, number, account_id, provider_key, request_hash, useful_seconds, began_at, ended_at,
        outcome, error, error_code, http_status, provider_message_id, answer, late_answer)
    SELECT v.message_id, v.number, v.attempt_account, v.provider_key, v.request_hash, v.useful_seconds, v.began_at,
        clock_timestamp(), v.outcome, v.error, v.error_code, v.http_status, v.provider_message_id, v.answer, ''
    FROM v WHERE v.outcome IS NOT NULL AND v.number IS NOT NULL
    ON CONFLICT (message_id, number) DO NOTHING
), dead AS (
    INSERT INTO dead_letter (kind, message_id, task, reason, last_error)
    SELECT 'message', id, '', reason, concat_ws(' ', nullif(error, ''), nullif(error_code, ''))
    FROM moved WHERE state = 'dead_lettered' AND leaving <> 'dead_lettered'
), held_up AS (
    INSERT INTO dead_letter (kind, message_id, task, reason, last_error)
    SELECT 'held', id, '', reason, '' FROM moved WHERE state = 'uncertain' AND reason = 'held'
        AND NOT EXISTS (SELECT FROM dead_letter WHERE message_id = moved.id AND kind = 'held' AND resolution = 'discarded')
    ON CONFLICT (message_id) WHERE kind = 'held' AND resolved_at IS NULL DO NOTHING
), answered AS (
    UPDATE dead_letter SET resolved_at = clock_timestamp(), resolution = 'answered'
    FROM moved WHERE dead_letter.message_id = moved.id AND kind = 'held' AND resolved_at IS NULL
        AND moved.leaving = 'uncertain' AND NOT (moved.state = 'uncertain' AND moved.reason = 'held')
)
SELECT message_id FROM v"""
RECORD_HELD, RECORD_LOCKED = (one_line(RECORD.format(held=held)) for held in (HELD, LOCKED))


def record(verdicts: Sequence[Verdict], *, claim: UUID | None) -> set[UUID]:
    """Put verdicts on file. Returns the messages whose verdict counted.

    With a claim, verdicts on entries that are not held by it are dropped whole. Without one, the caller holds the locks.
    """
    statement = RECORD_LOCKED if claim is None else RECORD_HELD
    return {message_id for (message_id,) in execute(statement, {"claim": claim, **VERDICTS.parameters(verdicts)})}


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """An answer to an attempt that is not ours any more, with what began it in case nobody filed it yet."""

    message_id: UUID
    number: int
    account_id: int
    provider_key: str | None
    request_hash: str
    useful_seconds: int | None
    began_at: datetime
    provider_message_id: str | None
    answer: str


LATE_ANSWERS = Table(
    "a",
    {
        "message_id": "uuid",
        "number": "int2",
        "account_id": "bigint",
        "provider_key": "text",
        "request_hash": "text",
        "useful_seconds": "int4",
        "began_at": "timestamptz",
        "provider_message_id": "text",
        "answer": "text",
    },
)

FILE_LATE = f"""
INSERT INTO attempt (message_id, number, account_id, provider_key, request_hash, useful_seconds, began_at, ended_at,
    outcome, error, error_code, provider_message_id, answer, late_answer)
SELECT message_id, number, account_id, provider_key, request_hash, useful_seconds, began_at, clock_timestamp(),
    'unclear', '', '', provider_message_id, '', answer
FROM {LATE_ANSWERS.sql} ORDER BY message_id, number
ON CONFLICT (message_id, number) DO UPDATE SET late_answer = excluded.late_answer,
    provider_message_id = coalesce(attempt.provider_message_id, excluded.provider_message_id)"""


def file_late(answers: Sequence[LateAnswer]) -> None:
    """File answers that came after their claim was lost. They move nothing; a *yes* is entered as evidence besides."""
    execute(FILE_LATE, LATE_ANSWERS.parameters(answers))

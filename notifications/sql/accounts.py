"""Accounts opened after a fault of ours, breakers where a provider fails, and the one probe at a time that closes them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from notifications.models.breaker import Cause
from notifications.sql.rows import execute, unique

FOR_GOOD_SECONDS = 100 * 365 * 86_400.0
DETAIL_CHARACTERS = 300  # as many as the column holds
REASON_CHARACTERS = 100

OPEN = """
UPDATE provider_account AS a SET opened_at = coalesce(a.opened_at, clock_timestamp()), opened_reason = %(reason)s,
    opened_until = clock_timestamp() + %(rest)s * interval '1 second'
FROM (SELECT id, opened_at FROM provider_account WHERE id = %(id)s FOR UPDATE) AS before
WHERE a.id = before.id RETURNING before.opened_at IS NULL AS is_news"""

TAKE_PROBE = """
UPDATE provider_account SET opened_until = clock_timestamp() + %(rest)s * interval '1 second'
WHERE id = %(id)s AND opened_at IS NOT NULL AND opened_until <= clock_timestamp() RETURNING id"""

CLOSE = """
UPDATE provider_account SET opened_at = NULL, opened_until = NULL, opened_reason = '' WHERE id = %(id)s"""

OPEN_BREAKER = """
INSERT INTO breaker (account_id, country, opened_until)
VALUES (%(id)s, %(country)s, clock_timestamp() + %(rest)s * interval '1 second')
ON CONFLICT (account_id, country) DO UPDATE SET calls_fail = breaker.cause <> 'calls',
    opened_until = greatest(breaker.opened_until, excluded.opened_until)"""

NOTE_CALLS_WORK = (
    "UPDATE breaker SET calls_fail = false WHERE account_id = %(id)s AND country = %(country)s AND calls_fail"
)

TAKE_BREAKER_PROBE = """
UPDATE breaker SET opened_until = clock_timestamp() + %(rest)s * interval '1 second'
WHERE account_id = %(id)s AND country = %(country)s AND opened_until <= clock_timestamp() RETURNING id"""

# What rests for failed calls goes on resting for what takes more to mend, and so does what is the last resort.
_REST = """
INSERT INTO breaker (account_id, country, cause, detail, is_last_resort, opened_until)
VALUES (%(id)s, %(country)s, %(cause)s, %(detail)s, %(is_last_resort)s, clock_timestamp() + %(rest)s * interval '1 second')
ON CONFLICT (account_id, country) DO UPDATE SET cause = excluded.cause, detail = excluded.detail,
    is_last_resort = excluded.is_last_resort, calls_fail = excluded.is_last_resort AND breaker.cause = 'calls',
    opened_at = clock_timestamp(), opened_until = excluded.opened_until"""
REST_FOR_GOOD = f"{_REST} RETURNING id"

# Whatever else it rests for stays, so that it is said once.
OPEN_SENDER = f"{_REST} WHERE breaker.cause = 'calls' OR breaker.is_last_resort RETURNING id"
OPEN_SILENT = f"{_REST} WHERE breaker.cause = 'calls' RETURNING id"

# The minutes in which nothing arrived count for nothing once that is mended: not as its last, nor as what is usual.
_FORGET = """
), forgotten AS (
    DELETE FROM arrival WHERE id = ANY (ARRAY(
        SELECT arrival.id FROM arrival JOIN closed USING (account_id, country)
        WHERE cause = 'receipts' AND minute >= date_trunc('minute', opened_at - %(judged)s * interval '1 second')
        ORDER BY account_id, country, minute FOR UPDATE OF arrival
    ))
)
SELECT account_id, country FROM closed"""
CLOSE_BREAKER = f"""
WITH closed AS (
    DELETE FROM breaker WHERE account_id = %(id)s AND country = %(country)s AND cause = ANY (%(causes)s) RETURNING *
{_FORGET}"""

# A message that arrived was sent through the account that it names, by an attempt that began later than the silence.
CLOSE_ARRIVED = f"""
WITH arrived AS MATERIALIZED (
    SELECT DISTINCT m.account_id, m.country, a.began_at FROM message m JOIN attempt a ON a.message_id = m.id
    WHERE m.id = ANY (%(messages)s) AND m.state = 'delivered' AND a.account_id = m.account_id
), closed AS (
    DELETE FROM breaker WHERE cause = 'receipts' AND EXISTS (
        SELECT FROM arrived WHERE arrived.account_id = breaker.account_id AND arrived.country = breaker.country
            AND began_at > opened_at
    ) RETURNING *
{_FORGET}"""


def open_account(account_id: int, reason: str, rest_seconds: float) -> bool:
    """Send nothing through an account for `rest_seconds`; then one probe at a time. Returns whether it was in use so far."""
    opened = execute(OPEN, {"id": account_id, "reason": reason[:REASON_CHARACTERS], "rest": rest_seconds})
    return any(is_news for (is_news,) in opened)


def take_probe(account_id: int, rest_seconds: float) -> bool:
    """Win the right to try an opened account with one message; the next probe waits `rest_seconds`."""
    return bool(execute(TAKE_PROBE, {"id": account_id, "rest": rest_seconds}))


def close_account(account_id: int) -> None:
    """Send through an account again."""
    execute(CLOSE, {"id": account_id})


def open_breaker(account_id: int, country: str, rest_seconds: float) -> None:
    """Send nothing to a country through an account for `rest_seconds`; then one probe at a time."""
    execute(OPEN_BREAKER, {"id": account_id, "country": country, "rest": rest_seconds})


def note_calls_work(account_id: int, country: str) -> None:
    """What rests for another cause is not failing calls any more."""
    execute(NOTE_CALLS_WORK, {"id": account_id, "country": country})


def take_breaker_probe(account_id: int, country: str, rest_seconds: float) -> bool:
    """Win the right to try a country again with one message; the next probe waits `rest_seconds`."""
    return bool(execute(TAKE_BREAKER_PROBE, {"id": account_id, "country": country, "rest": rest_seconds}))


def open_sender(account_id: int, country: str, cause: str, detail: str, rest_seconds: float) -> bool:
    """Send nothing to a country through an account until its sender may be used there. Whether that is news."""
    return bool(execute(OPEN_SENDER, _rest(account_id, country, cause, detail, rest_seconds)))


def open_silent(account_id: int, country: str, detail: str, rest_seconds: float) -> bool:
    """Send to a country through an account only where no other can, until a message arrives. Whether that is news."""
    values = _rest(account_id, country, Cause.RECEIPTS, detail, rest_seconds, is_last_resort=True)
    return bool(execute(OPEN_SILENT, values))


def rest_for_good(account_id: int, country: str, detail: str) -> int:
    """Send nothing to a country through an account until a person mends it. Returns the breaker's id."""
    return int(execute(REST_FOR_GOOD, _rest(account_id, country, Cause.OPERATOR, detail, FOR_GOOD_SECONDS))[0][0])


def _rest(
    account_id: int, country: str, cause: str, detail: str, rest_seconds: float, *, is_last_resort: bool = False
) -> dict[str, object]:
    return {
        "id": account_id,
        "country": country,
        "cause": str(cause),
        "detail": detail[:DETAIL_CHARACTERS],
        "rest": rest_seconds,
        "is_last_resort": is_last_resort,
    }


def close_breaker(account_id: int, country: str, causes: Iterable[str], *, judged_seconds: float) -> bool:
    """Send to a country through an account again, if it rests for one of these causes. Whether it did.

    `judged_seconds` is what it was judged by before it was opened for its receipts, if it was.
    """
    values = {"id": account_id, "country": country, "causes": [str(cause) for cause in causes]}
    return bool(execute(CLOSE_BREAKER, {**values, "judged": judged_seconds}))


def close_arrived(message_ids: Iterable[UUID], *, judged_seconds: float) -> list[tuple[int, str]]:
    """Send again where messages arrived that were sent after a silence began. Returns accounts and countries."""
    rows = execute(CLOSE_ARRIVED, {"messages": unique(message_ids), "judged": judged_seconds})
    return [(account_id, country) for account_id, country in rows]

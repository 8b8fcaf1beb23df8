"""Arrivals: how many of the messages that an account took for a country have arrived by a fixed age, minute by minute."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from notifications.sql.rows import execute, fetch

# Attempts are read by their primary key: it ascends with the times at which calls ended, whenever their messages were
# accepted. 50,000 are read, counted and judged in 0.2 s.
NEWEST = "SELECT coalesce(max(id), 0) FROM attempt"
WINDOW = """
SELECT max(id), max(ended_at), count(*)
FROM (SELECT id, ended_at FROM attempt WHERE id > %(after)s ORDER BY id LIMIT %(limit)s) AS ids
WHERE ended_at < %(before)s"""

# Whoever moves the position counts the window: the other of two runs at once finds it moved, and counts nothing. More has
# arrived of what is older than it should be, so that is left out.
COUNT = """
WITH moved AS (
    UPDATE scan_position SET last_id = %(moved)s WHERE name = %(name)s AND last_id = %(position)s RETURNING name
), taken AS MATERIALIZED (
    SELECT a.account_id, m.country, date_trunc('minute', a.ended_at) AS minute, m.state
    FROM attempt a JOIN message m ON m.id = a.message_id
    WHERE a.id > %(after)s AND a.id <= %(until)s AND a.outcome = 'taken' AND a.account_id = ANY (%(accounts)s)
        AND a.ended_at >= %(since)s AND a.ended_at < %(before)s AND EXISTS (SELECT FROM moved)
), counted AS (
    INSERT INTO arrival (account_id, country, minute, taken_count, delivered_count)
    SELECT account_id, country, minute, count(*), count(*) FILTER (WHERE state = 'delivered') FROM taken
    GROUP BY account_id, country, minute ORDER BY account_id, country, minute
    ON CONFLICT (account_id, country, minute) DO UPDATE SET
        taken_count = arrival.taken_count + excluded.taken_count,
        delivered_count = arrival.delivered_count + excluded.delivered_count
    RETURNING account_id, country
)
SELECT DISTINCT account_id, country FROM counted ORDER BY account_id, country"""

SHARES = """
SELECT place.account_id, place.country,
    coalesce(sum(taken_count) FILTER (WHERE minute >= %(recent)s), 0),
    coalesce(sum(delivered_count) FILTER (WHERE minute >= %(recent)s), 0),
    coalesce(sum(taken_count) FILTER (WHERE minute < %(recent)s), 0),
    coalesce(sum(delivered_count) FILTER (WHERE minute < %(recent)s), 0)
FROM unnest(%(accounts)s::bigint[], %(countries)s::text[]) AS place(account_id, country)
JOIN arrival ON arrival.account_id = place.account_id AND arrival.country = place.country AND minute >= %(usual)s
GROUP BY place.account_id, place.country"""

DELETE = "DELETE FROM arrival WHERE minute < %(before)s"


@dataclass(frozen=True, slots=True)
class Window:
    """Attempts up to `until` ended before a moment, the last of them at `ended_at`."""

    until: int
    ended_at: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Shares:
    """What an account took for a country and what of that arrived, lately and usually."""

    account_id: int
    country: str
    taken: int
    delivered: int
    usually_taken: int
    usually_delivered: int


def newest() -> int:
    """The last attempt on file; 0 where there is none."""
    return int(execute(NEWEST, {})[0][0])


def window(after: int, limit: int, *, before: datetime) -> Window | None:
    """The next attempts, `limit` at most, that ended before a moment; None where there are none."""
    until, ended_at, count = execute(WINDOW, {"after": after, "limit": limit, "before": before})[0]
    return Window(until, ended_at, count) if count else None


def count(
    name: str, after: int, until: int, accounts: Collection[int], *, since: datetime, before: datetime
) -> list[tuple[int, str]]:
    """Count what accounts took in a window, unless that is done already. Returns accounts and countries that have news."""
    values = {"name": name, "position": UUID(int=after), "moved": UUID(int=until), "after": after, "until": until}
    rows = execute(COUNT, {**values, "accounts": list(accounts), "since": since, "before": before})
    return [(account_id, country) for account_id, country in rows]


def shares(places: Collection[tuple[int, str]], *, recent: datetime, usual: datetime) -> list[Shares]:
    """What accounts took for countries since `recent`, and from `usual` until then."""
    accounts, countries = [account_id for account_id, _ in places], [country for _, country in places]
    values = {"accounts": accounts, "countries": countries, "recent": recent, "usual": usual}
    return fetch(Shares, SHARES, values)


def delete(*, before: datetime) -> None:
    """Delete what is counted of minutes before a moment."""
    execute(DELETE, {"before": before})

"""Pace: places in the queues of accounts with a rate, handed out by the database's clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from notifications.sql.rows import Table, execute, fetch, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One place, of so many units (`cost`). Seconds are those that a unit takes, None where nothing limits it."""

    number: int  # its order among those asked for together
    account_id: int
    of: str  # "" for a message, "?" for a question
    seconds: float | None
    sender: str
    sender_seconds: float | None
    burst: int
    cost: int
    room: str  # where it waits if there is no place yet
    room_seconds: float
    enters_room: bool  # False: it has waited there before, and does not go to the end of it again


@dataclass(frozen=True, slots=True)
class Place:
    """`turn_at` None: nothing is free yet. Then `expected_at` says when there may be, for what enters the room."""

    number: int
    turn_at: datetime | None
    expected_at: datetime | None


WANTED = Table(
    "i",
    {
        "number": "int4",
        "account_id": "bigint",
        "of": "text",
        "seconds": "float8",
        "sender": "text",
        "sender_seconds": "float8",
        "burst": "int4",
        "cost": "int4",
        "room": "text",
        "room_seconds": "float8",
        "enters_room": "bool",
    },
)

KEYS = f"""item AS MATERIALIZED (
    SELECT * FROM {WANTED.sql}
), key AS (
    SELECT account_id, of FROM item WHERE seconds IS NOT NULL
    UNION SELECT account_id, sender FROM item WHERE sender_seconds IS NOT NULL
    UNION SELECT account_id, room FROM item
)"""

# Virtual scheduling: next_at is when all that has a place will have gone at an even pace, and a message may go so early
# that `burst` units, or its own where they are more, are ahead of that pace. Where a row is missing nothing is held and
# nothing handed out. The clock is read once every row is locked. Senders first: what has no place there takes none of
# the account's. Turns ascend on both rows, so those with a place come before those without, and what they take is a sum.
RESERVE = one_line(f"""
WITH {KEYS}, held AS MATERIALIZED (
    SELECT pace.id, pace.account_id, pace.of, pace.next_at FROM key
    JOIN pace ON pace.account_id = key.account_id AND pace.of = key.of
    WHERE NOT EXISTS (SELECT account_id, of FROM key EXCEPT SELECT account_id, of FROM pace)
    ORDER BY pace.account_id, pace.of FOR NO KEY UPDATE OF pace
), clock AS MATERIALIZED (
    SELECT now, now + %(horizon)s * interval '1 second' AS horizon
    FROM (SELECT clock_timestamp() AS now FROM (SELECT count(*) FROM held) AS _) AS _
), by_sender AS (
    SELECT item.*, now, horizon, greatest(held.next_at, now)
        + (sum(cost) OVER up_to_it - greatest(cost, burst)) * sender_seconds * interval '1 second' AS sender_turn
    FROM item CROSS JOIN clock LEFT JOIN held ON held.account_id = item.account_id AND held.of = item.sender
    WINDOW up_to_it AS (PARTITION BY item.account_id, item.of, item.sender ORDER BY number)
), fitting AS (
    SELECT *, coalesce(sender_turn <= horizon, true) AS fits FROM by_sender
), by_account AS (
    SELECT fitting.*, greatest(now, sender_turn, greatest(held.next_at, now)
        + (sum(cost) OVER up_to_it - greatest(cost, burst)) * seconds * interval '1 second') AS turn
    FROM fitting LEFT JOIN held ON held.account_id = fitting.account_id AND held.of = fitting.of
    WINDOW up_to_it AS (PARTITION BY fitting.account_id, fitting.of, fits ORDER BY number)
), placed AS MATERIALIZED (
    SELECT *, fits AND turn <= horizon AS is_placed FROM by_account
), spent (account_id, of, seconds, earliest) AS (
    SELECT account_id, of, sum(cost * seconds), min(now) FROM placed WHERE is_placed AND seconds IS NOT NULL GROUP BY 1, 2
    UNION ALL
    SELECT account_id, sender, sum(cost * sender_seconds), min(now) FROM placed
    WHERE is_placed AND sender_seconds IS NOT NULL GROUP BY 1, 2
    UNION ALL
    SELECT account_id, room, sum(cost * room_seconds), min(greatest(horizon, turn)) FROM placed
    WHERE NOT is_placed AND enters_room GROUP BY 1, 2
), moved AS (
    UPDATE pace SET next_at = greatest(held.next_at, spent.earliest) + spent.seconds * interval '1 second'
    FROM held JOIN spent ON spent.account_id = held.account_id AND spent.of = held.of WHERE pace.id = held.id
)
SELECT number, CASE WHEN is_placed THEN turn END,
    CASE WHEN NOT is_placed AND enters_room THEN greatest(held.next_at, min(greatest(horizon, turn)) OVER up_to_it)
        + (sum(cost * room_seconds) OVER up_to_it - cost * room_seconds) * interval '1 second' END
FROM placed JOIN held ON held.account_id = placed.account_id AND held.of = placed.room
WINDOW up_to_it AS (PARTITION BY placed.account_id, room, is_placed, enters_room ORDER BY number)
ORDER BY number""")

MAKE = f"""
WITH {KEYS}
INSERT INTO pace (account_id, of, next_at) SELECT account_id, of, clock_timestamp() FROM key ORDER BY account_id, of
ON CONFLICT (account_id, of) DO NOTHING"""


def reserve(wanted: Sequence[Wanted], *, horizon_seconds: float) -> list[Place]:
    """Hand out places in order, none of them later than `horizon_seconds` from now."""
    parameters = {"horizon": horizon_seconds, **WANTED.parameters(wanted)}
    places = fetch(Place, RESERVE, parameters)
    if not places:  # for the first time
        execute(MAKE, WANTED.parameters(wanted))
        places = fetch(Place, RESERVE, parameters)
    return places

"""Turns: claimed entries that wait for theirs are given back until then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from notifications.lanes import Lane
from notifications.sql.claim import CLIENTS
from notifications.sql.rows import Table, execute


@dataclass(frozen=True, slots=True)
class Turn:
    """When an entry is due again. `turn_account` None: it holds no place, and will ask for one then."""

    message_id: UUID
    due_at: datetime
    turn_at: datetime
    turn_account: int | None


TURNS = Table("t", {"message_id": "uuid", "due_at": "timestamptz", "turn_at": "timestamptz", "turn_account": "bigint"})

POSTPONE = f"""
WITH mine AS MATERIALIZED (
    SELECT t.* FROM {TURNS.sql} JOIN outbox ON outbox.message_id = t.message_id
    WHERE outbox.claim = %(claim)s ORDER BY t.message_id FOR NO KEY UPDATE OF outbox
)
UPDATE outbox SET claim = NULL, strikes = greatest(strikes - 1, 0), due_at = mine.due_at, turn_at = mine.turn_at,
    turn_account = mine.turn_account
FROM mine WHERE outbox.message_id = mine.message_id AND outbox.claim = %(claim)s AND began_at IS NULL"""

NEXT_TURN = f"""
WITH RECURSIVE {CLIENTS}
SELECT extract(epoch FROM min(entry.due_at) - clock_timestamp())::float8
FROM clients CROSS JOIN LATERAL (
    SELECT due_at FROM outbox WHERE lane = %(lane)s AND outbox.client_id = clients.client_id
        AND due_at <= now() + %(horizon)s * interval '1 second' AND turn_account IS NOT NULL AND claim IS NULL
    ORDER BY due_at LIMIT 1
) AS entry"""


def postpone(turns: Sequence[Turn], *, claim: UUID) -> None:
    """Give back entries that were not begun until their turn comes, as if they had never been claimed."""
    execute(POSTPONE, {"claim": claim, **TURNS.parameters(turns)})


def next_turn_seconds(lane: Lane, *, horizon_seconds: float) -> float | None:
    """How long until the next turn of a lane for which somebody holds a place, below zero where it has come; None: no such."""
    rows = execute(NEXT_TURN, {"lane": lane.value, "horizon": horizon_seconds})
    seconds: float | None = rows[0][0]
    return seconds

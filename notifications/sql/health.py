"""Signs of health, read from rows."""

from __future__ import annotations

from collections.abc import Sequence

from notifications.lanes import Lane
from notifications.sql.rows import execute

# One look at the index per lane, however many entries wait in it.
OLDEST_DUE = """
SELECT lane, extract(epoch FROM clock_timestamp() - due_at)::float8
FROM unnest(%(lanes)s::text[]) AS lane CROSS JOIN LATERAL (
    SELECT due_at FROM outbox WHERE outbox.lane = lane.lane AND due_at <= now() ORDER BY due_at LIMIT 1
) AS oldest"""

HEARTBEATS = """
SELECT process, extract(epoch FROM clock_timestamp() - beat_at)::float8 FROM heartbeat
WHERE process = ANY (%(processes)s)"""


def oldest_due_seconds() -> dict[Lane, float]:
    """For how long the oldest due entry of each lane has been due. A lane where nothing is due is left out."""
    return {Lane(lane): seconds for lane, seconds in execute(OLDEST_DUE, {"lanes": Lane.values})}


def heartbeat_seconds(processes: Sequence[str]) -> dict[str, float]:
    """How old the heartbeats of processes are. One that never beat is left out."""
    return dict(execute(HEARTBEATS, {"processes": list(processes)}))

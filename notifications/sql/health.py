"""Signs of health, read from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import ProgrammingError, transaction

from notifications.lanes import Lane
from notifications.sql.claim import QUEUES
from notifications.sql.rows import execute, fetch

# A few looks at the index per lane and client, however many entries wait.
OLDEST_DUE = f"""
WITH RECURSIVE {QUEUES}
SELECT lane, extract(epoch FROM clock_timestamp() - min(due_at))::float8 FROM queues CROSS JOIN LATERAL (
    SELECT due_at FROM outbox
    WHERE outbox.lane = queues.lane AND outbox.client_id = queues.client_id AND due_at <= now() ORDER BY due_at LIMIT 1
) AS oldest GROUP BY lane"""

HEARTBEATS = """
SELECT process, extract(epoch FROM clock_timestamp() - beat_at)::float8 FROM heartbeat
WHERE process = ANY (%(processes)s)"""

# What keeps dead rows from being cleaned up: an open transaction of a session, or a prepared one, which has none. A role
# that may not see other sessions is shown NULL for when they began.
OLDEST_TRANSACTION = """
SELECT extract(epoch FROM clock_timestamp() - began)::float8, pid FROM (
    SELECT xact_start AS began, pid FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'
    UNION ALL SELECT prepared, NULL FROM pg_prepared_xacts WHERE database = current_database()
) AS transactions
WHERE began IS NOT NULL ORDER BY began LIMIT 1"""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction of another session in our database."""

    seconds: float
    process_id: int | None  # of the server; None for a prepared one


def oldest_transaction(*, over_seconds: float) -> OpenTransaction | None:
    """The oldest open transaction in our database but our own, if it is older than that. None too where we may not look."""
    try:
        with transaction.atomic():
            found = fetch(OpenTransaction, OLDEST_TRANSACTION, {})
    except ProgrammingError:  # these views were closed to our role
        return None
    return found[0] if found and found[0].seconds > over_seconds else None


def oldest_due_seconds() -> dict[Lane, float]:
    """For how long the oldest due entry of each lane has been due. A lane where nothing is due is left out."""
    return {Lane(lane): seconds for lane, seconds in execute(OLDEST_DUE, {})}


def heartbeat_seconds(processes: Sequence[str]) -> dict[str, float]:
    """How old the heartbeats of processes are. One that never beat is left out."""
    return dict(execute(HEARTBEATS, {"processes": list(processes)}))

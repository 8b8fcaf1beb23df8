"""How many SMS a client has had accepted for a country in this hour, by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from notifications.sql.rows import execute, fetch

_HOUR = "date_trunc('hour', clock_timestamp(), 'UTC')"

# The row is locked until the transaction ends, whether there was room or not: whoever comes meanwhile waits, then looks.
RESERVE = f"""
INSERT INTO sms_count AS taken (client_id, country, hour, count)
SELECT %(client)s, %(country)s, {_HOUR}, %(count)s::int WHERE %(count)s::int <= %(limit)s::int
ON CONFLICT (client_id, country, hour) DO UPDATE SET count = taken.count + excluded.count
    WHERE taken.count + excluded.count <= %(limit)s::int
RETURNING count"""

TAKEN = f"""
SELECT coalesce((
        SELECT count FROM sms_count WHERE client_id = %(client)s AND country = %(country)s AND hour = this.hour
    ), 0), this.hour + interval '1 hour', extract(epoch FROM this.hour + interval '1 hour' - clock_timestamp())::float8
FROM (SELECT {_HOUR} AS hour) AS this"""

DELETE = "DELETE FROM sms_count WHERE hour < %(before)s"


@dataclass(frozen=True, slots=True)
class Taken:
    """What is used up of an hour, and when and in how many seconds the next one begins."""

    count: int
    again_at: datetime
    wait_seconds: float


def reserve(client_id: int, country: str, count: int, *, limit: int) -> bool:
    """Count SMS, unless they would be more than the limit. Undone with the transaction."""
    parameters = {"client": client_id, "country": country, "count": count, "limit": limit}
    return bool(execute(RESERVE, parameters))


def taken(client_id: int, country: str) -> Taken:
    """How many have been counted in this hour."""
    [found] = fetch(Taken, TAKEN, {"client": client_id, "country": country})
    return found


def delete(*, before: datetime) -> None:
    """Delete the counts of hours that began before a moment."""
    execute(DELETE, {"before": before})

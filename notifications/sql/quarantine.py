"""Quarantine: after a restore, what seems unsent is treated as a call that nobody recorded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

from notifications.sql.begin import INTENTS, MINE, Intent
from notifications.sql.rows import execute

# What is scheduled for later cannot have gone out.
MARK = """
UPDATE notification SET restored_at = clock_timestamp()
WHERE "end" IS NULL AND accepted_at < %(before)s AND send_at <= clock_timestamp()"""

# As if it had begun as soon as it might, under a claim that nobody holds any more. Not when its message was made: that of
# a step that begins after the restore may have gone out before it.
SUPPOSE = f"""
WITH {MINE}
UPDATE outbox SET attempt = mine.number, account_id = mine.account_id, provider_key = mine.provider_key,
    request_hash = mine.request_hash, useful_seconds = mine.useful_seconds, began_at = n.send_at,
    claim = NULL, strikes = 0, due_at = clock_timestamp()
FROM mine JOIN message m ON m.id = mine.message_id
JOIN notification n ON n.id = m.notification_id
WHERE outbox.message_id = mine.message_id AND outbox.began_at IS NULL AND m.state = 'queued'"""

ASKED = """
SELECT account_id, began_at >= %(restored)s FROM attempt WHERE message_id = %(message)s AND ended_at >= %(restored)s"""


def mark(before: datetime) -> int:
    """Mark the open notifications that were accepted before a moment as restored. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(MARK, {"before": before})
        return int(cursor.rowcount)


def suppose(intents: Sequence[Intent], *, claim: UUID) -> None:
    """Open attempts that may have been made in a time that the database has forgotten."""
    execute(SUPPOSE, {"claim": claim, **INTENTS.parameters(intents)})


def asked_since(message_id: UUID, restored_at: datetime) -> tuple[set[int], bool]:
    """The accounts that a restored message was asked for at, and whether it has really been sent since."""
    rows = execute(ASKED, {"message": message_id, "restored": restored_at})
    return {account_id for account_id, _ in rows}, any(since for _, since in rows)

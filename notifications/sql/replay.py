"""Replay: an entry for a message that had none."""

from __future__ import annotations

from notifications.sql.record import Verdict
from notifications.sql.rows import execute

ADD = """
INSERT INTO outbox (message_id, client_id, lane, due_at)
VALUES (%(message)s, %(client)s, %(lane)s, %(due)s) ON CONFLICT (message_id) DO NOTHING"""


def add_entry(verdict: Verdict, *, client_id: int) -> None:
    """Promise the next action of a message that is open again."""
    execute(
        ADD,
        {"message": verdict.message_id, "client": client_id, "lane": verdict.lane, "due": verdict.due_at},
    )

"""Retry now: an operator's impatience, where it can do no harm."""

from __future__ import annotations

from uuid import UUID

from notifications.hints import hints
from notifications.sql.claim import bring_forward


def retry_now(message_id: UUID) -> bool:
    """Make a waiting message due at once. False where nobody may: it is not queued, or somebody is working on it."""
    lane = bring_forward(message_id)
    if lane is not None:
        hints.drain_after_commit(lane)
    return lane is not None

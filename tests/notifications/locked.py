"""Locked notifications and messages as lock.py reads them, without a database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.states import OPEN, State

NOW = datetime(2027, 1, 15, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
SMS, EMAIL = "+4915112345678", "ana@example.org"
SMS_THEN_EMAIL = [{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]


def a_message(state: State, **changes: Any) -> LockedMessage:
    """The SMS of the first step, that nothing has happened to but its state."""
    return LockedMessage(
        **{
            "id": uuid4(),
            "notification_id": UUID(int=1),
            "step": 0,
            "part": 0,
            "channel": "sms",
            "address": SMS,
            "address_hash": "h",
            "state": state,
            "reason": "",
            "account_id": None,
            "tried": [],
            "rerouted": False,
            "attempt_count": 0,
            "tries": 0,
            "checks": 0,
            "not_there": 0,
            "perhaps_sent": False,
            "escalate_at": None,
            "escalated_at": None,
            "receipt_deadline": None,
            "has_entry": state in OPEN,
            "claim": None,
            "lane": None,
            "due_at": None,
            "open_attempt": None,
            "open_account_id": None,
            **changes,
        }
    )


def a_notification(
    *messages: LockedMessage,
    steps: list[dict[str, Any]] | None = None,
    recipient: dict[str, str] | None = None,
    **changes: Any,
) -> LockedNotification:
    """One that is useful for another hour, has both addresses and goes by SMS, then e-mail."""
    return LockedNotification(
        **{
            "now": NOW,
            "id": UUID(int=1),
            "client_id": 1,
            "category": "transactional",
            "priority": "normal",
            "recipient": json.dumps({"sms": SMS, "email": EMAIL} if recipient is None else recipient),
            "steps": json.dumps(steps or SMS_THEN_EMAIL),
            "expires_at": NOW + HOUR,
            "stopped_at": None,
            "is_incident_over": False,
            "is_restored": False,
            "end": None,
            "messages": list(messages),
            **changes,
        }
    )

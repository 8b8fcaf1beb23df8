"""Whether a message is still wanted: the rules before anything is sent."""

from __future__ import annotations

from datetime import datetime

from notifications.reasons import Reason
from notifications.services import outcomes
from notifications.services.verdicts import on_claimed
from notifications.sql.claim import Claimed
from notifications.sql.record import Verdict
from notifications.sql.suppressions import UNSUBSCRIBED
from notifications.states import State

UNWANTED = {"opted_out", "complaint", UNSUBSCRIBED}  # suppressions that the recipient asked for


def must_not_go(row: Claimed, now: datetime) -> Verdict | None:
    """The verdict on a message that must not be sent any more; None for one that may."""
    belongs = unwanted(row, now)
    if belongs is None:
        return None
    state, reason = belongs
    escalation = {"escalated": True, "escalate_at": None} if reason is Reason.WINDOW_OVER else {}
    if row.perhaps_sent:  # it may be out: no end that says it is not
        return outcomes.hold(row, now, Reason.NOT_SENT_AGAIN, **escalation)
    return on_claimed(row, state, now=now, reason=reason, **escalation)


def unwanted(row: Claimed, now: datetime) -> tuple[State, Reason] | None:
    """Where a message belongs that must not be sent any more, and why."""
    if row.is_stopped:
        return State.CANCELLED, Reason.STOPPED
    if row.is_incident_over:
        return State.CANCELLED, Reason.INCIDENT_OVER
    if row.expires_at <= now:
        return State.EXPIRED, Reason.TOO_LATE
    if row.suppressed is not None:
        return State.SUPPRESSED, Reason.OPTED_OUT if row.suppressed in UNWANTED else Reason.ADDRESS_SUPPRESSED
    if row.escalate_at is not None and row.escalate_at <= now:
        return State.EXPIRED, Reason.WINDOW_OVER
    return None

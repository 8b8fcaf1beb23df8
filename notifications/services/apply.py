"""Apply reports: match them to messages, judge those by all that is known, settle what ended."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from uuid import UUID

from django.db import transaction

import notifications.sql.apply as sql
import notifications.sql.lock as locks
from notifications import retries
from notifications.lanes import Priority
from notifications.models import Outcome
from notifications.numbers import numbers
from notifications.services import evidence
from notifications.services.arrivals import note_delivered
from notifications.services.bounces import suppressed_by
from notifications.services.costs import add_costs
from notifications.services.evidence import Judgement, Subject
from notifications.services.senders import open_senders
from notifications.services.settle import settle
from notifications.services.steps import has_next_step, waits_for_acceptance
from notifications.services.verdicts import on_locked
from notifications.sql.apply import Adoption, Evidence
from notifications.sql.lock import LockedMessage, LockedNotification
from notifications.sql.record import Verdict, record
from notifications.states import OPEN, State

EVENTS_AT_ONCE = 200


def apply_waiting() -> int:
    """Apply all reports that have their message. Returns how many were applied. Safe to run twice at once."""
    applied = 0
    while True:
        count = _apply_some()
        applied += count
        if count < EVENTS_AT_ONCE:
            return applied


def _apply_some() -> int:
    with transaction.atomic():
        events = sql.waiting_events(EVENTS_AT_ONCE)
        if not events:
            return 0
        message_ids = {event.message_id for event in events}
        notifications = locks.lock(locks.notifications_of(message_ids))
        present = {message.id for notification in notifications for message in notification.messages}
        events = [event for event in events if event.message_id in present]  # the others' were deleted a moment ago
        sql.mark_applied(events)
        known = defaultdict(list)
        for item in sql.evidence(message_ids):
            known[item.message_id].append(item)
        verdicts = [verdict for notification in notifications for verdict in _judge(notification, known)]
        if verdicts:
            add_costs(verdicts)
            record(verdicts, claim=None)
        _adopt(known)
        if suppressed := suppressed_by(events, notifications):
            sql.suppress(suppressed)
        settle(notification.id for notification in notifications)
    open_senders(events)
    note_delivered(events)
    return len(events)


def _judge(notification: LockedNotification, known: dict[UUID, list[Evidence]]) -> list[Verdict]:
    return [
        _verdict(message, notification, judgement, known[message.id])
        for message in notification.messages
        if message.id in known and (judgement := _judgement(message, notification, known[message.id]))
    ]


def _judgement(message: LockedMessage, notification: LockedNotification, known: list[Evidence]) -> Judgement | None:
    next_step = has_next_step(notification.steps, notification.recipient, message.step)
    may_send_again = notification.is_useful and not next_step and message.escalated_at is None
    newest = message.open_attempt or message.attempt_count
    subject = Subject(message.state, newest, may_send_again)
    return evidence.judge(subject, [(item.attempt_number, item.kind) for item in known])


def _verdict(
    message: LockedMessage, notification: LockedNotification, judgement: Judgement, known: list[Evidence]
) -> Verdict:
    """Evidence files an open attempt and takes the entry from its holder, whose answer will be late."""
    state = judgement.state
    is_satisfied = state is State.SENT and waits_for_acceptance(notification.steps[message.step])
    verdict = on_locked(
        message,
        notification,
        state,
        reason=judgement.reason,
        next_at=notification.now + timedelta(seconds=_wait_seconds(state, message, Priority(notification.priority))),
        escalate_at=message.escalate_at if state in OPEN and not is_satisfied else None,
        perhaps_sent=False,
    )
    if message.open_attempt is not None:
        verdict.outcome = _outcome_of(message.open_attempt, known)
        verdict.account_id = message.open_account_id
    return verdict


def _wait_seconds(state: State, message: LockedMessage, priority: Priority) -> float:
    """Until the next question, or until the one more try that a phone switched off is given."""
    if state is State.SENT:
        return retries.check_in_seconds(priority, checks=0, has_receipts=True)
    return retries.longest_retry_seconds(priority, tries=max(message.tries, numbers().tries // 2))


def _outcome_of(attempt: int, known: list[Evidence]) -> Outcome:
    taken = any(item.attempt_number == attempt and item.kind in evidence.RANKS for item in known)
    return Outcome.TAKEN if taken else Outcome.UNCLEAR


def _adopt(known: dict[UUID, list[Evidence]]) -> None:
    """A report names the provider's id of an attempt whose own answer was lost."""
    named = {
        (item.message_id, item.attempt_number): item.provider_message_id
        for items in known.values()
        for item in items
        if item.provider_message_id is not None
    }
    if named:
        sql.adopt([Adoption(message, number, provider_id) for (message, number), provider_id in named.items()])

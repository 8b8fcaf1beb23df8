"""What must be true is a constraint, and what must stay cheap is not indexed."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from notifications.models import Attempt, Breaker, DeliveryEvent, Message, Notification, OutboxEntry
from notifications.states import State
from tests import factories

pytestmark = pytest.mark.usefixtures("seeded")


def unknown_state(message):
    Message.objects.update(state="sending")


def unknown_lane(message):
    OutboxEntry.objects.update(lane="express")


def unknown_end(message):
    Notification.objects.update(end="gone", ended_at=timezone.now())


def end_without_time(message):
    Notification.objects.update(end="failed")


def attempt_half_begun(message):
    OutboxEntry.objects.update(attempt=1, began_at=timezone.now())


def unknown_outcome(message):
    Attempt.objects.update(outcome="perhaps")


def same_step_twice(message):
    factories.message(of=message.notification)


def same_attempt_twice(message):
    factories.attempt(message, message.account, number=1)


def same_key_twice(message):
    for _ in range(2):
        factories.notification(idempotency_key="k")


def same_report_twice(message):
    for _ in range(2):
        factories.event(message, "sent", dedupe_key="k")


def unknown_kind_of_report(message):
    factories.event(message, "sent")
    DeliveryEvent.objects.update(kind="levitated")


def same_suppression_twice(message):
    for _ in range(2):
        factories.suppression(message)


def unknown_cause_of_a_rest(message):
    Breaker.objects.create(account=message.account, country="DE", cause="weather", opened_until=timezone.now())


@pytest.mark.parametrize(
    ("break_it", "constraint"),
    [
        (unknown_state, "message_state_known"),
        (unknown_lane, "outbox_lane_known"),
        (unknown_end, "notification_end_known"),
        (end_without_time, "notification_end_has_a_time"),
        (attempt_half_begun, "outbox_attempt_all_or_nothing"),
        (unknown_outcome, "attempt_outcome_known"),
        (same_step_twice, "message_unique_step_and_part"),
        (same_attempt_twice, "attempt_unique_number"),
        (same_key_twice, "notification_unique_key_per_client"),
        (same_report_twice, "delivery_event_unique_report"),
        (unknown_kind_of_report, "delivery_event_kind_known"),
        (same_suppression_twice, "suppression_unique_address"),
        (unknown_cause_of_a_rest, "breaker_cause_known"),
    ],
)
def test_the_database_refuses(break_it, constraint):
    message = factories.message(State.SENT)

    with pytest.raises(IntegrityError, match=constraint):
        break_it(message)


def test_no_index_holds_what_changes_with_every_move():
    """One on a state, even in its condition, would make every move a full index update: measured, HOT falls to 0."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename, indexdef FROM pg_indexes"
            " WHERE tablename IN ('notification', 'message', 'attempt', 'delivery_event', 'outbox')"
        )
        definitions = cursor.fetchall()

    assert definitions
    changing = ("state", "reason", '"end"', "ended_at", "escalate_at", "began_at", "claim", "strikes")
    assert [
        table for table, text in definitions if any(f"({name}" in text or f" {name}" in text for name in changing)
    ] == []

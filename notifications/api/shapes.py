"""From our rows to what the API says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from notifications.explanation import explain, is_untouched, shown_address
from notifications.models import Message, Notification, WebhookEndpoint
from notifications.services.batch.progress import Progress
from notifications.services.cancel import CancelledMessage
from notifications.timeline import timeline


def summary(notification: Notification) -> dict[str, Any]:
    """One line of a list."""
    return {
        "id": notification.id,
        "state": notification.end or ("accepted" if is_untouched(notification) else "in_progress"),
        "reference": notification.reference,
        "route": notification.route,
        "priority": notification.priority,
        "accepted_at": notification.accepted_at,
        "ended_at": notification.ended_at,
    }


def detail(notification: Notification) -> dict[str, Any]:
    """Everything about one notification."""
    messages = sorted(notification.messages.all(), key=lambda message: (message.step, message.part))
    return {
        **summary(notification),
        "reason": messages[-1].reason if messages else "",
        "explanation": explain(notification),
        "steps": [_step(message) for message in messages],
        "events": [{"at": moment.at, "kind": moment.kind, "text": moment.text} for moment in timeline(notification)],
    }


def cancelled(results: Sequence[CancelledMessage]) -> dict[str, Any]:
    """What became of each message."""
    return {"messages": [{"id": result.id, "result": result.result.value} for result in results]}


def batch_progress(progress: Progress) -> dict[str, Any]:
    """Where a batch is."""
    batch = progress.batch
    return {
        "id": batch.id,
        "state": batch.state,
        "reference": batch.reference,
        "route": batch.route,
        "priority": batch.priority,
        "accepted_at": batch.accepted_at,
        "accepted": batch.accepted_count,
        "skipped": batch.skipped_count,
        "open": progress.open,
        "ends": progress.ends,
        "deleted": progress.deleted,
    }


def endpoint(endpoint: WebhookEndpoint) -> dict[str, Any]:
    """How an endpoint is set up and how it does; without its secrets."""
    account = endpoint.account
    return {
        "name": account.slug,
        "url": account.credentials.get("url", ""),
        "event_types": endpoint.event_types,
        "owner_email": endpoint.owner_email,
        "headers": account.settings.get("headers", {}),
        "is_on": account.is_on,
        "off_reason": endpoint.off_reason,
        "failing_since": endpoint.failing_since,
        "created_at": endpoint.created_at,
    }


def _step(message: Message) -> dict[str, Any]:
    return {
        "step": message.step + 1,
        "channel": message.channel,
        "address": shown_address(message),
        "state": message.state,
        "reason": message.reason,
        "attempts": [
            {
                "number": attempt.number,
                "account": attempt.account.slug,
                "outcome": attempt.outcome,
                "error": attempt.error,
                "error_code": attempt.error_code,
                "began_at": attempt.began_at,
                "ended_at": attempt.ended_at,
            }
            for attempt in sorted(message.attempts.all(), key=lambda attempt: attempt.number)
        ],
    }

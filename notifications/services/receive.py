"""Receive a provider's report: believe it, keep it as received, have it applied."""

from __future__ import annotations

import hashlib

import structlog

import notifications.sql.apply as sql
from notifications.accounts import ConnectedAccount
from notifications.hints import hints
from notifications.models.delivery_event import Source
from notifications.services.reports import new_events
from providers.errors import MalformedWebhook
from providers.messages import DeliveryEvent, EventKind, WebhookRequest

log = structlog.get_logger(__name__)


def receive(account: ConnectedAccount, request: WebhookRequest) -> int:
    """Store the reports in a webhook, each once, and hint. Returns how many were new. Raises InvalidSignature."""
    try:
        events = account.provider.parse_webhook(request)
    except MalformedWebhook:
        log.error("webhook cannot be read", account=account.slug)
        events = [_unreadable(request)]
    for event in events:
        if event.kind is EventKind.UNKNOWN:
            log.warning("unknown report", account=account.slug, status=event.provider_status[:50])
    stored = sql.store_events(new_events(account.id, events, Source.WEBHOOK)) if events else 0
    if stored:
        hints.apply()
    return stored


def _unreadable(request: WebhookRequest) -> DeliveryEvent:
    """A genuine call in a shape we do not know: kept raw, for a person."""
    digest = hashlib.sha256(request.body).hexdigest()
    return DeliveryEvent(EventKind.UNKNOWN, dedupe_key=f"unreadable:{digest}", raw=request.body)

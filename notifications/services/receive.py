"""Receive a provider's call: believe it, keep it as received, have it applied."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import structlog

import notifications.sql.apply as sql
from notifications.accounts import ConnectedAccount
from notifications.hints import hints
from notifications.models.delivery_event import Source
from notifications.services.inbound import take_in
from notifications.services.reports import new_events
from notifications.sql.claim import hurry_checks
from providers.errors import MalformedWebhook
from providers.messages import DeliveryEvent, EventKind, WebhookRequest

log = structlog.get_logger(__name__)


def receive(account: ConnectedAccount, request: WebhookRequest) -> int:
    """Store the reports and texts in a webhook, each once, and hint. Returns how many were new. Raises InvalidSignature."""
    provider = account.provider
    try:
        events, texts = provider.parse_webhook(request), provider.parse_inbound(request)
    except MalformedWebhook:
        log.error("webhook cannot be read", account=account.slug)
        events, texts = [_unreadable(request)], []
    for event in events:
        if event.kind is EventKind.UNKNOWN:
            log.warning("unknown report", account=account.slug, status=event.provider_status[:50])
    if not provider.signs_webhooks:
        events, texts = _ask_instead(account, events), []
    stored = sql.store_events(new_events(account.id, events, Source.WEBHOOK)) if events else 0
    if stored:
        hints.apply()
    return stored + take_in(account, texts)


def _ask_instead(account: ConnectedAccount, events: Sequence[DeliveryEvent]) -> list[DeliveryEvent]:
    """What anybody could have said proves nothing: it is kept, and the provider is asked now instead of later."""
    ids = [event.provider_message_id for event in events if event.provider_message_id]
    for lane in hurry_checks(account.id, ids):
        hints.drain(lane)
    return [replace(event, kind=EventKind.UNKNOWN, suppress=None) for event in events]


def _unreadable(request: WebhookRequest) -> DeliveryEvent:
    """A genuine call in a shape we do not know: kept raw, for a person."""
    raw = request.url.encode(errors="replace") if request.method == "GET" else request.body
    return DeliveryEvent(EventKind.UNKNOWN, dedupe_key=f"unreadable:{hashlib.sha256(raw).hexdigest()}", raw=raw)

"""Sentry hears of surprises, and of no address or text."""

from __future__ import annotations

from typing import Any

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.integrations.django import DjangoIntegration

from notifications.redaction import redactor

# Digits alone may look like a phone number, and Sentry needs these as they are.
_IDS = frozenset({"event_id", "trace_id", "span_id", "parent_span_id", "timestamp", "start_timestamp", "release"})
_TEMPLATE_VALUES = "context."  # all that a page was rendered from, which is more than it shows


def start(dsn: str, **options: Any) -> None:
    """Report to a Sentry project. Values of variables and request bodies stay here, and so does personal data (the default)."""
    sentry_sdk.init(
        dsn=dsn,
        integrations=[DjangoIntegration(), CeleryIntegration()],
        include_local_variables=False,
        max_request_body_size="never",
        trace_propagation_targets=[],  # providers are no part of our traces, and get no header they did not ask for
        before_send=scrub,
        before_send_transaction=scrub,
        **options,
    )


def scrub(event: Any, hint: Any) -> Any:
    """An event or a transaction without addresses and secrets, whichever part of it quotes one."""
    for span in event.get("spans") or ():
        data = span.get("data") or {}
        span["data"] = {name: value for name, value in data.items() if not name.startswith(_TEMPLATE_VALUES)}
    return redactor.value(event, but=_IDS)

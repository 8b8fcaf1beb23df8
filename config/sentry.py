"""Sentry hears of surprises, and of no address or text."""

from __future__ import annotations

from typing import Any

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.integrations.django import DjangoIntegration

from notifications.addresses import redact


def start(dsn: str, **options: Any) -> None:
    """Report to a Sentry project. Values of variables and request bodies stay here, and so does personal data (the default)."""
    sentry_sdk.init(
        dsn=dsn,
        integrations=[DjangoIntegration(), CeleryIntegration()],
        include_local_variables=False,
        max_request_body_size="never",
        before_send=scrub,
        **options,
    )


def scrub(event: Any, hint: Any) -> Any:
    """An event without anything that looks like an address: exceptions quote what they stumbled over."""
    for part in ("exception", "logentry", "message", "breadcrumbs", "extra", "request"):
        if part in event:
            event[part] = _scrubbed(event[part])
    return event


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _scrubbed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item) for item in value]
    return value

"""Endpoints: on unless somebody wants them off, and where they may be called."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from notifications.models import WebhookEndpoint
from notifications.services.doctor.accounts import credentials_of
from notifications.services.doctor.findings import Finding
from notifications.services.endpoints import BY_HAND


def findings() -> Iterator[Finding]:
    """What is wrong with endpoints, besides what is wrong with any account."""
    for endpoint in WebhookEndpoint.objects.select_related("account").defer("account__credentials").order_by("id"):
        yield from _on(endpoint) if endpoint.account.is_on else _off(endpoint)


def _off(endpoint: WebhookEndpoint) -> Iterator[Finding]:
    if endpoint.off_reason not in ("", BY_HAND):
        yield Finding(
            "W075",
            f"Endpoint {endpoint} was switched off: {endpoint.off_reason}. Its events wait.",
            "Have its owner mend it, and switch it on in the admin, under Webhook endpoints.",
        )


def _on(endpoint: WebhookEndpoint) -> Iterator[Finding]:
    url = (credentials_of(endpoint.account) or {}).get("url")
    if url and (fault := settings.WEBHOOKS.url_fault(url)):
        yield Finding(
            "W076",
            f"Endpoint {endpoint} will be switched off with its next event: {fault}.",
            "See WEBHOOK_HTTP, WEBHOOK_PORTS and WEBHOOK_NETWORKS, or change its address.",
        )

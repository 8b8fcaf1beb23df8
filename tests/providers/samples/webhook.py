"""An endpoint: its account, and the sample for the contract test."""

from __future__ import annotations

from typing import Any

from providers.messages import Account, Channel, OutgoingMessage
from providers.webhook import Webhook
from tests.providers.samples.base import Sample, no_webhook

URL = "https://customer.example.org/hooks/notifications"
SECRET = "whsec_iYY+LefhGC+lIiRY7gI45quDJcWLNucuYpBJngu8GKs="


def webhook(*, slug: str = "orders", credentials: dict[str, str] | None = None, **settings: Any) -> Webhook:
    return Webhook(Account(slug, {"url": URL, "secret": SECRET, **(credentials or {})}, settings))


SAMPLE = Sample(
    webhook(),
    OutgoingMessage(Channel.WEBHOOK, "orders", '{"type":"notification.delivered","data":{}}', useful_seconds=300),
    no_webhook,
    secrets=(SECRET,),
    fields=(),
    has_vendor=False,
)

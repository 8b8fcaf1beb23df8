"""SMTP: an account, and the sample for what the contract test asks of it."""

from __future__ import annotations

from typing import Any

from providers.messages import Account, Channel, OutgoingMessage
from providers.smtp import Smtp
from tests.providers.samples.base import Sample, no_webhook

PASSWORD = "relay-pass-71d2"


def smtp(**settings: Any) -> Smtp:
    known = {"host": "mail.notify.example.com", "from": "Notify <no-reply@notify.example.com>"}
    return Smtp(Account("smtp", {"username": "relay-user", "password": PASSWORD}, {**known, **settings}))


SAMPLE = Sample(
    smtp(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    no_webhook,
    secrets=(PASSWORD,),
    fields=(),
    is_http=False,
)

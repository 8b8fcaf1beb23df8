"""Infrai, e-mail: an account, and the sample for the contract test."""

from __future__ import annotations

from typing import Any

from providers.infrai_email import InfraiEmail
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample
from tests.providers.samples.infrai import API_KEY


def infrai_email(**settings: Any) -> InfraiEmail:
    known = {"from": "no-reply@notify.example.com", **settings}
    return InfraiEmail(Account("infrai-mail", {"api_key": API_KEY}, known))


def _unheard(body: bytes) -> WebhookRequest:
    """Infrai calls nobody."""
    return WebhookRequest("POST", "https://notify.example.com/webhooks/infrai-mail/", Headers(), body)


SAMPLE = Sample(
    infrai_email(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    _unheard,
    secrets=(API_KEY,),
    fields=(
        *("ok", "data", "error", "code", "hint", "message", "email_id", "message_id", "state", "status", "vendor"),
        *("created_at", "queued", "delivered", "bounced", "INSUFFICIENT_CREDIT", "RATE_LIMITED", ATTEMPT.id),
    ),
    answered=lambda id: {"ok": True, "data": {"email_id": id}},
    lacks=frozenset({"to_name", "reply_to", "attachments", "unsubscribe_url"}),
)

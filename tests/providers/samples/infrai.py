"""Infrai: an account, and the sample for the contract test."""

from __future__ import annotations

from typing import Any

from providers.infrai import Infrai
from providers.messages import Account, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.providers.samples.base import ATTEMPT, Sample

API_KEY = "ifr_pk_proj_test"


def infrai(**settings: Any) -> Infrai:
    return Infrai(Account("infrai", {"api_key": API_KEY}, settings))


def _unheard(body: bytes) -> WebhookRequest:
    """Infrai calls nobody."""
    return WebhookRequest("POST", "https://notify.example.com/webhooks/infrai/", Headers(), body)


SAMPLE = Sample(
    infrai(),
    OutgoingMessage(Channel.SMS, "+14155550100", "Your code is 123456", useful_seconds=300),
    _unheard,
    secrets=(API_KEY,),
    fields=(
        *("ok", "data", "error", "code", "hint", "message", "sms_id", "message_id", "state", "status", "segments"),
        *("vendor", "created_at", "queued", "delivered", "INSUFFICIENT_CREDIT", "RATE_LIMITED", ATTEMPT.id),
    ),
    answered=lambda id: {"ok": True, "data": {"sms_id": id}},
)

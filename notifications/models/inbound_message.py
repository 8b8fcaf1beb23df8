from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from notifications.models.provider_account import ProviderAccount
from notifications.sms.optout import Intent


class InboundMessage(models.Model):
    """A text that somebody sent to one of our numbers. `sender` and `text` are emptied when it is old."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    dedupe_key = models.CharField(max_length=200)
    sender = models.CharField(max_length=50, blank=True)  # E.164, or as the provider wrote it
    recipient = models.CharField(max_length=50, blank=True)
    text = models.TextField(blank=True)
    intent = models.CharField(max_length=10, choices=[(intent.value, intent.value) for intent in Intent], blank=True)
    occurred_at = models.DateTimeField(null=True)  # the provider's clock
    received_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "inbound_message"
        constraints = [
            models.UniqueConstraint(fields=["account", "dedupe_key"], name="inbound_message_unique"),
        ]
        indexes = [models.Index(fields=["received_at"], name="inbound_message_received")]

    def __str__(self) -> str:
        return self.intent or "text"

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from notifications.models.message import Message
from notifications.models.provider_account import ProviderAccount
from providers.messages import EventKind


class Source(models.TextChoices):
    WEBHOOK = "webhook"
    POLL = "poll"
    LOOK_UP = "look_up"
    LATE_ANSWER = "late_answer"


class DeliveryEvent(models.Model):
    """One report about a message, as received. Stored first, applied after; one that matches no message yet waits."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    dedupe_key = models.CharField(max_length=200)
    source = models.CharField(max_length=15, choices=Source)
    kind = models.CharField(max_length=15)
    message = models.ForeignKey(
        Message,
        on_delete=models.PROTECT,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="delivery_events",
    )
    attempt_number = models.SmallIntegerField(null=True)
    provider_message_id = models.CharField(max_length=200, null=True)
    provider_status = models.CharField(max_length=100, blank=True)
    error_code = models.CharField(max_length=50, blank=True)
    suppress = models.CharField(max_length=50, blank=True)  # reason, when the address must not be used again
    occurred_at = models.DateTimeField(null=True)  # the provider's clock
    received_at = models.DateTimeField(db_default=Now())
    applied_at = models.DateTimeField(null=True)
    raw = models.BinaryField()

    class Meta:
        db_table = "delivery_event"
        constraints = [
            models.UniqueConstraint(fields=["account", "dedupe_key"], name="delivery_event_unique_report"),
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind.value for kind in EventKind]), name="delivery_event_kind_known"
            ),
        ]
        indexes = [
            models.Index(fields=["message"], name="delivery_event_message"),
            models.Index(
                fields=["received_at"], condition=models.Q(applied_at__isnull=True), name="delivery_event_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.provider_message_id or ''}"

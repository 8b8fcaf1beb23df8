from __future__ import annotations

from django.db import models

from notifications.ids import new_id
from notifications.lanes import Priority
from notifications.models.batch import Batch
from notifications.models.client import Client
from notifications.models.incident import Incident
from notifications.states import End


class Category(models.TextChoices):
    TRANSACTIONAL = "transactional"
    MARKETING = "marketing"


class OnUnclear(models.TextChoices):
    """What to do when nobody can say whether a message went out."""

    SEND_AGAIN = "send_again"
    HOLD = "hold"


class Notification(models.Model):
    """What a client asked for, and how it ended. Everything but the last seven fields is frozen when it is accepted.

    Recipient, content and metadata stay until it is redacted.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    client = models.ForeignKey(Client, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    idempotency_key = models.CharField(max_length=200, null=True)
    fingerprint = models.CharField(max_length=64)
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True, db_constraint=False, db_index=False)
    category = models.CharField(max_length=20, choices=Category)
    priority = models.CharField(max_length=10, choices=Priority)
    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, null=True, db_index=False)
    reference = models.CharField(max_length=200, blank=True)
    recipient = models.JSONField()  # address by channel
    content = models.JSONField()  # by channel
    metadata = models.JSONField(default=dict)
    route = models.CharField(max_length=100)
    steps = models.JSONField()  # as they were when it was accepted
    on_unclear = models.CharField(max_length=10, choices=OnUnclear)
    accepted_at = models.DateTimeField()
    send_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    restored_at = models.DateTimeField(null=True)  # from a backup; what of it seems unsent may have gone out before
    stopped_at = models.DateTimeField(null=True)
    fallback_sent_at = models.DateTimeField(null=True)  # when a step after the first began
    end = models.CharField(max_length=15, choices=End, null=True)  # null while open
    ended_at = models.DateTimeField(null=True)
    end_count = models.SmallIntegerField(db_default=0)  # ends written so far; a correction writes another one
    redacted_at = models.DateTimeField(null=True)  # when what was sent to whom was forgotten

    class Meta:
        db_table = "notification"
        permissions = [("operate_notification", "Can cancel notifications and retry their messages")]
        constraints = [
            models.UniqueConstraint(
                fields=["client", "idempotency_key"],
                condition=models.Q(idempotency_key__isnull=False),
                name="notification_unique_key_per_client",
            ),
            models.CheckConstraint(condition=models.Q(end__in=End.values), name="notification_end_known"),
            models.CheckConstraint(
                condition=models.Q(priority__in=Priority.values), name="notification_priority_known"
            ),
            models.CheckConstraint(
                condition=models.Q(end__isnull=True, ended_at__isnull=True)
                | models.Q(end__isnull=False, ended_at__isnull=False),
                name="notification_end_has_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["reference"], condition=~models.Q(reference=""), name="notification_reference"),
            models.Index(fields=["batch", "id"], condition=models.Q(batch__isnull=False), name="notification_batch"),
            models.Index(fields=["incident"], condition=models.Q(incident__isnull=False), name="notification_incident"),
        ]

    def __str__(self) -> str:
        return str(self.id)

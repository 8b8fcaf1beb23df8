from __future__ import annotations

from django.db import models

from notifications.ids import new_id
from notifications.lanes import Priority
from notifications.models.client import Client


class Batch(models.Model):
    """Many notifications that one file asked for, accepted together. What they say is theirs and not kept here."""

    class State(models.TextChoices):
        ACCEPTED = "accepted"
        PAUSED = "paused"  # what has not left waits until it is resumed, or expires
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    client = models.ForeignKey(Client, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    idempotency_key = models.CharField(max_length=200, null=True)
    fingerprint = models.CharField(max_length=64)
    reference = models.CharField(max_length=200, blank=True)
    route = models.CharField(max_length=100)
    priority = models.CharField(max_length=10, choices=Priority)
    state = models.CharField(max_length=10, choices=State, default=State.ACCEPTED)
    accepted_count = models.PositiveIntegerField()
    skipped_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()  # when its file had come in whole
    accepted_at = models.DateTimeField()
    paused_at = models.DateTimeField(null=True)  # since when, or when last
    cancelled_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "batch"
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(
                fields=["client", "idempotency_key"],
                condition=models.Q(idempotency_key__isnull=False),
                name="batch_unique_key_per_client",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["accepted", "paused", "cancelled"]), name="batch_state_known"
            ),
            models.CheckConstraint(condition=models.Q(priority__in=Priority.values), name="batch_priority_known"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class SkippedRow(models.Model):
    """Why a row of a batch's file was passed over, one row per fault. Holds no address and no text."""

    batch = models.ForeignKey(
        Batch, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="skipped"
    )
    line = models.PositiveIntegerField()
    field = models.CharField(max_length=300)
    reason = models.CharField(max_length=300)
    accepted = models.CharField(max_length=300)

    class Meta:
        db_table = "skipped_row"
        indexes = [models.Index(fields=["batch", "id"], name="skipped_row_of_batch")]

    def __str__(self) -> str:
        return f"line {self.line}: {self.field} {self.reason}"

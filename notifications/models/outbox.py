from __future__ import annotations

from django.db import models

from notifications.lanes import Lane
from notifications.models.client import Client
from notifications.models.message import Message
from notifications.models.provider_account import ProviderAccount


class OutboxEntry(models.Model):
    """The next action of one open message: the promise. The last five fields are its open attempt, set before the call."""

    message = models.OneToOneField(
        Message, on_delete=models.PROTECT, primary_key=True, db_constraint=False, related_name="entry"
    )
    client = models.ForeignKey(Client, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    lane = models.CharField(max_length=10, choices=Lane)
    due_at = models.DateTimeField()
    claim = models.UUIDField(null=True)  # who holds it, until due_at
    strikes = models.SmallIntegerField(db_default=0)  # claims that were never recorded
    turn_at = models.DateTimeField(null=True)  # its place in the queue of an account with a rate
    turn_account = models.BigIntegerField(null=True)  # whose
    attempt = models.SmallIntegerField(null=True)
    account = models.ForeignKey(
        ProviderAccount, on_delete=models.PROTECT, null=True, db_constraint=False, db_index=False
    )
    provider_key = models.CharField(max_length=100, null=True)
    request_hash = models.CharField(max_length=64, null=True)
    useful_seconds = models.IntegerField(null=True)
    began_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "outbox"
        verbose_name_plural = "outbox entries"
        constraints = [
            models.CheckConstraint(condition=models.Q(lane__in=Lane.values), name="outbox_lane_known"),
            models.CheckConstraint(
                condition=models.Q(
                    began_at__isnull=True, attempt__isnull=True, account__isnull=True, request_hash__isnull=True
                )
                | models.Q(
                    began_at__isnull=False, attempt__isnull=False, account__isnull=False, request_hash__isnull=False
                ),
                name="outbox_attempt_all_or_nothing",
            ),
        ]
        indexes = [models.Index(fields=["lane", "client", "due_at", "message"], name="outbox_queue")]

    def __str__(self) -> str:
        return str(self.message_id)

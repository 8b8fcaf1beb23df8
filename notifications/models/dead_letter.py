from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from notifications.models.message import Message


class DeadLetter(models.Model):
    """One message, or one task that failed for good, that a person must decide on; or one that is held, and may."""

    class Kind(models.TextChoices):
        MESSAGE = "message"
        TASK = "task"
        HELD = "held"  # a message that may or may not have gone out, and that nobody can be asked about

    class Resolution(models.TextChoices):
        REPLAYED = "replayed"
        DISCARDED = "discarded"
        ANSWERED = "answered"  # it became known before anybody decided

    kind = models.CharField(max_length=10, choices=Kind)
    message = models.ForeignKey(
        Message, on_delete=models.PROTECT, null=True, db_constraint=False, related_name="dead_letters"
    )
    task = models.CharField(max_length=100, blank=True)
    reason = models.CharField(max_length=100)
    last_error = models.TextField(blank=True)  # redacted
    created_at = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True)
    resolution = models.CharField(max_length=10, choices=Resolution, null=True)
    resolved_by = models.CharField(max_length=150, blank=True, db_default="")

    class Meta:
        db_table = "dead_letter"
        permissions = [("operate_deadletter", "Can send dead letters again and discard them")]
        constraints = [
            models.UniqueConstraint(
                fields=["message"],
                condition=models.Q(kind="held", resolved_at__isnull=True),
                name="dead_letter_one_while_held",
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at"], condition=models.Q(resolved_at__isnull=True), name="dead_letter_open"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"

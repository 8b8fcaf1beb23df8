from __future__ import annotations

from django.db import models

from notifications.models.message import Message
from notifications.models.provider_account import ProviderAccount


class Outcome(models.TextChoices):
    """What is known of one call."""

    TAKEN = "taken"  # the provider has the message
    NOT_SENT = "not_sent"  # certainly not accepted, may work later
    REFUSED = "refused"  # certainly not accepted, and why
    UNCLEAR = "unclear"  # may or may not have been accepted


class LookedUp(models.TextChoices):
    """What asking about an unclear attempt brought."""

    FOUND = "found"
    NOT_THERE = "not_there"


class Attempt(models.Model):
    """One finished call to one provider, written once; a later answer or a look-up is added, never overwritten."""

    message = models.ForeignKey(
        Message, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="attempts"
    )
    number = models.SmallIntegerField()
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    provider_key = models.CharField(max_length=100, null=True)
    request_hash = models.CharField(max_length=64)
    useful_seconds = models.IntegerField(null=True)  # left when it began; a repeat under its key says the same
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    outcome = models.CharField(max_length=10, choices=Outcome)
    error = models.CharField(max_length=50, blank=True)  # class of the provider error
    error_code = models.CharField(max_length=50, blank=True)  # the provider's own
    http_status = models.SmallIntegerField(null=True)
    provider_message_id = models.CharField(max_length=200, null=True)
    answer = models.TextField(blank=True)  # where it was no yes: redacted, first 2 kB
    late_answer = models.TextField(blank=True)  # of a worker that had lost its claim
    looked_up = models.CharField(max_length=10, choices=LookedUp, null=True)

    class Meta:
        db_table = "attempt"
        constraints = [
            models.UniqueConstraint(fields=["message", "number"], name="attempt_unique_number"),
            models.CheckConstraint(condition=models.Q(outcome__in=Outcome.values), name="attempt_outcome_known"),
        ]
        indexes = [
            models.Index(
                fields=["account", "provider_message_id"],
                condition=models.Q(provider_message_id__isnull=False),
                name="attempt_provider_message_id",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.message_id}-{self.number}"

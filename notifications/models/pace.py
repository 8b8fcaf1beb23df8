from __future__ import annotations

from django.db import models

from notifications.models.provider_account import ProviderAccount


class Pace(models.Model):
    """When the next message of an account, or of one of its senders, has its turn: the place that was handed out last, and one more."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.CASCADE, related_name="paces")
    of = models.CharField(max_length=60, blank=True)  # a sender; "" is the account as a whole, "?" its status questions
    next_at = models.DateTimeField()

    class Meta:
        db_table = "pace"
        constraints = [models.UniqueConstraint(fields=["account", "of"], name="pace_unique_of_account")]

    def __str__(self) -> str:
        return f"{self.account_id} {self.of}".rstrip()

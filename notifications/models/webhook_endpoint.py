from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from notifications.models.client import Client
from notifications.models.provider_account import ProviderAccount


class WebhookEndpoint(models.Model):
    """Where a client hears of its notifications. How it is reached, its address and its secrets are those of an account."""

    client = models.ForeignKey(Client, on_delete=models.PROTECT, related_name="endpoints")
    account = models.OneToOneField(ProviderAccount, on_delete=models.PROTECT, related_name="endpoint")
    event_types = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        help_text="What it hears of, e.g. notification.delivered; notification.* is all of a kind, empty is everything.",
    )
    owner_email = models.EmailField(blank=True, help_text="Who is told when it fails.")
    failing_since = models.DateTimeField(null=True, editable=False)  # the first failure after its last success
    warned_at = models.DateTimeField(null=True, editable=False)
    off_reason = models.CharField(max_length=200, blank=True, editable=False)  # why we switched it off
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "webhook_endpoint"

    def __str__(self) -> str:
        return str(self.account)

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import URLValidator
from django.db import models
from django.db.models.functions import Now

from notifications.models.encrypted import EncryptedJSONField


class ProviderAccount(models.Model):
    """One set of credentials at one provider. Off stops sends, never look-ups or receipts; never deleted once used."""

    slug = models.SlugField(unique=True, help_text="Part of the webhook address: /webhooks/SLUG/")
    provider = models.CharField(max_length=50, help_text="A name from the registry.")
    channels = ArrayField(models.CharField(max_length=10), help_text="Channels this account sends, e.g. sms.")
    is_on = models.BooleanField(default=True)
    priority = models.SmallIntegerField(default=10, help_text="Lower is tried first.")
    weight = models.PositiveSmallIntegerField(default=1, help_text="Share among accounts of one priority.")
    countries = ArrayField(
        models.CharField(max_length=2), default=list, blank=True, help_text="Only these countries; empty means all."
    )
    denied_countries = ArrayField(
        models.CharField(max_length=2), default=list, db_default=[], blank=True, help_text="Never these countries."
    )
    credentials = EncryptedJSONField(default=dict)
    settings = models.JSONField(default=dict, blank=True)
    base_url = models.CharField(
        max_length=200, blank=True, validators=[URLValidator(["https", "http"])], help_text="Empty: the provider's own."
    )
    opened_at = models.DateTimeField(null=True, editable=False)  # nothing is sent while set, but one probe at a time
    opened_until = models.DateTimeField(null=True, editable=False)
    opened_reason = models.CharField(max_length=100, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "provider_account"

    def __str__(self) -> str:
        return self.slug

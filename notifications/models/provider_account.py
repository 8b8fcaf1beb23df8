from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator, URLValidator
from django.db import models
from django.db.models.functions import Now

from notifications.models.encrypted import EncryptedJSONField


class Counted(models.TextChoices):
    """What a rate counts."""

    MESSAGES = "messages"
    SEGMENTS = "segments"  # the SMS that a text is cut into


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
    rate = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.001)],
        help_text="How many it may send in a second; empty means as many as it takes.",
    )  # fmt: skip
    rate_counts = models.CharField(
        max_length=10, choices=Counted, default=Counted.MESSAGES, db_default=Counted.MESSAGES,
        help_text="What its rates count: messages, or the SMS that each of them makes.",
    )  # fmt: skip
    rate_burst = models.PositiveIntegerField(
        default=1, db_default=1, validators=[MinValueValidator(1)],
        help_text="How many may go at once after a pause, before the rates hold.",
    )  # fmt: skip
    sender_rate = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.001)],
        help_text="How many each of its senders may send in a second; empty means no limit of their own.",
    )  # fmt: skip
    prices = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True,
        help_text='What a message costs, or each SMS of one, by country: {"DE": "0.075", "*": "0.05"}.',
    )  # fmt: skip
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

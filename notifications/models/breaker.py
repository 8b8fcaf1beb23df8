from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from notifications.models.provider_account import ProviderAccount


class Breaker(models.Model):
    """An account's provider fails in a country: nothing is sent there through it but one probe at a time. Gone when mended."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.CASCADE, related_name="breakers")
    country = models.CharField(max_length=2, blank=True)  # ISO 3166; "" where addresses have none
    opened_at = models.DateTimeField(db_default=Now())
    opened_until = models.DateTimeField()  # then a message may try it

    class Meta:
        db_table = "breaker"
        constraints = [
            models.UniqueConstraint(fields=["account", "country"], name="breaker_unique_country_of_account"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.country}".rstrip()

from __future__ import annotations

from django.db import models

from notifications.models.provider_account import ProviderAccount


class Arrival(models.Model):
    """How many of the messages that an account took for a country in one minute had arrived a while later."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.CASCADE, related_name="arrivals")
    country = models.CharField(max_length=2, blank=True)  # ISO 3166
    minute = models.DateTimeField()
    taken_count = models.IntegerField()
    delivered_count = models.IntegerField()

    class Meta:
        db_table = "arrival"
        constraints = [
            models.UniqueConstraint(fields=["account", "country", "minute"], name="arrival_unique_minute"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.country} {self.minute:%H:%M}"

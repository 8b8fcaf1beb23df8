from __future__ import annotations

from django.db import models

from notifications.models.client import Client


class SmsCount(models.Model):
    """How many SMS a client has had accepted for a country in one hour. Kept for clients that have a limit."""

    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="sms_counts")
    country = models.CharField(max_length=2, blank=True)  # ISO 3166
    hour = models.DateTimeField()
    count = models.IntegerField()

    class Meta:
        db_table = "sms_count"
        constraints = [
            models.UniqueConstraint(fields=["client", "country", "hour"], name="sms_count_unique_hour"),
        ]

    def __str__(self) -> str:
        return f"{self.client_id} {self.country} {self.hour:%H}:00"

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Suppression(models.Model):
    """An address that must not be used on a channel. Only its hash is stored."""

    channel = models.CharField(max_length=10)
    address_hash = models.CharField(max_length=64)
    reason = models.CharField(max_length=50)
    source = models.CharField(max_length=100, blank=True, db_default="")
    until = models.DateTimeField(null=True, blank=True, help_text="Empty means for good.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "suppression"
        constraints = [
            models.UniqueConstraint(fields=["channel", "address_hash"], name="suppression_unique_address"),
        ]

    def __str__(self) -> str:
        return f"{self.channel}: {self.reason}"

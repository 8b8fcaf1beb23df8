from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Incident(models.Model):
    """Something going on; notifications that name it stop when it ends."""

    key = models.CharField(max_length=200, unique=True)
    started_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "incident"

    def __str__(self) -> str:
        return self.key

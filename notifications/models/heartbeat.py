from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Heartbeat(models.Model):
    """When a kind of process last showed that it does its work."""

    process = models.CharField(max_length=50, primary_key=True)
    beat_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "heartbeat"

    def __str__(self) -> str:
        return self.process


class ScanPosition(models.Model):
    """How far a scan over old rows has come: the last id it read."""

    name = models.CharField(max_length=50, primary_key=True)
    last_id = models.UUIDField()

    class Meta:
        db_table = "scan_position"

    def __str__(self) -> str:
        return self.name

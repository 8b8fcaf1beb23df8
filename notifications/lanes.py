"""The queues by name: who waits behind whom, and who never does."""

from __future__ import annotations

from django.db.models import TextChoices


class Priority(TextChoices):
    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    BULK = "bulk"


class Lane(TextChoices):
    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    BULK = "bulk"
    CONTROL = "control"  # receipts, sweeps, checks of critical and high
    UPKEEP = "upkeep"  # all other checks, and cleaning up


URGENT = frozenset({Lane.CRITICAL, Lane.HIGH, Lane.CONTROL})  # where somebody waits for what is due

SENDING = {priority: Lane(priority.value) for priority in Priority}
CHECKING = {
    Priority.CRITICAL: Lane.CONTROL,
    Priority.HIGH: Lane.CONTROL,
    Priority.NORMAL: Lane.UPKEEP,
    Priority.BULK: Lane.UPKEEP,
}

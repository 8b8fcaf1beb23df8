from __future__ import annotations

from django.db import models

from notifications.states import End


class Tally(models.Model):
    """How many notifications that ended one way on one day (UTC) have been deleted since: with these, all adds up."""

    day = models.DateField()
    end = models.CharField(max_length=15, choices=End)
    count = models.PositiveBigIntegerField()

    class Meta:
        db_table = "tally"
        verbose_name_plural = "tallies"
        constraints = [
            models.UniqueConstraint(fields=["day", "end"], name="tally_one_per_day_and_end"),
            models.CheckConstraint(condition=models.Q(end__in=End.values), name="tally_end_known"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.end}: {self.count}"

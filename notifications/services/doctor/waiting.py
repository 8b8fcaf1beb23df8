"""What waits for a person."""

from __future__ import annotations

from collections.abc import Iterator

from notifications.models import DeadLetter
from notifications.numbers import numbers
from notifications.services.doctor.findings import Finding
from notifications.sql.reconcile import unmatched_events


def findings() -> Iterator[Finding]:
    """Dead letters to decide on, and reports that nothing of ours explains."""
    if letters := DeadLetter.objects.filter(resolved_at__isnull=True).count():
        yield Finding("N080", f"Dead letters wait: {letters}.", "Send them again or discard them in the admin.")
    age = numbers().unmatched_alarm_seconds
    if reports := unmatched_events(age):
        yield Finding(
            "N081",
            f"Reports that match no message have waited for more than {age / 60:g} min: {reports}.",
            "See them in the admin; does another system send through the same account?",
        )

"""Answers whose claim was lost: they move nothing, but they are filed, and a *yes* counts as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import notifications.sql.apply as reports
import notifications.sql.record as sql
from notifications.hints import Hints
from notifications.models import Outcome
from notifications.models.delivery_event import Source
from notifications.runtime import Runtime
from notifications.services.calls import Planned
from notifications.services.record import insist
from notifications.sql.apply import NewEvent
from notifications.sql.record import LateAnswer, Verdict
from providers.messages import EventKind


def file_late(
    answers: Sequence[tuple[Planned, Verdict]], began_at: datetime, *, hints: Hints, runtime: Runtime
) -> None:
    """File late answers to calls that were really made."""
    made = [(planned, verdict) for planned, verdict in answers if verdict.outcome is not None]
    yes = [_evidence(planned, verdict) for planned, verdict in made if verdict.outcome is Outcome.TAKEN]
    if made:
        insist(lambda: sql.file_late([_late(planned, verdict, began_at) for planned, verdict in made]), runtime)
    if yes:
        insist(lambda: reports.store_events(yes), runtime)
        hints.apply()


def _late(planned: Planned, verdict: Verdict, began_at: datetime) -> LateAnswer:
    intent = planned.intent
    return LateAnswer(
        intent.message_id,
        intent.number,
        intent.account_id,
        intent.provider_key,
        intent.request_hash,
        intent.useful_seconds,
        began_at,
        verdict.provider_message_id,
        verdict.answer or verdict.error or Outcome.TAKEN.value,
    )


def _evidence(planned: Planned, verdict: Verdict) -> NewEvent:
    intent = planned.intent
    return NewEvent(
        account_id=intent.account_id,
        dedupe_key=f"late:{intent.message_id.hex}-{intent.number}",
        source=Source.LATE_ANSWER,
        kind=EventKind.ACCEPTED,
        message_id=intent.message_id,
        attempt_number=intent.number,
        provider_message_id=verdict.provider_message_id,
        provider_status="",
        error_code="",
        suppress="",
        occurred_at=None,
        raw=verdict.answer.encode(),
    )

"""Provider reports on their way in: from an adapter's words to rows that wait to be applied."""

from __future__ import annotations

import re
from collections.abc import Iterable
from uuid import UUID

from notifications.models.delivery_event import Source
from notifications.sql.apply import NewEvent
from providers.messages import DeliveryEvent

_ATTEMPT = re.compile(r"([0-9a-f]{32})-([1-9][0-9]{0,4})")
_STORABLE = str.maketrans({"\0": "\N{REPLACEMENT CHARACTER}"})


def new_events(account_id: int, events: Iterable[DeliveryEvent], source: Source) -> list[NewEvent]:
    """Reports as rows. A name of an attempt that is not in our form is no name."""
    return [_row(account_id, event, source, *parse_attempt(event.attempt)) for event in events]


def parse_attempt(text: str | None) -> tuple[UUID | None, int | None]:
    """The message and number in an attempt id; two times None for anything else."""
    match = _ATTEMPT.fullmatch(text or "")
    if match is None or int(match[2]) > 32_767:
        return None, None
    return UUID(match[1]), int(match[2])


def _row(
    account_id: int, event: DeliveryEvent, source: Source, message_id: UUID | None, number: int | None
) -> NewEvent:
    return NewEvent(
        account_id=account_id,
        dedupe_key=storable(event.dedupe_key, 200),
        source=source,
        kind=event.kind,
        message_id=message_id,
        attempt_number=number,
        provider_message_id=storable(event.provider_message_id, 200) if event.provider_message_id else None,
        provider_status=storable(event.provider_status, 100),
        error_code=storable(event.error_code, 50),
        suppress=event.suppress or "",
        occurred_at=event.occurred_at,
        raw=event.raw,
    )


def storable(text: str, limit: int) -> str:
    """A provider's word as PostgreSQL can keep it: no NUL, no half surrogate, cut at the column's width."""
    return text.encode(errors="replace").decode().translate(_STORABLE)[:limit]

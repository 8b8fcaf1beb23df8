"""Files with many notifications, as bytes, and batches made of them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Batch, Message, Notification, OutboxEntry
from notifications.services.batch.accept import AcceptedBatch, accept_batch
from notifications.services.batch.rows import Format
from notifications.services.request import Refused

CASES = Path(__file__).parents[1] / "cases"
DEAR = {"sms": {"text": "Dear {name}"}}


def batch_of(
    file: str | bytes,
    content: Any = DEAR,
    *,
    file_format: Format = Format.CSV,
    key: str | None = None,
    client: str = "internal",
    **fields: Any,
) -> AcceptedBatch:
    """Accept a file with its fields beside it."""
    data = file.encode() if isinstance(file, str) else file
    return accept_batch(
        BytesIO(data),
        file_format,
        {"content": content, **fields},
        idempotency_key=key,
        client_name=client,
        now=timezone.now(),
    )


def guests(count: int, first: int = 0) -> str:
    """A sound CSV file with so many rows."""
    rows = (f"+49151{10000000 + number},Guest {number}\n" for number in range(first, first + count))
    return "to,name\n" + "".join(rows)


def guest_batch(count: int = 3, **fields: Any) -> Batch:
    """A batch that was accepted."""
    return Batch.objects.get(id=batch_of(guests(count), **fields).id)


def refused(file: str | bytes, *args: Any, **fields: Any) -> Refused:
    """Why a file is refused, of which then nothing may be stored."""
    with pytest.raises(Refused) as caught:
        batch_of(file, *args, **fields)
    assert row_counts() == (0, 0, 0, 0)
    return caught.value


def said(refusal: Refused) -> list[tuple[int | None, str, str]]:
    """Line, field and reason of each fault."""
    return [(getattr(error, "line", None), error.field, error.reason) for error in refusal.errors]


def texts(channel: str = "sms", field: str = "text") -> list[str]:
    """What all notifications say, in the order of their rows."""
    return [
        content[channel][field] for content in Notification.objects.order_by("id").values_list("content", flat=True)
    ]


def recipients() -> list[dict[str, str]]:
    return list(Notification.objects.order_by("id").values_list("recipient", flat=True))


def row_counts() -> tuple[int, int, int, int]:
    return (
        Batch.objects.count(),
        Notification.objects.count(),
        Message.objects.count(),
        OutboxEntry.objects.count(),
    )

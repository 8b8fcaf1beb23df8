"""Notifications to deliver, accepted by the product's own statement in batches."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from itertools import islice

TEXT = "Your table for four is ready at eight tonight."
BATCH = 2000
STEPS = [{"channel": "sms"}]


def accept(count: int, *, on_unclear: str = "hold") -> None:
    """Accept so many bulk notifications, each to a number of its own, without a hint."""
    numbers = iter(range(count))
    while chunk := list(islice(numbers, BATCH)):
        _accept([f"+49151{10_000_000 + number}" for number in chunk], on_unclear)


def _accept(addresses: list[str], on_unclear: str) -> None:
    import notifications.sql.accept as sql
    from notifications import selectors
    from notifications.ids import new_id
    from notifications.lanes import Lane
    from notifications.models.client import INTERNAL
    from notifications.numbers import numbers
    from notifications.services.steps import first_messages
    from notifications.sql.rows import execute

    client = selectors.client_named(INTERNAL)
    rows, messages = [], []
    for address in addresses:
        row = sql.NewRow(
            id=new_id(),
            client_id=client.id,
            idempotency_key=None,
            fingerprint="",
            category="transactional",
            priority="bulk",
            incident_id=None,
            reference="",
            recipient={"sms": address},
            content={"sms": {"text": TEXT}},
            metadata={},
            route="sms",
            steps=STEPS,
            on_unclear=on_unclear,
            send_at=None,
            expires_at=None,
            expiry_seconds=numbers().bulk_expiry_seconds,
        )
        rows.append(row)
        messages += first_messages(row.id, row.steps, row.recipient, lane=Lane.BULK)
    execute(sql.ACCEPT, {**sql.NOTIFICATIONS.parameters(rows), **sql.MESSAGES.parameters(messages)})


def broadcast_file(count: int) -> bytes:
    """What a caller of a broadcast has at hand."""
    return "\n".join(["to", *(f"+49151{10_000_000 + number}" for number in range(count)), ""]).encode()


def accept_broadcast(file: bytes) -> None:
    """Accept a broadcast as the product does, and hint for every core."""
    from notifications.models.client import INTERNAL
    from notifications.services.batch.accept import accept_batch
    from notifications.services.batch.rows import Format

    fields = {"content": {"sms": {"text": TEXT}}}
    accept_batch(io.BytesIO(file), Format.CSV, fields, client_name=INTERNAL, now=datetime.now(UTC))


def accept_one(priority: str, number: int) -> tuple[str, float]:
    """Accept one notification as code in the project does. Returns its attempt's id, and when that began."""
    from notifications.ids import step_id
    from notifications.services.accept import send

    began_at = datetime.now(UTC).timestamp()
    accepted = send({"sms": f"+49152{10_000_000 + number}"}, {"sms": {"text": TEXT}}, priority=priority)
    return f"{step_id(accepted.id, 0).hex}-1", began_at


def hint(times: int) -> None:
    """Say that there may be something due in the bulk lane."""
    from notifications.hints import hints
    from notifications.lanes import Lane

    for _ in range(times):
        hints.drain(Lane.BULK)

"""Pause, resume, cancel: what can be done with a batch as a whole, a thousand notifications at a time.

The batch's state says what is wanted, and each thousand is worked on only while it still says so: of two people who want
different things, the later one gets all of the batch. Each may be repeated, and goes on where a run before it broke off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import transaction

import notifications.sql.batch as sql
from notifications.hints import hints
from notifications.lanes import SENDING, Priority
from notifications.models import Batch
from notifications.services.cancel import cancel_all

AT_ONCE = 1000  # notifications in one transaction

_Work = Callable[[Sequence[UUID]], Counter[str]]


class BatchIsCancelled(Exception):
    """It is cancelled, for good."""


def pause(batch: Batch) -> Counter[str]:
    """Let what has not left wait until it is resumed; it still expires in time. Returns how many messages are `paused` now.

    What a provider is being asked to take goes on: to its end, to another try or to its next step. Pausing again catches
    what came back so. Raises BatchIsCancelled.
    """
    return _change(batch, Batch.State.PAUSED, lambda ids: Counter(paused=sql.park(ids)))


def resume(batch: Batch) -> Counter[str]:
    """Send what was paused. Returns how many messages are `resumed`. Raises BatchIsCancelled."""
    lane = SENDING[Priority(batch.priority)]

    def wake(ids: Sequence[UUID]) -> Counter[str]:
        hints.drain_after_commit(lane)
        return Counter(resumed=sql.wake(ids))

    return _change(batch, Batch.State.ACCEPTED, wake)


def cancel_batch(batch: Batch) -> Counter[str]:
    """Stop what has not left. Returns how many messages met which CancelResult."""
    return _change(
        batch, Batch.State.CANCELLED, lambda ids: Counter(message.result.value for message in cancel_all(ids))
    )


def _change(batch: Batch, state: Batch.State, work: _Work) -> Counter[str]:
    if not sql.change_state(batch.id, state.value):
        raise BatchIsCancelled(str(batch.id))
    counts, before = Counter[str](), sql.LAST
    while window := _window(batch.id, state, before, work, counts):
        before = window[-1]
    batch.refresh_from_db()
    return counts


@transaction.atomic
def _window(batch_id: UUID, state: Batch.State, before: UUID, work: _Work, counts: Counter[str]) -> list[UUID]:
    if sql.hold_state(batch_id) != state:
        return []
    ids = sql.window(batch_id, before, AT_ONCE)
    if ids:
        counts.update(work(ids))
    return ids

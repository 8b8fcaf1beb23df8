"""Which messages may have reached their recipient twice. `sql/audit.py` states the same rule as a statement."""

from __future__ import annotations

from collections.abc import Iterable

from notifications.models import Attempt, Outcome
from notifications.models.attempt import LookedUp

_MAY_HAVE_GONE_OUT = {Outcome.TAKEN, Outcome.UNCLEAR}


def second_ones(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts of one message that may have brought it a second time, in their order.

    Each follows one that was unclear, and that was not looked up as not there, or turned up after all. A repeat under the
    same key is none, since its provider drops it; nor is a call that was certainly not accepted.
    """
    in_order = sorted(attempts, key=lambda attempt: attempt.number)
    return [
        attempt
        for position, attempt in enumerate(in_order)
        if attempt.outcome in _MAY_HAVE_GONE_OUT
        and any(_is_in_doubt(first) and not _repeats(attempt, first) for first in in_order[:position])
    ]


def _is_in_doubt(attempt: Attempt) -> bool:
    turned_up = attempt.provider_message_id is not None
    return attempt.outcome == Outcome.UNCLEAR and (attempt.looked_up != LookedUp.NOT_THERE or turned_up)


def _repeats(attempt: Attempt, first: Attempt) -> bool:
    key = (first.account_id, first.provider_key)
    return first.provider_key is not None and (attempt.account_id, attempt.provider_key) == key

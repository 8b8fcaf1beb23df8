"""Switch provider accounts on and off, and put mended ones back into use."""

from __future__ import annotations

from collections.abc import Iterable

from notifications.accounts import accounts
from notifications.models import Cause, ProviderAccount
from notifications.numbers import numbers
from notifications.sql.accounts import close_account, close_breaker, rest_for_good


def switch(account_ids: Iterable[int], *, on: bool) -> None:
    """Let accounts send, or not. Other processes see it within seconds; look-ups and receipts go on either way."""
    ProviderAccount.objects.filter(id__in=list(account_ids)).update(is_on=on)
    accounts.forget()


def mend(account_id: int) -> None:
    """Send through an opened account again, without waiting for its probe."""
    close_account(account_id)
    accounts.forget()


def mend_there(account_id: int, country: str) -> None:
    """Send to a country through an account again, without waiting for its probe."""
    close_breaker(account_id, country, tuple(Cause), judged_seconds=numbers().judged_seconds)
    accounts.forget()


def rest_there(account_id: int, country: str, detail: str) -> int:
    """Send nothing to a country through an account until somebody mends it. Returns the breaker's id.

    What it rests for already, if it does, is forgotten.
    """
    breaker_id = rest_for_good(account_id, country, detail)
    accounts.forget()
    return breaker_id

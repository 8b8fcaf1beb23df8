"""Faults of our own that look like a recipient's or pass like the weather: told apart before anybody is blamed for good."""

from __future__ import annotations

from notifications.accounts import Accounts
from notifications.services.calls import Planned
from notifications.sql.apply import SuppressedAddress
from providers.errors import (
    AccountError,
    AddressForbidden,
    AuthenticationFailed,
    InvalidRecipient,
    ProviderError,
    TokenRefused,
)
from providers.messages import Channel


def after_yes(planned: Planned, accounts: Accounts, at: float) -> list[SuppressedAddress]:
    """Note that a message was taken, at a monotonic time. Returns addresses whose refusals are believed now."""
    account = planned.account
    if planned.token is not None:
        accounts.logins.accepted(account.id)
    if not account.provider.has_doubts:
        return []
    return accounts.doubts(account).taken(planned.row.address_hash, at)


def weigh(
    planned: Planned, error: ProviderError, accounts: Accounts, at: float
) -> tuple[ProviderError, list[SuppressedAddress]]:
    """What a no amounts to, and the address that must not be used again because of it, if that is certain."""
    row, account = planned.row, planned.account
    if isinstance(error, TokenRefused) and not accounts.logins.refused(account.id, planned.token):
        error = AuthenticationFailed("a new token is refused as well", code=error.code, http_status=error.http_status)
    elif isinstance(error, AddressForbidden) and row.channel != Channel.WEBHOOK:
        error = InvalidRecipient(error.detail, suppress="forbidden")  # a device's address, and no endpoint's
    if not error.suppress:
        return error, []
    suppressed = SuppressedAddress(row.channel, row.address_hash, error.suppress, account.slug)
    if not error.is_doubtful:
        return error, [suppressed]
    if accounts.doubts(account).refused(row.address_hash, suppressed, at):
        error = AccountError(error.detail, code=error.code, http_status=error.http_status, advice=error.advice)
    return error, []

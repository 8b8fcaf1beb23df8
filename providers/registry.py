"""Every provider by name: the one table."""

from __future__ import annotations

from providers.base import Provider
from providers.messages import Account
from providers.postmark import Postmark
from providers.resend import Resend
from providers.twilio import Twilio

PROVIDERS: dict[str, type[Provider]] = {provider.name: provider for provider in (Twilio, Postmark, Resend)}


def connect(name: str, account: Account) -> Provider:
    """Construct the adapter for an account. Raises KeyError for a name that is not in the table."""
    return PROVIDERS[name](account)

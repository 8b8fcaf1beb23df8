"""Every provider by name: the one table."""

from __future__ import annotations

from providers.aws_sms import AwsSms
from providers.base import Provider
from providers.bird import Bird
from providers.infrai import Infrai
from providers.messagebird import MessageBird
from providers.messages import Account
from providers.mysmsgate import MySmsGate
from providers.plivo import Plivo
from providers.postmark import Postmark
from providers.resend import Resend
from providers.sinch import Sinch
from providers.telnyx import Telnyx
from providers.twilio import Twilio
from providers.vonage import Vonage
from providers.vonage_sms import VonageSms

PROVIDERS: dict[str, type[Provider]] = {
    provider.name: provider
    for provider in (
        AwsSms,
        Bird,
        Infrai,
        MessageBird,
        MySmsGate,
        Plivo,
        Postmark,
        Resend,
        Sinch,
        Telnyx,
        Twilio,
        Vonage,
        VonageSms,
    )
}


def connect(name: str, account: Account) -> Provider:
    """Construct the adapter for an account. Raises KeyError for a name that is not in the table."""
    return PROVIDERS[name](account)

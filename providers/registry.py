"""Every provider by name: the one table."""

from __future__ import annotations

from providers.anymail import Anymail
from providers.apns import Apns
from providers.aws_sms import AwsSms
from providers.base import Provider
from providers.bird import Bird
from providers.courier import Courier
from providers.fcm import Fcm
from providers.infrai import Infrai
from providers.infrai_email import InfraiEmail
from providers.messagebird import MessageBird
from providers.messages import Account
from providers.mysmsgate import MySmsGate
from providers.plivo import Plivo
from providers.postmark import Postmark
from providers.resend import Resend
from providers.sendgrid import SendGrid
from providers.ses import Ses
from providers.sinch import Sinch
from providers.smtp import Smtp
from providers.telnyx import Telnyx
from providers.twilio import Twilio
from providers.vonage import Vonage
from providers.vonage_sms import VonageSms
from providers.webhook import Webhook
from providers.webpush import WebPush

PROVIDERS: dict[str, type[Provider]] = {
    provider.name: provider
    for provider in (
        Anymail,
        Apns,
        AwsSms,
        Bird,
        Courier,
        Fcm,
        Infrai,
        InfraiEmail,
        MessageBird,
        MySmsGate,
        Plivo,
        Postmark,
        Resend,
        SendGrid,
        Ses,
        Sinch,
        Smtp,
        Telnyx,
        Twilio,
        Vonage,
        VonageSms,
        WebPush,
        Webhook,
    )
}


def connect(name: str, account: Account) -> Provider:
    """Construct the adapter for an account. Raises KeyError for a name that is not in the table."""
    return PROVIDERS[name](account)

"""Amazon SES: an account, and the sample for the contract test. Calls of SNS are those of the other service of AWS."""

from __future__ import annotations

from typing import Any

from providers.messages import Account, Channel, OutgoingMessage
from providers.ses import Ses
from tests.providers.samples.aws_sms import CERTIFICATE, SECRET_KEY, TOPIC, sns_webhook
from tests.providers.samples.base import ATTEMPT, Sample


def ses(**changes: Any) -> Ses:
    """An account; credentials and settings may be changed by name."""
    credentials = {
        "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": SECRET_KEY,
        "signing_certificate": CERTIFICATE,
        "topic_arn": TOPIC,
        "session_token": "",
    }
    credentials |= {name: changes.pop(name) for name in credentials if name in changes}
    settings = {"from": "no-reply@notify.example.com", "configuration_set": "notify", **changes}
    return Ses(Account("ses", credentials, settings))


SAMPLE = Sample(
    ses(),
    OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", "Shipped.", "Your order", "<p>Shipped.</p>", 300),
    sns_webhook,
    secrets=(SECRET_KEY, CERTIFICATE),
    fields=(
        *("MessageId", "__type", "message", "MessageRejected", "BadRequestException", "TooManyRequestsException"),
        *("eventType", "notificationType", "Bounce", "Complaint", "Delivery", "mail", "messageId", "tags", "attempt"),
        *(ATTEMPT.id, "bounce", "complaint", "bounceType", "Permanent", "bounceSubType", "OnAccountSuppressionList"),
        *("bouncedRecipients", "status", "5.7.1", "timestamp", "2026-11-30T16:20:34.126Z", "complaintFeedbackType"),
    ),
    answered=lambda id: {"MessageId": id},
    of_the_text=frozenset({"Content"}),
)

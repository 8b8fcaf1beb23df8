"""The vendors that Anymail speaks to by HTTP, and what it does not tell of them.

Read in the source of django-anymail 15.2 and in the vendors' documentation of webhooks (2026-11). Amazon SES is not here,
which it reaches through an SDK, nor are those that have an adapter of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from providers.errors import (
    AuthenticationFailed,
    InsufficientBalance,
    OutcomeUnknown,
    ProviderError,
    SenderNotAllowed,
)

BASIC = "webhook_password"


@dataclass(frozen=True, slots=True)
class Esp:
    """`backend` and `view` are classes of Anymail; without a view it reports nothing.

    `proof` is the credential by which a webhook is believed. `word` is where a report has the vendor's own name of what
    happened, and `hard` where it says that a bounce is for good, and how: Anymail calls soft ones bounced as well.
    """

    backend: str
    view: str = ""
    proof: str = BASIC
    word: str = "event"
    hard: tuple[str, tuple[object, ...]] = ("event", ("hard_bounce",))
    carries_metadata: bool = True  # else our attempt id is its tag
    carries_headers: bool = True  # else only for customers who pay for that: we ask for none ourselves
    is_json_only: bool = False  # an older form of its reports mixes what a mail carries with the report's own fields
    key_header: str = ""  # in the mail: takes an idempotency key
    key_life_seconds: float = 0.0
    refusals: Mapping[str, type[ProviderError]] = field(default_factory=dict)  # by `code` in the body


ESPS = {
    "brevo": Esp(
        "anymail.backends.brevo.EmailBackend",
        "anymail.webhooks.brevo.BrevoTrackingWebhookView",
        hard=("event", ("hard_bounce", "invalid_email")),
        key_header="idempotencyKey",
        key_life_seconds=14 * 60.0,  # they keep keys for about 15 minutes; a repeat must arrive before that
        refusals={
            "unauthorized": AuthenticationFailed,
            "not_enough_credits": InsufficientBalance,
            "account_under_validation": SenderNotAllowed,
            "permission_denied": SenderNotAllowed,
            "duplicate_request": OutcomeUnknown,  # they have the first one, and do not say what became of it
        },
    ),
    "mailersend": Esp(
        "anymail.backends.mailersend.EmailBackend",
        "anymail.webhooks.mailersend.MailerSendTrackingWebhookView",
        proof="signing_secret",
        word="type",
        hard=("type", ("activity.hard_bounced",)),
        carries_metadata=False,
        carries_headers=False,
    ),
    "mailgun": Esp(
        "anymail.backends.mailgun.EmailBackend",
        "anymail.webhooks.mailgun.MailgunTrackingWebhookView",
        proof="webhook_signing_key",
        word="event-data.event",
        hard=("event-data.severity", ("permanent",)),
        is_json_only=True,
    ),
    "mailjet": Esp(
        "anymail.backends.mailjet.EmailBackend",
        "anymail.webhooks.mailjet.MailjetTrackingWebhookView",
        hard=("hard_bounce", (True,)),
    ),
    "mailtrap": Esp(
        "anymail.backends.mailtrap.EmailBackend",
        "anymail.webhooks.mailtrap.MailtrapTrackingWebhookView",
        proof="signing_secret",
        hard=("event", ("bounce",)),
    ),
    "mandrill": Esp(
        "anymail.backends.mandrill.EmailBackend",
        "anymail.webhooks.mandrill.MandrillCombinedWebhookView",
        proof="webhook_key",
    ),
    "postal": Esp(
        "anymail.backends.postal.EmailBackend",
        "anymail.webhooks.postal.PostalTrackingWebhookView",
        proof="webhook_key",
        hard=("event", ("MessageBounced",)),
        carries_metadata=False,
    ),
    "scaleway": Esp("anymail.backends.scaleway.EmailBackend"),
    "sparkpost": Esp(
        "anymail.backends.sparkpost.EmailBackend",
        "anymail.webhooks.sparkpost.SparkPostTrackingWebhookView",
        word="msys.message_event.type",
        hard=("msys.message_event.bounce_class", ("10", "30", "90")),
    ),
    "unisender_go": Esp(
        "anymail.backends.unisender_go.EmailBackend",
        "anymail.webhooks.unisender_go.UnisenderGoTrackingWebhookView",
        proof="api_key",
        word="status",
        hard=("status", ("hard_bounced",)),
    ),
}

"""A reply that says somebody is away, as each e-mail API tells of it: no address is lost for that."""

from __future__ import annotations

import json

import pytest

from providers.messages import DeliveryEvent, EventKind
from tests.providers.samples.base import ATTEMPT, payload
from tests.providers.samples.postmark import postmark, postmark_webhook
from tests.providers.samples.resend import resend, resend_webhook
from tests.providers.samples.sendgrid import sendgrid, sendgrid_webhook


def by_postmark() -> list[DeliveryEvent]:
    bounce = json.loads(payload("postmark/webhook-bounce-soft.json"))
    return postmark().parse_webhook(postmark_webhook({**bounce, "Type": "AutoResponder", "TypeCode": 64}))


def by_sendgrid() -> list[DeliveryEvent]:
    """They hand it to the sender and tell nothing of it; at most a mail is called blocked."""
    told = {"event": "bounce", "type": "blocked", "status": "5.0.0", "bounce_classification": "Unclassified"}
    return sendgrid().parse_webhook(sendgrid_webhook([{**told, "landfall_attempt": ATTEMPT.id, "sg_event_id": "x"}]))


def by_resend() -> list[DeliveryEvent]:
    """It comes in as a mail."""
    mail = {"type": "email.received", "data": {"email_id": "x", "subject": "Out of office"}}
    return resend().parse_webhook(resend_webhook(mail))


@pytest.mark.parametrize("told", [by_postmark, by_sendgrid, by_resend])
def test_suppresses_nothing(told) -> None:  # type: ignore[no-untyped-def]
    [event] = told()

    assert event.suppress is None
    assert event.kind in (EventKind.UNKNOWN, EventKind.NOT_REACHED)

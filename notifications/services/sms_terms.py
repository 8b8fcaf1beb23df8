"""A client's terms for SMS: where it may send them, and what becomes of a long or dear text."""

from __future__ import annotations

from collections.abc import Mapping

from notifications.addresses import country
from notifications.models import Client
from notifications.services.request import FieldError, Refused
from notifications.sms import lookalikes
from notifications.sms.fit import LongTexts, OnLong, TooLong, fit
from providers.messages import Channel


def country_errors(recipient: Mapping[str, str], client: Client) -> list[FieldError]:
    """Whether a client may send SMS to where a number is."""
    number = recipient.get(Channel.SMS)
    if number is None or not client.sms_countries or country(Channel.SMS, number) in client.sms_countries:
        return []
    accepted = f"numbers in {', '.join(sorted(client.sms_countries))}"
    return [FieldError("to.sms", "is in a country where this client sends no SMS", accepted)]


def sms_text(text: str, client: Client) -> str:
    """A text as it will be sent. Raises Refused where it makes more SMS than the client allows and may not be shortened."""
    if client.plain_sms:
        text = lookalikes.replace(text).text
    if client.sms_segments is None:
        return text
    try:
        return fit(text, LongTexts(OnLong(client.long_sms), client.sms_segments)).text
    except TooLong as error:
        raise Refused([FieldError("content.sms.text", error.reason, error.accepted)]) from None

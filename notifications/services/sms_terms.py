"""A client's terms for SMS: which numbers it may send them to, and what becomes of a long or dear text."""

from __future__ import annotations

from collections.abc import Mapping

from notifications.addresses import InvalidAddress
from notifications.models import Client
from notifications.services.request import FieldError, Refused
from notifications.services.steps import Steps, channels_of
from notifications.sms import lookalikes
from notifications.sms.fit import LongTexts, OnLong, TooLong, fit
from notifications.sms.kinds import Kind
from notifications.sms.numbers import SENDABLE, Policy
from providers.messages import Channel


def policy_of(client: Client) -> Policy:
    """Which numbers a client may send SMS to."""
    kinds = frozenset(map(Kind, client.sms_kinds)) if client.sms_kinds else SENDABLE
    return Policy(kinds, frozenset(client.sms_countries))


def number_errors(steps: Steps, recipient: Mapping[str, str], policy: Policy) -> list[FieldError]:
    """Whether an SMS may go to the number that a recipient has, if the steps would send one there."""
    number = recipient.get(Channel.SMS)
    if number is None or sms_steps(steps) == 0:
        return []
    try:
        policy.check(number)
    except InvalidAddress as error:
        return [FieldError("to.sms", error.reason, error.accepted)]
    return []


def sms_steps(steps: Steps) -> int:
    """How many of the steps send an SMS."""
    return sum(Channel.SMS in channels_of(step) for step in steps)


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

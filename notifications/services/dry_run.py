"""Dry run: what a request would come to, stored nowhere and sent to nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from notifications import selectors
from notifications.accounts import Accounts
from notifications.addresses import mask
from notifications.services.accept import what_it_says
from notifications.services.request import Refused, read, time_errors
from notifications.services.route import explain
from notifications.services.terms import incident_errors
from notifications.sms.segments import measure, why
from providers.messages import Channel


@dataclass(frozen=True, slots=True)
class DryStep:
    """A step as it would be carried out now. `account` "" where nobody would send it; the rest is of an SMS only."""

    channel: str
    address: str  # masked, "" where the request has none
    country: str
    account: str
    encoding: str = ""  # gsm7 or ucs2
    segments: int = 0
    not_in_gsm7: tuple[str, ...] = ()  # the characters that make it ucs2, each where it stands first


def dry_run(
    fields: Mapping[str, Any], *, client_name: str, now: datetime, accounts: Accounts
) -> tuple[str, list[DryStep]]:
    """The route that a request would take, and its steps. Raises Refused for what would be refused."""
    request = read(fields)
    if errors := [*time_errors(request, now), *incident_errors(request)]:
        raise Refused(errors)
    said = what_it_says(request, selectors.client_named(client_name))
    return said.route, [_step(step["channel"], said.recipient, said.content, accounts) for step in said.steps]


def _step(channel: str, recipient: Mapping[str, str], content: Mapping[str, Any], accounts: Accounts) -> DryStep:
    address = recipient.get(channel)
    if address is None:
        return DryStep(channel, "", "", "")
    explained = explain(address, accounts.all(), region=None)
    account = next((row.slug for row in explained.accounts if row.rank == 1), "")
    step = DryStep(channel, mask(address), explained.country, account)
    return _measured(step, content[channel]["text"]) if channel == Channel.SMS else step


def _measured(step: DryStep, text: str) -> DryStep:
    measured = measure(text)
    foreign = tuple(map(str, why(text)))
    return DryStep(
        step.channel, step.address, step.country, step.account, measured.encoding, measured.segments, foreign
    )

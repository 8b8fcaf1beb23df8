"""Dry run: what a request would come to, stored nowhere and sent to nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from notifications import selectors
from notifications.accounts import Accounts
from notifications.addresses import mask
from notifications.services.accept import what_it_says
from notifications.services.request import Refused, read, time_errors
from notifications.services.route import explain
from notifications.services.sms_hourly import check, sms_to
from notifications.services.steps import parts_of
from notifications.services.terms import incident_errors
from notifications.sms.segments import measure, why
from providers.messages import Channel


@dataclass(frozen=True, slots=True)
class DryStep:
    """A message as it would be sent now. `account` "" where nobody would send it; encoding and SMS are of an SMS only.

    Those of one `step`, counted from 1, go at once.

    `price` is what it would cost through that account, None where its price for the country is not known.
    """

    step: int
    channel: str
    address: str  # masked, "" where the request has none
    country: str
    account: str
    encoding: str = ""  # gsm7 or ucs2
    segments: int = 0
    not_in_gsm7: tuple[str, ...] = ()  # the characters that make it ucs2, each where it stands first
    price: str | None = None


def dry_run(
    fields: Mapping[str, Any], *, client_name: str, now: datetime, accounts: Accounts
) -> tuple[str, list[DryStep]]:
    """The route that a request would take, and its steps. Raises Refused for what would be refused."""
    request = read(fields)
    if errors := [*time_errors(request, now), *incident_errors(request)]:
        raise Refused(errors)
    client = selectors.client_named(client_name)
    said = what_it_says(request, client, now)
    if client.sms_hourly:
        check(client, sms_to(said.steps, said.recipient))
    return said.route, [
        _step(number, channel, address, said.content, accounts)
        for number, step in enumerate(said.steps, 1)
        for channel, address in parts_of(step, said.recipient)
    ]


def _step(number: int, channel: str, address: str, content: Mapping[str, Any], accounts: Accounts) -> DryStep:
    if not address:
        return DryStep(number, channel, "", "", "")
    explained = explain(address, accounts.all(), region=None, channel=Channel(channel))
    first = next((row for row in explained.accounts if row.rank == 1), None)
    step = DryStep(number, channel, mask(address), explained.country, first.slug if first else "")
    if channel == Channel.SMS:
        step = _measured(step, content[channel]["text"])
    return replace(step, price=str(first.price * (step.segments or 1))) if first and first.price is not None else step


def _measured(step: DryStep, text: str) -> DryStep:
    measured = measure(text)
    foreign = tuple(map(str, why(text)))
    return replace(step, encoding=measured.encoding, segments=measured.segments, not_in_gsm7=foreign)

"""Provider accounts: complete, in use, and enough of them for the routes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from notifications.accounts import webhook_url
from notifications.models import Cause, ProviderAccount, Route
from notifications.services.doctor.findings import Finding, listed
from notifications.services.doctor.public_url import host_of, is_loopback, is_private
from providers.base import Provider
from providers.errors import ProviderError, SenderNotAllowed, SenderNotRegistered
from providers.messages import Ability, Account, AttemptRef, Channel, HttpRequest, OutgoingMessage
from providers.registry import PROVIDERS

WITHOUT_ACCOUNTS = {Channel.PUSH, Channel.WEBHOOK}  # their routes are there for those who want them
OURS = {"look_up_delay_seconds", "may_read"}  # settings of any account, whatever its provider
SAMPLES = {
    Channel.SMS: OutgoingMessage(Channel.SMS, "+15005550006", "text"),
    Channel.EMAIL: OutgoingMessage(Channel.EMAIL, "somebody@example.org", "text", subject="subject"),
    # Of a browser that nobody has (RFC 8291, appendix A): to the other services it is a token as good as any.
    Channel.PUSH: OutgoingMessage(
        Channel.PUSH,
        'webpush:{"endpoint":"https://push.example.net/1","auth":"BTBZMqHH6r4Tts7J_aSIgg","p256dh":'
        '"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}',
        "text",
    ),
}


@dataclass(frozen=True)
class Case:
    """An account under examination. `credentials` None: no key opens them."""

    row: ProviderAccount
    provider: type[Provider]
    credentials: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        return f"Account {self.row.slug}"

    def lacks(self) -> list[str]:
        """Names of credentials that must be there and are not."""
        credentials = self.credentials or {}
        return [name for name in self.provider.credential_names if not credentials.get(name)]


def findings() -> Iterator[Finding]:
    """What is wrong with accounts, and with routes for want of accounts."""
    rows = list(ProviderAccount.objects.defer("credentials").order_by("slug"))
    for row in rows:
        yield from _account(row)
    yield from _channels_of_routes(rows)


def _account(row: ProviderAccount) -> Iterator[Finding]:
    provider = PROVIDERS.get(row.provider)
    if provider is None:
        yield Finding(
            "E060",
            f"Account {row.slug} is for {row.provider!r}, which is no provider: it is ignored.",
            f"Use one of {listed(PROVIDERS)}.",
        )
        return
    case = Case(row, provider, credentials_of(row))
    for judge in JUDGES:
        yield from judge(case)


def credentials_of(row: ProviderAccount) -> Mapping[str, Any] | None:
    """An account's credentials; None where no key opens them."""
    try:
        stored = ProviderAccount.objects.values_list("credentials", flat=True).get(id=row.id)
    except ImproperlyConfigured:
        return None
    return stored if isinstance(stored, dict) else {}


def _credentials_open(case: Case) -> Iterator[Finding]:
    if case.credentials is None:
        yield Finding(
            "E062",
            f"{case.name}: no key of CREDENTIAL_KEYS opens its credentials.",
            "Add the key they were stored under to CREDENTIAL_KEYS, or enter them again in the admin.",
        )


def _credentials_complete(case: Case) -> Iterator[Finding]:
    if case.credentials is None:
        return
    for_webhooks = [name for name in case.lacks() if name.startswith("webhook_")]
    for_sending = [name for name in case.lacks() if name not in for_webhooks]
    if for_sending:
        yield Finding(
            "E063", f"{case.name} lacks {listed(for_sending)}: it cannot send.", "Enter its credentials in the admin."
        )
    if for_webhooks:
        yield Finding(
            "E064",
            f"{case.name} lacks {listed(for_webhooks)}: every receipt is refused.",
            f"Choose a value, and enter it in the admin and at {case.row.provider}.",
        )


def _sends_its_channels(case: Case) -> Iterator[Finding]:
    if foreign := sorted(set(case.row.channels) - set(case.provider.channels)):
        yield Finding(
            "E061",
            f"{case.name} is to send {listed(foreign)}, which {case.row.provider} does not.",
            f"Give it channels among {listed(sorted(case.provider.channels))}.",
        )


def _sender(case: Case) -> Iterator[Finding]:
    """Have the adapter describe a call that nobody makes."""
    if case.credentials is None or case.lacks() or not case.row.is_on:
        return
    account = Account(case.row.slug, case.credentials, case.row.settings, case.row.base_url or None)
    for channel in sorted(set(case.row.channels) & set(case.provider.channels) & set(SAMPLES)):
        try:
            _describe(case.provider(account), SAMPLES[Channel(channel)])
        except SenderNotRegistered:
            yield from _senders_by_country(case)
        except SenderNotAllowed as error:
            names = [name for name in case.provider.setting_names if name in ("from", "messaging_service_sid")]
            yield Finding("E065", f"{case.name} has no sender: {error}.", f"Set {' or '.join(names)} in its settings.")
        except ProviderError as error:
            yield Finding("E065", f"{case.name} cannot send {channel}: {type(error).__name__}.", "See its settings.")


def _describe(provider: Provider, message: OutgoingMessage) -> None:
    """Describe the call that sends, and have it signed. Raises ProviderError."""
    request = provider.send_request(message, AttemptRef("doctor-1"))
    if isinstance(request, HttpRequest):
        provider.authorize(request, timezone.now())
    if provider.wants_token:
        provider.token_request(timezone.now())


def _senders_by_country(case: Case) -> Iterator[Finding]:
    """It has no sender but those that it names by country."""
    senders = case.row.settings["senders"]
    without = sorted(set(case.row.countries) - set(senders))
    if without or not case.row.countries:
        others = listed(without) if without else f"any country but {listed(sorted(senders))}"
        yield Finding(
            "W073",
            f"{case.name} may be chosen for {others}, where it has no sender.",
            "Name one in its settings, or limit its countries to those that have one.",
        )


def _known_settings(case: Case) -> Iterator[Finding]:
    if unknown := sorted(set(case.row.settings) - set(case.provider.setting_names) - OURS):
        yield Finding(
            "W066",
            f"{case.name} has settings that {case.row.provider} does not know: {listed(unknown)}.",
            f"It knows {listed(sorted({*case.provider.setting_names, *OURS}))}.",
        )


def _opened(case: Case) -> Iterator[Finding]:
    if case.row.is_on and case.row.opened_at:
        yield Finding(
            "W068",
            f"{case.name} has been out of use since {case.row.opened_at:%Y-%m-%d %H:%M} UTC: {case.row.opened_reason}.",
            "Mend it at the provider; it is tried again by itself, or at once by the admin's action on it.",
        )


def _resting(case: Case) -> Iterator[Finding]:
    """What a person can mend; calls that fail mend themselves."""
    for breaker in case.row.breakers.exclude(cause=Cause.CALLS).order_by("country") if case.row.is_on else ():
        there = f" in {breaker.country}" if breaker.country else ""
        seen = f": {breaker.detail.rstrip('.')}" if breaker.detail else ""
        yield Finding(
            "W072",
            f"{case.name} has rested{there} since {breaker.opened_at:%Y-%m-%d %H:%M} UTC{seen}.",
            "Mend it at the provider; it is tried again by itself, or at once by the admin's action on its breaker.",
        )


def _receipts(case: Case) -> Iterator[Finding]:
    ours, theirs = host_of(settings.PUBLIC_URL), host_of(case.row.base_url or case.provider.default_base_url)
    if Ability.RECEIPTS in case.provider.abilities and is_private(ours) and not is_loopback(theirs) and case.row.is_on:
        yield Finding(
            "W067",
            f"{case.name}: {theirs} cannot reach PUBLIC_URL, whose host is {ours or 'missing'}; no receipts will come.",
            "Set PUBLIC_URL to an address on the internet, or let the account's base URL point to `manage.py sandbox`.",
        )


def _callback_url(case: Case) -> Iterator[Finding]:
    length, most = len(webhook_url(case.row)), case.provider.callback_url_characters
    if most is not None and length > most and case.row.is_on:
        yield Finding(
            "E074",
            f"{case.name}: the address for its reports has {length} characters, {case.row.provider} takes {most}:"
            " it cannot send.",
            "Give the account a shorter slug, or PUBLIC_URL a shorter host.",
        )


JUDGES = (
    _credentials_open,
    _credentials_complete,
    _sends_its_channels,
    _sender,
    _known_settings,
    _opened,
    _resting,
    _receipts,
    _callback_url,
)


def _channels_of_routes(rows: list[ProviderAccount]) -> Iterator[Finding]:
    able = [row for row in rows if row.is_on and row.provider in PROVIDERS]
    for channel, routes in _routes_by_channel().items():
        of_channel = [row for row in able if channel in row.channels]
        users = f"route {listed(routes)}" if len(routes) == 1 else f"routes {listed(routes)}"
        if not of_channel and channel not in WITHOUT_ACCOUNTS:
            yield Finding(
                "W069",
                f"No account that is on sends {channel}, as needed by {users}.",
                "Add one in the admin, under Provider accounts; `manage.py sandbox` makes some to try with.",
            )
        elif of_channel and all(row.opened_at for row in of_channel):
            yield Finding(
                "E069",
                f"Every account that sends {channel} is out of use, and so is {channel} in {users}.",
                "Mend one, or add another.",
            )


def _routes_by_channel() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, steps in Route.objects.order_by("name").values_list("name", "steps"):
        for channel in _channels(steps):
            found.setdefault(channel, []).append(name)
    return found


def _channels(steps: Any) -> list[str]:
    """The channels of a route's steps, each once; what is no step is another check's to say."""
    named = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    channels = [step.get("channels", step.get("channel")) for step in named]
    used = [channel for given in channels for channel in (given if isinstance(given, list) else [given])]
    return [channel.value for channel in Channel if channel in used]

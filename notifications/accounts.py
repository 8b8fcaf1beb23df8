"""Provider accounts as a process sees them: read every few seconds, connected once, opened and closed in the database."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.conf import settings

from notifications.models import Breaker, ProviderAccount
from notifications.numbers import numbers
from notifications.recent import Recent
from notifications.redaction import redactor
from notifications.sql import accounts as sql
from providers.base import Provider
from providers.messages import Ability, Account
from providers.registry import PROVIDERS, connect

log = structlog.get_logger(__name__)

# What an account cannot do whose credentials only send: its setting `may_read` is false.
READING = frozenset({Ability.FIND_BY_REFERENCE, Ability.FIND_BY_RECIPIENT, Ability.STATUS, Ability.LIST_STATUSES})


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """An account with its adapter."""

    id: int
    slug: str
    is_on: bool
    channels: frozenset[str]
    countries: frozenset[str]
    denied_countries: frozenset[str]
    priority: int
    weight: int
    opened_at: datetime | None
    opened_until: datetime | None
    opened_reason: str
    look_up_delay_seconds: float
    provider: Provider
    abilities: frozenset[Ability]
    breakers: Mapping[str, datetime] = field(default_factory=dict)  # until when, by country
    webhook_secret: str = ""  # in the address where reports arrive that nobody signs

    def can(self, *abilities: Ability) -> bool:
        """Whether it has any of these abilities."""
        return not self.abilities.isdisjoint(abilities)


class Accounts:
    """All accounts, as they were a few seconds ago at most."""

    def __init__(self) -> None:
        self._recent = Recent(_read)
        self._failures: Counter[tuple[int, str]] = Counter()  # in a row, by account and country

    def forget(self) -> None:
        """Read afresh next time."""
        self._recent.forget()

    def get(self, account_id: int | None) -> ConnectedAccount | None:
        """One account, on or off."""
        return self._recent.get().get(account_id) if account_id is not None else None

    def by_slug(self, slug: str) -> ConnectedAccount | None:
        """The account with a webhook address, on or off."""
        return next((account for account in self._recent.get().values() if account.slug == slug), None)

    def all(self) -> list[ConnectedAccount]:
        """Every account, on or off."""
        return list(self._recent.get().values())

    def usable(self, country: str) -> list[ConnectedAccount]:
        """Accounts that may send to a country now: on, not opened, and their provider not failing there."""
        return [account for account in self._working() if country not in account.breakers]

    def rested(self, now: datetime) -> list[ConnectedAccount]:
        """Opened accounts whose rest is over: whoever takes the probe may try one with one message now."""
        return [
            account
            for account in self._recent.get().values()
            if account.is_on and account.opened_until is not None and account.opened_until <= now
        ]

    def recovering(self, country: str, now: datetime) -> list[ConnectedAccount]:
        """Accounts whose provider failed in a country a while ago: whoever takes the probe may try it with one message."""
        return [account for account in self._working() if account.breakers and account.breakers.get(country, now) < now]

    def resting(self, country: str) -> list[ConnectedAccount]:
        """Accounts that will be tried again by themselves in a country because only their provider fails there."""
        return [account for account in self._working() if country in account.breakers]

    def _working(self) -> list[ConnectedAccount]:
        return [account for account in self._recent.get().values() if account.is_on and account.opened_at is None]

    def take_probe(self, account: ConnectedAccount) -> bool:
        """Whether we, and nobody else, may try a rested account with one message now."""
        self.forget()
        return sql.take_probe(account.id, numbers().account_open_seconds)

    def take_breaker_probe(self, account: ConnectedAccount, country: str) -> bool:
        """Whether we, and nobody else, may try a country again with one message now."""
        self.forget()
        return sql.take_breaker_probe(account.id, country, numbers().trouble_seconds)

    def open(self, account: ConnectedAccount, reason: str) -> None:
        """Stop sending through an account until an operator mends it or a probe succeeds."""
        log.error("account opened", account=account.slug, reason=reason)
        sql.open_account(account.id, reason, numbers().account_open_seconds)
        self.forget()

    def note_failure(self, account: ConnectedAccount, country: str) -> None:
        """Count a call that the provider failed: with so many in a row, the account rests for a while in that country."""
        self._failures[account.id, country] += 1
        if self._failures[account.id, country] >= numbers().failures_in_a_row and country not in account.breakers:
            log.error("provider in trouble", account=account.slug, country=country)
            sql.open_breaker(account.id, country, numbers().trouble_seconds)
            self.forget()

    def note_answer(self, account: ConnectedAccount, country: str, *, is_yes: bool) -> None:
        """Note that the provider does its work there, whatever it said about the message; a yes mends a fault of ours too."""
        self._failures.pop((account.id, country), None)
        if country in account.breakers:
            log.info("provider works again", account=account.slug, country=country)
            sql.close_breaker(account.id, country)
            self.forget()
        if is_yes:
            self.close(account)

    def close(self, account: ConnectedAccount) -> None:
        """Send through an account again, since it works."""
        if account.opened_at is not None:
            log.info("account closed", account=account.slug)
            sql.close_account(account.id)
            self.forget()


def _read() -> dict[int, ConnectedAccount]:
    rows = list(ProviderAccount.objects.order_by("id"))
    breakers: dict[int, dict[str, datetime]] = {}
    for breaker in Breaker.objects.all():
        breakers.setdefault(breaker.account_id, {})[breaker.country] = breaker.opened_until
    for row in rows:
        redactor.learn_credentials(row.credentials)  # before anything can log them
    return {row.id: connected(row, breakers.get(row.id, {})) for row in rows if row.provider in PROVIDERS}


def webhook_url(row: ProviderAccount) -> str:
    """Where an account's reports arrive. With a secret in it where the provider signs nothing."""
    secret = _webhook_secret(row)
    return f"{settings.PUBLIC_URL}/webhooks/{row.slug}/" + (f"{secret}/" if secret else "")


def _webhook_secret(row: ProviderAccount) -> str:
    """Guards an address that anybody could call. The same always, and nothing that anybody has to set; "" if all is signed."""
    if row.provider in PROVIDERS and not PROVIDERS[row.provider].signs_webhooks:
        return hmac.digest(settings.ADDRESS_KEY, f"webhook:{row.slug}".encode(), "sha256").hex()[:32]
    return ""


def connected(row: ProviderAccount, breakers: Mapping[str, datetime] | None = None) -> ConnectedAccount:
    """An account row with its adapter. Raises KeyError for a provider that is not in the registry."""
    account = Account(
        slug=row.slug,
        credentials=row.credentials,
        settings=row.settings,
        base_url=row.base_url or None,
        callback_url=webhook_url(row),
    )
    provider = connect(row.provider, account)
    return ConnectedAccount(
        id=row.id,
        slug=row.slug,
        is_on=row.is_on,
        channels=frozenset(row.channels),
        countries=frozenset(row.countries),
        denied_countries=frozenset(row.denied_countries),
        priority=row.priority,
        weight=row.weight,
        opened_at=row.opened_at,
        opened_until=row.opened_until,
        opened_reason=row.opened_reason,
        breakers=breakers or {},
        webhook_secret=_webhook_secret(row),
        look_up_delay_seconds=float(row.settings.get("look_up_delay_seconds", provider.look_up_delay_seconds)),
        provider=provider,
        abilities=provider.abilities if row.settings.get("may_read", True) else provider.abilities - READING,
    )


accounts = Accounts()

"""Provider accounts as a process sees them: read every few seconds, connected once, opened and closed in the database."""

from __future__ import annotations

import hmac
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from notifications.doubts import Doubts
from notifications.failing import Failing
from notifications.logins import Logins
from notifications.models import Cause, ProviderAccount
from notifications.numbers import numbers
from notifications.prices import InvalidPrices, price_in, read_prices
from notifications.rates import Rates, rates_of
from notifications.recent import Recent
from notifications.redaction import redactor
from notifications.resting import MENDED_BY_A_YES, MENDED_BY_ANY_ANSWER, Rest, read_rests
from notifications.sql import accounts as sql
from notifications.tempo import Tempo
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
    reach: str  # the addresses it can send to, of channels where that depends on the provider; "" of the others
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
    breakers: Mapping[str, Rest] = field(default_factory=dict)  # by country
    prices: Mapping[str, Decimal] = field(default_factory=dict)  # of a message, or of each SMS of one; by country
    webhook_secret: str = ""  # in the address where reports arrive that nobody signs
    rates: Rates | None = None
    is_failing: bool | None = None  # of an endpoint: no call has succeeded since one failed; None of others
    inbound_client: str = ""  # who hears of the texts that come in; "": nobody

    def price(self, country: str) -> Decimal | None:
        """What a message to a country costs, or each SMS of one; None where that is not known."""
        return price_in(self.prices, country)

    def can(self, *abilities: Ability) -> bool:
        """Whether it has any of these abilities."""
        return not self.abilities.isdisjoint(abilities)


class Accounts:
    """All accounts, as they were a few seconds ago at most."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.tempo = Tempo()
        self.logins = Logins()
        self._recent = Recent(_read)
        self._failing: defaultdict[tuple[int, str], Failing] = defaultdict(Failing)  # by account and country
        self._doubts: dict[int, tuple[Account, Doubts[Any]]] = {}  # by account, as it was set up then

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

    def have_rates(self) -> bool:
        """Whether any account has, so that messages may wait for their turn."""
        return any(account.rates for account in self._recent.get().values())

    def usable(self, country: str) -> list[ConnectedAccount]:
        """Accounts that may send to a country now: on, not opened, and not resting there."""
        return [account for account in self._working() if country not in account.breakers]

    def last_resorts(self, country: str) -> list[ConnectedAccount]:
        """Accounts that are better than none: what they take there does not arrive, as far as their receipts tell."""
        return [
            account
            for account in self._working()
            if country in account.breakers and account.breakers[country].is_last_resort
        ]

    def rested(self, now: datetime) -> list[ConnectedAccount]:
        """Opened accounts whose rest is over: whoever takes the probe may try one with one message now."""
        return [
            account
            for account in self._recent.get().values()
            if account.is_on and account.opened_until is not None and account.opened_until <= now
        ]

    def recovering(self, country: str, now: datetime) -> list[ConnectedAccount]:
        """Accounts whose provider failed in a country a while ago: whoever takes the probe may try it with one message."""
        return [
            account
            for account in self._working()
            if country in account.breakers and account.breakers[country].until < now
        ]

    def resting(self, country: str) -> list[ConnectedAccount]:
        """Accounts that rest in a country for no fault of ours, so that they are worth waiting for."""
        return [
            account
            for account in self._working()
            if country in account.breakers and account.breakers[country].is_worth_waiting
        ]

    def _working(self) -> list[ConnectedAccount]:
        return [account for account in self._recent.get().values() if account.is_on and account.opened_at is None]

    def take_probe(self, account: ConnectedAccount) -> bool:
        """Whether we, and nobody else, may try a rested account with one message now."""
        self.forget()
        return sql.take_probe(account.id, numbers().account_open_seconds)

    def take_breaker_probe(self, account: ConnectedAccount, country: str) -> bool:
        """Whether we, and nobody else, may try a country again with one message now."""
        self.forget()
        return sql.take_breaker_probe(account.id, country, account.breakers[country].seconds)

    def open(self, account: ConnectedAccount, reason: str) -> None:
        """Stop sending through an account until an operator mends it or a probe succeeds. Alarms once."""
        if sql.open_account(account.id, reason, numbers().account_open_seconds):
            log.error("account opened", account=account.slug, reason=reason)
        self.forget()

    def open_sender(
        self, account: ConnectedAccount, country: str, advice: str, cause: Cause = Cause.REGISTRATION
    ) -> None:
        """Stop sending to a country through an account until its sender may be used there. Alarms once.

        Told of by reports, its cause is `RECEIPTS`: that the next message is taken, as all were, mends nothing.
        """
        if sql.open_sender(account.id, country, cause, advice, numbers().account_open_seconds):
            log.error("sender may not be used there", account=account.slug, country=country, advice=advice)
        if country not in account.breakers:
            self.forget()

    def open_silent(self, account: ConnectedAccount, country: str, detail: str) -> None:
        """Send to a country through an account only where no other can, until a message arrives there. Alarms once."""
        if sql.open_silent(account.id, country, detail, numbers().account_open_seconds):
            log.error("messages do not arrive there", account=account.slug, country=country, detail=detail)
            self.forget()

    def note_arrivals(self, message_ids: Iterable[UUID]) -> None:
        """Note messages that have arrived: they end the silence of the accounts that sent them since it began."""
        for account_id, country in sql.close_arrived(message_ids, judged_seconds=numbers().judged_seconds):
            account = self.get(account_id)
            log.info("messages arrive again", account=account.slug if account else account_id, country=country)
            self.forget()

    def note_failure(self, account: ConnectedAccount, country: str) -> None:
        """Count a call that the provider failed: with too many, the account rests for a while in that country."""
        is_in_trouble = self._failing[account.id, country].failed(self._monotonic())
        rest = account.breakers.get(country)
        if is_in_trouble and (rest is None or rest.is_last_resort):
            log.error("provider in trouble", account=account.slug, country=country)
            sql.open_breaker(account.id, country, numbers().trouble_seconds)
            self.forget()

    def note_answer(self, account: ConnectedAccount, country: str, *, is_yes: bool) -> None:
        """Note that the provider does its work there, whatever it said about the message; a yes mends a fault of ours too."""
        self._failing[account.id, country].answered(self._monotonic())
        if country in account.breakers:
            self._mend(account, country, MENDED_BY_A_YES if is_yes else MENDED_BY_ANY_ANSWER)
        if is_yes:
            self.close(account)

    def doubts(self, account: ConnectedAccount) -> Doubts[Any]:
        """What is known of an account's doubtful refusals since it was set up as it is now."""
        setup = account.provider.account
        known = self._doubts.get(account.id)
        if known is None or (known[0] is not setup and known[0] != setup):
            known = self._doubts[account.id] = (setup, Doubts())
        return known[1]

    def _mend(self, account: ConnectedAccount, country: str, causes: frozenset[Cause]) -> None:
        rest = account.breakers[country]
        if rest.cause in causes:
            log.info("provider works again", account=account.slug, country=country)
            sql.close_breaker(account.id, country, causes, judged_seconds=numbers().judged_seconds)
            self.forget()
        elif rest.calls_fail:
            sql.note_calls_work(account.id, country)
            self.forget()

    def close(self, account: ConnectedAccount) -> None:
        """Send through an account again, since it works."""
        if account.opened_at is not None:
            log.info("account closed", account=account.slug)
            sql.close_account(account.id)
            self.forget()


def _read() -> dict[int, ConnectedAccount]:
    rows = list(ProviderAccount.objects.select_related("endpoint").order_by("id"))
    breakers = read_rests()
    for row in rows:
        redactor.learn_credentials(row.credentials)  # before anything can log them
    return {row.id: connected(row, breakers.get(row.id, {})) for row in rows if row.provider in PROVIDERS}


def _prices(row: ProviderAccount) -> dict[str, Decimal]:
    """What cannot be read is no price: messages go all the same."""
    try:
        return read_prices(row.prices)
    except InvalidPrices as error:
        log.warning("prices cannot be read", account=row.slug, error=str(error))
        return {}


def _is_failing(row: ProviderAccount) -> bool | None:
    endpoint = getattr(row, "endpoint", None)
    return None if endpoint is None else endpoint.failing_since is not None


def webhook_url(row: ProviderAccount) -> str:
    """Where an account's reports arrive. With a secret in it where the provider signs nothing."""
    secret = _webhook_secret(row)
    return f"{settings.PUBLIC_URL}/webhooks/{row.slug}/" + (f"{secret}/" if secret else "")


def _webhook_secret(row: ProviderAccount) -> str:
    """Guards an address that anybody could call. The same always, and nothing that anybody has to set; "" if all is signed."""
    if row.provider in PROVIDERS and not PROVIDERS[row.provider].signs_webhooks:
        return hmac.digest(settings.ADDRESS_KEY, f"webhook:{row.slug}".encode(), "sha256").hex()[:32]
    return ""


def connected(row: ProviderAccount, breakers: Mapping[str, Rest] | None = None) -> ConnectedAccount:
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
        reach=provider.reach,
        countries=frozenset(row.countries),
        denied_countries=frozenset(row.denied_countries),
        priority=row.priority,
        weight=row.weight,
        opened_at=row.opened_at,
        opened_until=row.opened_until,
        opened_reason=row.opened_reason,
        breakers=breakers or {},
        prices=_prices(row),
        webhook_secret=_webhook_secret(row),
        rates=rates_of(row),
        is_failing=_is_failing(row),
        inbound_client=str(row.settings.get("inbound_client") or ""),
        look_up_delay_seconds=float(row.settings.get("look_up_delay_seconds", provider.look_up_delay_seconds)),
        provider=provider,
        abilities=provider.abilities if row.settings.get("may_read", True) else provider.abilities - READING,
    )


accounts = Accounts()

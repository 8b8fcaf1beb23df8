"""Which account sends a message of this batch."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from random import Random

from notifications import routing
from notifications.accounts import Accounts, ConnectedAccount
from notifications.models import Cause
from notifications.numbers import numbers
from notifications.sql.claim import Claimed
from providers.messages import Channel


class Chooser:
    """Accounts for one batch; a probe is taken for a message that can use it, and used for that one alone."""

    def __init__(self, accounts: Accounts, random: Random, now: datetime) -> None:
        self.accounts = accounts
        self.random = random
        self.now = now
        self._rested = accounts.rested(now)
        self._is_fresh = False  # accounts were read for this batch
        self._asked: set[tuple[int, str]] = set()  # whose probe somebody has: account and country

    def choose(self, row: Claimed) -> ConnectedAccount | None:
        """The account whose turn it waited for, else a probe of one that rested, else one in use."""
        if keeper := self._keeper(row):
            return keeper
        while rested := self._pick([one for one in self._rested if row.country not in one.breakers], row):
            self._rested.remove(rested)
            if self.accounts.take_probe(rested):
                return rested
        while recovering := self._pick(self._recovering(row.country), row):
            self._asked.add((recovering.id, row.country))
            if self.accounts.take_breaker_probe(recovering, row.country):
                return recovering
        usable = self._pick(self.accounts.usable(row.country), row)
        return usable or self._pick(self.accounts.last_resorts(row.country), row)

    def another(self, row: Claimed, than: ConnectedAccount) -> ConnectedAccount | None:
        """Another account in use that could send this."""
        return self._pick([account for account in self.accounts.usable(row.country) if account.id != than.id], row)

    def has_one(self, row: Claimed) -> bool:
        """Whether an account in use could send this, as things are now."""
        candidates = [*self.accounts.usable(row.country), *self.accounts.last_resorts(row.country)]
        return self._pick(candidates, row) is not None

    def is_endpoint_off(self, row: Claimed) -> bool:
        """Whether this is for an endpoint that is switched off, or opened until it is."""
        if row.channel != Channel.WEBHOOK:
            return False
        endpoint = self.accounts.by_slug(row.reach)
        if endpoint is not None and not endpoint.is_on and not self._is_fresh:
            self.accounts.forget()  # switched on a moment ago by another process, it would get this an hour late
            self._is_fresh = True
            endpoint = self.accounts.by_slug(row.reach)
        return endpoint is not None and not endpoint.is_on

    def may_return(self, row: Claimed) -> bool:
        """Whether an account that could send this rests there, and is worth waiting for."""
        return self._resting(row) is not None

    def is_up_to_a_person(self, row: Claimed) -> bool:
        """Whether all that could send it again is somebody's decision, for which no next step should wait."""
        others = [
            account
            for account in self.accounts.resting(row.country)
            if account.breakers[row.country].cause is not Cause.OPERATOR
        ]
        return self._pick(others, row) is None

    def rest_seconds(self, row: Claimed) -> float:
        """How long to wait for it before looking again."""
        resting = self._resting(row)
        return resting.breakers[row.country].wait_seconds(self.now) if resting else numbers().trouble_seconds

    def _resting(self, row: Claimed) -> ConnectedAccount | None:
        return self._pick(self.accounts.resting(row.country), row)

    def _keeper(self, row: Claimed) -> ConnectedAccount | None:
        """The account that keeps a place for it, while that is good."""
        if row.turn_account is None or row.turn_at is None:
            return None
        usable = self.accounts.usable(row.country)
        may_send = usable if self._pick(usable, row) else self.accounts.last_resorts(row.country)
        keeper = next((account for account in may_send if account.id == row.turn_account), None)
        if keeper is None or keeper.rates is None or not keeper.rates.is_good(row.turn_at, self.now):
            return None
        return self._pick([keeper], row)

    def _recovering(self, country: str) -> list[ConnectedAccount]:
        accounts = self.accounts.recovering(country, self.now)
        return [account for account in accounts if (account.id, country) not in self._asked]

    def _pick(self, candidates: Collection[ConnectedAccount], row: Claimed) -> ConnectedAccount | None:
        if row.perhaps_sent:  # never by a second provider
            return next((account for account in candidates if account.id == row.account_id), None)
        return routing.choose(
            candidates,
            channel=row.channel,
            country=row.country,
            reach=row.reach,
            tried=row.tried,
            random=self.random,
        )

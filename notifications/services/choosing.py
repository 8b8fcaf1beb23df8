"""Which account sends a message of this batch."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from random import Random

from notifications import routing
from notifications.accounts import Accounts, ConnectedAccount
from notifications.sql.claim import Claimed


class Chooser:
    """Accounts for one batch; a probe is taken for a message that can use it, and used for that one alone."""

    def __init__(self, accounts: Accounts, random: Random, now: datetime) -> None:
        self.accounts = accounts
        self.random = random
        self.now = now
        self._rested = accounts.rested(now)
        self._asked: set[tuple[int, str]] = set()  # whose probe somebody has: account and country

    def choose(self, row: Claimed) -> ConnectedAccount | None:
        while rested := self._pick(self._rested, row):
            self._rested.remove(rested)
            if self.accounts.take_probe(rested):
                return rested
        while recovering := self._pick(self._recovering(row.country), row):
            self._asked.add((recovering.id, row.country))
            if self.accounts.take_breaker_probe(recovering, row.country):
                return recovering
        return self._pick(self.accounts.usable(row.country), row)

    def may_return(self, row: Claimed) -> bool:
        """Whether an account that could send this rests only because its provider fails there."""
        return self._pick(self.accounts.resting(row.country), row) is not None

    def _recovering(self, country: str) -> list[ConnectedAccount]:
        accounts = self.accounts.recovering(country, self.now)
        return [account for account in accounts if (account.id, country) not in self._asked]

    def _pick(self, candidates: Collection[ConnectedAccount], row: Claimed) -> ConnectedAccount | None:
        if row.perhaps_sent:  # never by a second provider
            return next((account for account in candidates if account.id == row.account_id), None)
        return routing.choose(candidates, channel=row.channel, country=row.country, tried=row.tried, random=self.random)

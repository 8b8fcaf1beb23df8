"""Slots: calls that may take long are made beside the others, a few to each account, so that nobody waits for them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from notifications.accounts import ConnectedAccount
from notifications.numbers import numbers
from notifications.outbox import Batch, call_seconds
from notifications.services.calls import Planned
from notifications.tempo import Tempo

WAITING_ROUNDS = 4  # calls kept for each account, for each that it may have at once,
KEPT_SECONDS = 0.2  # or so many as it answers in this time
CONNECTIONS_LEFT = 4  # for the others: a quarter, at least one


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits for a slot."""

    batch: Batch
    planned: Planned

    @property
    def account(self) -> ConnectedAccount:
        return self.planned.account

    def is_in_time(self, monotonic: float) -> bool:
        """Whether its lease lasts for the call."""
        needed = call_seconds(self.planned.row.priority) + numbers().margin_seconds
        return monotonic < self.batch.claimed_at + numbers().lease_seconds - needed


class Slots:
    """The slots of one drain. Whatever goes in comes out once: to be called, or to be given back.

    Strangers take a few calls at once only. One that has not answered yet is called once to find out how it is. It and the slow
    ones have slots besides, half as many, of which the slow have half while quick ones wait: these lose none to them.
    """

    def __init__(self, concurrency: int, tempo: Tempo) -> None:
        self.busy = 0
        self._size = max(concurrency - max(concurrency // CONNECTIONS_LEFT, 1), 1)
        self._tempo = tempo
        self._busy_of: Counter[int] = Counter()
        self._strangers: set[int] = set()
        self._waiting: dict[int, deque[Waiting]] = {}  # whose turn is next comes first

    @property
    def is_idle(self) -> bool:
        return not self.busy and not self._waiting

    @property
    def are_full(self) -> bool:
        """Whether all are taken, and enough waits for them: what was claimed besides would only wait as well."""
        waiting = sum(len(calls) for id, calls in self._waiting.items() if not self._may_be_slow(id))
        return self.busy_with_quick >= self._size and waiting >= WAITING_ROUNDS * self._size

    @property
    def busy_with_quick(self) -> int:
        """How many are taken by the others."""
        return self.busy - self.busy_with_slow

    @property
    def busy_with_slow(self) -> int:
        """How many are taken by strangers that are slow, or may be."""
        return sum(count for id, count in self._busy_of.items() if count and self._may_be_slow(id))

    def is_for(self, account: ConnectedAccount) -> bool:
        """Whether an account's calls go through slots: it takes a few at once only, or is slow."""
        return account.provider.calls_at_once is not None or self._tempo.is_slow(account.id)

    def put(self, waiting: Waiting) -> bool:
        """Keep a call until a slot is free. False where too many wait for its account already."""
        account = waiting.account
        if account.provider.calls_at_once is not None:
            self._strangers.add(account.id)
        of_account = self._waiting.setdefault(account.id, deque())
        rounds = max(WAITING_ROUNDS, KEPT_SECONDS / self._tempo.seconds(account.id, unknown=KEPT_SECONDS))
        if len(of_account) >= rounds * self._at_once(account):
            return False
        of_account.append(waiting)
        return True

    def take(self) -> Iterator[Waiting]:
        """The calls to make now, one of each account in turn; their slots are theirs until `free`."""
        passed_over = 0
        while passed_over < len(self._waiting):
            account_id, waiting = next(iter(self._waiting.items()))
            del self._waiting[account_id]
            if not self._has_slot(waiting[0].account):
                self._waiting[account_id] = waiting
                passed_over += 1
                continue
            passed_over = 0
            taken = waiting.popleft()
            if waiting:
                self._waiting[account_id] = waiting
            self.hold([account_id])
            yield taken

    def seconds_for(self, account: ConnectedAccount, count: int) -> float:
        """How long so many calls of an account take after those that wait; nothing while nobody knows: it may be quick."""
        calls = count + len(self._waiting.get(account.id, ()))
        return calls * self._tempo.seconds(account.id, unknown=0.0) / self._at_once(account)

    def empty(self) -> list[Waiting]:
        """Take out all that waits."""
        waiting = [one for of_account in self._waiting.values() for one in of_account]
        self._waiting.clear()
        return waiting

    def hold(self, account_ids: Iterable[int]) -> None:
        """Take slots for calls to these accounts."""
        for account_id in account_ids:
            self.busy += 1
            self._busy_of[account_id] += 1

    def free(self, account_ids: Iterable[int]) -> None:
        """Give back the slots of calls that have been answered, or were not begun."""
        for account_id in account_ids:
            self.busy -= 1
            self._busy_of[account_id] -= 1

    def _has_slot(self, account: ConnectedAccount) -> bool:
        calls = self._busy_of[account.id]
        if calls >= self._at_once(account):
            return False
        if not self._may_be_slow(account.id):
            is_fair = not self._tempo.is_slow(account.id) or calls < self._share_of(account.id)
            return is_fair and self.busy_with_quick < self._size
        is_new = not self._tempo.is_known(account.id)
        if is_new and calls:
            return False
        share = 4 if not is_new and any(map(self._tempo.is_quick, self._waiting)) else 2
        return self.busy_with_slow < max(self._size // share, 1)

    def _share_of(self, account_id: int) -> int:
        """All slots while nobody else wants any, else an even share: in turn alone, the slowest would soon have all."""
        wanting = self._waiting.keys() | {id for id, count in self._busy_of.items() if count} | {account_id}
        return max(self._size // len(wanting), 1)

    def _at_once(self, account: ConnectedAccount) -> int:
        return min(account.provider.calls_at_once or self._size, self._size)

    def _may_be_slow(self, account_id: int) -> bool:
        return account_id in self._strangers and not self._tempo.is_quick(account_id)

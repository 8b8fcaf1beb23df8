"""The vendor's books: per account what was asked, what was taken, and what became of it."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.accounts import Pace, SandboxAccount
from providers.sandbox.faults import Faults
from providers.sandbox.roles import Role, Word


@dataclass(slots=True)
class Message:
    """A message that was taken. `content` is the vendor's own record of what was asked for.

    `status` and `error_code` are in the vendor's words. Times are seconds since 1970.
    """

    id: str
    to: str
    text: str  # what tells two messages to one recipient apart
    attempt: str | None  # our attempt id, as the vendor would see it
    role: Role
    content: Any
    status: str
    error_code: int | None = None
    number: int = 0  # ascending within the account
    taken_at: float = 0.0
    updated_at: float = 0.0
    sent_at: float | None = None
    reached: tuple[tuple[Word, float], ...] = ()  # what became of it, and when
    reported: tuple[tuple[str, float], ...] = ()  # which reports the product accepted, and when

    def as_json(self, account: str) -> dict[str, Any]:
        return {
            "account": account,
            "id": self.id,
            "to": self.to,
            "attempt": self.attempt,
            "role": self.role.name,
            "taken_at": _iso(self.taken_at),
            "status": self.status,
            "error_code": self.error_code,
            "reported": [{"status": word, "at": _iso(at)} for word, at in self.reported],
        }


class Ledger:
    """One account's books. Safe to use from several threads; a message is changed under the ledger's lock only."""

    def __init__(self, account: SandboxAccount, pace: Pace) -> None:
        self.account = account
        self.slug = account.slug
        self.faults = Faults()
        self.lock = threading.RLock()
        self._pace = pace
        self.clear()

    def clear(self) -> None:
        with self.lock:
            self.requests: Counter[str] = Counter()
            self.answers: Counter[str] = Counter()
            self.callbacks: Counter[str] = Counter()
            self.busy: Counter[str] = Counter()  # role "busy": how many 429 this recipient has had
            self.inactive: set[str] = set()  # addresses that bounced or complained
            self._messages: dict[str, Message] = {}
            self._in_order: list[Message] = []
            self._by_key: dict[tuple[str, str], list[Message]] = {}

    def count_request(self, kind: str) -> int:
        """Count a request. Returns its number among all of this account."""
        with self.lock:
            self.requests[kind] += 1
            return self.requests.total()

    def count_answer(self, outcome: str) -> None:
        with self.lock:
            self.answers[outcome] += 1

    def count_callback(self, outcome: str) -> None:
        with self.lock:
            self.callbacks[outcome] += 1

    def still_busy(self, recipient: str, times: int) -> bool:
        """Say 429 `times` times, then once not, and so on."""
        with self.lock:
            self.busy[recipient] = (self.busy[recipient] + 1) % (times + 1)
            return self.busy[recipient] != 0

    def add(self, message: Message, keys: Iterable[tuple[str, str]] = ()) -> None:
        """Enter a message, to be found under its recipient and further keys, e.g. ("metadata_attempt", "…-1")."""
        with self.lock:
            message.number = len(self._in_order)
            message.taken_at = message.updated_at = time.time()
            self._messages[message.id] = message
            self._in_order.append(message)
            for key in (("to", message.to.lower()), *keys):
                self._by_key.setdefault(key, []).append(message)

    def get(self, id: str) -> Message | None:
        """One message by the vendor's id: no lag, but nothing while look-ups are blind."""
        return None if self.faults.look_up_blind else self._messages.get(id)

    def newest_first(self, key: tuple[str, str] | None = None, *, before: str | None = None) -> Iterator[Message]:
        """What a list shows by now, optionally under one key and behind one id. Iterate under the lock."""
        if self.faults.look_up_blind:
            return
        lag = self.faults.look_up_lag_seconds
        newest = time.time() - (self._pace.look_up_lag if lag is None else lag)
        candidates = self._in_order if key is None else self._by_key.get(key, [])
        end = len(candidates)
        if before is not None:
            last = self._messages.get(before)
            end = 0 if last is None else bisect_left(candidates, last.number, key=lambda message: message.number)
        for index in range(end - 1, -1, -1):
            if candidates[index].taken_at <= newest:
                yield candidates[index]

    def all(self) -> Sequence[Message]:
        with self.lock:
            return list(self._in_order)


class Book:
    """All ledgers by slug, and how many requests were nobody's: wrong path, wrong credentials."""

    def __init__(self, accounts: Iterable[SandboxAccount], pace: Pace) -> None:
        self.ledgers: dict[str, Ledger] = {}
        for account in accounts:
            if account.slug in self.ledgers:
                raise ValueError(f"there are two accounts {account.slug!r}")
            self.ledgers[account.slug] = Ledger(account, pace)
        self._lock = threading.Lock()
        self.unknown_requests = 0

    def of(self, provider: str) -> list[Ledger]:
        return [ledger for ledger in self.ledgers.values() if ledger.account.provider == provider]

    def count_unknown(self) -> None:
        with self._lock:
            self.unknown_requests += 1

    def clear(self) -> None:
        for ledger in self.ledgers.values():
            ledger.faults = Faults()
            ledger.clear()
        self.unknown_requests = 0


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")

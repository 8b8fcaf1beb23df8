"""Waves: calls that begin together, and the answers to all that are under way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import notifications.sql.begin as begins
from notifications import outbox
from notifications.accounts import Accounts
from notifications.numbers import numbers
from notifications.outbox import Batch, WaveSize
from notifications.runtime import Runtime
from notifications.services.answers import Clerk
from notifications.services.bundles import bundles, each
from notifications.services.calls import Planned
from notifications.services.places import put_off
from notifications.services.record import insist
from notifications.services.slots import Slots, Waiting
from providers.errors import NotStarted
from providers.transport.base import Answer, Call

GATHER_SECONDS = 0.02  # for which answers of slots are gathered, unless half of the quick ones come in sooner
LOOK_AGAIN_AFTER_SECONDS = 0.05  # a begin that took longer may have waited, and its look may be from before


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """What one begin began. `has_slots`: nobody waits for its calls."""

    batch: Batch
    began_at: datetime
    has_slots: bool


class Waves:
    """The calls of one drain. Quick ones are waited for, the others have slots of their own."""

    def __init__(self, accounts: Accounts, clerk: Clerk, runtime: Runtime, *, ends_at: float) -> None:
        self.accounts = accounts
        self.runtime = runtime
        self.concurrency = min(numbers().send_concurrency, runtime.transport.concurrency)
        self.slots = Slots(self.concurrency, accounts.tempo)
        self.size = WaveSize(self._free_connections)
        self._clerk = clerk
        self._inbox = runtime.open_inbox()
        self._ends_at = ends_at

    @property
    def are_under_way(self) -> bool:
        """Whether any call is, or waits for a slot."""
        return bool(self._inbox.missing) or not self.slots.is_idle

    def begin(self, batch: Batch, wave: Sequence[Planned]) -> None:
        """Begin a wave while the last calls of the one before are under way, if connections come free in time."""
        self.collect(down_to=self.concurrency if self.size.is_quick else 0)
        self.collect(down_to=self._call(batch, wave, has_slots=False))

    def keep(self, batch: Batch, sends: Iterable[Planned]) -> None:
        """Have calls made as slots come free. What is too many for its account comes again in a moment."""
        too_many = [planned for planned in sends if not self.slots.put(Waiting(batch, planned))]
        by_wait: dict[float, list[Planned]] = {}
        ahead: Counter[int] = Counter()
        for planned in too_many:  # about when those before it have gone: a backlog is not looked at every second
            ahead[planned.account.id] += 1
            seconds = math.ceil(self.slots.seconds_for(planned.account, ahead[planned.account.id]))
            wait = min(max(seconds, numbers().put_off_seconds), numbers().longest_put_off_seconds)
            by_wait.setdefault(wait, []).append(planned)
        for wait, some in by_wait.items():
            put_off(some, batch, self.runtime, seconds=wait)
        self._fill_slots()

    def collect(self, *, down_to: int) -> None:
        """Record answers until so many of the quick calls are missing."""
        while self._quick_missing > down_to:
            self._record_some()

    def tend(self, *, wait_seconds: float) -> None:
        """Record what has come in, within `wait_seconds`, and begin what waits for a slot."""
        if self.slots.is_idle:
            return
        enough = min(max((self._inbox.missing - self.slots.busy_with_slow) // 2, 1), numbers().flush_count)
        answers = self._inbox.collect(seconds=GATHER_SECONDS, count=enough, wait_seconds=wait_seconds)
        if answers:
            self._record(answers)
        self._fill_slots()

    def finish(self) -> None:
        """Give back what waits for a slot, and record all answers: they are worth more, since a lease ends by itself."""
        try:
            self._give_back(self.slots.empty(), seconds=0.0)
        finally:
            try:
                while self._inbox.missing > 0:
                    self._record_some()
            finally:
                self._inbox.is_abandoned = True

    def collect_all(self) -> None:
        """Have all calls made and recorded, those too that wait for a slot."""
        while self.are_under_way:
            self._fill_slots()
            if self._inbox.missing > 0:
                self._record_some()

    def _record_some(self) -> None:
        self._record(self._inbox.collect(seconds=numbers().flush_seconds, count=numbers().flush_count))

    def _free_connections(self) -> int:
        """How many of a drain's connections no slot has."""
        return max(self.concurrency - self.slots.busy_with_quick, 1)

    @property
    def _quick_missing(self) -> int:
        return self._inbox.missing - self.slots.busy

    def _fill_slots(self) -> None:
        by_batch: dict[int, list[Waiting]] = {}
        unwanted = []
        for waiting in self.slots.take():
            if insist(partial(self._is_wanted, waiting), self.runtime):
                by_batch.setdefault(id(waiting.batch), []).append(waiting)
            else:
                unwanted.append(waiting)
                self.slots.free([waiting.account.id])
        self._give_back(unwanted, seconds=numbers().put_off_seconds)
        for together in by_batch.values():
            self._call(together[0].batch, [waiting.planned for waiting in together], has_slots=True)

    def _is_wanted(self, waiting: Waiting) -> bool:
        """Whether it can still be made: its lease lasts, its account has not failed since, and its answer comes in time.

        In time is before this drain ends: nobody is there for the lane while the last answers are waited for. What an
        account had against it already when it was chosen is what this call probes.
        """
        row, account = waiting.planned.row, self.accounts.get(waiting.account.id)
        if account is None or not account.is_on:
            return False
        if account.opened_at is not None and waiting.account.opened_at is None:
            return False
        if row.country in account.breakers and row.country not in waiting.account.breakers:
            return False
        now = self.runtime.monotonic()
        seconds = self.accounts.tempo.seconds(account.id, unknown=outbox.call_seconds(row.priority))
        seconds = min(seconds, numbers().drain_seconds / 2)  # or one that takes longer would never be called again
        return waiting.is_in_time(now) and now + seconds <= self._ends_at

    def _give_back(self, dropped: Sequence[Waiting], *, seconds: float) -> None:
        by_batch: dict[int, list[Waiting]] = {}
        for waiting in dropped:
            by_batch.setdefault(id(waiting.batch), []).append(waiting)
        for together in by_batch.values():
            batch, sends = together[0].batch, [waiting.planned for waiting in together]
            if seconds:
                put_off(sends, batch, self.runtime, seconds=seconds)
            else:
                rows = [planned.row for planned in sends]
                insist(partial(outbox.release, rows, batch.claim), self.runtime)

    def _call(self, batch: Batch, wave: Sequence[Planned], *, has_slots: bool) -> int:
        """Begin and call. Returns how many calls were made."""
        began, began_at = self.runtime.monotonic(), batch.now()
        deadline = outbox.call_seconds(wave[0].row.priority)
        begun = self._begin(batch, wave, began, deadline)
        mark = Wave(batch, began_at, has_slots)
        start_by = began + numbers().late_start_seconds
        calls = [Call(bundle, bundle.request, deadline, start_by=start_by) for bundle in bundles(begun, mark)]
        if has_slots:  # those of a bundle share one call, and what is not begun makes none
            self.slots.free(planned.account.id for planned in wave)
            self.slots.hold(call.key.account.id for call in calls)
        self.runtime.transport.send(calls, self._inbox)
        self._inbox.expect(len(calls))
        return len(calls)

    def _begin(self, batch: Batch, wave: Sequence[Planned], began: float, deadline: float) -> list[Planned]:
        """Put intents on file. Returns those that may be called."""
        intents = [planned.intent for planned in wave]
        call_seconds = deadline + numbers().margin_seconds
        allowed = insist(lambda: begins.begin(intents, claim=batch.claim, call_seconds=call_seconds), self.runtime)
        if allowed and self.runtime.monotonic() - began > LOOK_AGAIN_AFTER_SECONDS:
            allowed -= insist(lambda: begins.take_back_unwanted(allowed, claim=batch.claim), self.runtime)
        return [planned for planned in wave if planned.row.message_id in allowed]

    def _record(self, answers: Sequence[Answer]) -> None:
        by_wave: dict[Wave, list[Answer]] = {}
        for answer in answers:
            by_wave.setdefault(answer.key.wave, []).append(answer)
        for wave, together in by_wave.items():
            self._learn(wave, together)
            self._clerk.file(wave.batch, [part for answer in together for part in each(answer)], wave.began_at)

    def _learn(self, wave: Wave, answers: Sequence[Answer]) -> None:
        if wave.has_slots:
            self.slots.free(answer.key.account.id for answer in answers)
        for answer in answers:
            if not isinstance(answer.result, NotStarted):  # it took no time, and tells nothing of the provider
                self.accounts.tempo.learn(answer.key.account.id, answer.seconds)
                if not wave.has_slots:
                    self.size.learn(answer.seconds)

"""Deliver what is due in a lane: claim, begin, call, record, in batches."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.db import connection

from notifications import outbox
from notifications.accounts import Accounts
from notifications.hints import Hints
from notifications.lanes import SENDING, Lane
from notifications.numbers import numbers
from notifications.outbox import Batch
from notifications.rates import horizon_seconds
from notifications.runtime import Runtime
from notifications.services.answers import Clerk
from notifications.services.calls import Planned
from notifications.services.check import check
from notifications.services.log_in import log_in
from notifications.services.places import sends_in_turn
from notifications.services.prepare import prepare
from notifications.services.record import insist, record
from notifications.services.waves import Waves
from notifications.sql.quarantine import suppose
from notifications.sql.rows import DATABASE_AWAY
from notifications.sql.turns import next_turn_seconds

log = structlog.get_logger(__name__)

ANSWER_KEPT_CHARACTERS = 2048
LOOK_AGAIN_AFTER_SECONDS = 0.05  # a begin that took longer may have waited, and its look may be from before
HANDLED_ALONE_AFTER_STRIKES = 3
CLAIM_EVERY_SECONDS = 0.25  # were all slots full
SHORTEST_WAIT_SECONDS = 0.005  # for what is due and is being claimed by another


class Drain:
    """One drain of one lane. A crash between any two steps leaves rows from which the next drain knows what happened."""

    def __init__(self, lane: Lane, *, accounts: Accounts, hints: Hints, runtime: Runtime) -> None:
        self.lane = lane
        self.accounts = accounts
        self.hints = hints
        self.runtime = runtime
        self.ends_at = runtime.monotonic() + numbers().drain_seconds
        self.waves = Waves(accounts, Clerk(accounts, hints, runtime), runtime, ends_at=self.ends_at)
        self._has_claimed, self._claimed_at = False, 0.0

    def run(self) -> int:
        """Deliver until nothing is due, time is up or the process is told to stop. Returns how many entries were claimed."""
        try:
            return self._claim_and_deliver()
        finally:
            self.waves.finish()

    def _claim_and_deliver(self) -> int:
        claimed, limit, suspects = 0, 1, 0
        while not self.is_over():
            if self._should_wait():
                self.waves.tend(wait_seconds=numbers().flush_seconds)
                continue
            asked = 1 if suspects else limit
            if suspects:  # alone: what dies with it would get its strikes
                self.waves.collect_all()
            batch = self._claim(asked)
            if not batch.rows and not self.waves.are_under_way and not self._wait_for_turn():
                return claimed
            claimed += len(batch.rows)
            limit = numbers().batch_size if len(batch.rows) >= asked else 1
            suspects = max(suspects - 1, 0) + self._set_suspects_apart(batch)
            self._work_on(batch)
            if any(row.strikes > HANDLED_ALONE_AFTER_STRIKES for row in batch.rows):
                self.waves.collect_all()
            if len(batch.rows) < numbers().batch_size:  # no backlog to go on with: its outcomes may be due at once
                self.waves.collect(down_to=0)
            self.waves.tend(wait_seconds=0.0 if batch.rows else numbers().flush_seconds)
        self.hints.drain(self.lane)
        return claimed

    def _should_wait(self) -> bool:
        """Whether what would be claimed now, for slots that are full, is better left to another drain.

        Not for long: behind it there may be something that needs no slot.
        """
        is_due = self.runtime.monotonic() >= self._claimed_at + CLAIM_EVERY_SECONDS
        return self.waves.slots.are_full and not is_due

    def _claim(self, limit: int) -> Batch:
        """Claim a batch. The first claim finds out whether the connection is still good: it may be made twice."""
        try:
            return outbox.claim(self.lane, limit, self.runtime.monotonic)
        except DATABASE_AWAY:
            if self._has_claimed:
                raise
            connection.close()
            return outbox.claim(self.lane, limit, self.runtime.monotonic)
        finally:
            self._has_claimed, self._claimed_at = True, self.runtime.monotonic()

    def _wait_for_turn(self) -> bool:
        """Wait for the next turn in this lane, or a moment: more may have come. Returns whether there is one.

        Nobody else would be there when it comes, and a place that is used too late is lost. Questions can be late.
        """
        if self.lane not in SENDING.values() or not self.accounts.have_rates():
            return False
        seconds = next_turn_seconds(self.lane, horizon_seconds=horizon_seconds(self.lane))
        if seconds is None:
            return False
        self.runtime.sleep(min(max(seconds, SHORTEST_WAIT_SECONDS), numbers().turn_poll_seconds))
        return True

    def _set_suspects_apart(self, batch: Batch) -> int:
        """Give back what workers may keep dying of, to be claimed one at a time. Returns how many.

        In a batch the guilty one would take the innocent along, to the last strike.
        """
        if len(batch.rows) == 1:
            return 0
        suspects = [row for row in batch.rows if row.strikes > HANDLED_ALONE_AFTER_STRIKES]
        if suspects:
            insist(lambda: outbox.release(suspects, batch.claim), self.runtime)
            batch.rows = [row for row in batch.rows if row.strikes <= HANDLED_ALONE_AFTER_STRIKES]
        return len(suspects)

    def is_over(self) -> bool:
        return self.runtime.stopping() or self.runtime.monotonic() >= self.ends_at

    def deliver_batch(self, batch: Batch) -> None:
        """Work on one claimed batch to its end; what is not begun in time is given back."""
        self._work_on(batch)
        self.waves.finish()

    def _work_on(self, batch: Batch) -> None:
        """The same, but the last calls may be under way still when the next batch is claimed."""
        if not batch.rows:
            return
        plan = insist(lambda: prepare(batch, self.accounts, self.runtime.random), self.runtime)
        notification_ids = {row.message_id: row.notification_id for row in batch.rows}
        record(plan.verdicts, claim=batch.claim, notification_ids=notification_ids, runtime=self.runtime)
        check(plan.checks, batch, accounts=self.accounts, runtime=self.runtime)
        if plan.supposed:
            insist(lambda: suppose(plan.supposed, claim=batch.claim), self.runtime)
        sends = sends_in_turn(plan.sends, batch, accounts=self.accounts, runtime=self.runtime)
        sends, refused = log_in(sends, batch, accounts=self.accounts, runtime=self.runtime)
        record(refused, claim=batch.claim, notification_ids=notification_ids, runtime=self.runtime)
        patient = [planned for planned in sends if self.waves.slots.is_for(planned.account)]
        if patient:
            sends = [planned for planned in sends if not self.waves.slots.is_for(planned.account)]
            self.waves.keep(batch, patient)
        self._send(sends, batch)

    def _send(self, sends: Sequence[Planned], batch: Batch) -> None:
        left = {planned.row.message_id: planned.row for planned in sends}
        for wave in outbox.waves(sends, self.waves.size):
            if self.is_over():
                break
            self.waves.begin(batch, wave)
            for planned in wave:
                del left[planned.row.message_id]
        if left:
            insist(lambda: outbox.release(left.values(), batch.claim), self.runtime)

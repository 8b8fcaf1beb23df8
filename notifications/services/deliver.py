"""Deliver what is due in a lane: claim, begin, call, record, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db import connection

import notifications.sql.begin as begins
from notifications import outbox
from notifications.accounts import Accounts, ConnectedAccount
from notifications.addresses import redact_answer
from notifications.hints import Hints
from notifications.lanes import Lane
from notifications.models import Outcome
from notifications.numbers import numbers
from notifications.outbox import Batch, WaveSize
from notifications.runtime import Runtime
from notifications.services import outcomes
from notifications.services.bundles import bundles, each
from notifications.services.calls import Planned
from notifications.services.check import check
from notifications.services.late import file_late
from notifications.services.prepare import judge_error, prepare, situation_of
from notifications.services.record import insist, record
from notifications.sql.apply import SuppressedAddress
from notifications.sql.quarantine import suppose
from notifications.sql.record import Verdict
from notifications.sql.rows import DATABASE_AWAY
from providers.errors import NotStarted, OutcomeUnknown, ProviderError
from providers.messages import HttpResponse, SendResult
from providers.transport.base import Answer, Call

log = structlog.get_logger(__name__)

ANSWER_KEPT_CHARACTERS = 2048
LOOK_AGAIN_AFTER_SECONDS = 0.05  # a begin that took longer may have waited, and its look may be from before
HANDLED_ALONE_AFTER_STRIKES = 3


@dataclass(slots=True)
class _UnderWay:
    """A wave that has begun, and whose answers come in."""

    batch: Batch
    began_at: datetime
    missing: int
    answers: Iterator[list[Answer]]


class Drain:
    """One drain of one lane. A crash between any two steps leaves rows from which the next drain knows what happened."""

    def __init__(self, lane: Lane, *, accounts: Accounts, hints: Hints, runtime: Runtime) -> None:
        self.lane = lane
        self.accounts = accounts
        self.hints = hints
        self.runtime = runtime
        self.ends_at = runtime.monotonic() + numbers().drain_seconds
        self.wave_size = WaveSize()
        self._under_way: _UnderWay | None = None
        self._has_claimed = False

    def run(self) -> int:
        """Deliver until nothing is due, time is up or the process is told to stop. Returns how many entries were claimed."""
        try:
            return self._claim_and_deliver()
        finally:
            self._collect(down_to=0)

    def _claim_and_deliver(self) -> int:
        claimed, limit, suspects = 0, 1, 0
        while not self.is_over():
            asked = 1 if suspects else limit
            batch = self._claim(asked)
            if not batch.rows and self._under_way is None:
                return claimed
            claimed += len(batch.rows)
            limit = numbers().batch_size if len(batch.rows) >= asked else 1
            suspects = max(suspects - 1, 0) + self._set_suspects_apart(batch)
            self._work_on(batch)
            if len(batch.rows) < numbers().batch_size:  # no backlog to go on with: its outcomes may be due at once
                self._collect(down_to=0)
        self.hints.drain(self.lane)
        return claimed

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
            self._has_claimed = True

    def _set_suspects_apart(self, batch: Batch) -> int:
        """Give back what workers may keep dying of, to be claimed one at a time. Returns how many.

        In a batch the guilty one would take the innocent along, to the last strike.
        """
        if len(batch.rows) == 1:
            return 0
        suspects = [row for row in batch.rows if row.strikes > HANDLED_ALONE_AFTER_STRIKES]
        if suspects:
            outbox.release(suspects, batch.claim)
            batch.rows = [row for row in batch.rows if row.strikes <= HANDLED_ALONE_AFTER_STRIKES]
        return len(suspects)

    def is_over(self) -> bool:
        return self.runtime.stopping() or self.runtime.monotonic() >= self.ends_at

    def deliver_batch(self, batch: Batch) -> None:
        """Work on one claimed batch to its end; what is not begun in time is given back."""
        self._work_on(batch)
        self._collect(down_to=0)

    def _work_on(self, batch: Batch) -> None:
        """The same, but the last calls may be under way still when the next batch is claimed."""
        if not batch.rows:
            return
        plan = prepare(batch, self.accounts, self.runtime.random)
        notification_ids = {row.message_id: row.notification_id for row in batch.rows}
        record(plan.verdicts, claim=batch.claim, notification_ids=notification_ids, runtime=self.runtime)
        check(plan.checks, batch, accounts=self.accounts, runtime=self.runtime)
        if plan.supposed:
            insist(lambda: suppose(plan.supposed, claim=batch.claim), self.runtime)
        left = {planned.row.message_id: planned.row for planned in plan.sends}
        for wave in outbox.waves(plan.sends, self.wave_size):
            if self.is_over():
                break
            self._begin_wave(batch, wave)
            for planned in wave:
                del left[planned.row.message_id]
        if left:
            outbox.release(left.values(), batch.claim)

    def _begin_wave(self, batch: Batch, wave: Sequence[Planned]) -> None:
        """Begin a wave while the last calls of the one before are under way, if connections come free in time."""
        self._collect(down_to=self.runtime.transport.concurrency if self.wave_size.is_quick else 0)
        began, began_at = self.runtime.monotonic(), batch.now()
        deadline = outbox.call_seconds(wave[0].row.priority)
        intents = [planned.intent for planned in wave]
        call_seconds = deadline + numbers().margin_seconds
        allowed = insist(lambda: begins.begin(intents, claim=batch.claim, call_seconds=call_seconds), self.runtime)
        if allowed and self.runtime.monotonic() - began > LOOK_AGAIN_AFTER_SECONDS:
            allowed -= insist(lambda: begins.take_back_unwanted(allowed, claim=batch.claim), self.runtime)
        begun = [planned for planned in wave if planned.row.message_id in allowed]
        start_by = began + numbers().late_start_seconds
        calls = [Call(bundle, bundle.request, deadline, start_by=start_by) for bundle in bundles(begun)]
        answers = self.runtime.transport.send_many(
            calls, flush_seconds=numbers().flush_seconds, flush_count=numbers().flush_count
        )
        self._collect(down_to=0)
        self._under_way = _UnderWay(batch, began_at, len(calls), answers)

    def _collect(self, *, down_to: int) -> None:
        """Record answers to the calls under way until so many are missing."""
        wave = self._under_way
        while wave is not None and wave.missing > down_to:
            answers = next(wave.answers)
            wave.missing -= len(answers)
            self._record(wave.batch, [part for answer in answers for part in each(answer)], wave.began_at)
        if wave is not None and not wave.missing:
            self._under_way = None

    def _record(self, batch: Batch, answers: Sequence[Answer], began_at: datetime) -> None:
        now = batch.now()
        judged = insist(lambda: [self._judge(answer, now, began_at) for answer in answers], self.runtime)
        verdicts = [verdict for verdict, _ in judged]
        suppress = [address for _, addresses in judged for address in addresses]
        for answer in answers:
            if not isinstance(answer.result, NotStarted):  # it took no time, and tells nothing of the provider
                self.wave_size.learn(answer.seconds)
        held = record(
            verdicts,
            claim=batch.claim,
            notification_ids={answer.key.row.message_id: answer.key.row.notification_id for answer in answers},
            runtime=self.runtime,
            suppress=suppress,
        )
        fenced = {verdict.message_id: verdict for verdict in verdicts if verdict.message_id not in held}
        if fenced:
            late = [
                (answer.key, fenced[answer.key.row.message_id])
                for answer in answers
                if answer.key.row.message_id in fenced
            ]
            file_late(late, began_at, hints=self.hints, runtime=self.runtime)

    def _judge(self, answer: Answer, now: datetime, began_at: datetime) -> tuple[Verdict, list[SuppressedAddress]]:
        row, account = answer.key.row, answer.key.account
        situation = situation_of(row, account, self.accounts, self.runtime.random, now=now, began_at=began_at)
        suppressed = []
        try:
            if not isinstance(answer.result, HttpResponse):
                raise answer.result
            verdict = outcomes.taken(situation, _read(account, answer.result))
            self.accounts.note_answer(account, row.country, is_yes=True)
        except ProviderError as error:
            verdict = judge_error(situation, error, self.accounts)
            self._note_error(account, row.country, error)
            if error.suppress:
                suppressed.append(SuppressedAddress(row.channel, row.address_hash, error.suppress, account.slug))
        _keep_answer(verdict, answer)
        return verdict, suppressed

    def _note_error(self, account: ConnectedAccount, country: str, error: ProviderError) -> None:
        is_failure = outcomes.lead_of(error).is_failure
        if is_failure:
            self.accounts.note_failure(account, country)
        elif is_failure is False:
            self.accounts.note_answer(account, country, is_yes=False)


def _read(account: ConnectedAccount, answer: HttpResponse) -> SendResult:
    """What the provider says. Raises ProviderError; an answer that its adapter stumbles over proves nothing."""
    try:
        return account.provider.send_result(answer)
    except ProviderError:
        raise
    except Exception:
        log.exception("answer cannot be read", account=account.slug)
        raise OutcomeUnknown("the answer cannot be read", http_status=answer.status) from None


def _keep_answer(verdict: Verdict, answer: Answer) -> None:
    """File the beginning of the provider's answer, without the address and the text. All that a yes says is filed already."""
    if isinstance(answer.result, HttpResponse):
        verdict.http_status = answer.result.status
    if isinstance(answer.result, HttpResponse) and verdict.outcome is not Outcome.TAKEN:
        verdict.answer = redact_answer(answer.result.body, *_private(answer.key))[:ANSWER_KEPT_CHARACTERS]


def _private(planned: Planned) -> list[str]:
    content = planned.row.content[planned.row.channel]
    return [planned.row.address, *(content[name] for name in ("text", "subject") if content.get(name))]

"""Decide, in memory, what a claimed batch needs: what ends here, what is sent and by whom, what is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random

import structlog

from notifications import retries, routing
from notifications.accounts import Accounts, ConnectedAccount
from notifications.lanes import Priority
from notifications.models import OnUnclear, Outcome
from notifications.numbers import numbers
from notifications.outbox import Batch
from notifications.reasons import Reason
from notifications.services import evidence, outcomes
from notifications.services.calls import Planned, plan_call, repeat
from notifications.services.choosing import Chooser
from notifications.services.endpoints import switch_off
from notifications.services.outcomes import Opens, Situation
from notifications.services.quarantine import supposition
from notifications.services.steps import has_next_step
from notifications.services.verdicts import on_claimed
from notifications.services.wanted import must_not_go, unwanted
from notifications.sql.apply import evidence as reports_of
from notifications.sql.begin import Intent
from notifications.sql.claim import Claimed
from notifications.sql.record import Verdict
from notifications.sql.rows import DATABASE_AWAY
from notifications.states import ENDED, State
from providers.errors import ProviderError
from providers.messages import Ability

log = structlog.get_logger(__name__)

GIVEN_UP_AFTER_STRIKES = 6


@dataclass(frozen=True, slots=True)
class Check:
    """A question to the provider that was, or may have been, given the message. `escalates`: the next step waits for it."""

    row: Claimed
    account: ConnectedAccount
    escalates: bool

    @property
    def is_look_up(self) -> bool:
        return self.row.state is State.UNCERTAIN


@dataclass(slots=True)
class Plan:
    verdicts: list[Verdict] = field(default_factory=list)
    sends: list[Planned] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    supposed: list[Intent] = field(default_factory=list)  # calls of a time that the database has forgotten


def prepare(batch: Batch, accounts: Accounts, random: Random) -> Plan:
    """Sort a batch into verdicts, sends and checks. One bad row never stops the batch."""
    plan = Plan()
    chooser = Chooser(accounts, random, batch.now())
    for row in batch.rows:
        try:
            _prepare(row, plan, chooser)
        except DATABASE_AWAY:
            raise  # the database is away: no fault of the row
        except Exception:
            log.exception("cannot be prepared", message_id=str(row.message_id))
            plan.verdicts.append(outcomes.give_up(row, chooser.now, Reason.CANNOT_BE_RENDERED))
    return plan


def _prepare(row: Claimed, plan: Plan, chooser: Chooser) -> None:
    now = chooser.now
    if row.state in ENDED:
        plan.verdicts.append(on_claimed(row, row.state, now=now))  # an entry too many: closes it
    elif row.began_at is not None:
        plan.verdicts.append(_file_lost_attempt(row, row.began_at, chooser))
    elif row.strikes > GIVEN_UP_AFTER_STRIKES and row.state is not State.SENT:
        plan.verdicts.append(outcomes.give_up(row, now, Reason.KILLS_ITS_WORKER))
    elif row.perhaps_sent and row.attempt_count > 1 and _is_there_after_all(row):
        plan.verdicts.append(on_claimed(row, State.SENT, now=now))
    elif row.state is State.QUEUED and not row.perhaps_sent and (supposed := supposition(row, chooser.accounts)):
        plan.supposed.append(supposed)
    elif row.state is State.QUEUED:
        _prepare_send(row, plan, chooser)
    elif row.receipt_deadline is not None and row.receipt_deadline <= now:
        plan.verdicts.append(on_claimed(row, State.UNCONFIRMED, now=now, reason=Reason.NO_PROOF_IN_TIME))
    else:
        _prepare_check(row, plan, chooser)


def _file_lost_attempt(row: Claimed, began_at: datetime, chooser: Chooser) -> Verdict:
    """Its holder died between begin and record: nobody knows whether the call was made."""
    account = chooser.accounts.get(row.open_account_id)
    is_restored = row.is_older_than_restore(began_at)
    tries = row.tries + (not is_restored)  # supposed ones, one an account, must not use them up
    verdict = outcomes.ask(row, account, chooser.now, began_at, tries=tries)
    verdict.account_id = row.open_account_id
    verdict.outcome = Outcome.UNCLEAR
    verdict.error = "Restored" if is_restored else "LeaseRanOut"
    return verdict


def _is_there_after_all(row: Claimed) -> bool:
    """Whether an earlier attempt was taken, as its reports have told since: then no other one is needed."""
    reports = [(item.attempt_number, item.kind) for item in reports_of([row.message_id])]
    return not evidence.TAKEN.isdisjoint(evidence.fold(reports).values())


def _prepare_send(row: Claimed, plan: Plan, chooser: Chooser) -> None:
    verdict = must_not_go(row, chooser.now)
    if verdict is not None:
        plan.verdicts.append(verdict)
        return
    account = chooser.choose(row)
    if account is None:
        plan.verdicts.append(_without_account(row, chooser))
        return
    try:
        planned = plan_call(row, account, chooser.now)
    except ProviderError as error:
        situation = situation_of(row, account, chooser.accounts, chooser.random, now=chooser.now, began_at=chooser.now)
        verdict = judge_error(situation, error, chooser.accounts)
        verdict.outcome = None  # no call was made
        plan.verdicts.append(verdict)
        return
    if planned is None:
        plan.verdicts.append(outcomes.hold(row, chooser.now))
    else:
        plan.sends.append(planned)


def _without_account(row: Claimed, chooser: Chooser) -> Verdict:
    """Wait for the one that may have it, or for one whose provider fails there: that costs no try.

    An endpoint that is off has its events kept; switched on, it gets them (`services/endpoints.py`).
    """
    if chooser.is_endpoint_off(row):
        wait = timedelta(seconds=chooser.random.uniform(0.5, 1.0) * numbers().endpoint_off_seconds)
        return on_claimed(row, State.QUEUED, now=chooser.now, reason=Reason.ENDPOINT_OFF, next_at=chooser.now + wait)
    resting = chooser.may_return(row) and not (
        has_next_step(row.steps, row.recipient, row.step) and chooser.is_up_to_a_person(row)
    )
    if not resting and not row.perhaps_sent:
        if chooser.has_one(row):  # back since it was looked for: what is known of accounts was read afresh in between
            return on_claimed(row, State.QUEUED, now=chooser.now, reason=row.reason, next_at=chooser.now)
        return outcomes.give_up(row, chooser.now, Reason.NO_ACCOUNT)
    seconds = chooser.rest_seconds(row) if resting else numbers().account_open_seconds
    wait = timedelta(seconds=chooser.random.uniform(0.5, 1.0) * seconds)  # not all of them at once
    reason = outcomes.reason_to_wait(row, Reason.WAITING_TO_RETRY)
    return on_claimed(row, State.QUEUED, now=chooser.now, reason=reason, next_at=chooser.now + wait)


def situation_of(
    row: Claimed, account: ConnectedAccount, accounts: Accounts, random: Random, *, now: datetime, began_at: datetime
) -> Situation:
    """A message at the moment an outcome is known."""

    def has_one(among: Callable[[str], list[ConnectedAccount]], tried: Collection[int]) -> bool:
        if row.perhaps_sent:  # no other provider may have it
            return False
        return bool(
            routing.choose(
                among(row.country),
                channel=row.channel,
                country=row.country,
                reach=row.reach,
                tried=tried,
                random=random,
            )
        )

    has_another, has_last_resort = partial(has_one, accounts.usable), partial(has_one, accounts.last_resorts)
    return Situation(row, account, now, began_at, random, has_another, has_last_resort)


def judge_error(situation: Situation, error: ProviderError, accounts: Accounts) -> Verdict:
    """What an error leads to; an account at fault is opened at once, or its sender in the country where it may not be used."""
    row, account = situation.row, situation.account
    opens = outcomes.lead_of(error).opens
    fault = f"{type(error).__name__} {error.code}".strip()
    if opens is Opens.ACCOUNT:
        accounts.open(account, f"{fault}: {error.advice}" if error.advice else fault)
    elif opens is Opens.ENDPOINT:
        switch_off(account, error.detail)
    elif opens is Opens.SENDER:
        accounts.open_sender(account, row.country, error.advice or fault)
    verdict = outcomes.lead_on(situation, error)
    log.warning(
        "attempt failed",
        message_id=str(row.message_id),
        account=account.slug,
        error=type(error).__name__,
        code=error.code,
        leads_to=verdict.state.value,
    )
    return verdict


def _prepare_check(row: Claimed, plan: Plan, chooser: Chooser) -> None:
    now = chooser.now
    escalates = row.escalate_at is not None and row.escalate_at <= now
    account = chooser.accounts.get(row.account_id)
    if account is not None and _may_go_again(row, now) and _can_be_repeated(row, account, now):
        plan.verdicts.append(_same_key(row, account, chooser))
    elif account is not None and _can_be_asked(row, account) and not (escalates and account.opened_at):
        plan.checks.append(Check(row, account, escalates))
    elif escalates:
        plan.verdicts.append(escalate(row, account, now))
    elif row.state is State.UNCERTAIN:
        plan.verdicts.append(_by_policy(row, now))
    else:
        plan.verdicts.append(on_claimed(row, row.state, now=now, reason=""))


def _can_be_repeated(row: Claimed, account: ConnectedAccount, now: datetime) -> bool:
    """Whether its provider would drop a second one; not where the account cannot even describe the call any more."""
    try:
        return repeat(row, account, now) is not None
    except ProviderError:
        return False


def _may_go_again(row: Claimed, now: datetime) -> bool:
    return row.state is State.UNCERTAIN and row.escalated_at is None and unwanted(row, now) is None


def _same_key(row: Claimed, account: ConnectedAccount, chooser: Chooser) -> Verdict:
    """Once more under the same key: the provider drops it if it has it, and answers as the first time."""
    schedule = account.provider.schedule_seconds
    wait = retries.retry_in_seconds(
        Priority(row.priority), tries=row.tries, retry_after_seconds=None, random=chooser.random, schedule=schedule
    )
    most_tries = retries.most_tries(schedule)
    return outcomes.send_again(row, chooser.now, Reason.SAME_KEY, wait_seconds=wait, most_tries=most_tries)


def _by_policy(row: Claimed, now: datetime) -> Verdict:
    """Nobody can be asked: what its client prefers, a second one or none."""
    if not _may_go_again(row, now):
        return outcomes.hold(row, now, Reason.NOT_SENT_AGAIN)
    if row.on_unclear == OnUnclear.SEND_AGAIN:
        return outcomes.send_again(row, now, Reason.SEND_AGAIN)
    return outcomes.hold(row, now)


def _can_be_asked(row: Claimed, account: ConnectedAccount) -> bool:
    if row.strikes > GIVEN_UP_AFTER_STRIKES:  # workers keep dying of the answer
        return False
    if row.state is State.UNCERTAIN:
        return account.can(Ability.FIND_BY_REFERENCE, Ability.FIND_BY_RECIPIENT)
    return account.can(Ability.STATUS) and row.last_provider_message_id is not None


def escalate(row: Claimed, account: ConnectedAccount | None, now: datetime) -> Verdict:
    """The step's window is over: the next one begins; this message stays open for evidence only."""
    can_be_asked = account is not None and _can_be_asked(row, account)
    checks = row.checks + 1
    return on_claimed(
        row,
        row.state,
        now=now,
        escalated=True,
        escalate_at=None,
        checks=checks,
        next_at=_next_question(row, account, now, checks) if account and can_be_asked else None,
    )


def _next_question(row: Claimed, account: ConnectedAccount, now: datetime, checks: int) -> datetime:
    if row.state is not State.UNCERTAIN:
        return outcomes.next_check(row, account, now, checks=checks)
    earliest = outcomes.first_look_up(row, account, row.last_began_at or now)
    return max(earliest, now + timedelta(seconds=numbers().look_up_again_seconds))

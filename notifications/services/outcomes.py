"""What an outcome leads to: one table, and the few ways to go on that it names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from random import Random
from typing import Any

from notifications import retries
from notifications.accounts import ConnectedAccount
from notifications.lanes import Priority
from notifications.models import Outcome
from notifications.numbers import numbers
from notifications.outbox import call_seconds
from notifications.reasons import Reason
from notifications.services.costs import cost_of
from notifications.services.steps import has_next_step, waits_for_acceptance
from notifications.services.verdicts import on_claimed
from notifications.sql.claim import Claimed
from notifications.sql.record import Verdict
from notifications.states import State
from providers.errors import (
    AccountError,
    AddressForbidden,
    ContentRejected,
    EndpointGone,
    InvalidRequest,
    NotStarted,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientBusy,
    RecipientError,
    RecipientOptedOut,
    RouteRejected,
    SenderNotRegistered,
    TokenRefused,
    TransientError,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import Ability, SendResult


@dataclass(frozen=True, slots=True)
class Situation:
    """A message at the moment an outcome is known. `has_another(tried)`: an account outside `tried` is free now.

    `has_last_resort(tried)`: there is one that is better than none, and no better than waiting.
    """

    row: Claimed
    account: ConnectedAccount
    now: datetime
    began_at: datetime
    random: Random
    has_another: Callable[[Collection[int]], bool]
    has_last_resort: Callable[[Collection[int]], bool] = lambda tried: False

    def has_any(self, tried: Collection[int]) -> bool:
        """Whether any account outside `tried` may have it, were it the last resort."""
        return self.has_another(tried) or self.has_last_resort(tried)

    @property
    def has_next_step(self) -> bool:
        return has_next_step(self.row.steps, self.row.recipient, self.row.step)

    @property
    def tried(self) -> list[int]:
        return [*self.row.tried, self.account.id]


Way = Callable[[Situation, ProviderError, "Lead"], Verdict]


class Opens(Enum):
    """What is not used any more until somebody mends it."""

    ACCOUNT = auto()
    ENDPOINT = auto()  # switched off, with its events kept
    SENDER = auto()  # of the account, in the message's country


@dataclass(frozen=True, slots=True)
class Lead:
    """A row of the table. `outcome` None: the call was never made and leaves no attempt."""

    outcome: Outcome | None
    way: Way
    reason: Reason
    spends_try: bool = False
    state: State = State.FAILED
    opens: Opens | None = None
    is_failure: bool | None = False  # the provider's own; None: it says nothing of the provider


def lead_on(situation: Situation, error: ProviderError) -> Verdict:
    """The verdict on a message whose call ended with an error."""
    lead = lead_of(error)
    verdict = lead.way(situation, error, lead)
    verdict.account_id = situation.account.id
    verdict.outcome = lead.outcome
    verdict.error = type(error).__name__ if lead.outcome else ""
    verdict.error_code = error.code
    verdict.http_status = error.http_status
    return verdict


def lead_of(error: ProviderError) -> Lead:
    """The row for an error: that of its class, or of the nearest class above it."""
    return next(OUTCOMES[kind] for kind in type(error).__mro__ if kind in OUTCOMES)


def taken(situation: Situation, result: SendResult) -> Verdict:
    """The provider has it: wait for proof, or, where nothing will ever prove it, end here."""
    row, account = situation.row, situation.account
    step = row.steps[row.step]
    waits_for_proof = not waits_for_acceptance(step)
    escalate_at = row.escalate_at if waits_for_proof else None
    proves = account.can(Ability.RECEIPTS, Ability.STATUS)
    state = State.SENT if proves or escalate_at is not None else State.UNCONFIRMED
    if account.provider.proves_delivery:
        state = State.DELIVERED
    segments, cost = cost_of(account, row.channel, row.country, row.content, told=result.segments)
    verdict = on_claimed(
        row,
        state,
        now=situation.now,
        reason=Reason.NOTHING_PROVES_IT if state is State.UNCONFIRMED else "",
        escalate_at=escalate_at if state is State.SENT else None,
        tries=row.tries + 1,
        tried=[],
        next_at=next_check(row, account, situation.now, checks=0) if account.can(Ability.STATUS) else None,
        segments=segments,
        cost=cost,
    )
    verdict.account_id = account.id
    verdict.settles = not waits_for_proof and step.get("need") == "all"  # another part may have failed before
    verdict.outcome = Outcome.TAKEN
    verdict.provider_message_id = result.provider_message_id
    return verdict


def next_check(row: Claimed, account: ConnectedAccount, now: datetime, *, checks: int) -> datetime:
    """When to ask for the status of a sent message."""
    has_receipts = account.can(Ability.RECEIPTS)
    seconds = retries.check_in_seconds(Priority(row.priority), checks=checks, has_receipts=has_receipts)
    return now + timedelta(seconds=seconds)


def give_up(row: Claimed, now: datetime, reason: Reason, **changes: Any) -> Verdict:
    """End here if another step can take over, else leave it to a person."""
    next_step = has_next_step(row.steps, row.recipient, row.step)
    state = State.FAILED if next_step else State.DEAD_LETTERED
    return on_claimed(row, state, now=now, reason=reason, **changes)


def ask(row: Claimed, account: ConnectedAccount | None, now: datetime, began_at: datetime, *, tries: int) -> Verdict:
    """Nobody knows whether it went out: ask the provider, not before its search can show it."""
    return on_claimed(
        row,
        State.UNCERTAIN,
        now=now,
        reason=Reason.OUTCOME_UNKNOWN,
        tries=tries,
        next_at=first_look_up(row, account, began_at),
    )


def first_look_up(row: Claimed, account: ConnectedAccount | None, began_at: datetime) -> datetime:
    """When a call that began then is over, and the provider's search can show what it took."""
    delay = account.look_up_delay_seconds if account else 0.0
    return began_at + timedelta(seconds=call_seconds(row.priority) + delay)


def send_again(
    row: Claimed, now: datetime, reason: Reason, *, wait_seconds: float = 0.0, most_tries: int | None = None
) -> Verdict:
    """Queue what may have been sent, or certainly was not (`NOT_THERE`), as long as it has tries left."""
    perhaps_sent = reason is not Reason.NOT_THERE
    if row.tries >= (most_tries or numbers().tries):
        return give_up(row, now, Reason.TRIES_USED_UP, perhaps_sent=perhaps_sent)
    next_at = now + timedelta(seconds=wait_seconds)
    return on_claimed(row, State.QUEUED, now=now, reason=reason, next_at=next_at, perhaps_sent=perhaps_sent)


def hold(row: Claimed, now: datetime, reason: Reason = Reason.HELD, **changes: Any) -> Verdict:
    """Send nothing more of what may be out: evidence decides, or its deadline."""
    return on_claimed(row, State.UNCERTAIN, now=now, reason=reason, **changes)


def reason_to_wait(row: Claimed, reason: Reason) -> Reason:
    """Why a message waits for another call. What a person decided outlives calls that were not taken."""
    return Reason.REPLAYED if row.perhaps_sent and row.reason == Reason.REPLAYED else reason


def _again(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    row = situation.row
    tries = row.tries + lead.spends_try
    if tries >= retries.most_tries(situation.account.provider.schedule_seconds):
        return give_up(row, situation.now, Reason.TRIES_USED_UP, tries=tries)
    if situation.has_another(situation.tried):
        return _queue(situation, tried=situation.tried, tries=tries, reason=lead.reason)
    wait = retries.retry_in_seconds(
        Priority(row.priority),
        tries=tries,
        retry_after_seconds=error.retry_after_seconds,
        random=situation.random,
        schedule=situation.account.provider.schedule_seconds,
    )
    return _queue(situation, tried=[], tries=tries, reason=lead.reason, wait_seconds=wait)


def _at_once(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    return _queue(situation, tried=situation.row.tried, tries=situation.row.tries, reason=lead.reason)


def _ask(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    tries = situation.row.tries + lead.spends_try
    return ask(situation.row, situation.account, situation.now, situation.began_at, tries=tries)


def _reroute(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    if situation.row.rerouted or not situation.has_any(situation.tried):
        return _end(situation, error, lead)
    tries = situation.row.tries + lead.spends_try
    verdict = _queue(situation, tried=situation.tried, tries=tries, reason=lead.reason)
    verdict.rerouted = True
    return verdict


def _fail_over(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    if not situation.has_any(situation.tried):
        return give_up(situation.row, situation.now, lead.reason)
    return _queue(situation, tried=situation.tried, tries=situation.row.tries, reason=lead.reason)


def _keep(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    """For as long as it is useful, or until its endpoint is switched on again."""
    return _queue(
        situation,
        tried=situation.row.tried,
        tries=situation.row.tries,
        reason=lead.reason,
        wait_seconds=numbers().endpoint_off_seconds,
    )


def _end(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    return on_claimed(situation.row, lead.state, now=situation.now, reason=lead.reason)


def _give_up(situation: Situation, error: ProviderError, lead: Lead) -> Verdict:
    return give_up(situation.row, situation.now, lead.reason)


def _queue(situation: Situation, *, tried: list[int], tries: int, reason: Reason, wait_seconds: float = 0.0) -> Verdict:
    return on_claimed(
        situation.row,
        State.QUEUED,
        now=situation.now,
        reason=reason_to_wait(situation.row, reason),
        tried=tried,
        tries=tries,
        next_at=situation.now + timedelta(seconds=wait_seconds),
    )


OUTCOMES: dict[type[BaseException], Lead] = {
    NotStarted: Lead(None, _at_once, Reason.WAITING_TO_RETRY, is_failure=None),
    RateLimited: Lead(Outcome.NOT_SENT, _again, Reason.WAITING_TO_RETRY, is_failure=None),
    TransientError: Lead(Outcome.NOT_SENT, _again, Reason.WAITING_TO_RETRY, spends_try=True, is_failure=True),
    TokenRefused: Lead(Outcome.NOT_SENT, _again, Reason.WAITING_TO_RETRY, spends_try=True, is_failure=None),
    RecipientBusy: Lead(Outcome.NOT_SENT, _again, Reason.WAITING_TO_RETRY, spends_try=True),
    OutcomeUnknown: Lead(Outcome.UNCLEAR, _ask, Reason.OUTCOME_UNKNOWN, spends_try=True, is_failure=True),
    RecipientOptedOut: Lead(Outcome.REFUSED, _end, Reason.OPTED_OUT, state=State.SUPPRESSED),
    RecipientError: Lead(Outcome.REFUSED, _end, Reason.RECIPIENT_REFUSED),
    ContentRejected: Lead(Outcome.REFUSED, _end, Reason.CONTENT_REJECTED),
    RouteRejected: Lead(Outcome.REFUSED, _reroute, Reason.ROUTE_REJECTED, spends_try=True),
    UnknownRefusal: Lead(Outcome.REFUSED, _reroute, Reason.ROUTE_REJECTED, spends_try=True),
    AccountError: Lead(Outcome.REFUSED, _fail_over, Reason.ACCOUNT_AT_FAULT, opens=Opens.ACCOUNT, is_failure=None),
    AddressForbidden: Lead(Outcome.NOT_SENT, _keep, Reason.ENDPOINT_OFF, opens=Opens.ENDPOINT, is_failure=None),
    EndpointGone: Lead(Outcome.REFUSED, _keep, Reason.ENDPOINT_OFF, opens=Opens.ENDPOINT, is_failure=None),
    SenderNotRegistered: Lead(
        Outcome.REFUSED, _fail_over, Reason.ACCOUNT_AT_FAULT, opens=Opens.SENDER, is_failure=None
    ),
    InvalidRequest: Lead(Outcome.REFUSED, _give_up, Reason.INVALID_REQUEST),
    UnsupportedFeature: Lead(Outcome.REFUSED, _fail_over, Reason.NOT_CARRIED),
    ProviderError: Lead(Outcome.UNCLEAR, _ask, Reason.OUTCOME_UNKNOWN, spends_try=True, is_failure=True),
}

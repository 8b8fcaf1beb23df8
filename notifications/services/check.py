"""Ask providers: is an uncertain message there, and how far has a sent one come?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import structlog

import notifications.sql.apply as sql
from notifications import outbox
from notifications.accounts import Accounts
from notifications.models.attempt import LookedUp
from notifications.models.delivery_event import Source
from notifications.numbers import numbers
from notifications.outbox import Batch
from notifications.reasons import Reason
from notifications.runtime import Runtime
from notifications.selectors import owned_provider_ids
from notifications.services import outcomes
from notifications.services.apply import apply_waiting
from notifications.services.calls import attempt_ref, render
from notifications.services.lists import ask_by_list
from notifications.services.places import questions_in_turn
from notifications.services.prepare import Check, escalate
from notifications.services.record import insist, record
from notifications.services.reports import new_events
from notifications.services.verdicts import on_claimed
from notifications.sql.apply import Adoption, NewEvent
from notifications.sql.record import Verdict
from notifications.states import State
from providers.errors import NotStarted
from providers.messages import (
    CannotTell,
    DeliveryEvent,
    EventKind,
    FindResult,
    Found,
    HttpRequest,
    HttpResponse,
    NextPage,
    NotThere,
    SentMessage,
)
from providers.transport.base import Answer, Call
from providers.transport.inbox import send_many

log = structlog.get_logger(__name__)
Result = TypeVar("Result")

PAGES = 5  # of one search, at most

CLEAR_NOES = 2  # "not there" answers that allow a re-send


@dataclass(frozen=True, slots=True)
class Finding:
    """What asking brought. `look_up` None for a status question; `started` False: there was no time to ask."""

    check: Check
    events: Sequence[DeliveryEvent] = ()
    look_up: FindResult | None = None
    started: bool = True


def check(checks: Sequence[Check], batch: Batch, *, accounts: Accounts, runtime: Runtime) -> None:
    """Ask about messages, file what the providers say, and escalate those whose time is up and that are not delivered."""
    if not checks:
        return
    findings = _one_owner_each(_ask(checks, batch, runtime))
    events = [event for finding in findings for event in _events(finding)]
    adoptions = [adoption for finding in findings if (adoption := _adoption(finding))]
    if adoptions:
        insist(lambda: sql.adopt(adoptions), runtime)
    stored = insist(lambda: sql.store_events(events), runtime) if events else 0
    if stored:
        insist(apply_waiting, runtime)
    unasked = [finding.check.row for finding in findings if not finding.started]
    insist(lambda: outbox.release(unasked, batch.claim), runtime)
    record(
        [_verdict(finding, batch.now()) for finding in findings if finding.started],
        claim=batch.claim,
        notification_ids={row.message_id: row.notification_id for row in batch.rows},
        runtime=runtime,
    )


def _ask(checks: Sequence[Check], batch: Batch, runtime: Runtime) -> list[Finding]:
    sent = {check.row.message_id: _sent_message(check, batch.now()) for check in checks if check.is_look_up}
    told = ask_by_list(checks, batch.now, lambda questions: _call(questions, batch, runtime))
    findings = [Finding(check, told[check.row.message_id]) for check in checks if check.row.message_id in told]
    # Each with the page it asks for.
    untold = [check for check in checks if check.row.message_id not in told]
    asking: list[tuple[Check, str | None]] = [
        (check, None) for check in questions_in_turn(untold, batch, runtime=runtime)
    ]
    for _ in range(PAGES):
        questions = []
        for check, page in asking:
            question = _safely(_question, check, sent, page, batch.now())
            if isinstance(question, Finding):
                findings.append(question)
            else:
                questions.append((check, question))
        asking = []
        for check, answer in _call(questions, batch, runtime):
            finding = _safely(_read, check, answer, sent)
            if isinstance(finding.look_up, NextPage):
                asking.append((check, finding.look_up.page))
            else:
                findings.append(finding)
        if not asking:
            return findings
    return findings + [Finding(check, look_up=CannotTell("too many pages")) for check, _ in asking]


def _safely(work: Callable[..., Result], check: Check, *rest: Any) -> Result | Finding:
    """One bad row never stops the batch: what cannot be asked, or understood, is asked again later."""
    try:
        return work(check, *rest)
    except Exception:
        log.exception("cannot be asked", message_id=str(check.row.message_id))
        return Finding(check, look_up=CannotTell("cannot be asked") if check.is_look_up else None)


def _one_owner_each(findings: Sequence[Finding]) -> list[Finding]:
    """Two messages alike may both find the one that arrived: only the first of them may have it."""
    owned, fair = set(), []
    for finding in findings:
        if isinstance(finding.look_up, Found):
            found = (finding.check.account.id, finding.look_up.provider_message_id)
            if found in owned:
                finding = Finding(finding.check, look_up=CannotTell("another message has it"))
            owned.add(found)
        fair.append(finding)
    return fair


def _question(check: Check, sent: dict[UUID, SentMessage], page: str | None, now: datetime) -> HttpRequest:
    provider = check.account.provider
    if check.is_look_up:
        return provider.authorize(provider.find_request(sent[check.row.message_id], page), now)
    return provider.authorize(provider.status_request(check.row.last_provider_message_id or ""), now)


def _sent_message(check: Check, now: datetime) -> SentMessage:
    row = check.row
    began_at = row.last_began_at or now
    forgotten = row.restored_at - began_at if row.restored_at and row.is_older_than_restore(began_at) else None
    deadline = outbox.call_seconds(row.priority)
    return SentMessage(
        message=render(row, row.last_useful_seconds),
        attempt=attempt_ref(row, row.attempt_count),
        began_at=began_at,
        deadline_seconds=deadline + forgotten.total_seconds() if forgotten else deadline,
        owned_ids=owned_provider_ids(check.account.id, row.address_hash),
        any_attempt=forgotten is not None,
    )


def _call(questions: Sequence[tuple[Check, HttpRequest]], batch: Batch, runtime: Runtime) -> list[tuple[Check, Answer]]:
    """Ask all at once; nothing is asked so late that the lease could end before the answer."""
    deadline = max((outbox.call_seconds(check.row.priority) for check, _ in questions), default=0.0)
    start_by = batch.claimed_at + numbers().lease_seconds - deadline - numbers().margin_seconds
    calls = [Call(check, request, deadline, start_by) for check, request in questions]
    told = send_many(runtime.transport, calls, inbox=runtime.open_inbox())
    return [(answer.key, answer) for answers in told for answer in answers]


def _read(check: Check, answer: Answer, sent: dict[UUID, SentMessage]) -> Finding:
    if isinstance(answer.result, NotStarted):
        return Finding(check, started=False)
    if not isinstance(answer.result, HttpResponse):
        return Finding(check, look_up=CannotTell("no answer") if check.is_look_up else None)
    if check.is_look_up:
        found = check.account.provider.find_result(answer.result, sent[check.row.message_id])
        return Finding(check, look_up=found, events=found.events if isinstance(found, Found) else ())
    return Finding(check, events=check.account.provider.status_result(answer.result))


def _events(finding: Finding) -> list[NewEvent]:
    """What was found, as reports about the newest attempt, whatever id the provider gave them."""
    row, account = finding.check.row, finding.check.account
    name = attempt_ref(row, row.attempt_count).id
    events = [replace(event, attempt=name) for event in finding.events]
    if isinstance(finding.look_up, Found):
        events.append(
            DeliveryEvent(
                EventKind.ACCEPTED,
                dedupe_key=f"found:{name}",
                attempt=name,
                provider_message_id=finding.look_up.provider_message_id,
            )
        )
    elif isinstance(finding.look_up, NotThere):
        events.append(DeliveryEvent(EventKind.NOT_THERE, dedupe_key=f"not_there:{name}:{row.checks}", attempt=name))
    source = Source.LOOK_UP if finding.check.is_look_up else Source.POLL
    return new_events(account.id, events, source)


def _adoption(finding: Finding) -> Adoption | None:
    row = finding.check.row
    if isinstance(finding.look_up, Found):
        found = finding.look_up.provider_message_id
        return Adoption(row.message_id, row.attempt_count, found, LookedUp.FOUND)
    if _is_last_no(finding):
        return Adoption(row.message_id, row.attempt_count, None, LookedUp.NOT_THERE)
    return None


def _verdict(finding: Finding, now: datetime) -> Verdict:
    """What follows where the answer changed nothing: applied reports have taken the claim away already."""
    check, row = finding.check, finding.check.row
    if _is_last_no(finding):
        return _not_there(check, now)
    if check.escalates:
        return escalate(row, check.account, now)
    checks = row.checks + 1
    if isinstance(finding.look_up, NotThere):
        next_at = now + timedelta(seconds=numbers().look_up_again_seconds)
        return on_claimed(row, row.state, now=now, checks=checks, not_there=row.not_there + 1, next_at=next_at)
    next_at = outcomes.next_check(row, check.account, now, checks=checks)
    return on_claimed(row, row.state, now=now, checks=checks, next_at=next_at)


def _is_last_no(finding: Finding) -> bool:
    """Whether it is certainly not there. A look hurried by its window's end came before its time, and counts for nothing."""
    no = isinstance(finding.look_up, NotThere) and not finding.check.escalates
    return no and finding.check.row.not_there + 1 >= CLEAR_NOES


def _not_there(check: Check, now: datetime) -> Verdict:
    """Certainly never taken: send again while its step lasts."""
    row = check.row
    if row.escalated_at is not None:
        return on_claimed(row, State.FAILED, now=now, reason=Reason.NOT_THERE)
    return outcomes.send_again(row, now, Reason.NOT_THERE)

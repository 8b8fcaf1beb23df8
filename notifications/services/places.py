"""Places: what an account's rate lets go now goes, the rest waits for its turn without spending a try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Protocol, TypeVar

import notifications.sql.turns as turns
from notifications import outbox
from notifications.accounts import Accounts, ConnectedAccount
from notifications.outbox import Batch
from notifications.rates import Rates, horizon_seconds, is_turn
from notifications.runtime import Runtime
from notifications.services.calls import Planned, plan_call
from notifications.services.choosing import Chooser
from notifications.services.prepare import Check
from notifications.services.record import insist
from notifications.sql.claim import Claimed
from notifications.sql.pace import Place, Wanted, reserve
from notifications.sql.turns import Turn
from notifications.states import State
from providers.errors import ProviderError

QUESTIONS = "?"
ROOM_HORIZONS = 30  # nobody waits longer without a look: 150 s of bulk
UNNAMED = "*"  # whoever sends where an account names nobody
SENDER_CHARACTERS = 50  # of its name in a pace


class Paced(Protocol):
    """What may have to wait: a send or a question."""

    @property
    def row(self) -> Claimed: ...
    @property
    def account(self) -> ConnectedAccount: ...


Item = TypeVar("Item", bound=Paced)
Demand = Callable[[int, Item, Rates], Wanted]


@dataclass(frozen=True, slots=True)
class Wait:
    """Until when one waits, and whether a place is kept for it then."""

    item: Paced
    turn_at: datetime
    has_place: bool
    looks_at: datetime | None = None  # whether there is a place sooner: those before it may have left by other ways

    @property
    def is_in_vain(self) -> bool:
        """Whether it is of no use any more by then."""
        row = self.item.row
        return self.turn_at >= min(row.expires_at, row.escalate_at or row.expires_at)

    @property
    def turn(self) -> Turn:
        """Its entry's: due when its turn comes, or earlier if something else of it is."""
        row = self.item.row
        due_at = outbox.due_at(
            row.state,
            next_at=self.looks_at or self.turn_at,
            escalate_at=row.escalate_at,
            expires_at=row.expires_at,
            receipt_deadline=row.receipt_deadline,
        )
        return Turn(row.message_id, due_at, self.turn_at, self.item.account.id if self.has_place else None)


def sends_in_turn(sends: Sequence[Planned], batch: Batch, *, accounts: Accounts, runtime: Runtime) -> list[Planned]:
    """The sends whose turn it is; the others are given back until theirs."""
    if not any(planned.account.rates for planned in sends):
        return list(sends)
    going, waits = _sort(sends, _of_send, batch, runtime)
    others = list(
        _by_others([wait for wait in waits if wait.is_in_vain], Chooser(accounts, runtime.random, batch.now()))
    )
    if others:
        found = {planned.row.message_id for planned in others}
        more, longer = _sort(others, _of_send, batch, runtime)
        going += more
        waits = [wait for wait in waits if wait.item.row.message_id not in found] + longer
    _postpone(waits, batch, runtime)
    return going


def questions_in_turn(checks: Sequence[Check], batch: Batch, *, runtime: Runtime) -> list[Check]:
    """The questions that may be asked now; the others are given back until their turn. What escalates never waits."""
    if not any(check.account.rates for check in checks):
        return list(checks)
    urgent = [check for check in checks if check.escalates]
    going, waits = _sort([check for check in checks if not check.escalates], _of_check, batch, runtime)
    _postpone(waits, batch, runtime)
    return urgent + going


def put_off(sends: Sequence[Planned], batch: Batch, runtime: Runtime, *, seconds: float) -> None:
    """Give sends back for a while, jittered, as if they had never been claimed."""
    now = batch.now()
    _postpone(
        [
            Wait(planned, now + timedelta(seconds=seconds * runtime.random.uniform(0.5, 1.5)), has_place=False)
            for planned in sends
        ],
        batch,
        runtime,
    )


def _sort(items: Iterable[Item], demand: Demand[Item], batch: Batch, runtime: Runtime) -> tuple[list[Item], list[Wait]]:
    """Those that go now, and those that wait. Asks for all places at once, once."""
    now = batch.now()
    going: list[Item] = []
    waits: list[Wait] = []
    asking: list[tuple[Item, Wanted]] = []
    for item in items:
        rates = item.account.rates
        wanted = demand(len(asking), item, rates) if rates else None
        if rates is None or wanted is None or (wanted.seconds is None and wanted.sender_seconds is None):
            going.append(item)
        elif not _has_place(item, rates, now):
            asking.append((item, wanted))
        elif item.row.turn_at and not is_turn(item.row.turn_at, now):  # woken before it
            waits.append(Wait(item, item.row.turn_at, has_place=True))
        else:
            going.append(item)
    if asking:
        horizon = horizon_seconds(batch.lane)
        wanted_places = [wanted for _, wanted in asking]
        places = insist(lambda: reserve(wanted_places, horizon_seconds=horizon), runtime)
        now = batch.now()
        for (item, _), place in zip(asking, places, strict=True):
            if _is_probe(item) or (place.turn_at is not None and is_turn(place.turn_at, now)):
                going.append(item)
            else:
                waits.append(_wait(item, place, now, horizon, runtime.random))
    return going, waits


def _is_probe(item: Paced) -> bool:
    """Whether it tries an account that rests: it goes at once, since by its turn nobody would let it."""
    rest = item.account.breakers.get(item.row.country)
    is_resting = rest is not None and not rest.is_last_resort
    return item.row.state is State.QUEUED and (item.account.opened_at is not None or is_resting)


def _has_place(item: Paced, rates: Rates, now: datetime) -> bool:
    row = item.row
    if row.turn_account != item.account.id or row.turn_at is None:
        return False
    is_good = rates.is_good if row.state is State.QUEUED else rates.is_good_for_question
    return is_good(row.turn_at, now)


def _wait(item: Paced, place: Place, now: datetime, horizon: float, random: Random) -> Wait:
    """Until its turn; without a place until there may be one.

    Who has waited for one in vain waits as long again as so far: if more came than the rate allows, few look in vain.
    """
    if place.turn_at is not None:
        return Wait(item, place.turn_at, has_place=True)
    if place.expected_at is not None:
        return Wait(item, place.expected_at, has_place=False, looks_at=_sooner(now, place.expected_at, horizon))
    row = item.row
    if row.turn_at and row.turn_account is None and row.turn_at > now:  # looked before the time it was told
        return Wait(item, row.turn_at, has_place=False, looks_at=_sooner(now, row.turn_at, horizon))
    waited = (now - row.turn_at).total_seconds() if row.turn_at and row.turn_account is None else 0.0
    again_at = now + timedelta(seconds=max(horizon, waited) * random.uniform(0.5, 1.5))
    return Wait(item, again_at, has_place=False)


def _sooner(now: datetime, expected_at: datetime, horizon: float) -> datetime:
    """When to look whether there is a place already: an account's room is told of what enters, not of what leaves."""
    return min(expected_at, now + timedelta(seconds=ROOM_HORIZONS * horizon))


def _by_others(waits: Iterable[Wait], chooser: Chooser) -> Iterator[Planned]:
    """Calls by another account for those that would wait in vain, where there is one."""
    for wait in waits:
        row = wait.item.row
        other = chooser.another(row, wait.item.account)
        try:
            planned = plan_call(row, other, chooser.now) if other else None
        except ProviderError:
            continue  # it cannot carry this message
        if planned is not None:
            yield planned


def _postpone(waits: Sequence[Wait], batch: Batch, runtime: Runtime) -> None:
    if waits:
        given_back = [wait.turn for wait in waits]
        insist(lambda: turns.postpone(given_back, claim=batch.claim), runtime)


def _of_send(number: int, planned: Planned, rates: Rates) -> Wanted:
    row, account = planned.row, planned.account
    sender = (account.provider.sender_for(row.country) or UNNAMED)[:SENDER_CHARACTERS] if rates.sender else ""
    return Wanted(
        number=number,
        account_id=account.id,
        of="",
        seconds=rates.seconds,
        sender=sender,
        sender_seconds=rates.sender_seconds,
        burst=rates.burst,
        cost=rates.cost(row.channel, row.content[row.channel].get("text", "")),
        room=f"~{row.priority} {sender}".rstrip(),
        room_seconds=max(rates.seconds or 0.0, rates.sender_seconds or 0.0),
        enters_room=row.turn_at is None,
    )


def _of_check(number: int, check: Check, rates: Rates) -> Wanted:
    row = check.row
    return Wanted(
        number=number,
        account_id=check.account.id,
        of=QUESTIONS,
        seconds=rates.question_seconds,
        sender="",
        sender_seconds=None,
        burst=1,
        cost=1,
        room=f"~{row.priority} {QUESTIONS}",
        room_seconds=rates.question_seconds or 0.0,
        enters_room=row.turn_at is None,
    )

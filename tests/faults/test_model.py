"""The engine's model under random interleavings: it keeps all promises, and needs every safeguard for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random

import pytest

from notifications.states import ENDED, State
from tests.faults.model import (
    DEADLINE,
    NEVER,
    UNCLEAR,
    Account,
    Attempt,
    Claimed,
    Engine,
    Event,
    Fate,
    Kind,
    Message,
    N,
    Notification,
    Policy,
    Safeguard,
    Step,
    Steps,
    apply,
    cancel,
    end_of,
    replay,
    work,
)

RUNS = 5000
RUNS_WITHOUT_A_SAFEGUARD = 10_000  # at most, until a promise breaks; most need fewer than 500
WORKERS = ("worker 1", "worker 2", "worker 3")
DEEDS = ("cancel", "incident ends", *["retry now"] * 4, *["settings change"] * 6)
DEEDS_WHEN_ASKED = ("cancel", "replay", "replay")
QUIET_STEPS = 2000  # some fifty are enough where nothing is stuck


class Promise(Enum):
    LOST = "nothing lost"
    TWICE = "nothing twice, where it can be known"
    ONCE = "one follow-up per status"
    STALE = "nothing stale"
    HIDDEN = "nothing hidden"


# A promise that is broken, and how.
Breach = tuple[Promise, str]


def a_scenario(random: Random, off: frozenset[Safeguard]) -> Engine:
    """Accounts of random kinds, one or two notifications, and a day on which much or little goes wrong."""
    kinds = [random.choice(list(Kind)) for _ in range(3)]
    if random.random() < 0.5:
        kinds[1] = kinds[0]
    names = (("A", "sms"), ("B", "sms"), ("C", "email"))
    accounts = [
        Account(name, channel, kind, random.choice((0.0, 5.0, 30.0, 90.0)), random.random() < 0.6)
        for (name, channel), kind in zip(names, kinds, strict=True)
    ]
    engine = Engine(accounts, random, off)
    weights = random.choice(
        ((6, 1, 1, 1, 1, 1), (1, 2, 2, 2, 2, 0.3), (1, 4, 1, 0, 4, 0), (1, 1, 3, 1, 0, 0), (1, 1, 0, 0, 5, 0))
    )
    engine.fates = dict(zip(Fate, weights, strict=True))
    for name in random.choice(("a", "a", "ab")):
        window = random.choice((15.0, 40.0, 90.0, 400.0))
        steps = random.choice(
            ([Step(("sms",), window), Step(("email",))], [Step(("sms",))], several_at_once(random, window))
        )
        expires_at = random.choice((60.0, 300.0, 900.0, 86_400.0))
        policy = random.choice(list(Policy))
        engine.accept(Notification(name, steps, policy, expires_at), kills_workers=random.random() < 0.05)
    return engine


def several_at_once(random: Random, window: float) -> list[Step]:
    both = Step(("sms", "email"), random.choice((window, None)), needs_all=random.random() < 0.5)
    return random.choice(([both], [both, Step(("email",))], [Step(("sms",), window), both]))


@dataclass(eq=False)
class Actor:
    """A generator that is being run, and what it waits for."""

    name: str
    steps: Steps
    wakes_at: float = 0.0
    wants: Notification | None = None

    def is_ready(self, now: float) -> bool:
        return self.wakes_at <= now and not (self.wants and self.wants.is_locked)


class Run:
    """One random history: troubled first, then quiet until nothing is due."""

    def __init__(self, seed: int, off: frozenset[Safeguard] = frozenset()) -> None:
        self.random = Random(seed)
        self.engine = a_scenario(self.random, off)
        self.actors: list[Actor] = []
        self.pauses = self.random.choice(((0, 1, 3), (0, 1, 5, 12), (0, 2, 20, 61), (0, 10, 61, 130)))
        self.kills = self.random.choice((0.0, 0.0, 0.02, 0.06))
        self.impatience = self.random.choice((0.0, 0.05, 0.2))  # of clients and operators
        self.unfiled: list[Attempt] = []  # calls that still need their open entry to be known
        self.calls_seen = 0
        self.breaches: dict[Promise, str] = {}

    def run(self) -> dict[Promise, str]:
        for _ in range(self.random.choice((40, 80, 160))):
            self._something_happens()
            self._check(self._always())
        self._calm_down()
        self._check(at_the_end(self.engine))
        return self.breaches

    def explain(self) -> str:
        broken = [f"{promise.value}: {how}" for promise, how in self.breaches.items()]
        return "\n".join(["", *broken, "", *self.engine.trace])

    # -- the troubled part

    def _something_happens(self) -> None:
        engine, chance = self.engine, self.random.random
        engine.now += 0.001  # no two things happen at once
        if chance() < 0.25:
            engine.now += self.random.choice(self.pauses)
        if self.actors and chance() < self.kills:
            self._kill(self.random.choice(self.actors))
        if chance() < self.impatience:
            self._somebody_interferes()
        self._post_receipts(chance() < 0.5)
        if not self._step():
            engine.now = min(self._moments(), default=engine.now) + self.random.choice(self.pauses)

    def _step(self) -> bool:
        """One step of one actor, new or under way. False where all wait for a moment."""
        engine = self.engine
        engine.now += 0.001  # no two things happen at once
        ready = [actor for actor in self.actors if actor.is_ready(engine.now)]
        free = [name for name in WORKERS if all(actor.name != name for actor in self.actors)]
        is_due = any(engine.is_due(entry) for entry in engine.entries.values())
        choices: list[Callable[[], None]] = [lambda actor=actor: self._go_on(actor) for actor in ready]
        if free and is_due:
            choices.append(lambda: self._start_worker(free[0]))
        if engine.waiting() and all(actor.name != "applier" for actor in self.actors):
            choices.append(lambda: self._start("applier", apply(engine)))
        if not choices:
            return False
        self.random.choice(choices)()
        return True

    def _start(self, name: str, steps: Steps) -> None:
        self.actors.append(Actor(name, steps))

    def _start_worker(self, name: str) -> None:
        self.engine.who = name
        claimed: Claimed | None = self.engine.claim()
        if claimed is not None:
            self._start(name, work(self.engine, claimed))

    def _go_on(self, actor: Actor) -> None:
        self.engine.who = actor.name
        if actor.wants is not None:
            actor.wants.is_locked, actor.wants = True, None
        try:
            wish = next(actor.steps)
        except StopIteration:
            self.actors.remove(actor)
        else:
            actor.wants = wish if isinstance(wish, Notification) else None
            actor.wakes_at = wish if isinstance(wish, float) else 0.0

    def _kill(self, actor: Actor) -> None:
        self.engine.note(f"{actor.name} is killed")
        actor.steps.close()
        self.actors.remove(actor)

    def _post_receipts(self, wanted: bool) -> None:
        """One receipt that has left its provider arrives."""
        on_their_way = self.engine.receipts
        if wanted and (left := [item for item in on_their_way if item[0] <= self.engine.now]):
            item = self.random.choice(left)
            on_their_way.remove(item)
            self.engine.who = "webhook"
            self.engine.store(item[1])

    def _somebody_interferes(self) -> None:
        engine, notification = self.engine, self.random.choice(self.engine.notifications)
        message = self.random.choice(notification.messages)
        waits_for_people = message.state is State.DEAD_LETTERED or message.reason == "held"
        deed = self.random.choice(DEEDS_WHEN_ASKED if waits_for_people else DEEDS)
        engine.who = "people"
        if deed == "cancel":
            self._start("client", cancel(engine, notification))
        elif deed == "incident ends":
            notification.incident_ended_at = min(notification.incident_ended_at, engine.now)
            engine.note("the incident ends")
        elif deed == "settings change":
            self.random.choice(engine.accounts).settings += 1
            engine.note("an account's settings change")
        elif deed == "replay":
            self._start("operator", replay(engine, message))
        elif message.state is State.QUEUED and engine.entries[message].claim is None:
            engine.entries[message].due_at = min(engine.entries[message].due_at, engine.now)

    # -- the quiet part

    def _calm_down(self) -> None:
        """Faults stop; time goes on until nothing is due."""
        engine = self.engine
        engine.fates = {Fate.TAKEN: 1.0}
        engine.who = "clock"
        engine.note("all is quiet from here")
        for _ in range(QUIET_STEPS):
            self._post_receipts(True)
            if not self._step():
                self._check(overslept(engine))
                moments = self._moments()
                if not moments or min(moments) == NEVER:
                    return
                engine.now = min(moments)
            self._check(self._always())

    def _moments(self) -> list[float]:
        """When something happens by itself."""
        engine = self.engine
        moments = [
            entry.due_at for entry in engine.entries.values() if entry.claim is None or engine.has(Safeguard.LEASE)
        ]
        moments += [actor.wakes_at for actor in self.actors]
        moments += [at for at, _ in engine.receipts]
        return [moment for moment in moments if moment > engine.now]

    # -- the promises

    def _check(self, breaches: Iterator[Breach]) -> None:
        for promise, how in breaches:
            if promise not in self.breaches:
                self.engine.note(f"*** {promise.value}: {how}")
                self.breaches[promise] = how

    def _always(self) -> Iterator[Breach]:
        """What must be so at every instant."""
        engine = self.engine
        for notification in engine.notifications:
            if notification.end is not (end := end_of(notification.messages)):
                yield Promise.HIDDEN, f"the end of {notification.name} is {notification.end}, its messages say {end}"
            for message in notification.messages:
                has_entry = message in engine.entries
                if has_entry is (message.state in ENDED):
                    yield Promise.LOST, f"{message} is {message.state} and has {'an' if has_entry else 'no'} entry"
        while self.calls_seen < len(engine.calls):
            attempt, started_at = engine.calls[self.calls_seen]
            self.calls_seen += 1
            self.unfiled.append(attempt)
            yield from at_a_call(engine, attempt, started_at)
        for attempt in list(self.unfiled):
            if attempt.number in attempt.message.attempts:
                self.unfiled.remove(attempt)
            elif (entry := engine.entries.get(attempt.message)) is None or entry.attempt is not attempt:
                yield Promise.HIDDEN, f"{attempt} is on the wire and on no file"


def at_a_call(engine: Engine, attempt: Attempt, started_at: float) -> Iterator[Breach]:
    """What must be so when a call starts."""
    notification = attempt.message.notification
    cancelled_at = engine.cancelled_at.get(notification, NEVER)
    if not notification.is_useful(attempt.began_at) or cancelled_at < attempt.began_at:
        yield Promise.STALE, f"{attempt} began when it was not wanted any more"
    if started_at > attempt.began_at + N.late_start_seconds:
        yield Promise.STALE, f"{attempt} started {started_at - attempt.began_at:.0f} s after its begin"
    known = reported(engine, attempt.message, Event.ACCEPTED, Event.SENT, before=attempt.began_at)
    if known - reported(engine, attempt.message, Event.FAILED):
        yield Promise.TWICE, f"{attempt} was sent though an earlier attempt is known to be there"


def overslept(engine: Engine) -> Iterator[Breach]:
    """What must be so when nothing is left to do until some later moment."""
    for message, entry in engine.entries.items():
        is_free = entry.claim is None and entry.due_at > engine.now
        if is_free and message.escalate_at is not None and message.escalate_at <= engine.now:
            yield Promise.LOST, f"the window of {message} is over, and nobody looks at it before {entry.due_at:.0f}"


def at_the_end(engine: Engine) -> Iterator[Breach]:
    """What must be so when all is over."""
    for notification in engine.notifications:
        if notification.end is None:
            yield Promise.LOST, f"{notification.name} never ends"
        parts = [(message.step, message.part) for message in notification.messages]
        if len(parts) != len(set(parts)):
            yield Promise.ONCE, f"{notification.name} has two messages for one part of a step"
        for message in notification.messages:
            yield from nothing_twice(engine, message)
            if reported(engine, message, Event.DELIVERED) and message.state is not State.DELIVERED:
                yield Promise.HIDDEN, f"{message} was reported as delivered, and is {message.state}"
            if message.state in (State.CANCELLED, State.EXPIRED) and books_of(engine, message):
                yield Promise.STALE, f"{message} counts as not sent, and a provider has it"
    for message in engine.told_stopped:
        if books_of(engine, message):
            yield Promise.STALE, f"{message} was called stopped, and a provider has it"
    for attempt in engine.heard:
        filed = attempt.message.attempts.get(attempt.number)
        if filed is None or (filed.outcome != "taken" and filed.late_answer is not Fate.TAKEN):
            yield Promise.HIDDEN, f"{attempt} was answered with yes, and the file does not say so"


def reported(engine: Engine, message: Message, *events: Event, before: float = NEVER) -> set[Attempt]:
    """Attempts of a message with such events, applied before some moment."""
    reports = [report for report in engine.reports if report.event in events and report.applied_at < before]
    return {report.attempt for report in reports if report.attempt.message is message}


def nothing_twice(engine: Engine, message: Message) -> Iterator[Breach]:
    """A second acceptance is excused by nothing but an unclear outcome where nobody can be asked, and the policy."""
    booked = sorted(
        ((attempt.number, account) for account, attempt in books_of(engine, message)), key=lambda item: item[0]
    )
    for number, account in booked[:-1]:
        filed = message.attempts.get(number)
        is_marked = filed is not None and filed.outcome in UNCLEAR and filed.looked_up is None
        is_wanted = message.notification.policy is Policy.SEND_AGAIN or message in engine.replayed_held
        may = is_wanted and account.kind in (Kind.NOTHING, Kind.KEYS)
        if not (is_marked and may):
            yield Promise.TWICE, f"{message}-{number} was taken by {account}, and not by it alone"
    for filed in message.attempts.values():
        if filed.looked_up is False and filed.number in [number for number, _ in booked]:
            yield Promise.TWICE, f"{filed} counts as not there, and it is"
        if filed.outcome == "lost" and filed.ended_at < filed.began_at + DEADLINE + N.margin_seconds:
            yield Promise.TWICE, f"{filed} was given up while its answer could still come"


def books_of(engine: Engine, message: Message) -> list[tuple[Account, Attempt]]:
    """What providers really took."""
    return [
        (account, booked.attempt)
        for account in engine.accounts
        for booked in account.books
        if booked.attempt.message is message
    ]


def first_breach(off: frozenset[Safeguard], runs: int) -> tuple[int, Run] | None:
    """The first seed whose run breaks a promise, and that run."""
    for seed in range(runs):
        run = Run(seed, off)
        if run.run():
            return seed, run
    return None


# A second line of defence is needed only once the first one is gone.
FIRST_LINES = {Safeguard.UNIQUE_STEP: Safeguard.LOCK_BEFORE_SETTLE}


def is_needed(safeguard: Safeguard, seed: int) -> bool:
    """Whether a run breaks a promise without a safeguard that it keeps with it."""
    off = frozenset({FIRST_LINES[safeguard]} if safeguard in FIRST_LINES else ())
    without = Run(seed, off | {safeguard}).run()
    return bool(without) and bool(without.keys() - Run(seed, off).run().keys())


class TestModel:
    """With all safeguards."""

    def test_keeps_all_promises(self):
        found = first_breach(frozenset(), RUNS)

        if found:
            seed, run = found
            pytest.fail(f"seed {seed}\n{run.explain()}", pytrace=False)


class TestSafeguards:
    """With one of them switched off."""

    @pytest.mark.parametrize("safeguard", Safeguard, ids=lambda safeguard: safeguard.name.lower())
    def test_is_needed(self, safeguard):
        seeds = range(RUNS_WITHOUT_A_SAFEGUARD)

        assert any(is_needed(safeguard, seed) for seed in seeds), f"no run needs it: {safeguard.value}"

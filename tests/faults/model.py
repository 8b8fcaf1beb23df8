"""A small model of the engine: its rows in memory, its statements as methods, its actors as generators.

Whatever stands between two `yield`s is one statement, or one transaction, of the real engine. At a `yield` an actor may be
paused for any time, overtaken by all others, or killed. What an actor yields is what it waits for: nothing, a moment, or
the lock of a notification. Every safeguard is looked up in exactly one place, so that a run can do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum, StrEnum, auto
from random import Random

from notifications.numbers import Numbers
from notifications.states import ENDED, OPEN, End, State, check_move

N = Numbers(tries=4)
DEADLINE = N.send_deadline_seconds
NEXT_LOOK_SECONDS = 60.0  # after a look-up that told nothing, or that the end of a window hurried
GIVEN_UP_AFTER_STRIKES = 6
NEVER = float("inf")
UNCLEAR = ("unclear", "lost")
CALLED_OFF = "delivered by another step"
FINAL = (State.CANCELLED, State.DEAD_LETTERED)  # no further step begins
WORST = (*FINAL[::-1], State.FAILED, State.EXPIRED, State.SUPPRESSED, State.UNCONFIRMED)


class Safeguard(Enum):
    """What keeps the promises. Switch one off, and some run breaks one."""

    ACCOUNT_ON_FILE = "the attempt and its account are on file before the call"
    LATE_START = "no call starts later than a second after its begin"
    LEASE = "a claim expires"
    FENCING = "only the holder of the claim may record"
    LAST_LOOK = "begin looks once more whether the notification is still wanted"
    LOOK_AFTER_LOCK = "that look is taken after the wait for the entry, not before"
    LEASE_IS_LONG_ENOUGH = "begin refuses when the rest of the lease is shorter than a call and the margin"
    LOCK_BEFORE_SETTLE = "siblings are read after the lock, not from before the wait for it"
    EXIT_FROM_UNCERTAIN = "an uncertain message ends unconfirmed at its receipt deadline"
    EARLIEST_DUE = "an entry is due at the earliest of all that its message waits for"
    OUR_ID = "every request carries our name of the attempt"
    LOOK_UP = "the provider is asked before anything is sent again"
    LOOK_UP_DELAY = "it is not asked before its search can know"
    TWO_NOES = "only two clear noes count"
    HURRIED_LOOK = "a no that the end of a window hurried is no clear no"
    SAME_ACCOUNT = "what is perhaps sent is never sent by another account"
    SAME_KEY = "what is perhaps sent goes again under the same key"
    REQUEST_HASH = "a key goes again with the same bytes only"
    UNIQUE_STEP = "a part of a step has one message"
    RANKS = "reports count by kind, never by arrival"
    LATE_ANSWERS = "what a fenced worker was told is filed as evidence"
    KNOWN_YES = "what an earlier attempt is known to have reached is not sent again"
    HONEST_STOP = "what is perhaps sent does not end, and is not called stopped, as if it were not"
    CANCEL_IS_KEPT = "cancel is kept for what a replay or a report opens again"
    STRIKES = "an entry that kills its workers is given up"


class Kind(StrEnum):
    """What a provider can do about an unclear outcome."""

    KEYS = "keys"  # takes one key with the same bytes once
    REFERENCE = "reference"  # finds a message by our name of the attempt
    RECIPIENT = "recipient"  # finds a message by recipient and time
    NOTHING = "nothing"


class Policy(StrEnum):
    SEND_AGAIN = "send_again"
    HOLD = "hold"


class Event(IntEnum):
    """What a report says, in the order of rank."""

    ACCEPTED = 1
    SENT = 2
    FAILED = 3
    DELIVERED = 4


class Fate(Enum):
    """What becomes of a call."""

    TAKEN = auto()
    TAKEN_UNHEARD = auto()  # accepted, and the answer is lost
    TAKEN_LATE = auto()  # accepted at some time before the deadline, and no answer
    DROPPED = auto()  # not accepted, and no answer
    BUSY = auto()  # "not now": certainly not accepted
    REFUSED = auto()  # "never": certainly not accepted

    @property
    def is_clear(self) -> bool:
        return self in (Fate.TAKEN, Fate.BUSY, Fate.REFUSED)

    @property
    def is_taken(self) -> bool:
        return self in (Fate.TAKEN, Fate.TAKEN_UNHEARD, Fate.TAKEN_LATE)


# ---------------------------------------------------------------------------------------------------------- the rows


@dataclass(eq=False)
class Step:
    """Goes by its channels at once: one delivery is enough, or one by each where it needs all."""

    channels: tuple[str, ...]
    window: float | None = None
    needs_all: bool = False

    def __str__(self) -> str:
        return f"{' and '.join(self.channels)}{', all' if self.needs_all else ''} ({self.window or 'no'} s)"


@dataclass(eq=False)
class Notification:
    name: str
    steps: list[Step]
    policy: Policy
    expires_at: float
    stopped_at: float = NEVER
    incident_ended_at: float = NEVER
    end: End | None = None
    messages: list[Message] = field(default_factory=list)
    is_locked: bool = False

    def is_useful(self, now: float) -> bool:
        return now < min(self.expires_at, self.stopped_at, self.incident_ended_at)


@dataclass(eq=False)
class Message:
    notification: Notification
    step: int
    part: int
    escalate_at: float | None
    kills_workers: bool = False
    state: State = State.QUEUED
    reason: str = ""
    account: Account | None = None
    tried: tuple[Account, ...] = ()
    attempts: dict[int, Attempt] = field(default_factory=dict)  # on file, by number
    attempt_count: int = 0
    tries: int = 0
    not_there: int = 0
    perhaps_sent: bool = False  # an attempt was unclear, and nothing has settled it yet
    escalated_at: float | None = None
    receipt_deadline: float | None = None

    def __str__(self) -> str:
        return f"{self.notification.name}.{self.step}.{self.channel}"

    @property
    def channel(self) -> str:
        return self.notification.steps[self.step].channels[self.part]

    @property
    def has_next_step(self) -> bool:
        return self.step + 1 < len(self.notification.steps)

    def is_window_over(self, now: float) -> bool:
        return self.escalate_at is not None and self.escalate_at <= now


@dataclass(eq=False)
class Entry:
    due_at: float
    claim: object | None = None
    strikes: int = 0
    attempt: Attempt | None = None  # the open one


@dataclass(eq=False)
class Attempt:
    """One call: open on an entry first, then on file with its outcome."""

    message: Message
    number: int
    account: Account
    key: str
    request_hash: tuple[int, int, int]
    began_at: float = NEVER
    ended_at: float = NEVER
    outcome: str = ""  # taken, not_sent, refused, unclear, or lost: unclear because its holder was gone
    looked_up: bool | None = None  # whether it was found
    late_answer: Fate | None = None
    provider_id: int | None = None

    def __str__(self) -> str:
        return f"{self.message}-{self.number}"


@dataclass(eq=False)
class Report:
    """A receipt, a look-up's find or a late yes. `name` is our name of the attempt, where the provider knows it."""

    event: Event
    account: Account
    name: str | None
    provider_id: int | None
    attempt: Attempt | None = None  # once matched
    applied_at: float = NEVER


@dataclass
class Verdict:
    """What follows for a message. `attempt` is the one that has ended with `outcome`."""

    state: State
    reason: str = ""
    next_at: float | None = None
    outcome: str = ""
    attempt: Attempt | None = None
    provider_id: int | None = None
    changes: dict[str, object] = field(default_factory=dict)

    @property
    def settles(self) -> bool:
        return self.state in ENDED or "escalated_at" in self.changes


@dataclass(frozen=True)
class Answer:
    """What became of a call, and when its caller hears of it."""

    fate: Fate
    at: float
    provider_id: int | None = None


@dataclass(eq=False)
class Claimed:
    """An entry we hold, and its message as it was then."""

    claim: object
    message: Message
    seen: Message
    attempt: Attempt | None
    strikes: int


# ---------------------------------------------------------------------------------------- the providers and their books


@dataclass(eq=False)
class Booked:
    """A message that a provider really took."""

    provider_id: int
    attempt: Attempt
    name: str | None
    at: float
    visible_at: float


@dataclass(eq=False)
class Account:
    """One account: what the engine may know of it, and its provider's books, which the engine cannot read."""

    name: str
    channel: str
    kind: Kind
    look_up_delay: float
    has_receipts: bool
    settings: int = 0  # part of a request's bytes; an operator may change them
    books: list[Booked] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, shown after {self.look_up_delay:.0f} s)"

    @property
    def can_look_up(self) -> bool:
        return self.kind in (Kind.REFERENCE, Kind.RECIPIENT)

    def take(self, attempt: Attempt, name: str | None, fate: Fate, now: float, random: Random) -> tuple[Booked, bool]:
        """Accept a request, or find it accepted before. Its search may lag some seconds longer than documented."""
        if self.kind is Kind.KEYS:
            for booked in self.books:
                if (booked.attempt.key, booked.attempt.request_hash) == (attempt.key, attempt.request_hash):
                    return booked, False
        at = now + (random.uniform(0, DEADLINE) if fate is Fate.TAKEN_LATE else 0)
        lag = random.choice((0, self.look_up_delay, self.look_up_delay + 45))
        self.books.append(Booked(len(self.books), attempt, name, at, at + lag))
        return self.books[-1], True

    def find(self, attempt: Attempt, now: float) -> Booked | None:
        for booked in self.books:
            if booked.visible_at > now:
                continue
            if self.kind is Kind.REFERENCE and booked.name == str(attempt):
                return booked
            if (
                self.kind is Kind.RECIPIENT
                and booked.attempt.message is attempt.message
                and booked.at >= attempt.began_at
            ):
                return booked
        return None


# ---------------------------------------------------------------------------------------------------------- the engine


@dataclass(eq=False)
class Engine:
    """The tables, and the statements upon them."""

    accounts: list[Account]
    random: Random
    off: frozenset[Safeguard] = frozenset()
    now: float = 0.0
    notifications: list[Notification] = field(default_factory=list)
    entries: dict[Message, Entry] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    # What the engine has no rows for, but the promises are about:
    calls: list[tuple[Attempt, float]] = field(default_factory=list)  # on the wire, and when they started
    cancelled_at: dict[Notification, float] = field(default_factory=dict)
    replayed_held: set[Message] = field(default_factory=set)  # somebody would rather have it twice
    told_stopped: list[Message] = field(default_factory=list)
    heard: list[Attempt] = field(default_factory=list)  # a worker was told *yes*, and lived to file it
    receipts: list[tuple[float, Report]] = field(default_factory=list)  # on their way to us
    who: str = "clock"
    trace: list[str] = field(default_factory=list)
    fates: dict[Fate, float] = field(default_factory=lambda: {Fate.TAKEN: 1.0})

    def has(self, safeguard: Safeguard) -> bool:
        return safeguard not in self.off

    def note(self, text: str) -> None:
        self.trace.append(f"{self.now:10.1f}  {self.who:9} {text}")

    # -- accept, claim, begin, record

    def accept(self, notification: Notification, kills_workers: bool) -> None:
        self.notifications.append(notification)
        steps = ", then ".join(map(str, notification.steps))
        self.note(f"{notification.name}: accepted, {steps}, {notification.policy}, until {notification.expires_at:.0f}")
        self._begin_step(notification, 0, kills_workers)

    def _begin_step(self, notification: Notification, step: int, kills_workers: bool = False) -> None:
        window = notification.steps[step].window
        for part in range(len(notification.steps[step].channels)):
            message = Message(notification, step, part, None if window is None else self.now + window, kills_workers)
            notification.messages.append(message)
            self.entries[message] = Entry(self.now)

    def is_due(self, entry: Entry) -> bool:
        return entry.due_at <= self.now and (entry.claim is None or self.has(Safeguard.LEASE))

    def claim(self) -> Claimed | None:
        due = [message for message, entry in self.entries.items() if self.is_due(entry)]
        if not due:
            return None
        message = min(due, key=lambda message: self.entries[message].due_at)
        entry = self.entries[message]
        entry.claim, entry.due_at, entry.strikes = object(), self.now + N.lease_seconds, entry.strikes + 1
        self.note(f"{message}: claimed, {message.state}, strike {entry.strikes}")
        return Claimed(entry.claim, message, copy(message), entry.attempt, entry.strikes)

    def begin(self, claimed: Claimed, attempt: Attempt, was_useful: bool) -> bool:
        """The intent and the account go on file. The last look before the wire; `was_useful` says one before the wait."""
        entry = self.entries.get(claimed.message)
        if entry is None or entry.claim is not claimed.claim or entry.attempt is not None:
            return False
        if self.has(Safeguard.LEASE_IS_LONG_ENOUGH) and entry.due_at <= self.now + DEADLINE + N.margin_seconds:
            return False
        is_useful = (
            claimed.message.notification.is_useful(self.now) if self.has(Safeguard.LOOK_AFTER_LOCK) else was_useful
        )
        if self.has(Safeguard.LAST_LOOK) and not is_useful:
            return False
        attempt.began_at = self.now
        if self.has(Safeguard.ACCOUNT_ON_FILE):
            entry.attempt = attempt
        self.note(f"{attempt}: begun with {attempt.account}")
        return True

    def call(self, attempt: Attempt) -> Answer:
        """The wire: what the provider really does, and what it says."""
        self.calls.append((attempt, self.now))
        fate = self.random.choices(list(self.fates), list(self.fates.values()))[0]
        self.note(f"{attempt}: on the wire, {fate.name}")
        if fate.is_taken:
            name = str(attempt) if self.has(Safeguard.OUR_ID) else None
            booked, is_new = attempt.account.take(attempt, name, fate, self.now, self.random)
            if is_new and attempt.account.has_receipts:
                self._post_receipts(attempt.account, booked)
        at = self.now + (self.random.uniform(0, DEADLINE) if fate.is_clear else DEADLINE)
        return Answer(fate, at, booked.provider_id if fate is Fate.TAKEN else None)

    def _post_receipts(self, account: Account, booked: Booked) -> None:
        """Early, late, twice, in any order, or never."""
        last = self.random.choice((Event.DELIVERED, Event.DELIVERED, Event.FAILED))
        for event in self.random.choice(
            ((), (Event.SENT,), (last,), (Event.SENT, last), (Event.SENT, Event.SENT, last, last))
        ):
            at = booked.at + self.random.choice((0, 0, 2, 30, 60, 300))
            self.receipts.append((at, Report(event, account, booked.name, booked.provider_id)))

    def holds(self, claimed: Claimed) -> bool:
        entry = self.entries.get(claimed.message)
        if self.has(Safeguard.FENCING):
            return entry is not None and entry.claim is claimed.claim
        return entry is not None and claimed.message.state is claimed.seen.state

    def put(self, message: Message, verdict: Verdict) -> None:
        """The one statement that moves a message: it files the ended attempt, and reschedules or removes the entry."""
        if verdict.attempt is not None:
            message.attempt_count, message.account = verdict.attempt.number, verdict.attempt.account
            self._file(verdict.attempt, verdict.outcome, verdict.provider_id)
        goes_on = message.state in OPEN and verdict.state in (State.QUEUED, State.UNCERTAIN)
        if goes_on and self.knows_yes(message):
            changes = verdict.changes | {"perhaps_sent": False}
            verdict = Verdict(State.SENT, "an earlier attempt was taken", changes=changes)
        check_move(message.state, verdict.state)
        if message.state is not verdict.state:
            message.not_there = 0
        if verdict.state in (State.UNCERTAIN, State.SENT):
            message.perhaps_sent = verdict.state is State.UNCERTAIN
        message.state, message.reason = verdict.state, verdict.reason
        for name, value in verdict.changes.items():
            setattr(message, name, value)
        if message.state is State.QUEUED:
            message.receipt_deadline = None
        elif message.receipt_deadline is None:
            message.receipt_deadline = self.now + N.receipt_deadline_seconds
        self.note(f"{message}: {message.state} ({message.reason})")
        if message.state in ENDED:
            message.escalate_at = None
            self.entries.pop(message, None)
        else:
            self.entries[message] = Entry(self.due_at(message, verdict.next_at))

    def _file(self, attempt: Attempt, outcome: str, provider_id: int | None) -> Attempt:
        """The first to file an attempt says how it ended."""
        filed = attempt.message.attempts.setdefault(attempt.number, attempt)
        if not filed.outcome:
            filed.outcome, filed.ended_at = outcome, self.now
        if filed.provider_id is None:
            filed.provider_id = provider_id
        return filed

    def due_at(self, message: Message, next_at: float | None) -> float:
        """When an open message is due: the earliest of what applies to its state."""
        queued = message.state is State.QUEUED
        last = message.notification.expires_at if queued else message.receipt_deadline
        if not self.has(Safeguard.EARLIEST_DUE):
            return last if next_at is None else next_at
        return min(moment for moment in (next_at, message.escalate_at, last) if moment is not None)

    # -- prepare: what a claimed entry needs

    def prepare(self, claimed: Claimed) -> Verdict | None:
        """What follows without asking anybody; None where a provider must be called."""
        seen, now = claimed.seen, self.now
        if claimed.attempt is not None:
            return self.ask(claimed, claimed.attempt, "lost")
        if claimed.strikes > GIVEN_UP_AFTER_STRIKES and seen.state is not State.SENT and self.has(Safeguard.STRIKES):
            return self.give_up(seen, "kills its worker")
        if seen.state is State.QUEUED:
            return self._must_not_go(seen)
        if seen.receipt_deadline <= now and (seen.state is State.SENT or self.has(Safeguard.EXIT_FROM_UNCERTAIN)):
            return Verdict(State.UNCONFIRMED, "no proof in time")
        if seen.state is State.UNCERTAIN and not self.has(Safeguard.LOOK_UP):
            return self.send_again(seen, "not asked")
        may_go_again = seen.state is State.UNCERTAIN and seen.escalated_at is None and self._unwanted(seen) is None
        if may_go_again and self.may_repeat(seen, seen.account):
            return self.send_again(seen, "same key")
        if seen.state is State.UNCERTAIN and seen.account.can_look_up:
            return None
        if seen.is_window_over(now):
            return self.escalate(seen)
        if may_go_again and seen.notification.policy is Policy.SEND_AGAIN:
            return self.send_again(seen, "send again")
        return Verdict(seen.state, "held" if seen.state is State.UNCERTAIN else "")

    def _must_not_go(self, seen: Message) -> Verdict | None:
        unwanted = self._unwanted(seen)
        if unwanted is None:
            return None
        state, reason = unwanted
        escalation = {"escalated_at": self.now, "escalate_at": None} if reason == "its window is over" else {}
        return Verdict(State.UNCERTAIN if self.may_be_out(seen) else state, reason, changes=escalation)

    def _unwanted(self, seen: Message) -> tuple[State, str] | None:
        """Where a message belongs that must not be sent any more, and why."""
        notification = seen.notification
        if min(notification.stopped_at, notification.incident_ended_at) <= self.now:
            return State.CANCELLED, "stopped"
        if notification.expires_at <= self.now:
            return State.EXPIRED, "too late"
        if seen.is_window_over(self.now):
            return State.EXPIRED, "its window is over"
        return None

    def may_be_out(self, message: Message) -> bool:
        """Whether a queued message must not end as one that was not sent."""
        return message.perhaps_sent and self.has(Safeguard.HONEST_STOP)

    def candidates(self, message: Message) -> list[Account]:
        if message.perhaps_sent and self.has(Safeguard.SAME_ACCOUNT):
            return [message.account]
        return [account for account in self.accounts if account.channel == message.channel]

    def may_repeat(self, seen: Message, account: Account) -> bool:
        """Whether the provider would drop a repetition of the last call: it knows the key, and the bytes are the same."""
        if account.kind is not Kind.KEYS or account is not seen.account:
            return False
        is_same = seen.attempts[seen.attempt_count].request_hash == request_hash(seen, account)
        return is_same or not self.has(Safeguard.REQUEST_HASH)

    def plan_call(self, claimed: Claimed) -> Attempt | None:
        """The call to make; None where it may be out already and nobody allows a second one."""
        seen, candidates = claimed.seen, self.candidates(claimed.seen)
        account = self.random.choice([account for account in candidates if account not in seen.tried] or candidates)
        number = seen.attempt_count + 1
        attempt = Attempt(claimed.message, number, account, f"{seen}-{number}", request_hash(seen, account))
        if seen.perhaps_sent and self.may_repeat(seen, account):
            attempt.key = seen.attempts[seen.attempt_count].key if self.has(Safeguard.SAME_KEY) else attempt.key
        elif seen.perhaps_sent and seen.notification.policy is Policy.HOLD and seen.reason != "replayed":
            return None
        return attempt

    # -- what an outcome leads to

    def lead_on(self, claimed: Claimed, attempt: Attempt, answer: Answer) -> Verdict:
        seen, fate = claimed.seen, answer.fate
        if fate is Fate.TAKEN:
            proves = attempt.account.has_receipts or seen.escalate_at is not None
            state = State.SENT if proves else State.UNCONFIRMED
            return Verdict(state, "taken", None, "taken", attempt, answer.provider_id, {"tried": ()})
        if fate is Fate.REFUSED:
            return Verdict(State.FAILED, "recipient refused", None, "refused", attempt)
        if fate is Fate.BUSY:
            return self._again(claimed, attempt)
        return self.ask(claimed, attempt)

    def ask(self, claimed: Claimed, attempt: Attempt, outcome: str = "unclear") -> Verdict:
        """Nobody knows whether it went out: ask, not before the provider's search can show it."""
        delay = DEADLINE + attempt.account.look_up_delay if self.has(Safeguard.LOOK_UP_DELAY) else 0
        changes = {"tries": claimed.seen.tries + 1}
        return Verdict(State.UNCERTAIN, "outcome unknown", attempt.began_at + delay, outcome, attempt, changes=changes)

    def _again(self, claimed: Claimed, attempt: Attempt) -> Verdict:
        seen, tries = claimed.seen, claimed.seen.tries + 1
        if tries >= N.tries:
            return replace(self.give_up(seen, "tries used up"), outcome="not_sent", attempt=attempt)
        tried = (*seen.tried, attempt.account)
        another = set(self.candidates(seen)) - set(tried)
        wait = 0 if another else self.random.choice((1, 20, 120))
        changes = {"tries": tries, "tried": tried if another else ()}
        return Verdict(State.QUEUED, "waiting to retry", self.now + wait, "not_sent", attempt, changes=changes)

    def send_again(self, seen: Message, reason: str) -> Verdict:
        if seen.tries >= N.tries:
            return self.give_up(seen, "tries used up", perhaps_sent=reason != "not there")
        return Verdict(State.QUEUED, reason, self.now, changes={"perhaps_sent": reason != "not there"})

    def give_up(self, seen: Message, reason: str, **changes: object) -> Verdict:
        return Verdict(State.FAILED if seen.has_next_step else State.DEAD_LETTERED, reason, changes=changes)

    def escalate(self, seen: Message, next_at: float | None = None) -> Verdict:
        """The window is over: the next step begins; this message stays open for evidence only."""
        return Verdict(seen.state, seen.reason, next_at, changes={"escalated_at": self.now, "escalate_at": None})

    def not_found(self, claimed: Claimed, attempt: Attempt) -> Verdict:
        """What a no from the provider leads to."""
        seen, now = claimed.seen, self.now
        hurried = seen.is_window_over(now)
        if hurried and self.has(Safeguard.HURRIED_LOOK):
            first_look_at = attempt.began_at + DEADLINE + attempt.account.look_up_delay
            return self.escalate(seen, max(now + NEXT_LOOK_SECONDS, first_look_at))
        if seen.not_there + 1 < (2 if self.has(Safeguard.TWO_NOES) else 1):
            if hurried:
                return self.escalate(seen, now + NEXT_LOOK_SECONDS)
            next_at = now + N.look_up_again_seconds
            return Verdict(seen.state, "not there", next_at, changes={"not_there": seen.not_there + 1})
        attempt.looked_up = False
        if seen.escalated_at is not None:
            return Verdict(State.FAILED, "not there")
        return self.send_again(seen, "not there")

    # -- evidence

    def store(self, report: Report) -> None:
        """A report as received. A name counts only if that account was given that attempt."""
        for attempt in self._known_attempts():
            if report.name == str(attempt) and report.account is attempt.account:
                report.attempt = attempt
        self.reports.append(report)
        self.note(f"report: {report.event.name} of {report.name}")

    def _known_attempts(self) -> Iterator[Attempt]:
        for notification in self.notifications:
            for message in notification.messages:
                yield from message.attempts.values()
                entry = self.entries.get(message)
                if entry and entry.attempt:
                    yield entry.attempt

    def waiting(self) -> Report | None:
        """A report that can be applied now: it named its attempt, or the attempt's provider id is known by now."""
        for report in self.reports:
            if report.attempt is None:
                wanted = (report.account, report.provider_id)
                known = (
                    attempt for attempt in self._known_attempts() if (attempt.account, attempt.provider_id) == wanted
                )
                report.attempt = next(known, None)
            if report.attempt is not None and report.applied_at == NEVER:
                return report
        return None

    def fold(self, message: Message) -> dict[int, Event]:
        """What each attempt has come to."""
        known = [(a.number, Event.ACCEPTED) for a in message.attempts.values() if a.outcome == "taken"]
        known += [(r.attempt.number, r.event) for r in self.reports if r.attempt and r.attempt.message is message]
        folded: dict[int, Event] = {}
        for number, event in known:
            number = self._last_with_its_key(message, number)
            folded[number] = max(folded.get(number, event), event) if self.has(Safeguard.RANKS) else event
        return folded

    def _last_with_its_key(self, message: Message, number: int) -> int:
        """What was repeated under one key is one message to its provider, whichever attempt a report names."""
        entry = self.entries.get(message)
        attempts = [*message.attempts.values(), *([entry.attempt] if entry and entry.attempt else ())]
        key = next((attempt.key for attempt in attempts if attempt.number == number), None)
        return max((attempt.number for attempt in attempts if attempt.key == key), default=number)

    def knows_yes(self, message: Message) -> bool:
        """Whether any attempt, not the newest alone, is known to be at its provider."""
        taken = any(event in (Event.ACCEPTED, Event.SENT) for event in self.fold(message).values())
        return taken and self.has(Safeguard.KNOWN_YES)

    def judge(self, message: Message) -> State | None:
        """Where a message belongs by all that is known; None where nothing follows."""
        folded, entry = self.fold(message), self.entries.get(message)
        if Event.DELIVERED in folded.values():
            return None if message.state is State.DELIVERED else State.DELIVERED
        is_open = entry is not None and entry.attempt is not None
        newest = folded.get(entry.attempt.number if is_open else message.attempt_count)
        if newest is None and not is_open and self.knows_yes(message):
            newest = Event.ACCEPTED
        if newest is None or (message.state in ENDED and message.state is not State.UNCONFIRMED):
            return None
        if newest is Event.FAILED:
            return State.FAILED
        return State.SENT if message.state in (State.QUEUED, State.UNCERTAIN) else None

    def apply(self, message: Message) -> None:
        """Evidence moves a message, files its open attempt and takes the entry from its holder."""
        state = self.judge(message)
        if state is None:
            return
        entry = self.entries.get(message)
        attempt = entry.attempt if entry else None
        outcome = "taken" if attempt and attempt.number in self.fold(message) else "unclear"
        self.put(message, Verdict(state, "evidence", None, outcome, attempt, changes={"perhaps_sent": False}))

    def file_late(self, attempt: Attempt, answer: Answer) -> None:
        """An answer whose claim was lost moves nothing, but it is filed, and a yes counts as evidence."""
        self.note(f"{attempt}: answered late, {answer.fate.name}")
        if not self.has(Safeguard.LATE_ANSWERS):
            return
        self._file(attempt, "unclear", answer.provider_id).late_answer = answer.fate
        if answer.fate is Fate.TAKEN:
            self.store(Report(Event.ACCEPTED, attempt.account, str(attempt), answer.provider_id))

    # -- settle

    def settle(self, notification: Notification, messages: list[Message]) -> None:
        """The next step at once where it is owed, else the end. The only writer of both."""
        if is_delivered(messages):
            self._call_off(notification)
        if self._gives_way(notification, messages):
            step = messages[-1].step + 1
            exists = any(message.step == step for message in notification.messages)
            if not exists or not self.has(Safeguard.UNIQUE_STEP):
                self._begin_step(notification, step)
                self.note(f"step {step} begins")
            notification.end = None
        else:
            notification.end = end_of(messages)

    def _call_off(self, notification: Notification) -> None:
        """A delivery makes what has not begun needless."""
        for message in notification.messages:
            if message.state is State.QUEUED and self.entries[message].attempt is None:
                called_off = State.UNCERTAIN if self.may_be_out(message) else State.CANCELLED
                self.put(message, Verdict(called_off, CALLED_OFF))

    def _gives_way(self, notification: Notification, messages: list[Message]) -> bool:
        if not notification.is_useful(self.now) or is_delivered(messages) or not messages[-1].has_next_step:
            return False
        newest = [message for message in messages if message.step == messages[-1].step]
        if any(message.state in FINAL and message.reason != CALLED_OFF for message in newest):
            return False
        return all(message.state in ENDED or message.escalated_at is not None for message in newest)


def request_hash(message: Message, account: Account) -> tuple[int, int, int]:
    """The bytes of a request, but for our name of the attempt."""
    return message.step, message.part, account.settings


def end_of(messages: list[Message]) -> End | None:
    """How a notification ended: a function of its messages. None while one of them is open."""
    if is_delivered(messages):
        return End.DELIVERED
    if any(message.state in OPEN for message in messages):
        return None
    if is_delivered(messages, State.UNCONFIRMED):
        return End.UNCONFIRMED
    lacking = [message for message in messages if message.state is not State.DELIVERED]
    needed = [message for message in lacking if message.reason != CALLED_OFF] or lacking
    return End(min((message.state for message in needed if message.step == needed[-1].step), key=WORST.index).value)


def is_delivered(messages: list[Message], *perhaps: State) -> bool:
    """Whether any step is: by one of its messages, or by all of them."""
    enough = {State.DELIVERED, *perhaps}
    steps = {message.step: message.notification.steps[message.step] for message in messages}
    return any(
        (all if step.needs_all else any)(message.state in enough for message in messages if message.step == number)
        for number, step in steps.items()
    )


# ---------------------------------------------------------------------------------------------------------- the actors

Steps = Generator["float | Notification | None", None, bool]


def transaction(engine: Engine, message: Message, write: Callable[[], bool]) -> Steps:
    """Lock the notification, **then** read it; write, and settle."""
    notification = message.notification
    before = [other if other is message else copy(other) for other in notification.messages]
    yield notification
    try:
        yield None
        done = write()
        engine.settle(notification, notification.messages if engine.has(Safeguard.LOCK_BEFORE_SETTLE) else before)
        return done
    finally:
        notification.is_locked = False


def record(engine: Engine, claimed: Claimed, verdict: Verdict) -> Steps:
    """Put a holder's verdict on file. False where the entry was not ours any more."""

    def write() -> bool:
        if not engine.holds(claimed):
            return False
        engine.put(claimed.message, verdict)
        return True

    if verdict.settles:
        return (yield from transaction(engine, claimed.message, write))
    yield None
    return write()


def work(engine: Engine, claimed: Claimed) -> Steps:
    """What a worker does with an entry that it has claimed."""
    yield None
    verdict = engine.prepare(claimed)
    if verdict is not None:
        return (yield from record(engine, claimed, verdict))
    if claimed.seen.state is State.QUEUED:
        return (yield from send(engine, claimed))
    return (yield from look_up(engine, claimed))


def send(engine: Engine, claimed: Claimed) -> Steps:
    """Begin, call, record."""
    if claimed.message.kills_workers:
        engine.note(f"{claimed.message}: kills its worker")
        return False
    attempt = engine.plan_call(claimed)
    if attempt is None:
        return (yield from record(engine, claimed, Verdict(State.UNCERTAIN, "held")))
    yield None
    notification = claimed.message.notification
    was_useful = notification.is_useful(engine.now)
    if notification.is_locked:  # whoever holds a notification holds its entries, too
        yield notification
        notification.is_locked = False
    if not engine.begin(claimed, attempt, was_useful):
        return False
    yield None
    if engine.has(Safeguard.LATE_START) and engine.now > attempt.began_at + N.late_start_seconds:
        return (yield from record(engine, claimed, Verdict(State.QUEUED, "not started", engine.now)))
    answer = engine.call(attempt)
    yield answer.at
    held = yield from record(engine, claimed, engine.lead_on(claimed, attempt, answer))
    if not held:
        yield None
        engine.file_late(attempt, answer)
    if answer.fate is Fate.TAKEN:
        engine.heard.append(attempt)
    return held


def look_up(engine: Engine, claimed: Claimed) -> Steps:
    """Ask the provider whether it has an uncertain message."""
    yield None
    attempt = claimed.message.attempts[claimed.seen.attempt_count]
    found = attempt.account.find(attempt, engine.now)
    engine.note(f"{attempt}: looked up, {'there' if found else 'not there'}")
    yield None
    if found is None:
        return (yield from record(engine, claimed, engine.not_found(claimed, attempt)))
    attempt.looked_up, attempt.provider_id = True, found.provider_id
    engine.store(Report(Event.ACCEPTED, attempt.account, str(attempt), found.provider_id))
    return (yield from apply(engine))


def apply(engine: Engine) -> Steps:
    """Apply all reports that have their message."""
    while report := engine.waiting():

        def write(report: Report = report) -> bool:
            report.applied_at = engine.now
            engine.apply(report.attempt.message)
            return True

        yield from transaction(engine, report.attempt.message, write)
    return True


def cancel(engine: Engine, notification: Notification) -> Steps:
    """Nothing of it begins after this commits. Stops what has surely not left; says so of nothing else."""

    def write() -> bool:
        if notification.end is None or engine.has(Safeguard.CANCEL_IS_KEPT):
            notification.stopped_at = min(notification.stopped_at, engine.now)
        engine.cancelled_at.setdefault(notification, engine.now)
        engine.note("cancelled by the client")
        for message in notification.messages:
            is_open = message.state in ENDED or engine.entries[message].attempt is not None
            if message.state is State.QUEUED and not is_open and not engine.may_be_out(message):
                engine.put(message, Verdict(State.CANCELLED, "stopped"))
                engine.told_stopped.append(message)
        return True

    return (yield from transaction(engine, notification.messages[0], write))


def replay(engine: Engine, message: Message) -> Steps:
    """An operator gives a dead letter new tries; what was perhaps sent is looked up first. What is held is sent again."""

    def write() -> bool:
        is_held = message.state is State.UNCERTAIN and message.reason == "held"
        is_dead = message.state is State.DEAD_LETTERED
        is_wanted = message.notification.is_useful(engine.now) and message.escalated_at is None
        if not (is_held or is_dead) or not is_wanted:
            return False
        if is_held:
            engine.replayed_held.add(message)
        state = State.UNCERTAIN if message.perhaps_sent and is_dead else State.QUEUED
        engine.put(message, Verdict(state, "replayed", engine.now, changes={"tries": 0, "tried": ()}))
        if engine.knows_yes(message):
            engine.apply(message)
        return True

    return (yield from transaction(engine, message, write))

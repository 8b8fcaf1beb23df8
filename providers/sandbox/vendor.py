"""What all vendors have in common: faults first, then their answer; and afterwards what becomes of a message."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import ClassVar

from providers.sandbox.accounts import Pace, masked
from providers.sandbox.book import Book, Ledger, Message
from providers.sandbox.callbacks import Callback, Senders
from providers.sandbox.faults import Faults
from providers.sandbox.poster import Outcome
from providers.sandbox.roles import Answering, Role, Step, Word
from providers.sandbox.scheduler import Scheduler
from providers.sandbox.wire import HTML, Reply, Request

DROP = Reply(0, dropped=True)
LOOK_UPS = ("find", "status")


class Vendor(ABC):
    provider: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  # credentials without which the vendor cannot be played

    def __init__(
        self, book: Book, scheduler: Scheduler, senders: Senders, *, pace: Pace, log: Callable[[str], None] | None
    ) -> None:
        self.book = book
        self.scheduler = scheduler
        self.senders = senders
        self.pace = pace
        self.log = log

    @abstractmethod
    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        """Whose request this is, as far as that can be told, and whether the credentials prove it."""

    @abstractmethod
    def kind(self, request: Request) -> str:
        """send, find (a list or search), status (one message) or other."""

    @abstractmethod
    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        """Do what is asked."""

    @abstractmethod
    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """A no in the vendor's shape."""

    @abstractmethod
    def unauthorized(self, request: Request) -> Reply: ...

    @abstractmethod
    def rate_limited(self) -> Reply: ...

    @abstractmethod
    def receipt(self, message: Message) -> Reply:
        """The answer to a send that was taken."""

    @abstractmethod
    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        """Bring the vendor's own state of a message up to date, under the ledger's lock."""

    @abstractmethod
    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        """The report of `word` and the vendor's name for it; None where the vendor reports no such thing."""

    def handle(self, request: Request) -> Reply:
        ledger, proven = self.caller(request)
        if ledger is None:
            self.book.count_unknown()
            return self.unauthorized(request)
        kind = self.kind(request)
        number = ledger.count_request(kind)
        faults = ledger.faults
        reply = self._obstacle(faults, kind, number)
        if reply is None:
            reply = self.answer(request, kind, ledger) if proven else self.unauthorized(request)
        if faults.latency_seconds:
            reply = replace(reply, delay_seconds=reply.delay_seconds + faults.latency_seconds)
        if faults.drip:
            reply = replace(reply, drips=True)
        ledger.count_answer(reply.outcome)
        if self.log is not None:
            self.log(f"{ledger.slug}: {kind} → {reply.outcome} {reply.note}".rstrip())
        return reply

    def take(self, ledger: Ledger, message: Message, keys: Iterable[tuple[str, str]] = ()) -> Reply:
        """Enter a message in the books, set its future going, and answer as its role demands."""
        beginning, outage = ledger.faults.outage_to, _outage(ledger.faults)
        if beginning and outage and message.to.startswith(beginning):
            return outage
        ledger.add(message, keys)
        answering = Answering.DROPPED if ledger.faults.accept_then_drop else message.role.answering
        unanswered = answering in (Answering.WITHHELD, Answering.DROPPED)
        steps = _steps(ledger.faults, message)
        reply = replace(self.receipt(message), note=f"{message.id} for {masked(message.to)}, role {message.role.name}")
        self._go_on(ledger, message, steps, time.monotonic() + (self.pace.unanswered if unanswered else 0.0))
        match answering:
            case Answering.LATE:
                return replace(reply, delay_seconds=self.pace.slow_answer)
            case Answering.WITHHELD:
                return replace(reply, withheld_seconds=self.pace.hang)
            case Answering.DROPPED:
                return replace(reply, dropped=True)
        return reply

    def busy(self, ledger: Ledger, recipient: str, role: Role) -> bool:
        return bool(role.busy_first) and ledger.still_busy(recipient, role.busy_first)

    def _obstacle(self, faults: Faults, kind: str, number: int) -> Reply | None:
        outage = _outage(faults)
        if outage and faults.outage_to is None:
            return outage
        if faults.rate_limit and number % faults.rate_limit == 0:
            wish = faults.retry_after_seconds
            return replace(self.rate_limited(), headers=() if wish is None else (("Retry-After", str(wish)),))
        refuse = faults.refuse
        if refuse is not None and (kind == "send" or refuse.status in (401, 403)):
            return self.refusal(refuse.status, refuse.code, refuse.message)
        return None

    def _go_on(self, ledger: Ledger, message: Message, steps: tuple[Step, ...], start: float) -> None:
        if steps:
            due = start + steps[0].after(self.pace)
            self.scheduler.at(due, partial(self._take_step, ledger, message, steps, start))

    def _take_step(self, ledger: Ledger, message: Message, steps: tuple[Step, ...], start: float) -> None:
        step, *rest = steps
        with ledger.lock:
            message.updated_at = time.time()
            message.reached += ((step.word, message.updated_at),)
            self.become(ledger, message, step.word)
        for word in step.reports:
            self._report(ledger, message, word)
        self._go_on(ledger, message, tuple(rest), start)

    def _report(self, ledger: Ledger, message: Message, word: Word) -> None:
        made = self.callback(ledger, message, word)
        if made is None:
            return
        name, callback = made
        if ledger.faults.silent:
            self._told(ledger, message, name, "silenced")
            return
        callback = replace(callback, told=partial(self._told, ledger, message, name))
        for _ in range(ledger.faults.callback_repeat):
            self.senders.post(callback)

    def _told(self, ledger: Ledger, message: Message, name: str, outcome: Outcome) -> None:
        ledger.count_callback(outcome)
        if outcome.startswith("2"):
            with ledger.lock:
                message.reported += ((name, time.time()),)
        if self.log is not None:
            self.log(f"{ledger.slug}: callback {name} of {message.id} → {outcome}")


def _outage(faults: Faults) -> Reply | None:
    if faults.outage is None:
        return None
    return DROP if faults.outage == "drop" else _page(int(faults.outage.removeprefix("status_")))


def _steps(faults: Faults, message: Message) -> tuple[Step, ...]:
    """What becomes of a message that was taken."""
    if faults.lost_to and message.to.startswith(faults.lost_to):
        return ()
    return _shuffled(message.role.steps) if faults.callback_shuffle else message.role.steps


def _shuffled(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same steps, with all reports at the end and never in the order of things."""
    in_order = [word for step in steps for word in step.reports]
    if len(set(in_order)) < 2:
        return steps
    words = random.sample(in_order, len(in_order))
    if words == in_order:
        words.reverse()
    quiet = [replace(step, reports=()) for step in steps]
    return (*quiet[:-1], replace(quiet[-1], reports=tuple(words)))


def _page(status: int) -> Reply:
    phrase = HTTPStatus(status).phrase
    text = f"<html><head><title>{status} {phrase}</title></head><body><h1>{status} {phrase}</h1></body></html>\n"
    return Reply(status, text.encode(), content_type=HTML)

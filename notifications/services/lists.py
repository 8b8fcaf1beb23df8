"""Ask how far many messages have come with one call, where their provider lists what it sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from uuid import UUID

import structlog

from notifications.numbers import numbers
from notifications.services.prepare import Check
from providers.messages import Ability, DeliveryEvent, HttpRequest, HttpResponse, StatusPage
from providers.transport.base import Answer

log = structlog.get_logger(__name__)

# Their clock against ours, and what a message waits in their queue. A wider margin fills the first pages with what others
# sent; one too narrow costs single questions.
MARGIN = timedelta(seconds=30)
PAUSE = timedelta(minutes=10)  # without a message of ours: what was sent meanwhile would be listed in vain
WORTH = 5  # questions a page has to answer: so many single calls cost no more than a long page

Begun = tuple[datetime, Check]  # when a message's call began, and the question about it
Ask = Callable[[Sequence[tuple[Check, HttpRequest]]], Iterable[tuple[Check, Answer]]]
Told = dict[UUID, list[DeliveryEvent]]


@dataclass(slots=True)
class Span:
    """Questions about messages of one account that were sent soon after one another, and how far its list was read."""

    questions: Sequence[Begun]  # oldest first
    pages: int = 0
    next_page: str | None = None
    unanswered: dict[str, Check] = field(init=False)  # by the provider's id

    def __post_init__(self) -> None:
        self.unanswered = {check.row.last_provider_message_id or "": check for _, check in self.questions}

    @property
    def first(self) -> Check:
        return self.questions[0][1]

    @property
    def since(self) -> datetime:
        return self.questions[0][0] - MARGIN

    @property
    def until(self) -> datetime:
        return self.questions[-1][0] + MARGIN


def ask_by_list(checks: Sequence[Check], now: Callable[[], datetime], ask: Ask) -> Told:
    """Ask for the statuses of messages sent soon after one another. Returns what is told, by message.

    A message that is not in it was not on the pages read, and is to be asked about by itself.
    """
    told: Told = {}
    spans = list(_spans(checks))
    for _ in range(numbers().list_pages):
        questions = [(span.first, request) for span in spans if (request := _question(span, now())) is not None]
        if not questions:
            break
        asked = {span.first.row.message_id: span for span in spans}
        answers = [(asked[check.row.message_id], answer) for check, answer in ask(questions)]
        spans = [span for span, answer in answers if _reads_on(span, answer, told)]
    return told


def _spans(checks: Iterable[Check]) -> Iterator[Span]:
    by_account: dict[int, list[Begun]] = defaultdict(list)
    for check in checks:
        began_at = check.row.last_began_at
        if not check.is_look_up and began_at is not None and check.account.can(Ability.LIST_STATUSES):
            by_account[check.account.id].append((began_at, check))
    for questions in by_account.values():
        for run in _runs(sorted(questions, key=itemgetter(0))):
            if len(run) >= numbers().list_checks_from:
                yield Span(run)


def _runs(questions: Sequence[Begun]) -> Iterator[list[Begun]]:
    run = [questions[0]]
    for last, question in pairwise(questions):
        if question[0] - last[0] > PAUSE:
            yield run
            run = []
        run.append(question)
    yield run


def _question(span: Span, now: datetime) -> HttpRequest | None:
    """The call for the next page, None where the adapter cannot put it: a fault of its own never stops the batch."""
    provider = span.first.account.provider
    try:
        return provider.authorize(provider.statuses_request(span.since, span.until, span.next_page), now)
    except Exception:
        log.exception("cannot be listed", account=span.first.account.slug)
        return None


def _reads_on(span: Span, answer: Answer, told: Told) -> bool:
    """Take what a page tells. Returns whether to turn it."""
    page = _page(span, answer)
    ours = [(event.provider_message_id or "", event) for event in page.events]
    ours = [(message_id, event) for message_id, event in ours if message_id in span.unanswered]
    for message_id, event in ours:
        told.setdefault(span.unanswered[message_id].row.message_id, []).append(event)
    for message_id, _ in ours:
        span.unanswered.pop(message_id, None)
    span.pages += 1
    span.next_page = page.next_page
    return page.next_page is not None and bool(span.unanswered) and _is_worth_turning(span, page)


def _page(span: Span, answer: Answer) -> StatusPage:
    if not isinstance(answer.result, HttpResponse):
        return StatusPage()  # no answer, or no time to ask
    try:
        return span.first.account.provider.statuses_result(answer.result)
    except Exception:
        log.exception("list cannot be read", account=span.first.account.slug)
        return StatusPage()


def _is_worth_turning(span: Span, page: StatusPage) -> bool:
    """Whether ours are not few among many others, going by how much of the span the pages so far have shown."""
    if page.oldest_at is None or not span.since <= page.oldest_at < span.until:
        return False
    pages = span.pages * (span.until - span.since) / (span.until - page.oldest_at)
    return len(span.questions) >= WORTH * pages

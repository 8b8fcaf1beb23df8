"""Lists: many questions about one account's messages are one call, where its provider lists what it sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import UUID

import pytest
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import DeliveryEvent, Message, OutboxEntry
from notifications.services.lists import ask_by_list
from notifications.services.prepare import Check
from notifications.states import State
from providers.messages import DeliveryEvent as Told
from providers.messages import EventKind, HttpRequest, HttpResponse, StatusPage
from providers.registry import PROVIDERS
from providers.transport.base import Answer
from providers.twilio import Twilio
from tests.factories import SECOND
from tests.notifications.conftest import PACE
from tests.notifications.racing import PATIENCE_SECONDS
from tests.notifications.stories import sms
from tests.notifications.test_outcomes import a_row, an_account
from tests.providers.samples import SAMPLES

DELIVERED, QUEUED, UNDELIVERABLE = ("+49151{:06}" + role for role in ("01", "02", "03"))
NEVER = 1000.0  # seconds, longer than any test
NOW = datetime(2027, 1, 15, 10, 0, tzinfo=UTC)


def send_many(world, count: int, number: str = DELIVERED) -> list[Message]:
    """Send messages to as many people, and wait until their vendor knows what became of them. It reports nothing."""
    messages = [sms(number.format(person)) for person in range(count)]
    world.drain(Lane.NORMAL)
    world.hear()
    return messages


def poll(world) -> None:
    """Let all that is open be due, and ask about it in one batch."""
    OutboxEntry.objects.update(due_at=timezone.now() - SECOND)
    world.deliver(world.claim(Lane.UPKEEP))


def states(messages: Sequence[Message]) -> set[str]:
    ids = [message.id for message in messages]
    return set(Message.objects.filter(id__in=ids).values_list("state", flat=True))


def asked(world) -> tuple[int, int]:
    """How many lists, and how many single statuses the vendor was asked for."""
    return world.requests("twilio", "find"), world.requests("twilio", "status")


class TestStory:
    def test_one_call_tells_of_many_and_what_it_does_not_show_is_asked_singly(self, world):
        arrived, failed = send_many(world, 30), send_many(world, 9, UNDELIVERABLE)
        [queued] = send_many(world, 1, QUEUED)  # not sent, so in no list by date of sending

        poll(world)

        assert [states(arrived), states(failed), states([queued])] == [{State.DELIVERED}, {State.FAILED}, {State.SENT}]
        assert asked(world) == (1, 1)
        assert set(DeliveryEvent.objects.values_list("source", flat=True)) == {"poll"}
        assert DeliveryEvent.objects.count() == 40

    def test_few_are_asked_singly(self, world):
        messages = send_many(world, 9)

        poll(world)

        assert states(messages) == {State.DELIVERED}
        assert asked(world) == (0, 9)

    def test_pages_are_turned_until_all_are_seen(self, world, monkeypatch):
        monkeypatch.setattr("providers.twilio.adapter.STATUSES_PAGE_SIZE", 6)
        messages = send_many(world, 12)

        poll(world)

        assert states(messages) == {State.DELIVERED}
        assert asked(world) == (2, 0)


class TestNoNews:
    @pytest.fixture
    def pace(self):
        """Vendors whose messages get as far as their networks."""
        return replace(PACE, delivered_after=NEVER)

    @pytest.fixture
    def messages(self, world):
        messages = [sms(DELIVERED.format(person)) for person in range(12)]
        world.drain(Lane.NORMAL)
        patience = monotonic() + PATIENCE_SECONDS
        while any(message.status != "sent" for _, message in world.sandbox.messages()):
            assert monotonic() < patience
        return messages

    def test_adds_no_row_whether_listed_or_asked_singly(self, world, messages, numbers_are):
        poll(world)
        assert (states(messages), DeliveryEvent.objects.count(), asked(world)) == ({State.SENT}, 12, (1, 0))

        poll(world)
        assert (DeliveryEvent.objects.count(), asked(world)) == (12, (2, 0))

        numbers_are(list_checks_from=13)
        poll(world)
        assert (DeliveryEvent.objects.count(), asked(world)) == (12, (2, 12))
        assert set(Message.objects.values_list("checks", flat=True)) == {3}


class Unreadable(Twilio):
    """An adapter with a fault in its reading."""

    name = "unreadable"

    def statuses_result(self, answer):
        raise IndexError


class Unaskable(Twilio):
    name = "unaskable"

    def statuses_request(self, since, until, page=None):
        raise IndexError


class TestTrouble:
    @pytest.mark.parametrize("adapter", [Unreadable, Unaskable])
    def test_of_an_adapter_has_all_asked_singly(self, world, monkeypatch, adapter):
        monkeypatch.setitem(PROVIDERS, "twilio", adapter)
        accounts.forget()
        messages = send_many(world, 10)

        poll(world)

        assert states(messages) == {State.DELIVERED}
        assert world.requests("twilio", "status") == 10

    def test_of_the_vendor_has_all_asked_singly(self, world):
        messages = send_many(world, 10)
        world.sandbox.set_faults("twilio", rate_limit=11)  # the eleventh request is the list

        poll(world)

        assert states(messages) == {State.DELIVERED}
        assert asked(world) == (1, 10)

    def test_what_there_is_no_time_to_list_is_given_back(self, world, numbers_are):
        messages = send_many(world, 10)
        numbers_are(lease_seconds=15.0)

        poll(world)

        assert states(messages) == {State.SENT}
        assert asked(world) == (0, 0)
        assert OutboxEntry.objects.filter(claim=None, strikes=0, due_at__lte=timezone.now()).count() == 10


class Lister(Twilio):
    """A list that the test writes: page by page, what it tells and how far back it goes."""

    def __init__(self, *pages: StatusPage) -> None:
        super().__init__(SAMPLES["twilio"].provider.account)
        self.pages = pages
        self.asked: list[tuple[datetime, datetime, str | None]] = []

    def statuses_request(self, since, until, page=None):
        self.asked.append((since, until, page))
        return HttpRequest("GET", "https://list.example/", {}, (page or "0").encode())

    def statuses_result(self, answer):
        return self.pages[int(answer.body)]


def a_page(number: int, *ids: int, back: float | None = None, is_last: bool = False) -> StatusPage:
    """A page of a list that tells of some messages and goes `back` so many seconds."""
    told = [Told(EventKind.DELIVERED, f"{id}", provider_message_id=f"SM{id}") for id in ids]
    oldest_at = None if back is None else NOW - timedelta(seconds=back)
    return StatusPage(told, None if is_last else str(number + 1), oldest_at)


def listed(lister: Lister, ages: Iterable[float]) -> set[int]:
    """Ask about messages that were sent so many seconds ago. Returns of which of them the list told."""
    account = replace(an_account(), provider=lister, abilities=lister.abilities)
    checks = [
        Check(
            a_row(
                message_id=UUID(int=number),
                state="sent",
                last_began_at=NOW - timedelta(seconds=age),
                last_provider_message_id=f"SM{number}",
            ),
            account,
            escalates=False,
        )
        for number, age in enumerate(ages)
    ]

    def ask(questions):
        return [(check, Answer(check, HttpResponse(200, body=request.body), 0.1)) for check, request in questions]

    return {id.int for id in ask_by_list(checks, lambda: NOW, ask)}


class TestSpans:
    def test_reach_from_the_first_to_the_last_with_a_margin(self):
        lister = Lister(a_page(0, is_last=True))

        listed(lister, range(10))

        assert lister.asked == [(NOW - timedelta(seconds=39), NOW + timedelta(seconds=30), None)]

    def test_end_where_nothing_was_sent_for_long(self):
        lister = Lister(a_page(0, is_last=True))

        listed(lister, [*range(10), *range(700, 710), *range(1400, 1409)])  # the last are too few

        assert [(NOW - until).total_seconds() for _, until, _ in lister.asked] == [670, -30]


class TestPages:
    def test_are_not_turned_when_all_is_told(self):
        lister = Lister(a_page(0, *range(10), back=5))

        assert listed(lister, range(10)) == set(range(10))
        assert len(lister.asked) == 1

    def test_are_turned_a_few_times_only(self):
        lister = Lister(*(a_page(number, number, back=50) for number in range(6)))

        assert listed(lister, range(50)) == set(range(5))
        assert [page for _, _, page in lister.asked] == [None, "1", "2", "3", "4"]

    def test_are_not_turned_for_few_among_many_others(self):
        """The first page shows a tenth of the span: ten pages for as many questions."""
        lister = Lister(a_page(0, 0, back=-22), a_page(1, 1))

        assert listed(lister, [*range(9), 20]) == {0}
        assert len(lister.asked) == 1

    @pytest.mark.parametrize("back", [None, -31, 100])
    def test_are_not_turned_where_the_list_is_not_of_that_time_or_does_not_tell(self, back):
        lister = Lister(a_page(0, 0, back=back), a_page(1, 1))

        assert listed(lister, range(10)) == {0}

    def test_tell_of_others_in_vain(self):
        assert listed(Lister(a_page(0, 1, 1, 99, is_last=True)), range(10)) == {1}

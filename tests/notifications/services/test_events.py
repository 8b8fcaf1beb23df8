"""Events: told in the transaction that they tell of, once, to those who ask, and to nobody else."""

from __future__ import annotations

import json

import pytest
from django.db import transaction

import notifications.sql.lock as locks
from notifications import selectors
from notifications.models import Message, Notification, OutboxEntry, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.events import INBOUND, KINDS, TYPES, is_wanted
from notifications.services.search import Search, search
from notifications.services.settle import settle
from notifications.states import End, State
from tests import factories
from tests.notifications.old import clean, redact
from tests.notifications.racing import counted, rolled_back, together

pytestmark = pytest.mark.usefixtures("seeded")

URL = "https://customer.example.org/hooks"


def listening(name="orders", **fields):
    endpoint = factories.endpoint(name, URL, **fields)
    selectors.endpoints.forget()
    return endpoint


def delivered(message):
    factories.event(message, "delivered")
    apply_waiting()


def events(name="orders"):
    """What an endpoint is told, oldest first."""
    rows = Notification.objects.filter(client__name=EVENTS, recipient__webhook=name).order_by("id")
    return [json.loads(row.content["webhook"]["text"]) for row in rows]


class TestTelling:
    def test_is_one_event_for_each_endpoint_that_asks(self):
        listening("one")
        listening("other", event_types=["notification.delivered"])
        listening("deaf", event_types=["notification.failed"])
        message = factories.message(State.SENT)

        delivered(message)

        assert [said["data"]["id"] for said in events("one")] == [str(message.notification_id)]
        assert events("other") == events("one")
        assert events("deaf") == []
        told = Notification.objects.filter(client__name=EVENTS)
        assert {row.reference for row in told} == {str(message.notification_id)}
        entries = OutboxEntry.objects.filter(message__notification__in=told)
        assert {(entry.lane, entry.client.name) for entry in entries} == {("normal", EVENTS)}

    def test_comes_to_nothing_with_its_transaction(self):
        listening()
        message = factories.message(State.SENT)
        factories.event(message, "delivered")

        with rolled_back():
            apply_waiting()
            assert len(events()) == 1

        assert (events(), Notification.objects.get().end) == ([], None)

    def test_happens_once_however_often_it_is_settled(self):
        listening()
        message = factories.message(State.SENT)
        delivered(message)

        for _ in range(3):
            with transaction.atomic():
                locks.lock([message.notification_id])
                settle([message.notification_id])

        assert len(events()) == 1

    def test_happens_once_where_two_settle_at_once(self, aside):
        listening()
        for _ in range(5):
            message = factories.message(State.SENT)
            factories.event(message, "delivered")
            together(aside, apply_waiting, apply_waiting)

        apply_waiting()
        assert len({said["data"]["id"] for said in events()}) == len(events()) == 5

    def test_of_a_correction_has_the_next_number(self):
        listening()
        message = factories.message(State.SENT)
        factories.event(message, "failed")
        apply_waiting()

        delivered(message)

        assert [(said["type"], said["data"]["sequence"]) for said in events()] == [
            ("notification.failed", 1),
            ("notification.delivered", 2),
        ]
        first, second = (said["timestamp"] for said in events())
        assert first < second

    def test_is_to_its_client_alone(self):
        listening("ours")
        listening("theirs", of="shop")
        owner = factories.notification(client=factories.client("shop"))

        delivered(factories.message(State.SENT, of=owner))

        assert (len(events("ours")), len(events("theirs"))) == (0, 1)

    def test_is_not_done_of_events(self):
        """Not even where somebody has made an endpoint for them."""
        listening(of=EVENTS)
        owner = factories.notification("sms", client=factories.client(EVENTS))

        delivered(factories.message(State.SENT, of=owner))

        assert events() == []

    def test_of_many_ends_takes_a_few_statements(self):
        listening("one")
        listening("other")
        selectors.endpoints.get()
        messages = [factories.message(State.SENT) for _ in range(500)]
        ids = [message.notification_id for message in messages]
        Message.objects.update(state=State.FAILED)
        OutboxEntry.objects.all().delete()

        with transaction.atomic():
            locks.lock(ids)
            with counted() as statements:
                settle(ids)

        assert (len(events("one")), len(events("other"))) == (500, 500)
        assert len(statements) <= 6, statements  # two of them where a cache has just run out

    def test_costs_nothing_where_nobody_listens(self):
        selectors.endpoints.get()
        message = factories.message(State.SENT)
        with transaction.atomic():
            locks.lock([message.notification_id])
            Message.objects.update(state=State.FAILED)
            OutboxEntry.objects.all().delete()
            with counted() as statements:
                settle([message.notification_id])

        assert len(statements) == 3, "two to read it, one to write its end"

    def test_goes_by_endpoints_as_they_were_seconds_ago(self, numbers_are):
        numbers_are(cache_seconds=60.0)
        listening()
        selectors.endpoints.get()
        WebhookEndpoint.objects.all().delete()

        delivered(factories.message(State.SENT))

        assert len(events()) == 1


class TestWhoWantsWhat:
    @pytest.mark.parametrize("end", End)
    def test_every_end_has_a_type(self, end):
        assert f"notification.{end}" in TYPES

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ([], True),
            (["notification.*"], True),
            (["notification.failed"], True),
            (["notification.delivered"], False),
            (["sms.received"], False),
        ],
    )
    def test_of_an_end(self, asked, expected):
        assert is_wanted("notification.failed", asked) is expected

    @pytest.mark.parametrize(
        ("asked", "expected"), [([], False), (["sms.*"], False), ([*KINDS], False), (["sms.received"], True)]
    )
    def test_of_what_people_wrote_only_whoever_names_it(self, asked, expected):
        assert is_wanted(INBOUND, asked) is expected


class TestOnFile:
    def test_events_count_like_any_notification(self):
        listening()
        delivered(factories.message(State.SENT))

        report = audit()

        assert (report.accepted, report.counts["delivered"], report.counts["open"]) == (2, 1, 1)
        assert report.is_sound

    def test_nobody_finds_them_among_his_own(self):
        listening()
        message = factories.message(State.SENT)
        delivered(message)
        event = Notification.objects.get(client__name=EVENTS)

        page, _ = search(message.notification.client_id, Search(), 10)

        assert [row.id for row in page] == [message.notification_id]
        assert search(message.notification.client_id, Search(reference=event.reference), 10) == ([], None)

    def test_they_are_redacted_and_deleted_like_others(self):
        listening()
        factories.event(message := factories.message(State.SENT), "delivered")
        apply_waiting()
        event = Message.objects.get(channel="webhook")
        factories.event(event, "delivered", account=factories.account("orders"))
        apply_waiting()

        assert redact() == 2
        assert [row.content for row in Notification.objects.all()] == [{}, {}]

        assert clean() == 2
        assert not Message.objects.filter(id=message.id).exists()
        assert audit().counts["delivered"] == 2

"""Real workers, a real broker, and what happens when they go."""

from __future__ import annotations

import time

import redis
from django.db import transaction

from notifications import send
from notifications.models import Attempt, Message
from notifications.services.audit import audit
from notifications.states import State
from tests.houses import House
from tests.waiting import wait_until


def send_sms(count: int, *, priority: str = "normal") -> None:
    """Send to `count` numbers that get their messages."""
    for number in range(count):
        send(
            to={"sms": f"+49151{200_000 + number}01"},
            content={"sms": {"text": f"Your table {number} is ready"}},
            priority=priority,
        )


def assert_each_arrived_once(house: House, count: int) -> None:
    counts = house.sandbox.counts()
    assert (counts.unique_contents, counts.taken, counts.duplicates) == (count, count, ())
    report = audit()
    assert report.is_sound, report.faults
    assert report.counts == {"delivered": count}


class TestBrokerThatIsDown:
    def test_costs_latency_and_nothing_else(self, house: House) -> None:
        send_sms(1)
        house.wait_until_delivered(1, seconds=20)
        house.broker.stop()

        send_sms(1)
        began = time.monotonic()
        send_sms(1)
        took = time.monotonic() - began
        house.broker.start()

        assert took < 0.3
        house.wait_until_delivered(3, seconds=60)
        assert not house.processes.died()


class TestBrokerThatForgets:
    def test_loses_no_message(self, house: House) -> None:
        with redis.Redis.from_url(house.broker.url) as broker:
            for _ in range(10):
                send_sms(20)
                broker.flushall()

            house.wait_until_delivered(200, seconds=60)

        assert house.sandbox.counts().taken == 200


class TestWorkerKilledInTheMiddle:
    def test_loses_nothing_and_sends_nothing_twice(self, house: House) -> None:
        house.sandbox.set_faults("twilio-main", latency_seconds=0.2)
        with transaction.atomic():
            send_sms(500)
        begun = Message.objects.filter(state=State.QUEUED, entry__began_at__isnull=False)
        wait_until(
            lambda: house.sandbox.counts().taken >= 100 and begun.count() > 20, seconds=30, what="in the middle of it"
        )

        house.processes.kill("other")
        in_flight = begun.count()
        assert in_flight > 0
        house.start_worker("other")

        house.wait_until_delivered(500, seconds=90)
        house.sandbox.set_faults("twilio-main", latency_seconds=0.0)
        assert Attempt.objects.filter(outcome="unclear").count() <= in_flight
        assert_each_arrived_once(house, 500)

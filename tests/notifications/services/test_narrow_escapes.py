"""Interleavings in which a message would be lost, late or alone to blame, each found by reading and seen to happen."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from notifications.accounts import Accounts, accounts
from notifications.lanes import Lane
from notifications.models import Breaker, Cause, OutboxEntry, Pace, ProviderAccount
from notifications.services import endpoints
from notifications.services.cancel import cancel_all
from notifications.services.switch import rest_there
from notifications.states import State
from providers.transport.base import Call
from providers.transport.crews import CrewTransport
from providers.transport.inbox import Inbox
from providers.twilio import Twilio
from tests.factories import SECOND
from tests.notifications.services.test_places import come, limit, once
from tests.notifications.services.test_slots import two  # noqa: F401
from tests.notifications.services.test_webhooks_out import events, listening  # noqa: F401
from tests.notifications.stories import due_at, sms, sms_then_email, told


def rest_of(account: ProviderAccount, *, seconds: float, cause: Cause = Cause.CALLS) -> None:
    until = timezone.now() + timedelta(seconds=seconds)
    Breaker.objects.create(account=account, country="DE", cause=cause, opened_until=until)
    accounts.forget()


@pytest.fixture
def twilio(world: Any) -> Iterator[ProviderAccount]:
    return ProviderAccount.objects.get(slug="twilio")


class TestAnAccountThatComesBack:
    def test_between_two_looks_has_the_message(self, world, twilio, monkeypatch):
        rest_of(twilio, seconds=30)
        message = sms()
        look = Accounts.last_resorts

        def then_it_is_mended(self, country):
            found = look(self, country)
            Breaker.objects.all().delete()  # by another process's probe
            self.forget()  # as when what is known is old
            return found

        monkeypatch.setattr(Accounts, "last_resorts", then_it_is_mended)
        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT

    def test_is_tried_in_no_country_that_a_person_has_stopped(self, world, twilio):
        rest_there(twilio.id, "DE", "")
        ProviderAccount.objects.update(opened_at=timezone.now(), opened_until=timezone.now() - SECOND)
        accounts.forget()
        sms()

        world.drain(Lane.NORMAL)

        assert world.on_the_wire() == 0

    def test_is_tried_although_its_rate_is_used_up_by_others(self, world):
        account = limit(rate=1)
        rest_of(account, seconds=-1)
        Pace.objects.create(account_id=account.id, of="", next_at=timezone.now() + 5 * SECOND)
        sms()

        once(world)

        assert world.on_the_wire() == 1


class TestWhatAPersonStopped:
    def test_is_not_waited_for_where_there_is_a_next_step(self, world, twilio):
        rest_there(twilio.id, "DE", "")
        message = sms_then_email()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "no_account")

    def test_is_waited_for_where_there_is_none(self, world, twilio):
        rest_there(twilio.id, "DE", "")
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.QUEUED, "waiting_to_retry")


class TestWhatWaits:
    @pytest.mark.parametrize(("lasts", "least", "most"), [(0, 30, 60), (1200, 60, 120), (86_400, 150, 300)])
    def test_looks_less_often_the_longer_an_outage_lasts(self, world, twilio, lasts, least, most):
        rest_of(twilio, seconds=30)
        Breaker.objects.update(opened_at=timezone.now() - timedelta(seconds=lasts))
        accounts.forget()
        message = sms()

        world.drain(Lane.NORMAL)

        wait = (due_at(message) - timezone.now()).total_seconds()
        assert least - 1 < wait <= most

    def test_is_not_delayed_by_a_campaign_that_was_cancelled(self, world):
        limit(rate=1)
        campaign = [sms() for _ in range(400)]
        once(world)
        cancel_all([message.notification_id for message in campaign])
        later = sms()

        once(world)

        assert due_at(later) < timezone.now() + timedelta(seconds=320), "at first it is told to wait for all of them"

    def test_for_a_turn_far_ahead_does_not_wait_until_it_is_useless(self, world):
        account = limit(rate=1)
        Pace.objects.create(account_id=account.id, of="~normal", next_at=timezone.now() + 100_000 * SECOND)
        Pace.objects.create(account_id=account.id, of="", next_at=timezone.now() + 11 * SECOND)
        later = sms()

        once(world)
        come(later)

        assert due_at(later) <= timezone.now() + timedelta(seconds=300)

    def test_behind_a_slow_account_is_put_off_by_about_as_long_as_that_takes(self, world, two, monkeypatch):  # noqa: F811
        monkeypatch.setattr(Twilio, "calls_at_once", 1)
        with transaction.atomic():
            messages = [sms() for _ in range(30)]

        world.deliver(world.claim(Lane.NORMAL))

        waits = sorted(
            (due_at(message) - timezone.now()).total_seconds()
            for message in messages
            if told(message)[0] == State.QUEUED
        )
        assert waits[-1] > 10, "the last of thirty calls of a second"


class TestAnEndpoint:
    def test_that_was_switched_on_a_moment_ago_is_told_what_happens_now(self, world, listening, monkeypatch):  # noqa: F811
        endpoint = listening("orders")
        endpoints.stop(endpoint)
        accounts.get(endpoint.account_id)  # this process has seen it
        with monkeypatch.context() as patch:  # switched on by another process
            patch.setattr(accounts, "forget", lambda: None)
            endpoints.switch_on(endpoint)
        endpoint.account.refresh_from_db()
        endpoints.send_test(endpoint, now=timezone.now())
        [event] = events("orders")

        world.drain(Lane.NORMAL)

        assert told(event)[0] == State.DELIVERED


class TestADrain:
    def test_records_answers_though_what_waits_cannot_be_given_back(self, world, two, monkeypatch, outage):  # noqa: F811
        monkeypatch.setattr(Twilio, "calls_at_once", 1)
        with transaction.atomic():
            messages = [sms() for _ in range(2)]
        batch = world.claim(Lane.NORMAL)

        with suppress(OperationalError):
            world.deliver(batch, transport=world.between(before=lambda calls: outage._end_connections()))

        connection.close()
        assert State.SENT in [told(message)[0] for message in messages]

    def test_handles_suspects_one_at_a_time_were_their_account_ever_so_slow(self, world, two):  # noqa: F811
        world.sandbox.set_faults("twilio", latency_seconds=0.05)
        with transaction.atomic():
            messages = [sms() for _ in range(2)]
        OutboxEntry.objects.filter(message__in=messages).update(strikes=4)
        under_way, most = 0, 0

        def begin(calls):
            nonlocal under_way, most
            under_way += len(calls)
            most = max(most, under_way)

        def end(answers):
            nonlocal under_way
            under_way -= len(answers)

        world.drain(Lane.NORMAL, transport=world.between(before=begin, after=end))

        assert (world.on_the_wire(), most) == (2, 1)


class TestACrew:
    def test_that_found_no_threads_answers_the_next_time(self, monkeypatch):
        class Nowhere:
            def exchange(self, request, flight):
                raise OSError

            def close(self):
                """There is nothing to close."""

        def fail(thread):
            raise RuntimeError("can't start new thread")

        transport = CrewTransport(1, time.monotonic, Nowhere)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", fail)
            with pytest.raises(RuntimeError):
                transport.send([Call(1, None, 1.0)], Inbox())  # type: ignore[arg-type]
        inbox = Inbox()
        transport.send([Call(1, None, 1.0)], inbox)  # type: ignore[arg-type]
        inbox.expect(1)

        assert inbox.collect(seconds=0, count=1, wait_seconds=5.0)
        transport.close()

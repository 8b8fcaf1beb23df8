"""The last look before the wire: one that waited for a lock has seen what was before its wait."""

from __future__ import annotations

import time

import pytest
from django.db import transaction
from django.utils import timezone

import notifications.sql.lock as locks
from notifications.lanes import Lane
from notifications.models import Incident, Message, OutboxEntry, ProviderAccount
from notifications.services.cancel import cancel
from notifications.services.waves import LOOK_AGAIN_AFTER_SECONDS
from notifications.states import State
from tests import factories
from tests.notifications.racing import until_waiting
from tests.notifications.stories import sms, told


@pytest.fixture
def held_up(world, aside):
    """Delivers a message whose begin has to wait for a lock; `meanwhile` happens before the lock is given free."""

    def deliver(message, meanwhile):
        batch = world.claim(Lane.NORMAL)
        with transaction.atomic():
            locks.lock([message.notification_id])
            delivering = aside(world.deliver, batch)
            until_waiting(1)
            meanwhile()
            time.sleep(LOOK_AGAIN_AFTER_SECONDS)
        delivering.result(5)

    return deliver


class TestABeginThatWaited:
    def test_sees_the_end_of_an_incident(self, world, aside, held_up):
        factories.incident("fire")
        message = sms(incident="fire")

        held_up(message, lambda: aside(Incident.objects.update, ended_at=timezone.now()).result(5))

        assert world.on_the_wire() == 0
        world.drain(Lane.NORMAL)
        assert told(message) == (State.CANCELLED, "incident_over")

    def test_sees_a_suppression(self, world, aside, held_up):
        message = sms()

        held_up(message, lambda: aside(factories.suppression, message, "opted_out").result(5))

        assert world.on_the_wire() == 0
        world.drain(Lane.NORMAL)
        assert told(message) == (State.SUPPRESSED, "opted_out")

    def test_sends_what_is_still_wanted(self, world, held_up):
        message = sms()

        held_up(message, lambda: None)

        assert (told(message)[0], world.on_the_wire()) == (State.SENT, 1)

    def test_finds_the_claim_gone_on_what_was_cancelled_though_it_may_be_out(self, world, held_up):
        message = sms(on_unclear="send_again")
        factories.attempt(message, ProviderAccount.objects.get(slug="twilio"), outcome="unclear")
        Message.objects.update(attempt_count=1, account=ProviderAccount.objects.get(slug="twilio"), perhaps_sent=True)

        held_up(message, lambda: cancel(message.notification_id))

        assert world.on_the_wire() == 0
        assert OutboxEntry.objects.get().claim is None
        world.drain(Lane.NORMAL)
        assert told(message) == (State.UNCERTAIN, "not_sent_again")

"""Steps and ends as they are stored: what is there already is left alone."""

from __future__ import annotations

import pytest
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import Message, Notification, OutboxEntry
from notifications.services.steps import first_messages
from notifications.sql.settle import add_next_steps, stop, write_ends
from notifications.states import End, State
from tests import factories

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def owner():
    return factories.message(State.FAILED, of=factories.notification("sms-then-email")).notification


def next_step(owner):
    return first_messages(owner.id, owner.steps, owner.recipient, lane=Lane.NORMAL, after=0)


class TestNextSteps:
    def test_are_added_with_their_promise(self, owner):
        (message,) = next_step(owner)

        assert add_next_steps([message]) == {message.id}

        entry = OutboxEntry.objects.get()
        assert (entry.message_id, entry.lane, entry.due_at <= timezone.now()) == (message.id, Lane.NORMAL, True)
        assert Notification.objects.get().fallback_sent_at is not None

    def test_are_added_once(self, owner):
        add_next_steps(next_step(owner))
        begun_at = Notification.objects.get().fallback_sent_at

        assert add_next_steps(next_step(owner)) == set()

        assert Message.objects.filter(step=1).count() == OutboxEntry.objects.count() == 1
        assert Notification.objects.get().fallback_sent_at == begun_at


class TestEnds:
    def test_are_written_with_their_time(self, owner):
        Notification.objects.update(end=None, ended_at=None)

        write_ends({owner.id: End.FAILED})

        notification = Notification.objects.get()
        assert (notification.end, notification.ended_at is not None) == (End.FAILED, True)

    def test_the_same_end_again_keeps_its_time(self, owner):
        write_ends({owner.id: End.FAILED})

        assert Notification.objects.get().ended_at == owner.ended_at

    def test_none_opens_a_notification_again(self, owner):
        write_ends({owner.id: None})

        notification = Notification.objects.get()
        assert (notification.end, notification.ended_at) == (None, None)


def test_a_second_stop_keeps_the_time_of_the_first(owner):
    stop([owner.id])
    stopped_at = Notification.objects.get().stopped_at

    stop([owner.id])

    assert Notification.objects.get().stopped_at == stopped_at

"""Events sent again: what an endpoint missed, each once; or one, under the id that it had."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from notifications import selectors
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import DeadLetter, Message, Notification, OutboxEntry, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.services import endpoint_replays, endpoints, events
from notifications.services.audit import audit
from notifications.services.endpoint_replays import Replayed, replay, resend
from notifications.services.replay import CannotReplay
from notifications.sql.record import Verdict, record
from notifications.states import State
from tests import factories
from tests.factories import SECOND

pytestmark = pytest.mark.usefixtures("seeded")

HOUR = timedelta(hours=1)


@pytest.fixture
def endpoint(world):
    world.sandbox.receivers.set("/hooks/ok/orders", secret=factories.ENDPOINT_SECRET)
    made = factories.endpoint("orders", f"{world.sandbox.url}/hooks/ok/orders")
    accounts.forget()
    selectors.endpoints.forget()
    return made


def told(endpoint, count=1):
    """Events for an endpoint that nobody has sent yet, oldest first."""
    for _ in range(count):
        endpoints.send_test(endpoint, now=timezone.now())
    rows = Message.objects.filter(channel="webhook", state=State.QUEUED).order_by("id")
    return list(rows)[-count:]


def ended(endpoint, state, count=1):
    """Events that have ended so without a call."""
    messages = told(endpoint, count)
    record([Verdict(message_id=message.id, leaving=State.QUEUED, state=state) for message in messages], claim=None)
    ids = [message.notification_id for message in messages]
    Notification.objects.filter(id__in=ids).update(end=state, ended_at=timezone.now())
    return messages


def lately(endpoint, **window):
    now = timezone.now()
    return replay(endpoint, **{"since": now - HOUR, "until": now + HOUR, "by": "eve", **window})


def state_of(message):
    return Message.objects.get(id=message.id).state


class TestReplay:
    def test_sends_what_is_dead_lettered_and_what_has_expired(self, world, endpoint):
        dead, expired = ended(endpoint, State.DEAD_LETTERED, 3), ended(endpoint, State.EXPIRED, 2)

        assert lately(endpoint) == Replayed(letters=3, expired=2, left=0)

        world.drain(Lane.NORMAL)
        sent = [call.id for call in world.sandbox.receivers.arrivals()]
        assert sorted(sent) == sorted(f"msg_{message.id.hex}" for message in dead + expired)
        assert {state_of(message) for message in dead} == {State.DELIVERED}
        assert {(letter.resolution, letter.resolved_by) for letter in DeadLetter.objects.all()} == {("replayed", "eve")}
        assert audit().is_sound

    def test_twice_sends_each_once(self, world, endpoint):
        ended(endpoint, State.DEAD_LETTERED, 2)
        ended(endpoint, State.EXPIRED, 2)

        assert lately(endpoint) == Replayed(letters=2, expired=2)
        assert lately(endpoint) == Replayed()

    def test_goes_through_any_number_page_by_page(self, endpoint, monkeypatch):
        monkeypatch.setattr(endpoint_replays, "PAGE", 2)
        ended(endpoint, State.DEAD_LETTERED, 5)
        ended(endpoint, State.EXPIRED, 5)

        assert lately(endpoint) == Replayed(letters=5, expired=5)

    def test_goes_through_so_many_of_each_kind_at_most(self, endpoint):
        ended(endpoint, State.DEAD_LETTERED, 3)
        ended(endpoint, State.EXPIRED, 3)

        assert lately(endpoint, most=2) == Replayed(letters=2, expired=2)

    def test_passes_over_what_cannot_go_again_and_goes_on(self, endpoint, monkeypatch):
        monkeypatch.setattr(endpoint_replays, "PAGE", 2)
        messages = ended(endpoint, State.DEAD_LETTERED, 5)
        useless = Notification.objects.filter(id__in=[message.notification_id for message in messages[:3]])
        useless.update(expires_at=timezone.now() - SECOND)

        assert lately(endpoint) == Replayed(letters=2, left=3)

    def test_keeps_to_its_window_and_its_endpoint(self, world, endpoint):
        other = factories.endpoint("others", world.sandbox.url + "/hooks/ok")
        [foreign] = ended(other, State.DEAD_LETTERED)
        [early] = ended(endpoint, State.DEAD_LETTERED)
        Notification.objects.filter(id=early.notification_id).update(accepted_at=timezone.now() - 2 * HOUR)
        ended(endpoint, State.DEAD_LETTERED)

        assert lately(endpoint).letters == 1

        assert (state_of(foreign), state_of(early)) == (State.DEAD_LETTERED, State.DEAD_LETTERED)
        assert lately(endpoint, since=timezone.now() - 3 * HOUR, until=timezone.now() - HOUR).letters == 1

    def test_leaves_alone_what_is_redacted(self, endpoint):
        [message] = ended(endpoint, State.EXPIRED)
        Notification.objects.filter(id=message.notification_id).update(redacted_at=timezone.now(), content={})

        assert lately(endpoint) == Replayed()


class TestResend:
    def test_is_the_same_event_under_its_id(self, world, endpoint):
        [message] = told(endpoint)
        world.drain(Lane.NORMAL)
        assert state_of(message) == State.DELIVERED

        again = resend(message.notification_id)
        world.drain(Lane.NORMAL)
        resend(again)
        world.drain(Lane.NORMAL)

        calls = world.sandbox.receivers.arrivals()
        assert {call.id for call in calls} == {f"msg_{message.id.hex}"}
        assert len({call.body for call in calls}) == 1
        assert [call.is_signed for call in calls] == [True] * 3
        assert Notification.objects.filter(client__name=EVENTS, end="delivered").count() == 3
        assert json.loads(calls[0].body)["type"] == events.TEST

    def test_is_refused_while_it_is_on_its_way(self, endpoint):
        [message] = told(endpoint)

        with pytest.raises(CannotReplay, match="on its way"):
            resend(message.notification_id)

    def test_is_of_events_alone(self):
        message = factories.message(State.DELIVERED)

        with pytest.raises(CannotReplay, match="no event"):
            resend(message.notification_id)

    def test_needs_its_text(self, endpoint):
        [message] = ended(endpoint, State.FAILED)
        Notification.objects.filter(id=message.notification_id).update(redacted_at=timezone.now(), content={})

        with pytest.raises(CannotReplay, match="redacted"):
            resend(message.notification_id)

    def test_needs_its_endpoint(self, endpoint):
        [message] = ended(endpoint, State.FAILED)
        endpoints.delete(WebhookEndpoint.objects.get())

        with pytest.raises(CannotReplay, match="endpoint"):
            resend(message.notification_id)

        assert not OutboxEntry.objects.exists()


class TestCommand:
    def say(self, *arguments):
        out = StringIO()
        call_command("endpoint", "replay", *arguments, stdout=out)
        return out.getvalue().strip()

    def test_says_what_it_did(self, endpoint):
        ended(endpoint, State.DEAD_LETTERED, 2)
        ended(endpoint, State.EXPIRED)

        said = self.say("orders", "--since", (timezone.now() - HOUR).isoformat())

        assert said == "2 dead letters and 1 expired event are sent again; 0 dead letters cannot be."

    def test_takes_whole_days(self, endpoint):
        ended(endpoint, State.DEAD_LETTERED)

        assert self.say("orders", "--since", "2026-01-01", "--until", "2026-01-02").startswith("0 dead letters")

    @pytest.mark.parametrize("since", ["yesterday", "2026-13-01"])
    def test_refuses_what_is_no_time(self, endpoint, since):
        with pytest.raises(CommandError, match="since"):
            self.say("orders", "--since", since)

    def test_refuses_an_unknown_name(self):
        with pytest.raises(CommandError, match="no endpoint"):
            self.say("nobody", "--since", "2026-01-01")

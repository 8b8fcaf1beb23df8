"""Steps of several messages at once: the first that arrives is enough, or all must; whatever coincides, it ends one way."""

from __future__ import annotations

from itertools import permutations
from uuid import uuid4

import pytest
from django.db import transaction

from notifications import send
from notifications.lanes import Lane
from notifications.models import DeadLetter, Message, Notification, OutboxEntry, ProviderAccount, Route
from notifications.reasons import Reason
from notifications.runtime import Runtime
from notifications.services.apply import apply_waiting
from notifications.services.audit import audit
from notifications.services.cancel import CancelResult, cancel
from notifications.services.record import record
from notifications.services.replay import CannotReplay, replay
from notifications.sql.record import Verdict
from notifications.states import End, State
from tests import factories
from tests.factories import CONTENT, MAILBOX, NUMBER, close_window
from tests.notifications.racing import together
from tests.notifications.stories import told

pytestmark = pytest.mark.usefixtures("seeded")

SILENT, FAILS = "+4915112345602", "+4915112345603"
BOUNCES = "failed@example.org"
AT_ONCE = {"channels": ["sms", "email"], "window_seconds": 90}


@pytest.fixture(autouse=True)
def routes(seeded):
    for need in ("first", "all"):
        Route.objects.create(name=need, steps=[{**AT_ONCE, "need": need}])
        Route.objects.create(name=f"{need}-then-email", steps=[{**AT_ONCE, "need": need}, {"channel": "email"}])


def at_once(route, to=NUMBER, mailbox=MAILBOX, **fields):
    """Accept an SMS and an e-mail that go together. Returns both."""
    accepted = send({"sms": to, "email": mailbox}, CONTENT, route=route, **fields)
    return messages_of(accepted.id)


def messages_of(id, step=0):
    return list(Message.objects.filter(notification=id, step=step).order_by("part"))


def states(messages):
    return [told(message)[0] for message in messages]


def end(messages):
    return Notification.objects.get(id=messages[0].notification_id).end


def sent(route):
    """Both are on their way, on file only."""
    owner = factories.notification(steps=Route.objects.get(name=route).steps)
    return [factories.message(State.SENT, of=owner, part=part) for part in range(2)]


def hear(message, kind):
    factories.event(message, kind, account=message.account)
    apply_waiting()


class TestThroughTheEngine:
    @pytest.mark.parametrize("route", ["first", "all"])
    def test_both_are_called_at_once(self, world, route):
        world.listen()
        messages = at_once(route)

        world.drain(Lane.NORMAL)
        assert (world.on_the_wire("twilio"), world.on_the_wire("postmark")) == (1, 1)
        world.hear()

        assert states(messages) == [State.DELIVERED, State.DELIVERED]
        assert end(messages) == End.DELIVERED
        assert audit().is_sound

    @pytest.mark.parametrize(
        ("route", "expected", "follows"),
        [
            ("first", End.DELIVERED, 0),
            ("all", End.FAILED, 0),
            ("first-then-email", End.DELIVERED, 0),
            ("all-then-email", None, 1),
        ],
    )
    def test_one_fails_and_the_other_delivers(self, world, route, expected, follows):
        world.listen()
        messages = at_once(route, to=FAILS)

        world.drain(Lane.NORMAL)
        world.hear()

        assert states(messages) == [State.FAILED, State.DELIVERED]
        assert end(messages) == expected
        assert len(messages_of(messages[0].notification_id, step=1)) == follows
        assert audit().is_sound
        world.drain(Lane.NORMAL)
        world.hear()
        assert end(messages) == (expected or End.DELIVERED)

    def test_what_has_no_account_fails_beside_what_delivers_and_leaves_nothing_to_decide(self, world):
        world.listen()
        ProviderAccount.objects.filter(slug="twilio").update(is_on=False)
        messages = at_once("first")

        world.drain(Lane.NORMAL)
        assert states(messages)[0] == State.DEAD_LETTERED
        assert DeadLetter.objects.get().resolved_at is None
        world.hear()

        assert end(messages) == End.DELIVERED
        letter = DeadLetter.objects.get()
        assert (letter.resolution, letter.resolved_at is not None) == ("answered", True)
        with pytest.raises(CannotReplay):
            replay(letter.id, by="eve")

    def test_where_all_are_needed_its_dead_letter_waits_for_a_person_who_may_replay_it(self, world):
        world.listen()
        account = ProviderAccount.objects.filter(slug="twilio")
        account.update(is_on=False)
        messages = at_once("all")
        world.drain(Lane.NORMAL)
        world.hear()
        assert end(messages) == End.DEAD_LETTERED
        account.update(is_on=True)
        world.account("twilio")

        replay(DeadLetter.objects.get().id, by="eve")
        assert end(messages) is None
        world.drain(Lane.NORMAL)
        world.hear()

        assert (states(messages), end(messages)) == ([State.DELIVERED] * 2, End.DELIVERED)
        assert audit().is_sound

    def test_what_is_held_is_not_sent_again_beside_what_has_arrived(self):
        owner = factories.notification(steps=Route.objects.get(name="first").steps)
        held = factories.message(State.UNCERTAIN, of=owner, part=0, reason=Reason.HELD)
        letter = DeadLetter.objects.create(kind=DeadLetter.Kind.HELD, message=held, reason=Reason.HELD)
        factories.message(State.DELIVERED, of=owner, part=1)

        with pytest.raises(CannotReplay, match="another message"):
            replay(letter.id, by="eve")

        assert told(held)[0] == State.UNCERTAIN

    def test_the_window_is_over_for_both_and_the_next_step_begins_once(self, world):
        messages = at_once("all-then-email", to=SILENT)
        world.drain(Lane.NORMAL)
        for message in messages:
            close_window(message)

        world.drain(Lane.UPKEEP)
        world.drain(Lane.UPKEEP)

        assert states(messages_of(messages[0].notification_id, step=1)) == [State.QUEUED]
        assert audit().is_sound

    def test_cancel_stops_both(self, world):
        messages = at_once("first")

        results = cancel(messages[0].notification_id)

        assert [result.result for result in results] == [CancelResult.STOPPED] * 2
        assert (states(messages), end(messages)) == ([State.CANCELLED] * 2, End.CANCELLED)
        assert world.drain() == 0


class TestAcceptance:
    """Content once a provider has each: what it reports later is another matter."""

    @pytest.fixture(autouse=True)
    def route(self, routes):
        step = {**AT_ONCE, "need": "all", "wait_for": "accepted"}
        Route.objects.create(name="taken", steps=[step, {"channel": "email"}])

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_of_one_is_not_enough_whichever_failed_first(self, world, order):
        """The next step is owed when the last of them has done its part, be that a failure or a yes."""
        messages = at_once("taken", to=NUMBER)
        ProviderAccount.objects.filter(slug="twilio").update(is_on=False)
        for number in order:
            others = OutboxEntry.objects.exclude(message=messages[number])
            others.update(due_at="2100-01-01T00:00:00Z")
            factories.make_due(messages[number])
            world.drain(Lane.NORMAL)

        assert states(messages) == [State.FAILED, State.SENT]
        assert len(messages_of(messages[0].notification_id, step=1)) == 1


class TestCallingOff:
    @pytest.mark.parametrize(
        ("route", "state", "reason"),
        [("first", State.CANCELLED, Reason.DELIVERED_BY_ANOTHER_STEP), ("all", State.QUEUED, "")],
    )
    def test_of_what_waits_beside_a_delivery(self, route, state, reason):
        owner = factories.notification(steps=Route.objects.get(name=route).steps)
        waiting = factories.message(of=owner, part=0)
        other = factories.message(State.SENT, of=owner, part=1)

        hear(other, "delivered")

        assert told(waiting) == (state, reason)
        assert OutboxEntry.objects.filter(message=waiting).exists() is (state is State.QUEUED)
        assert end([other]) == (End.DELIVERED if route == "first" else None)

    def test_of_what_is_claimed_when_a_call_delivers(self):
        """A webhook's answer is the delivery: whoever records it holds its own entry only."""
        owner = factories.notification(steps=Route.objects.get(name="first").steps)
        waiting = factories.message(of=owner, part=0)
        other = factories.message(of=owner, part=1)
        factories.begun(other, factories.account("postmark", "postmark"), claim=(claim := uuid4()))
        OutboxEntry.objects.filter(message=waiting).update(claim=uuid4())

        record(
            [Verdict(message_id=other.id, leaving=State.QUEUED, state=State.DELIVERED, outcome="taken")],
            claim=claim,
            notification_ids={other.id: owner.id},
            runtime=Runtime(None),
        )

        assert told(waiting) == (State.CANCELLED, Reason.DELIVERED_BY_ANOTHER_STEP)
        assert audit().is_sound

    def test_leaves_alone_what_is_being_called(self):
        owner = factories.notification(steps=Route.objects.get(name="first").steps)
        calling = factories.message(of=owner, part=0)
        factories.begun(calling, factories.account())
        other = factories.message(State.SENT, of=owner, part=1)

        hear(other, "delivered")

        assert (told(calling)[0], end([other])) == (State.QUEUED, End.DELIVERED)

    def test_of_what_a_report_would_have_sent_once_more(self):
        """Reached too late to be sent again: the other one has arrived."""
        sms, email = sent("first")

        hear(email, "delivered")
        hear(sms, "not_reached")

        assert told(sms) == (State.CANCELLED, Reason.DELIVERED_BY_ANOTHER_STEP)


class TestTwoAtOnce:
    @pytest.mark.parametrize("route", ["first-then-email", "all-then-email"])
    def test_by_two_workers_begin_the_next_step_exactly_once(self, aside, route):
        for _ in range(10):
            messages = sent(route)

            together(aside, *map(self.fail, messages))

            assert states(messages) == [State.FAILED] * 2
            assert len(messages_of(messages[0].notification_id, step=1)) == 1
        assert audit().is_sound

    @pytest.mark.parametrize(("route", "expected"), [("first", End.DELIVERED), ("all", End.FAILED)])
    def test_by_a_worker_and_a_receipt_end_it(self, aside, route, expected):
        for _ in range(10):
            messages = sent(route)
            factories.event(messages[0], "delivered")

            together(aside, apply_waiting, self.fail(messages[1]))

            assert end(messages) == expected
        assert audit().is_sound

    def fail(self, message):
        """End a message as the worker that holds its claim does."""
        token = uuid4()
        OutboxEntry.objects.filter(message=message).update(claim=token)
        verdict = Verdict(message_id=message.id, leaving=State.SENT, state=State.FAILED, reason=Reason.NOT_DELIVERED)
        ids = {message.id: message.notification_id}
        return lambda: record([verdict], claim=token, notification_ids=ids, runtime=Runtime(None))


REPORTS = [(0, "sent"), (0, "delivered"), (1, "failed"), (1, "delivered")]
FAILURES = [(0, "delivered"), (0, "sent"), (1, "not_reached"), (1, "failed")]
BOUNCE = [(0, "failed"), (1, "delivered"), (1, "bounced"), (0, "sent")]


@pytest.mark.parametrize("reports", [REPORTS, FAILURES, BOUNCE], ids=["deliveries", "failures", "bounce"])
@pytest.mark.parametrize("route", ["first", "all"])
def test_reports_in_any_order_give_the_same_end(route, reports):
    lives = [(sent(route), order) for order in permutations(reports)]

    for turn in range(len(reports)):
        for messages, order in lives:
            part, kind = order[turn]
            factories.event(messages[part], kind, account=messages[part].account)
        apply_waiting()

    ends = {end(messages) for messages, _ in lives}
    assert len(ends) == 1, ends
    assert ends == {End.DELIVERED} if reports is REPORTS or (reports is FAILURES and route == "first") else {End.FAILED}
    assert audit().is_sound


def test_a_batch_of_settled_notifications_calls_off_in_one_go():
    """Many at once are locked in one order, and recorded in one statement."""
    owners = [factories.notification(steps=Route.objects.get(name="first").steps) for _ in range(5)]
    waiting = [factories.message(of=owner, part=0) for owner in owners]
    others = [factories.message(State.SENT, of=owner, part=1) for owner in owners]
    for other in others:
        factories.event(other, "delivered", account=other.account)

    with transaction.atomic():
        apply_waiting()

    assert set(states(waiting)) == {State.CANCELLED}

"""Accept: stored whole or not at all, once per key, and a hint only after the commit."""

from __future__ import annotations

from concurrent.futures import wait
from datetime import UTC, timedelta
from datetime import timezone as tz
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications import Refused, send
from notifications.lanes import Lane
from notifications.models import Message, Notification, OutboxEntry, Route
from notifications.services.accept import IdempotencyConflict, accept
from notifications.states import State
from tests import factories
from tests.factories import CONTENT, MAILBOX, NUMBER
from tests.notifications.racing import counted, rolled_back, together, until_waiting

TO = {"sms": NUMBER}
SMS = {"sms": CONTENT["sms"]}
BOTH = {"sms": NUMBER, "email": MAILBOX}

pytestmark = pytest.mark.usefixtures("seeded")


def row_counts():
    return Notification.objects.count(), Message.objects.count(), OutboxEntry.objects.count()


class TestSend:
    def test_stores_a_notification_its_first_message_and_the_promise(self):
        before = timezone.now()

        accepted = send(BOTH, CONTENT, priority="high", reference="order 7", metadata={"order": 7})

        notification = Notification.objects.get(id=accepted.id)
        message, entry = Message.objects.get(), OutboxEntry.objects.get()
        assert (accepted.replayed, accepted.accepted_at) == (False, notification.accepted_at)
        assert (notification.route, notification.reference, notification.metadata) == (
            "sms-then-email",
            "order 7",
            {"order": 7},
        )
        assert (notification.end, notification.on_unclear, notification.client.name) == (None, "send_again", "internal")
        assert (message.notification_id, message.step, message.channel, message.address, message.state) == (
            notification.id,
            0,
            "sms",
            NUMBER,
            State.QUEUED,
        )
        assert (entry.message_id, entry.lane, entry.claim) == (message.id, Lane.HIGH, None)
        assert before - timedelta(seconds=1) < entry.due_at <= timezone.now()
        assert message.escalate_at - entry.due_at == timedelta(seconds=90)

    @pytest.mark.parametrize(("priority", "hours"), [("critical", 0.25), ("high", 2), ("normal", 24), ("bulk", 72)])
    def test_is_useful_for_as_long_as_its_priority_says(self, priority, hours):
        send(TO, SMS, priority=priority)

        notification = Notification.objects.get()
        assert notification.expires_at - notification.send_at == timedelta(hours=hours)

    def test_is_due_when_it_is_to_be_sent(self):
        tomorrow = timezone.now() + timedelta(days=1)

        send(BOTH, CONTENT, send_at=tomorrow)

        assert OutboxEntry.objects.get().due_at == tomorrow
        assert Message.objects.get().escalate_at == tomorrow + timedelta(seconds=90)
        assert Notification.objects.get().expires_at == tomorrow + timedelta(days=1)

    def test_skips_a_step_without_an_address_and_says_so(self):
        send({"email": MAILBOX}, CONTENT, route="sms-then-email")

        steps = Message.objects.order_by("step").values_list("channel", "state", "reason")
        assert list(steps) == [("sms", State.SUPPRESSED, "no_address"), ("email", State.QUEUED, "")]
        assert OutboxEntry.objects.get().message.channel == "email"

    def test_gives_no_window_to_a_step_that_no_other_follows(self):
        send(TO, SMS, route="sms-then-email")

        assert Message.objects.get().escalate_at is None

    def test_freezes_the_steps(self):
        send(TO, SMS)
        Route.objects.filter(name="sms").update(steps=[{"channel": "email"}])

        assert Notification.objects.get().steps == [{"channel": "sms"}]

    def test_takes_one_statement(self):
        send(TO, SMS)  # warms the caches of routes and clients

        with counted() as statements:
            send(TO, SMS, priority="critical")

        assert len(statements) == 1


class TestTransactions:
    def test_leaves_nothing_and_hints_nothing_when_the_callers_transaction_is_rolled_back(self, queues):
        with rolled_back():
            send(TO, SMS)

        assert row_counts() == (0, 0, 0)
        assert queues() == {}

    def test_leaves_nothing_of_a_rolled_back_savepoint_and_keeps_what_is_around_it(self, queues):
        with transaction.atomic():
            kept = send(TO, SMS)
            with rolled_back():
                send(TO, SMS, priority="critical")

        assert [n.id for n in Notification.objects.all()] == [kept.id]
        assert row_counts() == (1, 1, 1)
        assert queues() == {"normal": 1}

    def test_hints_when_only_the_send_after_a_rolled_back_one_survives(self, queues):
        with transaction.atomic():
            with rolled_back():
                send(TO, SMS)
            send(TO, SMS)

        assert queues() == {"normal": 1}

    def test_hints_after_the_commit_and_not_before(self, queues):
        with transaction.atomic():
            send(TO, SMS)
            assert queues() == {}

        assert queues() == {"normal": 1}

    def test_hints_once_per_lane_and_transaction(self, queues):
        with transaction.atomic():
            for priority in ("normal", "normal", "critical"):
                send(TO, SMS, priority=priority)

        assert queues() == {"normal": 1, "critical": 1}

    def test_hints_at_once_outside_a_transaction(self, queues):
        send(TO, SMS, priority="bulk")

        assert queues() == {"bulk": 1}

    def test_does_not_hint_what_is_due_later(self, queues):
        send(TO, SMS, send_at=timezone.now() + timedelta(hours=1))

        assert queues() == {}

    def test_is_invisible_to_others_until_the_commit(self, second_connection):
        with transaction.atomic():
            send(TO, SMS)
            second_connection.execute("SELECT count(*) FROM outbox")
            assert second_connection.fetchone() == (0,)


class TestIdempotency:
    def test_the_same_request_again_gets_the_first_answer(self):
        first = send(TO, SMS, idempotency_key="k")

        again = send(TO, SMS, idempotency_key="k")

        assert (again.id, again.accepted_at, again.replayed) == (first.id, first.accepted_at, True)
        assert row_counts() == (1, 1, 1)

    @pytest.mark.parametrize(
        "same",
        [
            {"to": {"sms": "+49 151 123456 01"}},
            {"priority": "normal"},
            {"metadata": {}},
            {"reference": None},
        ],
        ids=["another spelling of the number", "the default said aloud", "nothing said", "null is absent"],
    )
    def test_an_equal_request_in_other_words_is_the_same(self, same):
        send(to=TO, content=SMS, idempotency_key="k")

        assert send(**{"to": TO, "content": SMS, "idempotency_key": "k", **same}).replayed

    @pytest.mark.parametrize(
        "other",
        [
            {"to": {"sms": "+4915112345602"}},
            {"content": {"sms": {"text": "Table gone"}}},
            {"priority": "high"},
            {"metadata": {"a": 1}},
            {"reference": "r"},
            {"on_unclear": "hold"},
        ],
        ids=lambda other: next(iter(other)),
    )
    def test_another_request_with_the_key_is_refused_by_field(self, other):
        send(to=TO, content=SMS, idempotency_key="k")

        with pytest.raises(Refused) as refusal:
            send(**{"to": TO, "content": SMS, "idempotency_key": "k", **other})

        assert [error.field for error in refusal.value.errors] == ["idempotency_key"]
        assert row_counts() == (1, 1, 1)

    def test_a_refused_request_does_not_burn_its_key(self):
        with pytest.raises(Refused):
            send({"sms": "no number"}, SMS, idempotency_key="k")

        assert not send(TO, SMS, idempotency_key="k").replayed

    @pytest.mark.parametrize("field", ["send_at", "expires_at"])
    def test_the_first_answer_comes_again_when_its_times_have_passed(self, field):
        now = timezone.now()
        fields = {"to": TO, "content": SMS, "idempotency_key": "k", field: now + timedelta(hours=1)}
        first = accept(fields, client_name="internal", now=now)

        again = accept(fields, client_name="internal", now=now + timedelta(days=1))

        assert (again.id, again.replayed) == (first.id, True)

    def test_the_first_answer_comes_again_when_its_incident_has_ended(self):
        incident = factories.incident("outage")
        first = send(TO, SMS, idempotency_key="k", incident="outage")
        incident.ended_at = timezone.now()
        incident.save()

        assert send(TO, SMS, idempotency_key="k", incident="outage").id == first.id

    def test_a_new_request_is_refused_when_its_times_have_passed(self):
        with pytest.raises(Refused) as refusal:
            send(TO, SMS, idempotency_key="k", send_at=timezone.now() - timedelta(seconds=1))

        assert [error.field for error in refusal.value.errors] == ["send_at"]

    def test_one_moment_is_the_same_request_in_every_time_zone(self):
        moment = timezone.now() + timedelta(hours=1)
        send(TO, SMS, idempotency_key="k", send_at=moment)

        assert send(TO, SMS, idempotency_key="k", send_at=moment.astimezone(tz(timedelta(hours=9)))).replayed

    def test_a_rolled_back_request_does_not_burn_its_key(self):
        with rolled_back():
            send(TO, SMS, idempotency_key="k")

        assert not send(TO, {"sms": {"text": "Other words"}}, idempotency_key="k").replayed

    def test_keys_belong_to_their_client(self):
        factories.client("shop")
        fields = {"to": TO, "content": SMS, "idempotency_key": "k"}

        answers = [accept(fields, client_name=name, now=timezone.now()) for name in ("internal", "shop")]

        assert [answer.replayed for answer in answers] == [False, False]
        assert len({answer.id for answer in answers}) == 2

    def test_a_replay_answers_for_its_own_client(self):
        factories.client("shop")
        theirs = {"to": TO, "content": {"sms": {"text": "Other words"}}, "idempotency_key": "k"}
        send(TO, SMS, idempotency_key="k")
        first = accept(theirs, client_name="shop", now=timezone.now())

        again = accept(theirs, client_name="shop", now=timezone.now())

        assert (again.id, again.replayed) == (first.id, True)

    def test_requests_without_a_key_are_never_the_same(self):
        assert send(TO, SMS).id != send(TO, SMS).id

    def test_fifty_at_once_are_one(self, aside):
        answers = together(aside, *[lambda: send(TO, SMS, idempotency_key="k")] * 50)

        assert len({answer.id for answer in answers}) == 1
        assert len({answer.accepted_at for answer in answers}) == 1
        assert sum(not answer.replayed for answer in answers) == 1
        assert row_counts() == (1, 1, 1)

    def test_twice_in_one_transaction_is_once(self):
        with transaction.atomic():
            first, again = send(TO, SMS, idempotency_key="k"), send(TO, SMS, idempotency_key="k")

        assert (again.id, again.replayed, row_counts()) == (first.id, True, (1, 1, 1))

    def test_a_second_request_waits_for_the_first_to_commit(self, aside):
        with transaction.atomic():
            first = send(TO, SMS, idempotency_key="k")
            second = aside(send, TO, SMS, idempotency_key="k")
            until_waiting()

        assert (second.result(5).id, second.result().replayed) == (first.id, True)

    def test_a_second_request_is_accepted_when_the_first_is_rolled_back(self, aside):
        with rolled_back():
            send(TO, SMS, idempotency_key="k")
            second = aside(send, TO, SMS, idempotency_key="k")
            until_waiting()

        wait([second], 5)
        assert not second.result().replayed
        assert row_counts() == (1, 1, 1)

    def test_a_caller_who_cannot_see_the_other_request_is_told_to_begin_anew(self, aside):
        @transaction.atomic
        def send_in_an_older_snapshot():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            Notification.objects.count()  # its snapshot is from here on
            aside(send, TO, SMS, idempotency_key="k").result(5)
            send(TO, SMS, idempotency_key="k")

        with pytest.raises(IdempotencyConflict):
            send_in_an_older_snapshot()

        assert row_counts() == (1, 1, 1)

    def test_a_caller_above_read_committed_gets_a_replay_of_what_he_can_see(self):
        first = send(TO, SMS, idempotency_key="k")

        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            again = send(TO, SMS, idempotency_key="k")

        assert (again.id, again.replayed) == (first.id, True)


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"route": "pigeon"}, "route"),
            ({"to": {}}, "to"),
            ({"to": {"email": MAILBOX}, "route": "sms"}, "to"),
            ({"to": BOTH}, "content.email"),
            ({"incident": "unheard of"}, "incident"),
            ({"expires_at": timezone.now() - timedelta(hours=1)}, "expires_at"),
            ({"send_at": timezone.now() - timedelta(hours=1)}, "send_at"),
        ],
        ids=["no such route", "no address", "no address for the route", "no text", "no incident", "over", "past"],
    )
    def test_names_the_field(self, change, field):
        with pytest.raises(Refused) as refusal:
            send(**{"to": TO, "content": SMS, **change})

        assert [error.field for error in refusal.value.errors] == [field]
        assert row_counts() == (0, 0, 0)

    def test_an_incident_that_has_ended_takes_nothing_more(self):
        factories.incident("fire", ended_at=timezone.now())

        with pytest.raises(Refused, match="has ended"):
            send(TO, SMS, incident="fire")


class TestIncident:
    def test_is_bound_to_one_that_goes_on(self):
        incident = factories.incident("fire")

        send(TO, SMS, incident="fire")

        assert Notification.objects.get().incident_id == incident.id


TEXT = st.one_of(st.sampled_from(["", "Table ready", "x" * 1601, "\0", "\ud800", "é" * 70]), st.text(max_size=20))
NUMBERS = st.one_of(st.sampled_from([NUMBER, "+4915112345699", "", "123", MAILBOX]), st.text(max_size=15))
MAILBOXES = st.one_of(
    st.sampled_from([MAILBOX, "a@b", "", NUMBER, "jörg@example.org", "a@example.org\n"]), st.text(max_size=15)
)
METADATA = st.one_of(st.integers(), st.floats(), TEXT, st.none(), st.lists(TEXT, max_size=2))
# Each makes one field of a request something else, which may or may not be acceptable.
CHANGES = st.one_of(
    st.tuples(st.just("to"), st.fixed_dictionaries({}, optional={"sms": NUMBERS, "email": MAILBOXES})),
    st.tuples(
        st.just("content"),
        st.fixed_dictionaries(
            {},
            optional={
                "sms": st.fixed_dictionaries({}, optional={"text": TEXT}),
                "email": st.fixed_dictionaries({}, optional={"subject": TEXT, "text": TEXT, "html": TEXT}),
            },
        ),
    ),
    st.tuples(st.just("route"), st.sampled_from(["sms", "email", "sms-then-email", "pigeon", "\0"])),
    st.tuples(st.just("priority"), st.sampled_from(["critical", "high", "normal", "bulk", "utmost", None])),
    st.tuples(st.just("category"), st.sampled_from(["transactional", "marketing", "gossip"])),
    st.tuples(st.just("idempotency_key"), st.one_of(st.sampled_from(["a", "b", "", "k" * 201]), st.text(max_size=3))),
    st.tuples(st.just("reference"), TEXT),
    st.tuples(st.just("incident"), st.just("unheard of")),
    st.tuples(st.just("on_unclear"), st.sampled_from(["hold", "send_again", "pray"])),
    st.tuples(st.just("metadata"), st.dictionaries(TEXT, METADATA, max_size=3)),
    st.tuples(st.just("send_at"), st.datetimes(timezones=st.just(UTC))),
    st.tuples(st.just("surprise"), st.just(True)),
)


@given(changes=st.lists(CHANGES, max_size=3))
@settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_asked_is_stored_whole_or_not_at_all(seeded, changes):
    request = {"to": BOTH, "content": CONTENT, **dict(changes)}
    before = row_counts()
    try:
        accepted = accept(request, client_name="internal", now=timezone.now())
    except Refused:
        assert row_counts() == before
        return

    messages = Message.objects.filter(notification=accepted.id)
    open_messages = [message.id for message in messages if message.state == State.QUEUED]
    assert isinstance(accepted.id, UUID)
    assert Notification.objects.filter(id=accepted.id).count() == 1
    assert len(open_messages) == 1
    assert OutboxEntry.objects.filter(message__in=open_messages).count() == 1
    new = (0, 0, 0) if accepted.replayed else (1, len(messages), 1)
    assert tuple(after - earlier for after, earlier in zip(row_counts(), before, strict=True)) == new

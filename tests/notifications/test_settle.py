"""How a notification goes on: its next step, or its end, as a function of its messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from notifications.addresses import address_hash
from notifications.lanes import SENDING, Lane, Priority
from notifications.reasons import Reason
from notifications.services.settle import end_of, next_messages
from notifications.sql.lock import LockedNotification
from notifications.states import ENDED, OPEN, End, State
from tests.notifications.locked import EMAIL, HOUR, NOW, SMS, SMS_THEN_EMAIL, a_message, a_notification

EMAIL_THEN_SMS = [{"channel": "email", "wait_for": "accepted", "window_seconds": 90}, {"channel": "sms"}]
THREE_STEPS = [*SMS_THEN_EMAIL[:1], {"channel": "email", "wait_for": "delivered"}, {"channel": "sms"}]


def begins(notification: LockedNotification) -> list[int]:
    """The steps whose messages are owed now."""
    return [message.step for message in next_messages(notification)]


class TestTheNextStep:
    @pytest.mark.parametrize(
        ("state", "reason"),
        [
            (State.FAILED, Reason.RECIPIENT_REFUSED),
            (State.FAILED, Reason.TRIES_USED_UP),
            (State.EXPIRED, Reason.WINDOW_OVER),
            (State.SUPPRESSED, Reason.ADDRESS_SUPPRESSED),
            (State.SUPPRESSED, Reason.OPTED_OUT),
            (State.SUPPRESSED, Reason.NO_ADDRESS),
            (State.UNCONFIRMED, Reason.NO_PROOF_IN_TIME),
        ],
    )
    def test_begins_at_once_when_the_one_before_ended_without_delivery(self, state, reason):
        assert begins(a_notification(a_message(state, reason=reason))) == [1]

    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_waits_while_the_one_before_is_open(self, state):
        assert begins(a_notification(a_message(state))) == []

    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_begins_when_the_window_of_an_open_one_is_over(self, state):
        assert begins(a_notification(a_message(state, escalated_at=NOW))) == [1]

    @pytest.mark.parametrize("state", [State.DELIVERED, State.CANCELLED, State.DEAD_LETTERED])
    @pytest.mark.parametrize("escalated_at", [NOW, None])
    def test_never_begins_after_an_end_that_is_final(self, state, escalated_at):
        assert begins(a_notification(a_message(state, escalated_at=escalated_at))) == []

    @pytest.mark.parametrize(
        "changes",
        [
            {"stopped_at": NOW},
            {"is_incident_over": True},
            {"expires_at": NOW},
            {"expires_at": NOW - HOUR},
        ],
        ids=["stopped", "incident over", "expired now", "expired long ago"],
    )
    def test_never_begins_once_the_notification_is_of_no_use(self, changes):
        assert begins(a_notification(a_message(State.FAILED), **changes)) == []

    def test_does_not_exist_after_the_last(self):
        last = a_message(State.FAILED, step=1)

        assert begins(a_notification(a_message(State.FAILED), last)) == []

    @pytest.mark.parametrize("state", State)
    def test_is_not_owed_twice(self, state):
        """Whatever became of the first, the second exists already."""
        second = a_message(State.QUEUED, step=1)

        assert begins(a_notification(a_message(state, escalated_at=NOW), second)) == []

    @pytest.mark.parametrize("late", [State.SENT, State.UNCERTAIN])
    def test_is_not_owed_when_an_earlier_one_delivered_after_all(self, late):
        first = a_message(State.DELIVERED, escalated_at=NOW)

        assert begins(a_notification(first, a_message(State.FAILED, step=1), steps=THREE_STEPS)) == []
        assert begins(a_notification(first, a_message(late, step=1, escalated_at=NOW), steps=THREE_STEPS)) == []

    @pytest.mark.parametrize(
        ("second", "expected"),
        [
            (a_message(State.FAILED, step=1), [2]),
            (a_message(State.SENT, step=1), []),
            (a_message(State.SENT, step=1, escalated_at=NOW), [2]),
        ],
    )
    def test_depends_on_the_newest_one_only(self, second, expected):
        first = a_message(State.SENT, escalated_at=NOW)

        assert begins(a_notification(first, second, steps=THREE_STEPS)) == expected


class TestOptOuts:
    @pytest.mark.parametrize(("category", "expected"), [("transactional", [1]), ("marketing", [])])
    def test_at_one_channel_are_consent_to_no_other(self, category, expected):
        opted_out = a_message(State.SUPPRESSED, reason=Reason.OPTED_OUT)

        assert begins(a_notification(opted_out, category=category)) == expected

    def test_stand_even_after_the_window(self):
        opted_out = a_message(State.SUPPRESSED, reason=Reason.OPTED_OUT, escalated_at=NOW)

        assert begins(a_notification(opted_out, category="marketing")) == []

    def test_end_the_notification_suppressed(self):
        opted_out = a_message(State.SUPPRESSED, reason=Reason.OPTED_OUT)

        assert end_of(a_notification(opted_out, category="marketing")) is End.SUPPRESSED


class TestAStepThatWaitsForAccepted:
    def test_is_content_with_unconfirmed(self):
        unconfirmed = a_message(State.UNCONFIRMED, reason=Reason.NOTHING_PROVES_IT)
        notification = a_notification(unconfirmed, steps=EMAIL_THEN_SMS)

        assert begins(notification) == []
        assert end_of(notification) is End.UNCONFIRMED

    @pytest.mark.parametrize("state", [State.FAILED, State.EXPIRED, State.SUPPRESSED])
    def test_gives_way_after_any_other_end(self, state):
        assert begins(a_notification(a_message(state), steps=EMAIL_THEN_SMS)) == [1]


class TestAStepThatSaysNothingOfWaiting:
    def test_waits_for_delivered(self):
        unconfirmed = a_message(State.UNCONFIRMED)

        assert begins(a_notification(unconfirmed, steps=[{"channel": "sms"}, {"channel": "email"}])) == [1]


class TestSteps:
    def test_without_an_address_are_passed_over_on_file(self):
        steps = [{"channel": "email", "wait_for": "delivered"}, *SMS_THEN_EMAIL[:1], {"channel": "email"}]
        notification = a_notification(a_message(State.FAILED), steps=steps, recipient={"email": EMAIL})

        missing, email = next_messages(notification)

        assert (missing.step, missing.state, missing.reason) == (1, State.SUPPRESSED, Reason.NO_ADDRESS)
        assert (email.step, email.state, email.address) == (2, State.QUEUED, EMAIL)

    def test_without_an_address_do_not_count_as_next(self):
        notification = a_notification(a_message(State.FAILED), recipient={"sms": SMS})

        assert begins(notification) == []
        assert end_of(notification) is End.FAILED

    def test_with_several_parts_give_way_when_all_parts_have(self):
        failed, sent = a_message(State.FAILED, part=0), a_message(State.SENT, part=1)

        assert begins(a_notification(failed, sent)) == []
        assert begins(a_notification(failed, a_message(State.EXPIRED, part=1))) == [1]
        assert begins(a_notification(failed, a_message(State.DELIVERED, part=1))) == []


def with_parts(*states: State, step: dict[str, Any], last: bool = False, **changes: Any) -> LockedNotification:
    """An SMS and an e-mail at once; an e-mail follows unless they are the last step."""
    parts = [a_message(State.QUEUED, part=0), a_message(State.QUEUED, part=1, channel="email")]
    messages = [replace(part, state=state, **changes) for part, state in zip(parts, states, strict=True)]
    return a_notification(*messages, steps=[step] if last else [step, {"channel": "email"}])


FIRST = {"channels": ["sms", "email"], "need": "first", "window_seconds": 90}
ALL = {**FIRST, "need": "all"}
ALL_ACCEPTED = {**ALL, "wait_for": "accepted"}
FIRST_ACCEPTED = {**FIRST, "wait_for": "accepted"}


class TestSeveralAtOnce:
    @pytest.mark.parametrize(
        ("step", "states", "expected"),
        [
            (FIRST, (State.FAILED, State.FAILED), [1]),
            (FIRST, (State.FAILED, State.SENT), []),
            (FIRST, (State.FAILED, State.DELIVERED), []),
            (FIRST, (State.UNCONFIRMED, State.FAILED), [1]),
            (ALL, (State.DELIVERED, State.FAILED), [1]),
            (ALL, (State.FAILED, State.DELIVERED), [1]),
            (ALL, (State.DELIVERED, State.SENT), []),
            (ALL, (State.DELIVERED, State.DELIVERED), []),
            (ALL, (State.FAILED, State.SENT), []),
            (ALL_ACCEPTED, (State.FAILED, State.SENT), [1]),  # the other has done its part
            (ALL_ACCEPTED, (State.FAILED, State.QUEUED), []),
            (ALL_ACCEPTED, (State.FAILED, State.UNCONFIRMED), [1]),
            (ALL_ACCEPTED, (State.SENT, State.SENT), []),
            (ALL_ACCEPTED, (State.SENT, State.UNCONFIRMED), []),
            (FIRST_ACCEPTED, (State.FAILED, State.SENT), []),
            (FIRST_ACCEPTED, (State.FAILED, State.UNCONFIRMED), []),
            (FIRST_ACCEPTED, (State.FAILED, State.EXPIRED), [1]),
        ],
    )
    def test_give_way_when_all_have_and_not_enough_is_there(self, step, states, expected):
        assert begins(with_parts(*states, step=step)) == expected

    @pytest.mark.parametrize("step", [FIRST, ALL])
    def test_give_way_when_the_window_of_each_is_over(self, step):
        over = with_parts(State.SENT, State.UNCERTAIN, step=step, escalated_at=NOW)
        half = with_parts(State.SENT, State.SENT, step=step)
        half.messages[0].escalated_at = NOW

        assert (begins(over), begins(half)) == ([1], [])

    def test_give_way_where_one_was_called_off_and_the_delivery_has_bounced_since(self):
        called_off = with_parts(State.CANCELLED, State.FAILED, step=FIRST)
        called_off.messages[0].reason = Reason.DELIVERED_BY_ANOTHER_STEP
        stopped = with_parts(State.CANCELLED, State.FAILED, step=FIRST)

        assert (begins(called_off), begins(stopped)) == ([1], [])

    @pytest.mark.parametrize(
        ("step", "states", "expected"),
        [
            (FIRST, (State.DELIVERED, State.FAILED), End.DELIVERED),
            (FIRST, (State.DELIVERED, State.SENT), End.DELIVERED),
            (FIRST, (State.UNCONFIRMED, State.FAILED), End.UNCONFIRMED),
            (ALL, (State.DELIVERED, State.DELIVERED), End.DELIVERED),
            (ALL, (State.DELIVERED, State.SENT), None),
            (ALL, (State.DELIVERED, State.FAILED), End.FAILED),
            (ALL, (State.DELIVERED, State.UNCONFIRMED), End.UNCONFIRMED),
            (ALL, (State.UNCONFIRMED, State.FAILED), End.FAILED),
            (ALL, (State.FAILED, State.DEAD_LETTERED), End.DEAD_LETTERED),
            (ALL, (State.EXPIRED, State.SUPPRESSED), End.EXPIRED),
            (FIRST, (State.FAILED, State.CANCELLED), End.CANCELLED),
        ],
    )
    def test_end_by_the_worse_where_not_enough_is_there_whatever_their_order(self, step, states, expected):
        assert end_of(with_parts(*states, step=step, last=True)) is expected
        assert end_of(with_parts(*reversed(states), step=step, last=True)) is expected


class TestTheNextMessage:
    def test_goes_to_the_address_of_its_channel(self):
        (message,) = next_messages(a_notification(a_message(State.FAILED)))

        assert (message.notification_id, message.step, message.channel) == (UUID(int=1), 1, "email")
        assert (message.address, message.address_hash) == (EMAIL, address_hash("email", EMAIL))
        assert (message.state, message.reason) == (State.QUEUED, "")

    def test_has_the_country_of_its_number(self):
        (message,) = next_messages(a_notification(a_message(State.FAILED), steps=EMAIL_THEN_SMS))

        assert message.country == "DE"

    @pytest.mark.parametrize("priority", Priority)
    def test_travels_in_the_lane_of_its_priority(self, priority):
        (message,) = next_messages(a_notification(a_message(State.FAILED), priority=priority.value))

        assert message.lane is SENDING[priority]
        assert message.lane not in (Lane.CONTROL, Lane.UPKEEP)

    @pytest.mark.parametrize(
        ("steps", "window"),
        [
            ([*SMS_THEN_EMAIL[:1], {"channel": "email", "window_seconds": 60}, {"channel": "sms"}], 60),
            ([*SMS_THEN_EMAIL[:1], {"channel": "email"}, {"channel": "sms"}], None),
            ([*SMS_THEN_EMAIL[:1], {"channel": "email", "window_seconds": 60}], None),  # nothing would follow
        ],
    )
    def test_has_a_window_where_its_step_has_one_and_another_follows(self, steps, window):
        (message,) = next_messages(a_notification(a_message(State.FAILED), steps=steps))

        assert message.window_seconds == window


def ends(*states: State) -> End | None:
    """How a notification ends whose steps ended so, in this order."""
    messages = (a_message(state, step=step) for step, state in enumerate(states))
    return end_of(a_notification(*messages, steps=THREE_STEPS))


class TestTheEnd:
    @pytest.mark.parametrize("state", State)
    def test_of_one_message_is_its_own_and_none_while_it_is_open(self, state):
        assert ends(state) == (None if state in OPEN else End(state.value))

    @pytest.mark.parametrize(("first", "second"), list(product(State, State)))
    def test_of_two_messages_follows_the_design(self, first, second):
        """Any delivered; else none while one is open; else any unconfirmed; else how the last step ended."""
        states = {first, second}
        if State.DELIVERED in states:
            expected = End.DELIVERED
        elif states & OPEN:
            expected = None
        elif State.UNCONFIRMED in states:
            expected = End.UNCONFIRMED
        else:
            expected = End(second.value)

        assert ends(first, second) == expected

    @pytest.mark.parametrize(
        ("states", "expected"),
        [
            ((State.SENT, State.UNCERTAIN, State.DELIVERED), End.DELIVERED),
            ((State.UNCONFIRMED, State.FAILED, State.QUEUED), None),
            ((State.UNCONFIRMED, State.FAILED, State.DEAD_LETTERED), End.UNCONFIRMED),
            ((State.FAILED, State.EXPIRED, State.DEAD_LETTERED), End.DEAD_LETTERED),
            ((State.SUPPRESSED, State.FAILED, State.CANCELLED), End.CANCELLED),
        ],
    )
    def test_of_three_messages_follows_the_same_rule(self, states, expected):
        assert ends(*states) == expected

    @pytest.mark.parametrize("state", sorted(ENDED - {State.SUPPRESSED}))
    def test_is_not_that_of_a_step_without_an_address(self, state):
        nowhere = a_message(State.SUPPRESSED, step=1, reason=Reason.NO_ADDRESS)

        assert end_of(a_notification(a_message(state), nowhere)) is End(state.value)

    def test_is_suppressed_where_no_step_had_an_address(self):
        nowhere = [a_message(State.SUPPRESSED, step=step, reason=Reason.NO_ADDRESS) for step in range(2)]

        assert end_of(a_notification(*nowhere)) is End.SUPPRESSED

    def test_is_delivered_when_one_part_of_a_step_is(self):
        parts = [a_message(State.FAILED, part=0), a_message(State.DELIVERED, part=1), a_message(State.SENT, part=2)]

        assert end_of(a_notification(*parts)) is End.DELIVERED

    @pytest.mark.parametrize("state", sorted(ENDED))
    def test_is_open_again_when_a_message_is(self, state):
        """A replayed dead letter, or a next step that a correction owes."""
        assert end_of(a_notification(a_message(state), a_message(State.QUEUED, step=1), end=End.FAILED)) == (
            End.DELIVERED if state is State.DELIVERED else None
        )


class TestUsefulness:
    @pytest.mark.parametrize(
        ("changes", "useful"),
        [
            ({}, True),
            ({"expires_at": NOW + timedelta(microseconds=1)}, True),
            ({"expires_at": NOW}, False),
            ({"stopped_at": NOW - HOUR}, False),
            ({"is_incident_over": True}, False),
        ],
    )
    def test_ends_with_its_time_its_client_or_its_incident(self, changes, useful):
        assert a_notification(**changes).is_useful is useful

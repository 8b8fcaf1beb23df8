"""The frozen steps of a notification, and the messages they become."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.ids import new_id
from notifications.lanes import Lane
from notifications.reasons import Reason
from notifications.services.steps import (
    channels_of,
    first_messages,
    has_next_step,
    is_delivered,
    is_satisfied,
    may_be_delivered,
    parts_of,
)
from notifications.sql.accept import NewMessage
from notifications.states import State
from tests.notifications.locked import a_message

SMS, EMAIL = {"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}
BOTH = {"sms": "+4915112345678", "email": "ana@example.org"}
OWNER = new_id()
ONLY_SMS, ONLY_EMAIL = {"sms": BOTH["sms"]}, {"email": BOTH["email"]}
FIRST = {"channels": ["sms", "email"], "window_seconds": 90}
ALL = {**FIRST, "need": "all"}
DEVICES = ["fcm:one", "fcm:two"]


def become(steps: list[dict[str, Any]], recipient: dict[str, str], **after: int) -> list[NewMessage]:
    return first_messages(OWNER, steps, recipient, lane=Lane.HIGH, **after)


def in_short(messages: list[NewMessage]) -> list[tuple[int, str, State]]:
    return [(message.step, message.channel, message.state) for message in messages]


class TestHasNextStep:
    @pytest.mark.parametrize(
        ("recipient", "step", "expected"),
        [
            (BOTH, -1, True),
            (BOTH, 0, True),
            (BOTH, 1, False),
            (ONLY_SMS, 0, False),  # a step without an address is none
            (ONLY_EMAIL, 0, True),
            (ONLY_EMAIL, -1, True),
            ({}, -1, False),
        ],
        ids=str,
    )
    def test_looks_for_a_later_one_with_an_address(self, recipient, step, expected):
        assert has_next_step([SMS, EMAIL], recipient, step) is expected

    def test_finds_one_of_several_channels_that_has_an_address(self):
        assert has_next_step([SMS, ALL], ONLY_EMAIL, 0)


class TestFirstMessages:
    @pytest.mark.parametrize(
        ("steps", "recipient", "after", "expected"),
        [
            ([SMS, EMAIL], BOTH, -1, [(0, "sms", State.QUEUED)]),
            ([SMS, EMAIL], BOTH, 0, [(1, "email", State.QUEUED)]),
            ([SMS, EMAIL], BOTH, 1, []),
            ([SMS, EMAIL], ONLY_SMS, 0, []),
            ([SMS, EMAIL], ONLY_EMAIL, -1, [(0, "sms", State.SUPPRESSED), (1, "email", State.QUEUED)]),
            (
                [SMS, SMS, EMAIL, SMS],
                ONLY_EMAIL,
                -1,
                [(0, "sms", State.SUPPRESSED), (1, "sms", State.SUPPRESSED), (2, "email", State.QUEUED)],
            ),
            ([SMS, EMAIL], {}, -1, []),
        ],
    )
    def test_end_with_the_first_that_can_be_sent(self, steps, recipient, after, expected):
        assert in_short(become(steps, recipient, after=after)) == expected

    def test_without_an_address_are_ended_with_the_reason_and_hold_none(self):
        nowhere, _ = become([SMS, EMAIL], ONLY_EMAIL)

        assert nowhere.reason == Reason.NO_ADDRESS
        assert (nowhere.address, nowhere.address_hash, nowhere.country) == ("", "", "")

    def test_have_an_id_each_in_the_order_of_their_steps(self):
        first, second = (message.id for message in become([SMS, EMAIL], ONLY_EMAIL))

        assert first < second
        assert first.version == second.version == 7

    def test_have_the_same_id_when_the_step_begins_once_more_after_a_restore(self):
        _, at_once = become([SMS, EMAIL], ONLY_EMAIL)
        (later,) = become([SMS, EMAIL], BOTH, after=0)

        assert later.id == at_once.id

    def test_belong_to_their_notification_and_its_lane(self):
        (message,) = become([SMS, EMAIL], BOTH)

        assert (message.notification_id, message.lane) == (OWNER, Lane.HIGH)

    @pytest.mark.parametrize(
        ("steps", "recipient", "window"),
        [([SMS, EMAIL], BOTH, 90), ([SMS, EMAIL], ONLY_SMS, None), ([SMS], BOTH, None), ([EMAIL, SMS], BOTH, None)],
        ids=["another follows", "another follows to no address", "it is the last", "it has no window"],
    )
    def test_have_a_window_only_where_something_can_follow(self, steps, recipient, window):
        (message,) = become(steps, recipient)

        assert message.window_seconds == window


class TestParts:
    @pytest.mark.parametrize(
        ("step", "recipient", "expected"),
        [
            (SMS, BOTH, [("sms", BOTH["sms"])]),
            (SMS, ONLY_EMAIL, [("sms", "")]),
            (FIRST, BOTH, [("sms", BOTH["sms"]), ("email", BOTH["email"])]),
            (FIRST, ONLY_EMAIL, [("sms", ""), ("email", BOTH["email"])]),
            ({"channel": "push"}, {"push": DEVICES}, [("push", "fcm:one"), ("push", "fcm:two")]),
            (
                {"channels": ["push", "sms"]},
                {"push": DEVICES, **ONLY_SMS},
                [("push", "fcm:one"), ("push", "fcm:two"), ("sms", BOTH["sms"])],
            ),
        ],
    )
    def test_are_one_for_each_channel_and_device(self, step, recipient, expected):
        assert parts_of(step, recipient) == expected

    def test_become_messages_with_numbers_and_ids_of_their_own(self):
        messages = become([{"channels": ["push", "sms"]}, EMAIL], {"push": DEVICES, **BOTH})

        assert [(message.step, message.part, message.channel) for message in messages] == [
            (0, 0, "push"),
            (0, 1, "push"),
            (0, 2, "sms"),
        ]
        assert len({message.id for message in messages}) == 3
        assert {message.state for message in messages} == {State.QUEUED}

    def test_without_an_address_end_beside_those_that_have_one(self):
        messages = become([FIRST, EMAIL], ONLY_EMAIL)

        assert in_short(messages) == [(0, "sms", State.SUPPRESSED), (0, "email", State.QUEUED)]
        assert messages[0].reason == Reason.NO_ADDRESS

    def test_have_the_window_of_their_step(self):
        assert [message.window_seconds for message in become([ALL, EMAIL], BOTH)] == [90, 90]
        assert [message.window_seconds for message in become([ALL], BOTH)] == [None, None]

    def test_of_a_later_step_are_all_added(self):
        assert in_short(become([SMS, ALL], BOTH, after=0)) == [(1, "sms", State.QUEUED), (1, "email", State.QUEUED)]

    @pytest.mark.parametrize(("step", "expected"), [(SMS, ["sms"]), (ALL, ["sms", "email"])])
    def test_go_by_the_channels_of_the_step(self, step, expected):
        assert channels_of(step) == expected


D, U, S, F = State.DELIVERED, State.UNCONFIRMED, State.SENT, State.FAILED


def parts(*states: State) -> list[Any]:
    """The SMS of a first step, then its e-mail, then the e-mail of a second device."""
    return [
        a_message(state, part=part, channel=channel)
        for part, (channel, state) in enumerate(zip(("sms", "email", "email"), states, strict=False))
    ]


class TestEnough:
    @pytest.mark.parametrize(
        ("step", "states", "delivered", "perhaps"),
        [
            (FIRST, (D, F), True, True),
            (FIRST, (F, D), True, True),
            (FIRST, (F, U), False, True),
            (FIRST, (F, F), False, False),
            (ALL, (D, F), False, False),
            (ALL, (D, U), False, True),
            (ALL, (U, U), False, True),
            (ALL, (U, F), False, False),
            (ALL, (D, D), True, True),
            (ALL, (D, F, D), True, True),  # one device of a channel is enough
            (ALL, (F, D, D), False, False),
            (ALL, (D, F, U), False, True),
        ],
    )
    def test_is_one_that_arrived_or_one_by_each_channel(self, step, states, delivered, perhaps):
        assert is_delivered([step], parts(*states)) is delivered
        assert may_be_delivered([step], parts(*states)) is perhaps

    @pytest.mark.parametrize("wait_for", ["delivered", "accepted"])
    @pytest.mark.parametrize(
        ("step", "states", "delivered", "accepted"),
        [
            (FIRST, (S, F), False, True),
            (FIRST, (U, F), False, True),
            (FIRST, (D, F), True, True),
            (FIRST, (F, F), False, False),
            (ALL, (S, F), False, False),
            (ALL, (S, U), False, True),
            (ALL, (D, S), False, True),
            (ALL, (D, D), True, True),
        ],
    )
    def test_is_what_the_step_waits_for(self, step, states, delivered, accepted, wait_for):
        expected = accepted if wait_for == "accepted" else delivered

        assert is_satisfied({**step, "wait_for": wait_for}, parts(*states)) is expected

    def test_asks_nothing_of_a_channel_without_an_address(self):
        nowhere = a_message(State.SUPPRESSED, reason=Reason.NO_ADDRESS)
        email = a_message(D, part=1, channel="email")

        assert is_delivered([ALL], [nowhere, email])

    def test_is_never_nothing(self):
        assert not is_delivered([ALL], [a_message(State.SUPPRESSED, reason=Reason.NO_ADDRESS)])

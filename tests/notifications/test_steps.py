"""The frozen steps of a notification, and the messages they become."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.ids import new_id
from notifications.lanes import Lane
from notifications.reasons import Reason
from notifications.services.steps import first_messages, has_next_step
from notifications.sql.accept import NewMessage
from notifications.states import State

SMS, EMAIL = {"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}
BOTH = {"sms": "+4915112345678", "email": "ana@example.org"}
OWNER = new_id()
ONLY_SMS, ONLY_EMAIL = {"sms": BOTH["sms"]}, {"email": BOTH["email"]}


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
    )
    def test_looks_for_a_later_one_with_an_address(self, recipient, step, expected):
        assert has_next_step([SMS, EMAIL], recipient, step) is expected


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

"""What may have arrived twice: one rule, told by the pages and counted by the audit."""

from __future__ import annotations

import pytest

from notifications.duplicates import second_ones
from notifications.models import Attempt
from notifications.services.audit import audit
from notifications.states import State
from notifications.timeline import timeline
from tests import factories

UNCLEAR = {"outcome": "unclear"}
NOT_THERE = {"outcome": "unclear", "looked_up": "not_there"}
TAKEN = {"outcome": "taken"}
NOT_SENT = {"outcome": "not_sent"}
KEYED, ANOTHER_KEY = {"provider_key": "k"}, {"provider_key": "l"}
ELSEWHERE = {"account": "spare"}

# What was done, call by call, and the numbers of those that may have brought it a second time.
CASES = {
    "one unclear call": ([UNCLEAR], []),
    "one call that was taken": ([TAKEN], []),
    "sent again, nobody knows": ([UNCLEAR, TAKEN], [2]),
    "sent again, and unclear again": ([UNCLEAR, UNCLEAR], [2]),
    "found, and sent again": ([{**UNCLEAR, "looked_up": "found"}, TAKEN], [2]),
    "was not there": ([NOT_THERE, TAKEN], []),
    "was there after all": ([{**NOT_THERE, "provider_message_id": "SM-late"}, TAKEN], [2]),
    "was not sent": ([NOT_SENT, TAKEN], []),
    "was refused": ([{"outcome": "refused"}, TAKEN], []),
    "was taken and not reached": ([TAKEN, TAKEN], []),
    "not sent the second time": ([UNCLEAR, NOT_SENT], []),
    "refused the second time": ([UNCLEAR, {"outcome": "refused"}], []),
    "not sent the second time, taken the third": ([UNCLEAR, NOT_SENT, TAKEN], [3]),
    "three times": ([UNCLEAR, UNCLEAR, TAKEN], [2, 3]),
    "the last one unclear": ([NOT_THERE, UNCLEAR], []),
    "repeated under its key": ([{**UNCLEAR, **KEYED}, {**TAKEN, **KEYED}], []),
    "repeated twice under its key": ([{**UNCLEAR, **KEYED}, {**UNCLEAR, **KEYED}, {**TAKEN, **KEYED}], []),
    "under another key": ([{**UNCLEAR, **KEYED}, {**TAKEN, **ANOTHER_KEY}], [2]),
    "under another key after a repeat": (
        [{**UNCLEAR, **KEYED}, {**UNCLEAR, **KEYED}, {**TAKEN, **ANOTHER_KEY}],
        [3],
    ),
    "back to the first key": ([{**UNCLEAR, **KEYED}, {**UNCLEAR, **ANOTHER_KEY}, {**TAKEN, **KEYED}], [2, 3]),
    "a key only the second time": ([UNCLEAR, {**TAKEN, **KEYED}], [2]),
    "a key only the first time": ([{**UNCLEAR, **KEYED}, TAKEN], [2]),
    "under the same key elsewhere": ([{**UNCLEAR, **KEYED}, {**TAKEN, **KEYED, **ELSEWHERE}], [2]),
}


def a_message(calls):
    """A sent message with these attempts."""
    message = factories.message(State.SENT, attempt_count=len(calls))
    Attempt.objects.filter(message=message).delete()
    for number, call in enumerate(calls, start=1):
        fields = {**call, "account": factories.account(call.get("account"))}
        factories.attempt(message, number=number, **fields)
    return message


@pytest.mark.parametrize(("calls", "numbers"), CASES.values(), ids=CASES)
def test_the_rule_and_the_statement_of_the_audit_agree(seeded, calls, numbers):
    message = a_message(calls)

    assert [attempt.number for attempt in second_ones(message.attempts.all())] == numbers
    assert audit().possible_duplicates == bool(numbers)


def test_the_order_in_which_attempts_are_read_does_not_matter(seeded):
    message = a_message([UNCLEAR, NOT_SENT, TAKEN])

    assert [attempt.number for attempt in second_ones(message.attempts.order_by("-number"))] == [3]


def test_the_timeline_says_when(seeded):
    message = a_message([UNCLEAR, TAKEN])
    second = message.attempts.get(number=2)

    told = [(moment.at, moment.text) for moment in timeline(message.notification)]

    assert told[-2:] == [
        (second.ended_at, "attempt 2: twilio took the SMS"),
        (second.ended_at, "the SMS was sent again: it may arrive twice"),
    ]


def test_the_timeline_says_nothing_of_a_repeat_that_the_provider_drops(seeded):
    message = a_message([{**UNCLEAR, **KEYED}, {**TAKEN, **KEYED}])

    assert not any("twice" in moment.text for moment in timeline(message.notification))

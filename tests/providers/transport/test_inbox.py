"""Where answers come in: nothing is lost, nothing is waited for longer than asked."""

from __future__ import annotations

import threading
import time

from providers.messages import HttpResponse
from providers.transport.base import Answer
from providers.transport.inbox import Inbox


def inbox(*keys: int, missing: int) -> Inbox:
    box = Inbox()
    box.expect(missing)
    for key in keys:
        box.add(Answer(key, HttpResponse(200), 0.0))
    return box


def taken(answers: list[Answer]) -> list[int]:
    return [answer.key for answer in answers]


class TestCollect:
    def test_hands_over_what_is_there_without_waiting_for_the_rest(self):
        box = inbox(1, 2, missing=3)

        assert taken(box.collect(seconds=0, count=10)) == [1, 2]
        assert box.missing == 1

    def test_takes_no_more_than_asked_and_leaves_the_rest(self):
        box = inbox(1, 2, 3, missing=3)

        assert [taken(box.collect(seconds=1, count=2)) for _ in range(2)] == [[1, 2], [3]]

    def test_is_empty_where_nothing_comes_in_time(self):
        box = inbox(missing=1)
        began = time.monotonic()

        assert box.collect(seconds=1, count=1, wait_seconds=0.02) == []
        assert 0.02 <= time.monotonic() - began < 0.5
        assert box.missing == 1

    def test_is_empty_at_once_where_nothing_is_missing(self):
        assert inbox(missing=0).collect(seconds=9, count=1) == []

    def test_wakes_up_for_an_answer_from_another_thread(self):
        box = inbox(missing=1)
        threading.Timer(0.01, box.add, [Answer(1, HttpResponse(200), 0.0)]).start()

        assert taken(box.collect(seconds=9, count=5)) == [1], "one is all that is missing: it gathers no longer"

    def test_takes_in_what_comes_before_it_is_expected(self):
        box = inbox(1, missing=0)
        box.expect(1)

        assert taken(box.collect(seconds=0, count=1)) == [1]
        assert box.missing == 0


class TestAllAnswers:
    def test_end_when_none_is_missing(self):
        assert [taken(answers) for answers in inbox(1, 2, 3, missing=3).all_answers(seconds=0, count=2)] == [
            [1, 2],
            [3],
        ]

    def test_abandon_what_nobody_reads(self):
        box = inbox(1, missing=2)

        for _ in box.all_answers(seconds=0, count=1):
            break

        assert box.is_abandoned

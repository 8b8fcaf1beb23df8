"""What people are told about a notification."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import product

import pytest

from notifications.explanation import explain, explain_letter, explain_message, shown_address, shown_state
from notifications.models import DeadLetter, Message, Notification
from notifications.reasons import SENTENCES, Reason
from notifications.states import ENDED, OPEN, End, State

# What every state sounds like, before any reason.
BEGINNINGS = {
    State.QUEUED: "the SMS is queued",
    State.UNCERTAIN: "the SMS may or may not have gone out",
    State.SENT: "the SMS was sent and waits for proof of delivery",
    State.DELIVERED: "the SMS was delivered",
    State.FAILED: "the SMS failed",
    State.EXPIRED: "the SMS was not sent",
    State.SUPPRESSED: "the SMS was suppressed",
    State.CANCELLED: "the SMS was cancelled",
    State.UNCONFIRMED: "the SMS was never confirmed",
    State.DEAD_LETTERED: "the SMS waits for an operator",
}

# Reasons that no ended message has.
ONLY_WHILE_OPEN = {
    Reason.WAITING_TO_RETRY,
    Reason.OUTCOME_UNKNOWN,
    Reason.SEND_AGAIN,
    Reason.SAME_KEY,
    Reason.NOT_SENT_AGAIN,
    Reason.HELD,
    Reason.REPLAYED,
}


def a_message(state: State, reason: str = "", *, channel: str = "sms", step: int = 0, attempts: int = 0) -> Message:
    return Message(state=state, reason=reason, channel=channel, step=step, part=0, attempt_count=attempts)


def a_notification(*messages: Message, end: End | None = None) -> Notification:
    """One that is not stored, with messages as if they had been prefetched."""
    notification = Notification(end=end, ended_at=datetime(2027, 1, 15, tzinfo=UTC) if end else None)
    notification._prefetched_objects_cache = {"messages": list(messages)}
    return notification


class TestSentences:
    @pytest.mark.parametrize("reason", Reason)
    def test_exist_for_every_reason(self, reason):
        assert reason in SENTENCES

    @pytest.mark.parametrize("sentence", SENTENCES.values())
    def test_fit_behind_because(self, sentence):
        assert re.fullmatch(r"[a-z][a-z ,-]+[a-z]", sentence)

    @pytest.mark.parametrize("sentence", SENTENCES.values())
    def test_begin_with_what_they_are_about(self, sentence):
        assert re.match(r"(the|its?|no|nobody|every|workers|an operator|another (step|message)) ", sentence)

    def test_differ_from_each_other(self):
        assert len(set(SENTENCES.values())) == len(Reason)


class TestExplainMessage:
    @pytest.mark.parametrize("state", State)
    def test_says_where_a_message_is(self, state):
        assert explain_message(a_message(state)) == BEGINNINGS[state]

    @pytest.mark.parametrize(("state", "reason"), list(product(State, Reason)))
    def test_says_why_in_one_sentence(self, state, reason):
        assert explain_message(a_message(state, reason)) == f"{BEGINNINGS[state]}, because {SENTENCES[reason]}"

    @pytest.mark.parametrize("state", sorted(ENDED))
    @pytest.mark.parametrize("reason", sorted(set(Reason) - ONLY_WHILE_OPEN))
    def test_promises_nothing_more_once_a_message_has_ended(self, state, reason):
        assert not re.search(r"\b(will|again|being|held)\b", explain_message(a_message(state, reason)))

    def test_does_not_call_sent_what_perhaps_never_was(self):
        """An uncertain message that nobody could find ends unconfirmed, too."""
        assert "sent" not in explain_message(a_message(State.UNCONFIRMED, Reason.NO_PROOF_IN_TIME))

    @pytest.mark.parametrize("reason", ["", "21211", "a reason of a newer release"])
    def test_leaves_out_a_reason_it_has_no_words_for(self, reason):
        assert explain_message(a_message(State.FAILED, reason)) == "the SMS failed"

    @pytest.mark.parametrize(
        ("channel", "expected"),
        [("sms", "the SMS failed"), ("email", "the e-mail failed"), ("push", "the push failed")],
    )
    def test_names_the_channel(self, channel, expected):
        assert explain_message(a_message(State.FAILED, channel=channel)) == expected


class TestExplain:
    def test_tells_the_steps_in_their_order(self):
        notification = a_notification(
            a_message(State.SENT, channel="email", step=1, attempts=1),
            a_message(State.EXPIRED, Reason.WINDOW_OVER, step=0),
        )

        assert explain(notification) == (
            "In progress: the SMS was not sent, because its time ran out and the next step began; "
            "the e-mail was sent and waits for proof of delivery."
        )

    def test_begins_with_the_end(self):
        notification = a_notification(a_message(State.DELIVERED, attempts=1), end=End.DELIVERED)

        assert explain(notification) == "Delivered: the SMS was delivered."


class TestExplainLetter:
    @pytest.mark.parametrize(
        ("kind", "reason", "expected"),
        [
            ("held", "held", "held: nobody can say whether it went out"),
            ("message", "tries_used_up", "message: every try failed"),
            ("message", "a_reason_of_a_newer_release", "message: a reason of a newer release"),
            ("task", "task_failed", "task: task failed"),
        ],
    )
    def test_says_what_it_is_about(self, kind, reason, expected):
        assert explain_letter(DeadLetter(kind=kind, reason=reason)) == expected


class TestShownState:
    @pytest.mark.parametrize("end", End)
    def test_is_the_end_once_there_is_one(self, end):
        assert shown_state(a_notification(a_message(State.FAILED), end=end)) == end.label

    @pytest.mark.parametrize(
        ("messages", "expected"),
        [
            ([a_message(State.QUEUED)], "Accepted"),
            ([a_message(State.QUEUED, attempts=1)], "In progress"),
            ([a_message(State.SENT, attempts=1)], "In progress"),
            ([a_message(State.UNCERTAIN, attempts=1)], "In progress"),
            ([a_message(State.SUPPRESSED, Reason.NO_ADDRESS), a_message(State.QUEUED, step=1)], "In progress"),
        ],
    )
    def test_is_accepted_until_something_happened(self, messages, expected):
        assert shown_state(a_notification(*messages)) == expected

    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_is_never_an_end_while_a_message_is_open(self, state):
        assert shown_state(a_notification(a_message(state, attempts=1))) == "In progress"


@pytest.mark.parametrize(
    ("address", "hash", "shown"),
    [("+4915112345601", "h", "+49…01"), ("", "h", "redacted"), ("", "", "")],
)
def test_an_address_is_masked_or_redacted_or_was_never_there(address, hash, shown):
    assert shown_address(Message(address=address, address_hash=hash)) == shown

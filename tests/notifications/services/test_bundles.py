"""One call for many messages, where the provider takes them so: each has its own answer, or all are unclear."""

from __future__ import annotations

import json

import pytest
from django.db import transaction

from notifications.lanes import Lane
from notifications.services.audit import audit
from notifications.states import State
from providers.messages import HttpResponse
from providers.postmark import Postmark
from tests.factories import make_due
from tests.notifications.stories import attempts, email, sms, told

BOUNCED_BEFORE = "invalid@example.org"


@pytest.fixture
def mails(world):
    with transaction.atomic():
        return [email(f"delivered+{number}@example.org") for number in range(5)]


class TestABatch:
    def test_is_one_call_for_all_messages_of_a_wave(self, world, mails):
        world.drain(Lane.NORMAL)

        assert (world.requests("postmark"), world.on_the_wire("postmark")) == (2, 5)  # a drain begins with one message
        assert {told(message)[0] for message in mails} == {State.SENT}
        ids = {message.attempts.get().provider_message_id for message in mails}
        assert ids == {taken.id for _, taken in world.sandbox.messages()}
        assert audit().is_sound

    def test_that_is_partly_refused_is_recorded_message_by_message(self, world):
        with transaction.atomic():
            good, bad, other = email(), email(BOUNCED_BEFORE), email("delivered+1@example.org")

        world.deliver(world.claim(Lane.NORMAL))

        assert world.requests("postmark") == 1
        assert [told(message)[0] for message in (good, bad, other)] == [State.SENT, State.FAILED, State.SENT]
        assert attempts(bad) == [(1, "postmark", "refused")]
        assert bad.attempts.get().answer
        assert BOUNCED_BEFORE not in bad.attempts.get().answer

    @pytest.mark.parametrize("fault", [{"accept_then_drop": True}, {"outage": "status_500"}])
    def test_without_a_clear_answer_makes_each_of_its_messages_uncertain(self, world, mails, fault):
        world.sandbox.set_faults("postmark", **fault)

        world.deliver(world.claim(Lane.NORMAL))

        assert {told(message)[0] for message in mails} == {State.UNCERTAIN}
        assert world.requests("postmark") == 1

    def test_that_was_taken_unheard_is_found_message_by_message(self, world, mails):
        world.sandbox.set_faults("postmark", accept_then_drop=True)
        world.deliver(world.claim(Lane.NORMAL))
        world.sandbox.set_faults("postmark", accept_then_drop=None)
        for message in mails:
            make_due(message)

        world.drain(Lane.UPKEEP)

        assert {told(message)[0] for message in mails} == {State.SENT}
        assert world.on_the_wire("postmark") == 5

    def test_whose_answer_tells_of_too_few_proves_nothing(self, world, mails, monkeypatch):
        answer = HttpResponse(200, {}, json.dumps([{"ErrorCode": 0, "MessageID": "x"}]).encode())
        apart = Postmark.batch_answers
        monkeypatch.setattr(Postmark, "batch_answers", lambda self, _, count: apart(self, answer, count))

        world.deliver(world.claim(Lane.NORMAL))

        assert {told(message)[0] for message in mails} == {State.UNCERTAIN}

    def test_holds_no_more_than_its_provider_takes(self, world, mails, monkeypatch):
        monkeypatch.setattr(Postmark, "batch_limit", 2)

        world.deliver(world.claim(Lane.NORMAL))

        assert (world.requests("postmark"), world.on_the_wire("postmark")) == (3, 5)

    def test_holds_no_more_bytes_than_its_provider_takes(self, world, mails, monkeypatch):
        monkeypatch.setattr(Postmark, "batch_bytes", 1)

        world.deliver(world.claim(Lane.NORMAL))

        assert world.requests("postmark") == 5

    def test_is_made_for_each_account_alone(self, world):
        with transaction.atomic():
            messages = [sms(), email(), sms(), email("delivered+1@example.org")]

        world.deliver(world.claim(Lane.NORMAL))

        assert (world.requests("postmark"), world.requests("twilio")) == (1, 2)
        assert {told(message)[0] for message in messages} == {State.SENT}

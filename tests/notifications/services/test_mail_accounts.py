"""Mails that not every account can carry: the next one is asked, and the address is not to blame."""

from __future__ import annotations

import json

import pytest

from notifications import send
from notifications.lanes import Lane
from notifications.models import DeadLetter, Message, Route, Suppression
from notifications.states import State
from providers.sandbox import SandboxAccount
from tests.factories import CONTENT, NUMBER
from tests.notifications.stories import attempts, email, end_of, fallback_of, told
from tests.providers.samples.base import case

TO = json.loads(case("mail-unicode-local-part/input.json"))["to"]


@pytest.fixture
def more_vendors():
    return [SandboxAccount("relay", "smtp", {})]


@pytest.fixture
def relay(world):
    """A mail server that knows SMTPUTF8, as a last choice."""
    settings = {"from": "landfall@example.org", "security": "none"}
    return world.account("relay", provider="smtp", channels=["email"], credentials={}, settings=settings, priority=20)


class TestUnicodeMailbox:
    @pytest.mark.parametrize("to", TO, ids=ascii)
    def test_mail_unicode_local_part_goes_by_an_account_that_can_carry_it(self, world, relay, to):
        message = email(to)

        world.drain(Lane.NORMAL)

        ((account, taken),) = world.sandbox.messages()
        assert told(message) == (State.UNCONFIRMED, "nothing_proves_it")
        assert (account, taken.to) == ("relay", message.address)
        assert attempts(message) == [(1, "relay", "taken")]  # the other one was not even called

    @pytest.mark.parametrize("to", TO, ids=ascii)
    def test_mail_unicode_local_part_that_nobody_can_carry_is_a_persons_to_mend(self, world, to):
        message = email(to)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "not_carried")
        assert DeadLetter.objects.get().message == message
        assert (world.on_the_wire(), Suppression.objects.count()) == (0, 0)

    def test_mail_unicode_local_part_gives_way_to_the_next_channel(self, world):
        Route.objects.create(name="email-then-sms", steps=[{"channel": "email"}, {"channel": "sms"}])
        accepted = send({"email": TO[0], "sms": NUMBER}, CONTENT, route="email-then-sms")
        message = Message.objects.get(notification=accepted.id)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "not_carried")
        assert told(fallback_of(message))[0] == State.SENT
        assert end_of(message) is None

"""Quarantine: after a restore, what seems unsent is asked about at every account before it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from notifications.accounts import accounts
from notifications.ids import step_id
from notifications.lanes import Lane
from notifications.models import Attempt, DeadLetter, DeliveryEvent, Message, Notification, OutboxEntry, ProviderAccount
from notifications.services.audit import audit
from notifications.services.cancel import CancelResult, cancel
from notifications.services.quarantine import quarantine
from notifications.states import End, State
from providers.sandbox import SandboxAccount
from tests import factories
from tests.factories import NUMBER, SECOND, close_window, make_due
from tests.notifications.conftest import PACE
from tests.notifications.stories import attempts, email, end_of, fallback_of, only_send, sms, sms_then_email, told

HOUR = timedelta(hours=1)
NEVER_TOLD = "+4915112345602"  # sent, and nothing more is heard of it
KEPT = (Notification, Message, OutboxEntry, Attempt, DeliveryEvent, DeadLetter)
EMAIL_THEN_SMS = [{"channel": "email", "wait_for": "delivered", "window_seconds": 90}, {"channel": "sms"}]


class Backup:
    """The database as it is now, to go back to later. The vendors forget nothing."""

    def __init__(self) -> None:
        self._rows = [list(model.objects.all()) for model in KEPT]

    def restore(self) -> None:
        for model in reversed(KEPT):
            model.objects.all().delete()
        for model, rows in zip(KEPT, self._rows, strict=True):
            model.objects.bulk_create(rows)


@pytest.fixture
def pace():
    """A vendor that has answered a call for good once it took it."""
    return replace(PACE, slow_answer=0.0)


@pytest.fixture
def more_vendors(live_server):
    return [SandboxAccount("resend", "resend", factories.CREDENTIALS["resend"])]


@pytest.fixture
def spare(world):
    """A second SMS account, behind the first one."""
    return world.account("twilio-spare")


@pytest.fixture
def live_on(world):
    """Works on a message, whenever it is due, until it waits for proof, has ended, or nothing more is done about it."""

    def live(message, *, actions=12):
        for _ in range(actions):
            if told(message)[0] in (State.QUEUED, State.UNCERTAIN) and message.reason != "held":
                make_due(message)
                world.drain()
        return told(message)

    return live


def switch(slug, *, on):
    ProviderAccount.objects.filter(slug=slug).update(is_on=on)
    accounts.forget()


def send_and_forget(world, *lanes):
    """Send what is due; then the database is restored from a backup made before."""
    backup = Backup()
    world.drain(*lanes or [Lane.NORMAL])
    assert world.on_the_wire() >= 1
    backup.restore()


class TestSentBeforeTheRestore:
    def test_is_found_and_not_sent_again(self, world, live_on):
        message = sms()
        send_and_forget(world)
        assert quarantine(timezone.now()) == 1

        state, _ = live_on(message)

        assert state in (State.SENT, State.DELIVERED)
        attempt = message.attempts.get()
        assert (attempt.outcome, attempt.error, attempt.looked_up) == ("unclear", "Restored", "found")
        assert (world.requests("twilio"), world.on_the_wire()) == (1, 1)
        assert audit().is_sound

    def test_goes_out_twice_without_quarantine(self, world, live_on):
        """What the other tests of this file could not tell from a restore that loses nothing."""
        message = sms()
        send_and_forget(world)

        live_on(message)

        assert world.on_the_wire() == 2

    def test_is_looked_for_at_one_account_after_the_other(self, world, spare, live_on):
        message = sms()
        switch("twilio", on=False)
        send_and_forget(world)
        assert world.on_the_wire("twilio-spare") == 1
        switch("twilio", on=True)
        quarantine(timezone.now())

        state, _ = live_on(message)

        assert state in (State.SENT, State.DELIVERED)
        assert attempts(message) == [(1, "twilio", "unclear"), (2, "twilio-spare", "unclear")]
        assert list(message.attempts.order_by("number").values_list("looked_up", flat=True)) == ["not_there", "found"]
        assert (world.requests("twilio"), world.on_the_wire()) == (0, 1)

    def test_is_found_at_an_account_that_has_been_switched_off_since(self, world, spare, live_on):
        message = sms()
        send_and_forget(world)
        assert world.on_the_wire("twilio") == 1
        switch("twilio", on=False)
        quarantine(timezone.now())

        live_on(message)

        assert message.account.slug == "twilio"
        assert world.requests("twilio-spare") == 0

    def test_is_found_whichever_attempt_it_was(self, world, live_on):
        """Its second call was the one that was taken, and no row knows of either."""
        message = email()
        backup = Backup()
        world.sandbox.set_faults("postmark", rate_limit=1)
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults("postmark", rate_limit=None)
        make_due(message)
        world.drain(Lane.NORMAL)
        assert world.sandbox.messages()[0][1].attempt == f"{message.id.hex}-2"
        backup.restore()
        quarantine(timezone.now())

        live_on(message)

        assert (message.attempts.get().looked_up, world.on_the_wire()) == ("found", 1)

    def test_is_found_though_its_useful_time_is_over(self, world, live_on):
        message = sms()
        send_and_forget(world)
        quarantine(timezone.now())
        Notification.objects.update(expires_at=timezone.now() - SECOND)

        state, _ = live_on(message)

        assert state in (State.SENT, State.DELIVERED)

    def test_is_held_where_nobody_can_be_asked(self, world, live_on):
        only_send("twilio")
        message = sms(on_unclear="hold")
        send_and_forget(world)
        quarantine(timezone.now())

        assert live_on(message) == (State.UNCERTAIN, "held")

        assert DeadLetter.objects.get().kind == "held"
        assert world.on_the_wire() == 1


class TestKeys:
    """Nobody can be asked, but a second one under the same key is dropped."""

    def test_what_was_sent_is_sent_again_under_its_key_and_arrives_once(self, world, live_on):
        world.account("resend", provider="resend")
        switch("postmark", on=False)
        message = email()
        send_and_forget(world)
        quarantine(timezone.now())

        state, _ = live_on(message)

        assert state in (State.SENT, State.DELIVERED)
        assert (world.requests("resend"), world.on_the_wire()) == (2, 1)
        assert audit().possible_duplicates == 0

    def test_come_after_those_that_can_be_asked_and_keep_the_key_of_the_first_call(self, world, live_on):
        world.account("resend", provider="resend", priority=1)
        message = email()
        send_and_forget(world)
        assert world.on_the_wire("resend") == 1
        quarantine(timezone.now())

        live_on(message)

        assert [row[1:] for row in attempts(message)] == [
            ("postmark", "unclear"),
            ("resend", "unclear"),
            ("resend", "taken"),
        ]
        assert set(message.attempts.filter(number__gt=1).values_list("provider_key", flat=True)) == {
            f"{message.id.hex}-1"
        }
        assert (world.on_the_wire(), world.requests("postmark")) == (1, 0)

    def test_what_was_not_sent_is_sent_once(self, world, live_on):
        world.account("resend", provider="resend")
        switch("postmark", on=False)
        message = email()
        quarantine(timezone.now())

        live_on(message)

        assert (world.requests("resend"), world.on_the_wire()) == (1, 1)


class TestNotSentBeforeTheRestore:
    def test_is_sent_exactly_once_when_no_account_has_it(self, world, spare, live_on):
        message = sms()
        quarantine(timezone.now())

        live_on(message)

        assert attempts(message) == [
            (1, "twilio", "unclear"),
            (2, "twilio-spare", "unclear"),
            (3, "twilio", "taken"),
        ]
        assert (world.requests("twilio", "find"), world.requests("twilio-spare", "find")) == (2, 2)
        assert (world.requests("twilio"), world.on_the_wire()) == (1, 1)
        assert audit().possible_duplicates == 0

    def test_has_all_its_tries_left_however_many_accounts_there_are(self, world, spare, live_on, numbers_are):
        numbers_are(tries=2)
        message = sms()
        quarantine(timezone.now())

        assert live_on(message)[0] in (State.SENT, State.DELIVERED)

        assert message.tries == 1

    def test_is_not_asked_about_again_once_it_has_been_called_since(self, world, live_on):
        message = sms()
        quarantine(timezone.now())
        world.drain(Lane.NORMAL)
        for _ in range(2):
            make_due(message)
            world.drain(Lane.UPKEEP)
        world.sandbox.set_faults("twilio", rate_limit=1)
        world.drain(Lane.NORMAL)
        assert told(message) == (State.QUEUED, "waiting_to_retry")
        world.sandbox.set_faults("twilio", rate_limit=None)
        world.account("twilio-spare")

        live_on(message)

        assert attempts(message) == [(1, "twilio", "unclear"), (2, "twilio", "not_sent"), (3, "twilio", "taken")]

    def test_is_not_sent_where_it_was_cancelled_meanwhile(self, world, live_on):
        message = sms()
        quarantine(timezone.now())

        assert [row.result for row in cancel(message.notification_id)] == [CancelResult.UNKNOWN]

        assert live_on(message) == (State.CANCELLED, "stopped")
        assert (end_of(message), world.requests("twilio")) == (End.CANCELLED, 0)
        assert world.requests("twilio", "find") == 2


class TestNextStep:
    """One that begins after the restore may have begun before it, too."""

    def test_is_asked_about_as_well(self, world, live_on):
        message = sms_then_email(NEVER_TOLD)
        world.drain(Lane.NORMAL)
        backup = Backup()
        close_window(message)
        world.drain(Lane.UPKEEP, Lane.NORMAL)
        assert world.on_the_wire("postmark") == 1
        backup.restore()
        quarantine(timezone.now())
        close_window(message)
        world.drain(Lane.UPKEEP)

        live_on(fallback_of(message))

        assert fallback_of(message).attempts.get().looked_up == "found"
        assert (world.on_the_wire("postmark"), world.requests("postmark")) == (1, 1)

    def test_is_asked_about_at_every_account(self, world, spare, live_on):
        recipient = {"email": "silent@example.org", "sms": NUMBER}
        message = factories.message(of=factories.notification(steps=EMAIL_THEN_SMS, recipient=recipient))
        world.drain(Lane.NORMAL)
        backup = Backup()
        switch("twilio", on=False)
        close_window(message)
        world.drain(Lane.UPKEEP, Lane.NORMAL)
        assert world.on_the_wire("twilio-spare") == 1
        backup.restore()
        switch("twilio", on=True)
        quarantine(timezone.now())
        close_window(message)
        world.drain(Lane.UPKEEP)

        live_on(fallback_of(message))

        assert fallback_of(message).account.slug == "twilio-spare"
        assert (world.requests("twilio"), world.on_the_wire("twilio-spare")) == (0, 1)

    def test_has_the_id_it_had_before(self, world):
        message = sms_then_email(NEVER_TOLD)
        world.drain(Lane.NORMAL)
        close_window(message)

        world.drain(Lane.UPKEEP)

        assert fallback_of(message).id == step_id(message.notification_id, 1)


class TestMark:
    def marked(self) -> set:
        return set(Notification.objects.exclude(restored_at=None).values_list("id", flat=True))

    def test_is_given_to_what_is_open_and_was_accepted_before(self, seeded):
        now = timezone.now()
        old = factories.message(of=factories.notification(accepted_at=now - HOUR))
        factories.message(of=factories.notification(accepted_at=now))
        factories.message(State.DELIVERED, of=factories.notification(accepted_at=now - HOUR))

        assert quarantine(now - SECOND) == 1

        assert self.marked() == {old.notification_id}

    def test_is_not_given_to_what_is_scheduled_for_later(self, world):
        message = sms(send_at=timezone.now() + HOUR)

        assert quarantine(timezone.now()) == 0

        assert self.marked() == set()
        Notification.objects.update(send_at=timezone.now())
        make_due(message)
        world.drain(Lane.NORMAL)
        assert (told(message)[0], world.requests("twilio", "find")) == (State.SENT, 0)

    def test_changes_nothing_for_what_is_known_to_be_sent(self, world):
        message = sms()
        world.drain(Lane.NORMAL)

        quarantine(timezone.now())
        world.drain(Lane.NORMAL)

        assert (told(message)[0], attempts(message)) == (State.SENT, [(1, "twilio", "taken")])

    def test_given_again_asks_again(self, world, live_on):
        message = sms()
        quarantine(timezone.now())
        world.drain(Lane.NORMAL)

        assert quarantine(timezone.now()) == 1

        live_on(message)
        assert world.on_the_wire() == 1


class TestCommand:
    @pytest.fixture(autouse=True)
    def message(self, seeded) -> Iterator[Message]:
        return factories.message(of=factories.notification(accepted_at=timezone.now() - HOUR))

    def say(self, before: str) -> str:
        out = StringIO()
        call_command("quarantine", before=before, stdout=out)
        return out.getvalue()

    @pytest.mark.parametrize("moment", ["now", "2099-01-15T10:00:00+00:00", "2099-01-15 10:00:00Z"])
    def test_says_how_many_are_asked_about(self, moment):
        assert "1 open notifications are asked about before anything more of them is sent" in self.say(moment)

        assert Notification.objects.get().restored_at is not None

    def test_goes_by_the_moment(self):
        assert "0 open" in self.say("2020-01-15T10:00:00+00:00")

        assert Notification.objects.get().restored_at is None

    @pytest.mark.parametrize(
        "moment", ["yesterday", "", "2099-01-15", "2099-01-15T10:00:00", "2099-13-45T10:00:00+00:00"]
    )
    def test_says_what_is_accepted_and_changes_nothing(self, moment):
        with pytest.raises(CommandError, match=r"moment with a time zone, e\.g\. 2027-01-15T10:00:00\+00:00, or now"):
            self.say(moment)

        assert Notification.objects.get().restored_at is None

    def test_needs_to_be_told_when(self):
        with pytest.raises(CommandError, match="--before"):
            call_command("quarantine")

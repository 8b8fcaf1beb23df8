"""Deliver: claim, begin, call, record, against vendors that answer over real connections."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import (
    Attempt,
    DeadLetter,
    Incident,
    Message,
    Notification,
    OutboxEntry,
    ProviderAccount,
    Suppression,
)
from notifications.services import waves
from notifications.services.cancel import cancel
from notifications.services.replay import replay
from notifications.sql.claim import CLAIM
from notifications.states import End, State
from providers.registry import PROVIDERS
from providers.sandbox import Refusal
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from providers.twilio import Twilio
from tests import factories
from tests.factories import MAILBOX, SECOND, make_due, run_out
from tests.notifications.racing import counted
from tests.notifications.stories import attempts, email, end_of, fallback_of, sms, sms_then_email, told

INVALID = "+4915112345604"
BUSY_TWICE = "+4915112345605"
OPTED_OUT = "+4915112345608"
UNDELIVERABLE = "+4915112345603"
NO_AUTH = Refusal(401, 20003)


@pytest.fixture(autouse=True)
def never_late(numbers_are):
    """However busy this machine is. What comes of lateness has tests of its own, with numbers of their own."""
    numbers_are(late_start_seconds=40.0, drain_seconds=60.0)


@pytest.fixture
def refused_url():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def unreachable(world, refused_url):
    """The SMS account's vendor cannot be reached; its row."""
    ProviderAccount.objects.filter(slug="twilio").update(base_url=refused_url)
    accounts.forget()
    return ProviderAccount.objects.get(slug="twilio")


def rest_account():
    """The SMS account was opened a while ago, and may be tried again with one message."""
    now = timezone.now()
    ProviderAccount.objects.filter(slug="twilio").update(opened_at=now, opened_until=now - SECOND)
    accounts.forget()


class TestTaken:
    def test_is_sent_with_its_attempt_on_file_and_waits_for_proof(self, world):
        message = sms()

        assert world.drain(Lane.NORMAL) == 1

        assert told(message) == (State.SENT, "")
        ((_, taken),) = world.sandbox.messages()
        attempt = message.attempts.get()
        assert (attempt.outcome, attempt.http_status, attempt.provider_message_id) == ("taken", 201, taken.id)
        assert taken.attempt == f"{message.id.hex}-1"
        entry = OutboxEntry.objects.get()
        assert (entry.lane, entry.claim, entry.strikes, entry.began_at) == (Lane.UPKEEP, None, 0, None)
        assert (message.tries, message.segments, message.account.slug) == (1, 1, "twilio")
        assert message.receipt_deadline - attempt.ended_at > timedelta(hours=71)
        assert end_of(message) is None

    def test_is_delivered_when_the_vendor_says_so(self, world):
        world.listen()
        message = sms()
        world.drain(Lane.NORMAL)

        world.hear()

        assert told(message) == (State.DELIVERED, "")
        assert end_of(message) == End.DELIVERED
        assert not OutboxEntry.objects.exists()
        assert {event.source for event in message.delivery_events.all()} == {"webhook"}

    def test_keeps_what_the_answer_says_and_not_the_answer(self, world):
        message = sms()

        world.drain(Lane.NORMAL)

        attempt = message.attempts.get()
        assert (attempt.http_status, attempt.answer) == (201, "")
        assert attempt.provider_message_id

    def test_says_how_long_it_is_useful(self, world):
        sms(expires_at=timezone.now() + timedelta(seconds=100))
        calls = []

        world.drain(Lane.NORMAL, transport=world.between(before=calls.extend))

        assert b"ValidityPeriod=9" in calls[0].request.body


class TestNextStep:
    def test_begins_at_once_when_the_first_was_not_delivered(self, world):
        world.listen()
        message = sms_then_email(UNDELIVERABLE)
        world.drain(Lane.NORMAL)
        world.hear()

        assert told(message) == (State.FAILED, "not_delivered")
        email = fallback_of(message)
        assert (email.channel, email.state, email.address) == ("email", State.QUEUED, MAILBOX)
        assert Notification.objects.get().fallback_sent_at is not None
        assert end_of(message) is None

        world.drain(Lane.NORMAL)
        world.hear()

        assert told(email) == (State.DELIVERED, "")
        assert end_of(message) == End.DELIVERED
        assert (world.on_the_wire("twilio"), world.on_the_wire("postmark")) == (1, 1)

    def test_is_hinted(self, world, queues):
        message = sms_then_email(INVALID)
        hints_before = queues()["normal"]

        world.drain(Lane.NORMAL)

        assert fallback_of(message)
        assert queues()["normal"] > hints_before


class TestRefusedForGood:
    def test_keeps_the_answer_without_the_address(self, world):
        message = sms(INVALID)

        world.drain(Lane.NORMAL)

        answer = message.attempts.get().answer
        assert "21211" in answer
        assert INVALID not in answer

    def test_an_invalid_number_fails_and_is_never_called_again(self, world):
        first = sms(INVALID)
        world.drain(Lane.NORMAL)

        assert told(first) == (State.FAILED, "recipient_refused")
        assert end_of(first) == End.FAILED
        assert Suppression.objects.get().reason == "invalid"

        second = sms(INVALID)
        world.drain(Lane.NORMAL)

        assert told(second) == (State.SUPPRESSED, "address_suppressed")
        assert end_of(second) == End.SUPPRESSED
        assert second.attempts.count() == 0
        assert world.requests("twilio") == 1

    def test_a_suppressed_number_gives_way_to_the_next_step(self, world):
        factories.suppression(factories.message())
        message = sms_then_email()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.SUPPRESSED, "address_suppressed")
        assert fallback_of(message).state == State.SENT

    @pytest.mark.parametrize(("category", "steps"), [("transactional", 2), ("marketing", 1)])
    def test_who_opted_out_is_asked_on_another_channel_only_where_that_needs_no_consent(self, world, category, steps):
        message = sms_then_email(OPTED_OUT, category=category)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.SUPPRESSED, "opted_out")
        assert Suppression.objects.get().reason == "opted_out"
        assert Message.objects.count() == steps
        assert end_of(message) == (None if steps == 2 else End.SUPPRESSED)

    def test_a_refused_text_fails(self, world):
        world.sandbox.set_faults("twilio", refuse=Refusal(400, 21617))
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "content_rejected")
        assert not Suppression.objects.exists()

    @pytest.mark.parametrize("code", [77777, 21612], ids=["unknown", "no route"])
    def test_another_account_may_try_once_where_the_refusal_may_be_this_vendors_own(self, world, code):
        world.account("twilio-spare")
        factories.account("third", priority=30, base_url=world.sandbox.base_url("twilio"))
        for slug in ("twilio", "twilio-spare"):
            world.sandbox.set_faults(slug, refuse=Refusal(400, code))
        message = sms()

        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "refused"), (2, "twilio-spare", "refused")]
        assert told(message) == (State.FAILED, "route_rejected")
        assert (message.tries, message.rerouted) == (1, True)


class TestNotSent:
    def test_goes_to_the_next_account_with_a_new_attempt(self, world, unreachable):
        world.account("twilio-spare")
        message = sms()

        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "not_sent"), (2, "twilio-spare", "taken")]
        assert told(message) == (State.SENT, "")
        ((slug, taken),) = world.sandbox.messages()
        assert (slug, taken.attempt) == ("twilio-spare", f"{message.id.hex}-2")

    def test_goes_there_in_the_same_drain_however_long_its_claims_take(self, world, unreachable):
        world.account("twilio-spare")
        message = sms()

        def slowly(execute, statement, *rest):
            if statement == CLAIM:
                time.sleep(0.03)
            return execute(statement, *rest)

        with connection.execute_wrapper(slowly):
            world.drain(Lane.NORMAL)

        assert told(message) == (State.SENT, "")

    def test_waits_when_there_is_no_other_account(self, world, unreachable):
        message = sms()

        assert world.drain(Lane.NORMAL) == 1

        assert told(message) == (State.QUEUED, "waiting_to_retry")
        assert (message.tries, message.tried, attempts(message)) == (1, [], [(1, "twilio", "not_sent")])
        entry = OutboxEntry.objects.get()
        assert (entry.lane, entry.claim) == (Lane.NORMAL, None)
        assert timezone.now() - SECOND < entry.due_at < timezone.now() + timedelta(minutes=30)

    def test_is_given_up_to_a_person_when_all_tries_failed(self, world, unreachable):
        message = sms()
        Message.objects.update(tries=7)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "tries_used_up")
        assert (message.tries, end_of(message)) == (8, End.DEAD_LETTERED)
        letter = DeadLetter.objects.get()
        assert (letter.message_id, letter.reason, letter.last_error) == (message.id, "tries_used_up", "Unavailable")

    def test_gives_way_to_the_next_step_when_all_tries_failed(self, world, unreachable):
        message = sms_then_email()
        Message.objects.update(tries=7)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "tries_used_up")
        assert fallback_of(message).state == State.SENT
        assert not DeadLetter.objects.exists()

    def test_a_busy_vendor_costs_no_try(self, world):
        message = sms(BUSY_TWICE)

        for tries in (0, 0, 1):
            make_due(message)
            world.drain(Lane.NORMAL)
            message.refresh_from_db()
            assert message.tries == tries

        assert told(message) == (State.SENT, "")
        assert [row[2] for row in attempts(message)] == ["not_sent", "not_sent", "taken"]

    def test_waits_as_long_as_the_vendor_asks(self, world):
        world.sandbox.set_faults("twilio", rate_limit=1, retry_after_seconds=120)
        message = sms()

        world.drain(Lane.NORMAL)

        wait = OutboxEntry.objects.get().due_at - message.attempts.get().ended_at
        assert wait > timedelta(seconds=119)

    def test_never_waits_beyond_its_usefulness(self, world):
        world.sandbox.set_faults("twilio", rate_limit=1, retry_after_seconds=3600)
        expires_at = timezone.now() + timedelta(minutes=5)

        sms(expires_at=expires_at)
        world.drain(Lane.NORMAL)

        assert OutboxEntry.objects.get().due_at == expires_at

    def test_never_waits_beyond_its_steps_window(self, world):
        world.sandbox.set_faults("twilio", rate_limit=1, retry_after_seconds=3600)
        message = sms_then_email()

        world.drain(Lane.NORMAL)

        assert OutboxEntry.objects.get().due_at == message.escalate_at


class TestAccountAtFault:
    def test_opens_the_account_and_uses_the_next_one(self, world):
        world.account("twilio-spare")
        world.sandbox.set_faults("twilio", refuse=NO_AUTH)
        first = sms()
        world.drain(Lane.NORMAL)

        assert attempts(first) == [(1, "twilio", "refused"), (2, "twilio-spare", "taken")]
        account = ProviderAccount.objects.get(slug="twilio")
        assert account.opened_reason == "AuthenticationFailed 20003"
        assert account.opened_until > timezone.now() + timedelta(minutes=4)

        second = sms()
        world.drain(Lane.NORMAL)

        assert attempts(second) == [(1, "twilio-spare", "taken")]
        assert world.requests("twilio") == 1

    @pytest.fixture
    def rested(self, world):
        """The SMS account was opened, may be tried again, and works by now; so does the spare one."""
        world.account("twilio-spare")
        rest_account()

    def test_a_probe_that_succeeds_closes_it(self, world, rested):
        message = sms()

        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "taken")]
        assert ProviderAccount.objects.get(slug="twilio").opened_at is None

    def test_is_probed_with_one_message_and_no_more(self, world, rested):
        with transaction.atomic():
            for _ in range(5):
                sms()

        world.deliver(world.claim(Lane.NORMAL))

        assert (world.on_the_wire("twilio"), world.on_the_wire("twilio-spare")) == (1, 4)

    def test_a_probe_that_fails_opens_it_again_and_the_message_takes_the_next_account(self, world, rested):
        world.sandbox.set_faults("twilio", refuse=NO_AUTH)
        message = sms()

        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "refused"), (2, "twilio-spare", "taken")]
        assert ProviderAccount.objects.get(slug="twilio").opened_until > timezone.now() + timedelta(minutes=4)

    def test_a_batch_that_cannot_use_the_probe_leaves_it_to_one_that_can(self, world, rested):
        ProviderAccount.objects.filter(slug="twilio-spare").delete()
        email()
        world.drain(Lane.NORMAL)

        message = sms()
        world.drain(Lane.NORMAL)

        assert attempts(message) == [(1, "twilio", "taken")]

    def test_without_another_account_a_person_decides_and_a_replay_delivers(self, world):
        world.listen()
        world.sandbox.set_faults("twilio", refuse=NO_AUTH)
        message = sms()
        world.drain(Lane.NORMAL)
        assert told(message) == (State.DEAD_LETTERED, "account_at_fault")
        letter = DeadLetter.objects.get()
        assert (letter.last_error, end_of(message)) == ("AuthenticationFailed 20003", End.DEAD_LETTERED)

        world.sandbox.set_faults("twilio", refuse=None)
        ProviderAccount.objects.update(opened_at=None, opened_until=None)
        accounts.forget()
        replay(letter.id, by="ana")
        world.drain(Lane.NORMAL)
        world.hear()

        assert (told(message), end_of(message)) == ((State.DELIVERED, ""), End.DELIVERED)
        assert attempts(message) == [(1, "twilio", "refused"), (2, "twilio", "taken")]

    def test_an_opened_account_is_still_asked_about_what_it_has(self, world):
        world.account("twilio-spare")
        message = sms()
        world.drain(Lane.NORMAL)
        ProviderAccount.objects.filter(slug="twilio").update(opened_at=timezone.now(), opened_until=timezone.now())
        accounts.forget()

        make_due(message)
        world.drain(Lane.UPKEEP)

        assert world.requests("twilio", "status") == 1

    @pytest.mark.parametrize("fields", [{"is_on": False}, {"channels": ["email"]}, {"countries": ["FR"]}])
    def test_an_account_that_may_not_send_is_never_used(self, world, fields):
        ProviderAccount.objects.filter(slug="twilio").update(**fields)
        accounts.forget()
        message = sms()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "no_account")
        assert world.requests("twilio") == 0


class TestNotUsefulAnyMore:
    def test_what_has_expired_is_not_sent(self, world):
        message = sms()
        Notification.objects.update(expires_at=timezone.now() - SECOND)

        world.drain(Lane.NORMAL)

        assert (told(message), end_of(message)) == ((State.EXPIRED, "too_late"), End.EXPIRED)
        assert world.requests("twilio") == 0

    def test_what_has_expired_has_no_next_step(self, world):
        message = sms_then_email()
        Notification.objects.update(expires_at=timezone.now() - SECOND)

        world.drain(Lane.NORMAL)

        assert (told(message), Message.objects.count()) == ((State.EXPIRED, "too_late"), 1)
        assert end_of(message) == End.EXPIRED

    def test_what_its_incident_has_outlived_is_cancelled(self, world):
        incident = factories.incident("fire")
        message = sms(incident="fire")
        incident.ended_at = timezone.now()
        incident.save()

        world.drain(Lane.NORMAL)

        assert (told(message), end_of(message)) == ((State.CANCELLED, "incident_over"), End.CANCELLED)
        assert world.requests("twilio") == 0


class TestBetweenClaimAndBegin:
    """What commits before begin stops the call: begin is the last look before the wire."""

    @pytest.mark.parametrize(
        ("stop", "state", "reason"),
        [
            (lambda message: cancel(message.notification_id), State.CANCELLED, "stopped"),
            (
                lambda message: Notification.objects.update(expires_at=timezone.now() - SECOND),
                State.EXPIRED,
                "too_late",
            ),
            (
                lambda message: Incident.objects.update(ended_at=timezone.now()),
                State.CANCELLED,
                "incident_over",
            ),
            (factories.suppression, State.SUPPRESSED, "address_suppressed"),
        ],
        ids=["cancel", "expiry", "end of its incident", "suppression"],
    )
    def test_stops_the_call(self, world, stop, state, reason, aside):
        factories.incident("fire")
        message = sms(incident="fire")

        batch = world.claim(Lane.NORMAL)
        aside(stop, message).result(5)
        world.deliver(batch)

        assert world.requests("twilio") == 0
        assert not Attempt.objects.exists()
        world.drain(Lane.NORMAL)
        assert told(message) == (state, reason)
        assert world.requests("twilio") == 0

    def test_does_not_stop_the_others_of_the_batch(self, world):
        stopped, other = sms(), sms()

        batch = world.claim(Lane.NORMAL)
        cancel(stopped.notification_id)
        world.deliver(batch)

        assert (told(stopped), told(other)) == ((State.CANCELLED, "stopped"), (State.SENT, ""))
        assert world.on_the_wire() == 1

    def test_is_not_held_against_a_message_when_the_house_was_too_slow(self, world, numbers_are):
        """Strikes are for dead workers: enough of them, and messages go one at a time, and the house gets slower still."""
        messages = [sms() for _ in range(3)]
        for _ in range(8):
            batch = world.claim(Lane.NORMAL)
            OutboxEntry.objects.update(due_at=timezone.now() + SECOND)
            world.deliver(batch)

        assert set(OutboxEntry.objects.values_list("strikes", flat=True)) == {0}
        assert world.drain(Lane.NORMAL) == 3
        assert {told(message) for message in messages} == {(State.SENT, "")}


class TestLostAttempt:
    def test_of_a_worker_that_died_in_its_call_is_filed_as_unclear_and_never_sent_again_blindly(self, world):
        message, account = sms(), ProviderAccount.objects.get(slug="twilio")
        factories.begun(message, account)
        run_out(message)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.UNCERTAIN, "outcome_unknown")
        attempt = message.attempts.get()
        assert (attempt.outcome, attempt.error, attempt.account) == ("unclear", "LeaseRanOut", account)
        assert (message.tries, message.attempt_count) == (1, 1)
        entry = OutboxEntry.objects.get()
        assert (entry.lane, entry.began_at) == (Lane.UPKEEP, None)
        assert world.requests("twilio") == 0

    def test_is_looked_up_and_found(self, world):
        message = sms()
        answers = []

        def die(calls):
            answers.extend(send_many(world.runtime.transport, calls))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            world.drain(Lane.NORMAL, transport=world.between(before=die))
        run_out(message)
        world.drain(Lane.NORMAL)
        make_due(message)
        world.drain(Lane.UPKEEP)

        assert told(message)[0] in (State.SENT, State.DELIVERED)
        assert message.attempts.get().looked_up == "found"
        assert world.on_the_wire() == 1


class Poisoned(Twilio):
    """A provider with a bug: some texts break it."""

    name = "poisoned"

    def send_request(self, message, attempt):
        if "poison" in message.text:
            raise ZeroDivisionError
        return super().send_request(message, attempt)

    def send_result(self, answer):
        if b"venom" in answer.body:
            raise ZeroDivisionError
        return super().send_result(answer)


class TestPoison:
    @pytest.fixture
    def poisoned(self, world, monkeypatch):
        monkeypatch.setitem(PROVIDERS, "poisoned", Poisoned)
        ProviderAccount.objects.filter(slug="twilio").update(provider="poisoned")
        accounts.forget()

    @pytest.mark.usefixtures("poisoned")
    def test_an_answer_that_breaks_its_provider_is_unclear_and_the_others_are_recorded(self, world):
        with transaction.atomic():
            before, poison, after = sms(), sms(text="venom"), sms()

        world.deliver(world.claim(Lane.NORMAL))

        assert told(poison) == (State.UNCERTAIN, "outcome_unknown")
        assert [told(message)[0] for message in (before, after)] == [State.SENT, State.SENT]

    @pytest.mark.usefixtures("poisoned")
    def test_a_message_that_breaks_its_provider_becomes_a_dead_letter_and_the_others_flow(self, world):
        with transaction.atomic():
            before, poison, after = sms(), sms(text="poison"), sms()

        world.drain(Lane.NORMAL)

        assert told(poison) == (State.DEAD_LETTERED, "cannot_be_rendered")
        assert [told(message)[0] for message in (before, after)] == [State.SENT, State.SENT]

    def test_those_that_killed_their_workers_three_times_go_last_and_alone(self, world):
        with transaction.atomic():
            first, *others, last = [sms() for _ in range(7)]
        OutboxEntry.objects.filter(message__in=[first, last]).update(strikes=3)
        OutboxEntry.objects.filter(message__in=others).update(strikes=1)
        waves = []

        world.drain(Lane.NORMAL, transport=world.between(before=waves.append))

        waves = [{one.row.message_id for call in wave for one in call.key.planned} for wave in waves]
        assert waves == [{first.id}, {message.id for message in others}, {last.id}]
        assert set(OutboxEntry.objects.values_list("strikes", flat=True)) == {0}

    def test_one_that_kills_its_workers_takes_no_innocent_along(self, world, monkeypatch):
        """Whatever lay behind it in a batch was struck with it, over and over."""
        with transaction.atomic():
            innocents = [sms(), sms()]
            poison = sms(text="deadly")
            innocents += [sms(), sms(), sms()]
        render = Twilio.send_request

        def die_of_poison(twilio, message, attempt):
            if message.text == "deadly":
                raise SystemExit
            return render(twilio, message, attempt)

        monkeypatch.setattr(Twilio, "send_request", die_of_poison)
        while OutboxEntry.objects.filter(lane=Lane.NORMAL).exists():
            with suppress(SystemExit):
                world.drain(Lane.NORMAL)
            OutboxEntry.objects.filter(lane=Lane.NORMAL).update(due_at=timezone.now() - SECOND)

        assert told(poison) == (State.DEAD_LETTERED, "kills_its_worker")
        assert {told(message)[0] for message in innocents} == {State.SENT}

    def test_one_that_killed_its_workers_six_times_is_given_to_a_person(self, world):
        message, other = sms(), sms()
        OutboxEntry.objects.filter(message=message).update(strikes=6)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.DEAD_LETTERED, "kills_its_worker")
        assert told(other) == (State.SENT, "")
        assert world.on_the_wire() == 1

    def test_one_strike_less_is_still_sent(self, world):
        message = sms()
        OutboxEntry.objects.update(strikes=5)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.SENT, "")


class TestWaves:
    def test_the_next_one_begins_while_the_last_calls_of_the_one_before_are_under_way(self, world, numbers_are):
        numbers_are(send_concurrency=2, wave_size=2)
        with transaction.atomic():
            slow = sms("+4915112345610")
            others = [sms() for _ in range(5)]
        order = []

        world.deliver(
            world.claim(Lane.NORMAL),
            transport=world.between(
                before=lambda calls: order.append("begun"),
                after=lambda answers: order.extend(
                    one.row.message_id for answer in answers for one in answer.key.planned
                ),
            ),
        )

        assert (order.index(slow.id) > 1 and order[:2] == ["begun", "begun"]) or order[1] != slow.id
        assert order.count("begun") == 3
        assert order.index("begun", 1) < order.index(slow.id)
        assert {told(message)[0] for message in [slow, *others]} == {State.SENT}

    def test_waits_for_the_one_before_where_the_provider_is_slow(self, world, numbers_are):
        """Or its calls would find no connection in time."""
        numbers_are(send_concurrency=4, wave_size=2, late_start_seconds=0.2)
        world.sandbox.set_faults("twilio", latency_seconds=0.3)
        with transaction.atomic():
            messages = [sms() for _ in range(6)]

        world.drain(Lane.NORMAL)

        assert {told(message)[0] for message in messages} == {State.SENT}
        assert world.requests("twilio") == 6


class TestStopping:
    def test_begins_nothing_more_and_gives_back_what_it_has_not_begun(self, world, numbers_are):
        numbers_are(send_concurrency=4, wave_size=4)
        with transaction.atomic():
            messages = [sms() for _ in range(12)]
        told_to_stop = []

        world.deliver(
            world.claim(Lane.NORMAL),
            transport=world.between(after=told_to_stop.append),
            stopping=lambda: bool(told_to_stop),
        )

        assert world.on_the_wire() == 8, "the second wave began before an answer to the first had come"
        entries = OutboxEntry.objects.filter(message__in=messages, lane=Lane.NORMAL)
        assert {(entry.claim, entry.strikes, entry.began_at) for entry in entries} == {(None, 0, None)}
        assert (entries.count(), entries.filter(due_at__lte=timezone.now()).count()) == (4, 4)
        assert Message.objects.filter(state=State.SENT).count() == 8

    def test_claims_nothing_once_told(self, world):
        message = sms()

        assert world.drain(Lane.NORMAL, stopping=lambda: True) == 0

        assert (told(message)[0], OutboxEntry.objects.get().strikes) == (State.QUEUED, 0)

    def test_returns_when_its_time_is_over_and_hints_that_there_is_more(self, world, numbers_are, queues):
        numbers_are(drain_seconds=0.0)
        sms()
        hints_before = queues()["normal"]

        assert world.drain(Lane.NORMAL) == 0

        assert queues()["normal"] == hints_before + 1


class TestDatabaseAway:
    def test_answers_are_recorded_when_it_returns(self, world, outage):
        message = sms()
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 3:
                outage.end()

        world.drain(Lane.NORMAL, transport=world.between(after=lambda answers: outage.begin()), sleep=pause)

        assert len(pauses) == 3
        assert told(message) == (State.SENT, "")
        assert message.attempts.count() == world.on_the_wire() == 1

    @pytest.mark.parametrize(
        ("fault", "outcome"),
        [({"refuse": NO_AUTH}, "refused"), ({"rate_limit": 1}, "not_sent")],
        ids=["account at fault", "not sent"],
    )
    def test_a_no_is_recorded_when_it_returns(self, world, outage, numbers_are, fault, outcome):
        """Judging a no reads accounts and opens them: that must not lose the answer either."""
        numbers_are(cache_seconds=-1.0)
        world.sandbox.set_faults("twilio", **fault)
        message = sms()

        world.drain(
            Lane.NORMAL,
            transport=world.between(after=lambda answers: outage.begin()),
            sleep=lambda seconds: outage.end(),
        )

        assert attempts(message) == [(1, "twilio", outcome)]

    def test_one_that_takes_no_writes_any_more_is_waited_for_like_one_that_is_away(self, world, outage, caplog):
        """The first try meets an ended connection, the second a database that says it is read-only."""
        message = sms()
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 2:
                outage.end()

        world.drain(Lane.NORMAL, transport=world.between(after=lambda answers: outage.begin_read_only()), sleep=pause)

        assert len(pauses) == 2
        assert "ReadOnlySqlTransaction" in caplog.text
        assert attempts(message) == [(1, "twilio", "taken")]
        assert told(message) == (State.SENT, "")

    def test_a_connection_that_has_died_meanwhile_costs_no_time(self, world):
        message = sms()
        with suppress(OperationalError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

        assert world.drain(Lane.NORMAL) == 1

        assert told(message) == (State.SENT, "")

    def test_no_message_is_blamed_for_it(self, world, outage):
        """A rested account is probed while messages are prepared, where whatever a message breaks costs it its life."""
        rest_account()
        accounts.usable("DE")  # read already
        message = sms()
        batch = world.claim(Lane.NORMAL)

        outage.begin()
        world.deliver(batch, sleep=lambda seconds: outage.end())

        assert told(message)[0] == State.SENT

    def test_nothing_is_sent_before_its_intent_is_on_file(self, world, outage):
        accounts.usable("DE")  # read already
        message = sms()
        batch = world.claim(Lane.NORMAL)
        sent_meanwhile = []

        def pause(seconds):
            sent_meanwhile.append(world.requests("twilio"))
            outage.end()

        outage.begin()
        world.deliver(batch, sleep=pause)

        assert sent_meanwhile == [0]
        assert (told(message)[0], world.requests("twilio")) == (State.SENT, 1)

    def test_stops_insisting_when_told_to_and_leaves_an_open_attempt_to_be_looked_up(self, world, outage):
        message = sms()

        with pytest.raises(OperationalError):
            world.drain(
                Lane.NORMAL,
                transport=world.between(after=lambda answers: outage.begin()),
                stopping=lambda: world.on_the_wire() == 1,
            )
        outage.end()

        connection.close()
        assert told(message)[0] == State.QUEUED
        assert OutboxEntry.objects.get().attempt == 1
        run_out(message)
        world.drain(Lane.NORMAL)
        assert told(message)[0] == State.UNCERTAIN


class TestStatements:
    @pytest.fixture(autouse=True)
    def warm(self, world, numbers_are, monkeypatch):
        """Caches as they are after the first message, answers recorded by count, not by time, and no begin that waits."""
        numbers_are(flush_seconds=30.0, cache_seconds=300.0)
        monkeypatch.setattr(waves, "LOOK_AGAIN_AFTER_SECONDS", 30.0)
        sms()
        world.drain(Lane.NORMAL)
        world.hear()

    def test_an_urgent_message_takes_three_to_deliver(self, world):
        message = sms(priority="critical")

        with counted() as statements:
            world.drain(Lane.CRITICAL)

        assert told(message) == (State.SENT, "")
        assert len(statements) - 1 == 3, "besides the claim that found nothing more"

    @pytest.mark.timeout(60)
    def test_a_thousand_take_at_most_twenty(self, world):
        with transaction.atomic():
            for number in range(1000):
                sms(f"+49151{number:06}01")
        transport = RequestsTransport(16)

        with counted() as statements:
            assert world.drain(Lane.NORMAL, transport=transport) == 1000
        transport.close()

        assert Message.objects.filter(state=State.SENT).count() == 1001
        assert world.on_the_wire() == 1001
        assert len(statements) - 1 <= 20, "besides the claim that found nothing more"


class TestAnEarlierAttemptThatWasTaken:
    def test_stops_the_next_one(self, world):
        """Sent again by policy, and only then was the first one reported."""
        account = ProviderAccount.objects.get(slug="twilio")
        message = sms(on_unclear="send_again")
        factories.attempt(message, account, number=1, outcome="unclear")
        factories.attempt(message, account, number=2, outcome="not_sent")
        Message.objects.update(attempt_count=2, tries=2, account=account, perhaps_sent=True)
        factories.event(message, "sent", attempt=1)

        world.drain(Lane.NORMAL)

        assert (told(message)[0], world.on_the_wire()) == (State.SENT, 0)

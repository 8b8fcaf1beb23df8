"""Reports on their way into the database: stored once, believed about their own account only, matched when they can be."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from notifications.models import Attempt, DeliveryEvent, Suppression
from notifications.sql.apply import (
    Adoption,
    NewEvent,
    SuppressedAddress,
    adopt,
    evidence,
    mark_applied,
    store_events,
    suppress,
    waiting_events,
)
from notifications.states import State
from providers.messages import EventKind
from tests import factories
from tests.factories import SECOND

pytestmark = pytest.mark.usefixtures("seeded")


def new_event(account, message_id=None, number=None, **fields):
    values = {
        "account_id": account.id,
        "dedupe_key": "key",
        "source": "webhook",
        "kind": "delivered",
        "message_id": message_id,
        "attempt_number": number,
        "provider_message_id": None,
        "provider_status": "delivered",
        "error_code": "",
        "suppress": "",
        "occurred_at": None,
        "raw": b"\x00raw",
    }
    return NewEvent(**{**values, **fields})


def stored():
    return DeliveryEvent.objects.get()


class TestStore:
    def test_keeps_a_report_as_it_came(self):
        account = factories.account()

        assert store_events([new_event(account, provider_message_id="SM1", error_code="30003")]) == 1

        event = stored()
        assert (bytes(event.raw), event.provider_message_id, event.error_code) == (b"\x00raw", "SM1", "30003")
        assert (event.message_id, event.applied_at) == (None, None)

    def test_keeps_a_repeated_report_once(self):
        account = factories.account()

        assert [store_events([new_event(account)]), store_events([new_event(account)])] == [1, 0]

    def test_keeps_a_report_once_that_comes_twice_in_one_call(self):
        account = factories.account()

        assert store_events([new_event(account), new_event(account)]) == 1

    def test_keeps_equal_reports_of_two_accounts(self):
        assert store_events([new_event(factories.account("a")), new_event(factories.account("b"))]) == 2

    def test_believes_the_attempt_that_its_own_account_made(self):
        message = factories.message(State.SENT)

        store_events([new_event(message.account, message.id, 1)])

        assert (stored().message_id, stored().attempt_number) == (message.id, 1)

    def test_believes_the_attempt_that_is_open_just_now(self):
        message, account = factories.message(), factories.account()
        factories.begun(message, account)

        store_events([new_event(account, message.id, 1)])

        assert (stored().message_id, stored().attempt_number) == (message.id, 1)

    @pytest.mark.parametrize("number", [2, 0])
    def test_does_not_believe_in_an_attempt_that_was_never_made(self, number):
        message = factories.message(State.SENT)

        store_events([new_event(message.account, message.id, number)])

        assert (stored().message_id, stored().attempt_number) == (None, None)

    @pytest.mark.parametrize("state", [State.SENT, State.QUEUED], ids=["finished", "open"])
    def test_does_not_believe_another_account(self, state):
        message = factories.message(state)
        factories.begun(message, factories.account())

        store_events([new_event(factories.account("intruder"), message.id, 1)])

        assert (stored().message_id, stored().attempt_number) == (None, None)


class TestWaiting:
    def test_matches_by_the_providers_id_once_the_attempt_is_on_file(self):
        message = factories.message(State.SENT)
        id = Attempt.objects.get().provider_message_id
        event = factories.event(None, EventKind.DELIVERED, account=message.account, provider_message_id=id)

        with transaction.atomic():
            (waiting,) = waiting_events(10)

        assert (waiting.id, waiting.message_id, waiting.attempt_number) == (event.id, message.id, 1)

    def test_does_not_match_the_same_id_at_another_account(self):
        factories.message(State.SENT)
        id = Attempt.objects.get().provider_message_id
        factories.event(None, EventKind.DELIVERED, account=factories.account("other"), provider_message_id=id)

        with transaction.atomic():
            assert waiting_events(10) == []

    def test_leaves_a_report_waiting_that_has_no_message(self):
        factories.event(None, EventKind.DELIVERED, provider_message_id="SM-unknown")

        with transaction.atomic():
            assert waiting_events(10) == []

    def test_hands_over_each_report_to_one_applier(self, aside):
        message = factories.message(State.SENT)
        first, second = (factories.event(message, EventKind.SENT) for _ in range(2))

        def take():
            with transaction.atomic():
                return [event.id for event in waiting_events(10)]

        with transaction.atomic():
            (mine,) = waiting_events(1)
            assert mine.id == first.id
            assert aside(take).result(5) == [second.id]

    def test_is_over_once_applied(self):
        message = factories.message(State.SENT)
        factories.event(message, EventKind.DELIVERED)

        with transaction.atomic():
            mark_applied(waiting_events(10))

        assert stored().applied_at is not None
        with transaction.atomic():
            assert waiting_events(10) == []


class TestEvidence:
    def test_holds_reports_and_attempts_that_were_taken(self):
        message = factories.message(State.SENT, attempt_count=2)
        factories.attempt(message, message.account, number=2, outcome="unclear")
        factories.event(message, EventKind.FAILED, attempt=2)
        factories.event(factories.message(State.SENT), EventKind.DELIVERED)

        known = {(item.attempt_number, item.kind) for item in evidence([message.id])}

        assert known == {(1, EventKind.ACCEPTED), (2, EventKind.FAILED)}


class TestAdopt:
    def test_adds_an_id_and_a_finding_and_overwrites_no_id(self):
        lost, known = factories.message(State.UNCERTAIN), factories.message(State.SENT)
        before = known.attempts.get().provider_message_id

        adopt([Adoption(lost.id, 1, "SM-found", "found"), Adoption(known.id, 1, "SM-other")])

        assert (lost.attempts.get().provider_message_id, lost.attempts.get().looked_up) == ("SM-found", "found")
        assert (known.attempts.get().provider_message_id, known.attempts.get().looked_up) == (before, None)


class TestSuppress:
    def test_keeps_the_first_reason_of_an_address_that_is_suppressed_already(self):
        message = factories.message()
        factories.suppression(message, reason="opted_out")

        suppress([SuppressedAddress(message.channel, message.address_hash, "invalid", "twilio")])

        assert Suppression.objects.get().reason == "opted_out"

    def test_renews_one_that_is_over(self):
        message = factories.message()
        factories.suppression(message, reason="opted_out", until=message.created_at - SECOND)

        suppress([SuppressedAddress(message.channel, message.address_hash, "invalid", "twilio")])

        row = Suppression.objects.get()
        assert (row.reason, row.source, row.until) == ("invalid", "twilio", None)

    def test_takes_one_address_twice_in_one_call(self):
        message = factories.message()
        address = SuppressedAddress(message.channel, message.address_hash, "invalid", "twilio")

        suppress([address, address])

        assert Suppression.objects.count() == 1


FOR_A_WHILE = timezone.now() + timedelta(days=90)


def reason(name, until=None):
    return SuppressedAddress("email", "h" * 64, name, "test", until)


class TestWhichReasonStays:
    @pytest.mark.parametrize(
        ("first", "second", "stays"),
        [
            (reason("unsubscribed"), reason("hard_bounce"), "hard_bounce"),
            (reason("unsubscribed"), reason("complaint"), "complaint"),
            (reason("hard_bounce"), reason("unsubscribed"), "hard_bounce"),
            (reason("soft_bounces", FOR_A_WHILE), reason("hard_bounce"), "hard_bounce"),
            (reason("soft_bounces", FOR_A_WHILE), reason("unsubscribed"), "unsubscribed"),
            (reason("unsubscribed"), reason("soft_bounces", FOR_A_WHILE), "unsubscribed"),
            (reason("hard_bounce"), reason("soft_bounces", FOR_A_WHILE), "hard_bounce"),
        ],
        ids=lambda value: value if isinstance(value, str) else value.reason,
    )
    @pytest.mark.parametrize("at_once", [True, False])
    def test_is_the_one_that_keeps_more_for_longer(self, first, second, stays, at_once):
        for addresses in [[first, second]] if at_once else [[first], [second]]:
            suppress(addresses)

        row = Suppression.objects.get()
        assert (row.reason, row.until) == (stays, None)

    def test_for_a_while_is_kept_with_its_end(self):
        suppress([reason("soft_bounces", FOR_A_WHILE)])
        suppress([reason("soft_bounces", FOR_A_WHILE + timedelta(days=1))])

        assert Suppression.objects.get().until == FOR_A_WHILE


def test_a_report_about_nothing_we_know_is_harmless():
    account = factories.account()

    assert store_events([new_event(account, UUID(int=1), 1)]) == 1
    assert stored().message_id is None

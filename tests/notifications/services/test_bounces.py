"""Soft bounces: how many in a row let an address rest, and what is none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.addresses import address_hash
from notifications.lanes import Lane
from notifications.models import DeliveryEvent, Suppression
from notifications.services.apply import apply_waiting
from notifications.services.unsubscribe import Subscription, unsubscribe
from notifications.states import State
from tests import factories
from tests.factories import DAY, MAILBOX
from tests.notifications.stories import email, told

pytestmark = pytest.mark.usefixtures("seeded")


def mailed(address=MAILBOX, route="email"):
    """A mail, or an SMS, that was sent."""
    return factories.message(State.SENT, of=factories.notification(route, recipient={route: address}))


def hear(kind="not_reached", message=None, **fields):
    """Apply a report about a mail of its own, or about this one."""
    message = message or mailed()
    event = factories.event(message, kind, **fields)
    apply_waiting()
    return DeliveryEvent.objects.filter(id=event.id)


def resting():
    return [*Suppression.objects.values_list("address_hash", "reason")]


RESTING = [(address_hash("email", MAILBOX), "soft_bounces")]


class TestFiveMails:
    def test_in_a_row_that_bounce_softly_let_an_address_rest_for_a_while(self):
        for _ in range(4):
            hear()
        assert resting() == []

        hear()

        assert resting() == RESTING
        until = Suppression.objects.get().until
        assert timedelta(days=89) < until - timezone.now() <= timedelta(days=90)

    def test_in_reports_that_are_applied_together_do_too(self):
        for _ in range(5):
            factories.event(mailed(), "not_reached")

        apply_waiting()

        assert resting() == RESTING

    def test_get_nothing_more_until_then(self, world):
        for _ in range(5):
            hear()
        message = email()

        world.drain(Lane.NORMAL)

        assert told(message) == (State.SUPPRESSED, "address_suppressed")
        assert world.on_the_wire() == 0

    def test_get_mail_again_after_that(self, world):
        for _ in range(5):
            hear()
        Suppression.objects.update(until=timezone.now())
        message = email()

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT

    def test_are_as_many_as_the_numbers_say(self, numbers_are):
        numbers_are(soft_bounces=2)
        hear()
        assert resting() == []

        hear()

        assert resting() == RESTING


class TestWhatIsNoRow:
    def test_reports_of_one_mail(self):
        message = mailed()

        for _ in range(6):
            hear(message=message)

        assert resting() == []

    def test_with_one_between_them_that_arrived(self):
        for _ in range(4):
            hear()
        hear("delivered")
        for _ in range(4):
            hear()

        assert resting() == []
        hear()
        assert resting() == RESTING

    def test_over_more_than_a_month(self):
        for _ in range(4):
            hear().update(received_at=timezone.now() - 31 * DAY)

        hear()

        assert resting() == []

    def test_to_several_addresses(self):
        for number in range(6):
            hear(message=mailed(f"softbounce+{number}@example.org"))

        assert resting() == []

    def test_of_sms(self):
        for _ in range(6):
            hear(message=mailed(factories.NUMBER, route="sms"))

        assert resting() == []

    def test_of_holiday_replies_to_mails_that_arrived(self):
        """As an API reports them that calls them soft bounces."""
        for _ in range(6):
            message = mailed()
            hear("delivered", message)
            hear("not_reached", message)

        assert resting() == []


class TestWhoUnsubscribed:
    def test_stays_unsubscribed(self):
        unsubscribe(Subscription("marketing", RESTING[0][0]))

        for _ in range(5):
            hear()

        assert resting() == [(RESTING[0][0], "unsubscribed")]

    def test_while_the_address_rests_is_so_after_that(self):
        for _ in range(5):
            hear()

        unsubscribe(Subscription("marketing", RESTING[0][0]))

        assert Suppression.objects.get().until is None
        assert resting() == [(RESTING[0][0], "unsubscribed")]

    def test_and_bounces_for_good_gets_nothing_at_all(self):
        unsubscribe(Subscription("marketing", RESTING[0][0]))

        hear("bounced", suppress="hard_bounce")

        assert resting() == [(RESTING[0][0], "hard_bounce")]

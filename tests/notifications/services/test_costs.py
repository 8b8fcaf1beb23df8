"""What a message cost is on record, as far as prices are known."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Notification, ProviderAccount
from notifications.services.apply import apply_waiting
from notifications.states import State
from providers.messages import EventKind
from providers.sandbox import Refusal
from tests import factories
from tests.factories import make_due
from tests.notifications.stories import email, sms, told


def price(slug, **prices):
    ProviderAccount.objects.filter(slug=slug).update(
        prices={name.replace("other", "*"): p for name, p in prices.items()}
    )
    accounts.forget()


def recorded(message):
    message.refresh_from_db()
    return message.segments, message.cost


def test_is_the_price_of_the_country_for_each_sms(world):
    price("twilio", DE="0.0750", other="0.05")
    short, long, french = sms(), sms(text="Table ready. " * 13), sms("+33612345601")

    world.drain(Lane.NORMAL)

    assert recorded(short) == (1, Decimal("0.075"))
    assert recorded(long) == (2, Decimal("0.15"))
    assert recorded(french) == (1, Decimal("0.05"))


def test_of_an_email_is_its_price(world):
    price("postmark", other="0.000125")
    message = email()

    world.drain(Lane.NORMAL)

    assert recorded(message) == (None, Decimal("0.000125"))


@pytest.mark.parametrize("written", [{}, {"FR": "0.06"}, {"DE": 0.075}, []])
def test_is_not_known_without_a_price_that_can_be_read(world, written):
    ProviderAccount.objects.filter(slug="twilio").update(prices=written)
    accounts.forget()
    message = sms()

    world.drain(Lane.NORMAL)

    assert recorded(message) == (1, None)


def test_is_that_of_the_account_that_took_it(world):
    world.account("twilio-spare", prices={"DE": "0.09"})
    price("twilio", DE="0.075")
    world.sandbox.set_faults("twilio", refuse=Refusal(400, 30034))
    message = sms()

    world.drain(Lane.NORMAL)

    assert recorded(message) == (1, Decimal("0.09"))


class TestWithoutAnAnswer:
    """The provider took it, and only a look-up or a report says so."""

    TEXT = "Table ready. " * 13

    @pytest.fixture
    def uncertain(self, world):
        price("twilio", DE="0.075")
        world.sandbox.set_faults("twilio", accept_then_drop=True)
        message = sms(text=self.TEXT)
        world.drain(Lane.NORMAL)
        assert recorded(message) == (None, None)
        return message

    def test_is_known_once_it_is_found(self, world, uncertain):
        make_due(uncertain)
        world.drain(Lane.UPKEEP)

        assert told(uncertain)[0] in (State.SENT, State.DELIVERED)
        assert recorded(uncertain) == (2, Decimal("0.15"))

    @pytest.mark.parametrize(
        "kind", [EventKind.SENT, EventKind.DELIVERED, EventKind.NOT_REACHED, EventKind.FAILED, EventKind.EXPIRED]
    )
    def test_is_known_once_a_report_tells_of_it(self, uncertain, kind):
        factories.event(uncertain, kind)

        apply_waiting()

        assert recorded(uncertain) == (2, Decimal("0.15"))

    def test_is_not_known_of_what_the_provider_says_nothing_of(self, uncertain):
        factories.event(uncertain, EventKind.UNKNOWN)

        apply_waiting()

        assert recorded(uncertain) == (None, None)

    def test_is_not_known_of_a_text_that_is_gone(self, uncertain):
        Notification.objects.update(content={})
        factories.event(uncertain, EventKind.SENT)

        apply_waiting()

        assert (told(uncertain)[0], recorded(uncertain)) == (State.SENT, (None, None))


def test_stays_what_it_was_and_is_not_asked_for_where_an_answer_told_it(world):
    price("twilio", DE="0.075")
    message = sms()
    world.drain(Lane.NORMAL)
    price("twilio", DE="9")
    factories.event(message, EventKind.DELIVERED)

    with CaptureQueriesContext(connection) as queries:
        apply_waiting()

    assert (told(message)[0], recorded(message)) == (State.DELIVERED, (1, Decimal("0.075")))
    assert not [query for query in queries if '"content"' in str(query["sql"])]

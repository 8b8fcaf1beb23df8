"""Endpoints that fail: noted when it begins and when it ends, told to their owners, and switched off in the end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications import selectors
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Notification, ProviderAccount, Route, WebhookEndpoint
from notifications.models.client import INTERNAL
from notifications.services import endpoints
from notifications.services.endpoint_health import Health, watch_endpoints
from notifications.states import State
from tests import factories
from tests.factories import DAY
from tests.notifications.racing import counted, rolled_back, together

pytestmark = pytest.mark.usefixtures("seeded")

URL = "https://customer.example.org/hooks"
OWNER = "owner@example.org"
HOUR = timedelta(hours=1)


@pytest.fixture
def endpoint():
    made = factories.endpoint("orders", URL, of="shop", owner_email=OWNER)
    accounts.forget()
    return made


@pytest.fixture
def failing(endpoint):
    """One that has failed for so long."""

    def since(time):
        WebhookEndpoint.objects.filter(id=endpoint.id).update(failing_since=timezone.now() - time)
        accounts.forget()
        return endpoint

    return since


def known():
    """The endpoint's account as this process sees it now."""
    accounts.forget()
    return accounts.by_slug("orders")


def since():
    return WebhookEndpoint.objects.get().failing_since


def mails():
    """What owners are told."""
    rows = Notification.objects.filter(client__name=INTERNAL, recipient__email=OWNER).order_by("id")
    return [row.content["email"]["subject"] for row in rows]


def is_on():
    return ProviderAccount.objects.get(slug="orders").is_on


def watch(later=timedelta()):
    accounts.forget()
    return watch_endpoints(now=timezone.now() + later)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class TestNoting:
    def test_the_first_failure_and_the_first_success_behind_it(self, endpoint):
        health = Health(clock := Clock())
        account = known()

        health.note(account, works=True)
        assert since() is None
        health.note(account, works=False)
        failed_at = since()
        assert failed_at is not None
        clock.now += 60
        health.note(known(), works=False)
        assert since() == failed_at
        health.note(known(), works=True)
        assert since() is None

    def test_costs_no_statement_while_nothing_changes(self, endpoint):
        health = Health(clock := Clock())
        account = known()
        health.note(account, works=False)

        with counted() as statements:
            for _ in range(10):
                health.note(account, works=False)
        assert statements == []

        health.note(account, works=True)
        clock.now += 60
        account = known()
        with counted() as statements:
            for _ in range(10):
                health.note(account, works=True)
        assert statements == []

    def test_of_one_that_fails_now_and_then_is_done_once_in_a_while(self, endpoint):
        health = Health(clock := Clock())
        account = known()

        with counted() as statements:
            for number in range(100):
                health.note(account, works=number % 2 == 0)
                clock.now += 0.01

        assert len(statements) == 2
        assert since() is None, "its last word"

    def test_misses_no_success(self, endpoint):
        """Else an endpoint without traffic would count as failing for days."""
        health = Health(Clock())
        account = known()

        for works in (False, True, False, False):
            health.note(account, works=works)

        assert since() is None

    def test_is_of_endpoints_alone(self, endpoint):
        factories.account("twilio")
        accounts.forget()
        account = accounts.by_slug("twilio")

        with counted() as statements:
            Health().note(account, works=False)

        assert statements == []

    def test_happens_with_every_call(self, world):
        world.sandbox.receivers.set("/hooks/fail/orders", secret=factories.ENDPOINT_SECRET)
        factories.endpoint("orders", f"{world.sandbox.url}/hooks/fail/orders")
        accounts.forget()
        selectors.endpoints.forget()
        endpoints.send_test(WebhookEndpoint.objects.get(), now=timezone.now())

        world.drain(Lane.NORMAL)
        assert since() is not None

        world.sandbox.receivers.set("/hooks/fail/orders", role="ok")
        endpoints.send_test(WebhookEndpoint.objects.get(), now=timezone.now())
        accounts.forget()
        world.drain(Lane.NORMAL)
        assert since() is None


class TestWatching:
    def test_warns_once_of_one_that_failed_for_a_day(self, failing):
        failing(25 * HOUR)

        assert [watch(), watch()] == [1, 1]

        assert mails() == ["Events do not reach orders"]
        assert (WebhookEndpoint.objects.get().warned_at is not None, is_on()) == (True, True)

    def test_waits_for_that(self, failing):
        failing(23 * HOUR)

        assert watch() == 0

        assert (mails(), WebhookEndpoint.objects.get().warned_at) == ([], None)

    def test_switches_off_what_failed_for_five_days(self, failing):
        endpoint = failing(5 * DAY + HOUR)
        watch()

        assert watch() == 0

        assert (is_on(), mails()) == (False, ["Events for orders are kept back"])
        endpoint.refresh_from_db()
        assert endpoint.off_reason.startswith("no call has succeeded since 20")

    def test_tells_both_in_time(self, failing):
        failing(25 * HOUR)

        for later in (0 * DAY, 1 * DAY, 3 * DAY, 4 * DAY, 5 * DAY):
            watch(later)

        assert mails() == ["Events do not reach orders", "Events for orders are kept back"]

    def test_believes_an_event_that_arrived_since(self, failing):
        """Noted by one process as failing when another one had its success already."""
        endpoint = failing(6 * DAY)
        owner = factories.notification("webhook", recipient={"webhook": "orders"}, content={})
        factories.message(State.DELIVERED, of=owner, account=endpoint.account)

        assert watch() == 0

        assert (since(), is_on(), mails()) == (None, True, [])

    def test_leaves_alone_what_is_off(self, failing):
        endpoint = failing(9 * DAY)
        endpoints.stop(endpoint)

        assert watch() == 0

        assert mails() == []

    def test_warns_again_when_it_fails_again(self, failing):
        failing(25 * HOUR)
        watch()
        endpoint = WebhookEndpoint.objects.get()
        endpoints.switch_on(endpoint)
        assert since() is None
        failing(26 * HOUR)

        watch()

        assert mails() == ["Events do not reach orders"] * 2

    def test_by_two_at_once_tells_once(self, failing, aside):
        failing(25 * HOUR)
        together(aside, *[watch] * 3)
        failing(6 * DAY)
        together(aside, *[watch] * 3)

        assert mails() == ["Events do not reach orders", "Events for orders are kept back"]

    def test_does_its_work_where_nobody_can_be_told(self, failing):
        failing(6 * DAY)
        Route.objects.filter(name="email").delete()
        selectors.routes.forget()

        watch()

        assert (is_on(), mails()) == (False, [])

    def test_tells_nobody_where_there_is_no_owner(self, failing):
        failing(25 * HOUR)
        WebhookEndpoint.objects.update(owner_email="")

        watch()

        assert Notification.objects.count() == 0


class TestSwitchingOff:
    def test_at_once_is_told_to_the_owner_as_well(self, endpoint):
        for _ in range(2):
            endpoints.switch_off(known(), "the endpoint is gone")

        assert mails() == ["Events for orders are kept back"]
        text = Notification.objects.get().content["email"]["text"]
        assert "the endpoint is gone" in text
        assert "30 days" in text
        assert URL not in text

    def test_that_is_not_told_did_not_happen(self, endpoint):
        account = known()
        with rolled_back():
            endpoints.switch_off(account, "the endpoint is gone")
            assert len(mails()) == 1

        assert (is_on(), mails()) == (True, [])

    def test_by_hand_is_not_told(self, endpoint):
        endpoints.stop(endpoint)

        assert (is_on(), mails()) == (False, [])

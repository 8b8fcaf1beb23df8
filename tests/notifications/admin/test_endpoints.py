"""The operators' page of endpoints."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from notifications.accounts import accounts
from notifications.models import Message, ProviderAccount, WebhookEndpoint
from notifications.states import State
from tests import factories

LIST = "/admin/notifications/webhookendpoint/"
URL = "https://198.51.101.7/hooks?token=k7Qz41mX"
NEW = {"name": "orders", "url": URL, "event_types": "notification.*,sms.received", "owner_email": "ops@example.org"}


@pytest.fixture
def browser(seeded):
    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("boss"))
    return browser


@pytest.fixture
def viewer(seeded):
    user = get_user_model().objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    browser = Browser()
    browser.force_login(user)
    return browser


def act(browser: Browser, action: str, endpoint: WebhookEndpoint) -> str:
    chosen = {"action": action, "_selected_action": [endpoint.pk]}
    return browser.post(LIST, chosen, follow=True).content.decode()


class TestList:
    def test_says_how_each_does(self, browser):
        factories.endpoint("orders", URL, of="shop")
        endpoint = factories.endpoint("billing", URL, of="shop", off_reason="the endpoint is gone")
        ProviderAccount.objects.filter(slug="billing").update(is_on=False)
        letter_for(endpoint)

        page = browser.get(LIST).content.decode()

        assert "the endpoint is gone" in page
        assert '<td class="field-open_dead_letters">1</td>' in page
        assert page.index("billing") < page.index("orders")
        assert "k7Qz41mX" not in page

    def test_asks_as_often_however_long_it_is(self, browser):
        asked = []
        for number in range(10):
            letter_for(factories.endpoint(f"endpoint-{number}", URL, of="shop"))
            if number in (1, 9):
                with CaptureQueriesContext(connection) as queries:
                    browser.get(LIST)
                asked.append(len(queries))

        assert asked[0] == asked[1] <= 15

    def test_shows_no_secret_on_any_page(self, browser):
        endpoint = factories.endpoint("orders", URL, of="shop")

        for path in (LIST, f"{LIST}{endpoint.pk}/change/"):
            page = browser.get(path).content.decode()
            assert factories.ENDPOINT_SECRET not in page
            assert "k7Qz41mX" not in page

    def test_is_not_in_the_list_of_accounts(self, browser):
        factories.account("twilio")
        endpoint = factories.endpoint("orders", URL, of="shop")

        assert "twilio" in (page := browser.get("/admin/notifications/provideraccount/").content.decode())
        assert "orders" not in page
        form = browser.get("/admin/notifications/provideraccount/add/").content.decode()
        assert '<option value="twilio">' in form
        assert f'<option value="{endpoint.account.provider}">' not in form


class TestMaking:
    def test_shows_the_secret_once(self, browser):
        client = factories.client("shop")

        page = browser.post(f"{LIST}add/", NEW | {"client": client.pk}, follow=True).content.decode()

        endpoint = WebhookEndpoint.objects.get()
        secret = endpoint.account.credentials["secret"]
        assert (endpoint.client, endpoint.event_types) == (client, ["notification.*", "sms.received"])
        assert secret.replace("+", "+") in page.replace("&#x2B;", "+")
        assert secret not in browser.get(LIST).content.decode()

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"name": "A"}, "is no name"),
            ({"url": "https://10.0.0.1/"}, "is not public"),
            ({"event_types": "pigeon"}, "is no type of event"),
            ({"name": "twilio"}, "is taken"),
            ({"owner_email": "nobody"}, "valid email"),
        ],
    )
    def test_says_what_is_wrong(self, browser, changes, said):
        factories.account("twilio")

        response = browser.post(f"{LIST}add/", NEW | {"client": factories.client("shop").pk} | changes)

        assert (response.status_code, WebhookEndpoint.objects.count()) == (200, 0)
        assert said in response.content.decode()


class TestActions:
    def test_switch_it_off_and_on(self, browser):
        endpoint = factories.endpoint("orders", URL, of="shop")

        act(browser, "switch_off", endpoint)
        assert not ProviderAccount.objects.get(slug="orders").is_on

        act(browser, "switch_on", endpoint)
        assert ProviderAccount.objects.get(slug="orders").is_on

    def test_give_it_a_new_secret(self, browser):
        endpoint = factories.endpoint("orders", URL, of="shop")

        page = act(browser, "rotate", endpoint)

        secret = ProviderAccount.objects.get(slug="orders").credentials["secret"]
        assert secret != factories.ENDPOINT_SECRET
        assert secret in page.replace("&#x2B;", "+")

    def test_try_it_out(self, browser):
        endpoint = factories.endpoint("orders", URL, of="shop")

        act(browser, "send_test", endpoint)
        assert Message.objects.get().address == "orders"

        ProviderAccount.objects.update(is_on=False)
        accounts.forget()
        assert "is switched off" in act(browser, "send_test", endpoint)
        assert Message.objects.count() == 1

    def test_send_it_again_what_it_missed(self, browser):
        endpoint = factories.endpoint("orders", URL, of="shop")
        letter_for(endpoint)

        page = act(browser, "replay", endpoint)

        assert "Orders: 1 dead letter and 0 expired events are sent again; 0 dead letters cannot be." in page
        assert Message.objects.get().state == State.QUEUED

    def test_are_not_for_those_who_only_look(self, viewer):
        endpoint = factories.endpoint("orders", URL, of="shop")

        assert "orders" in viewer.get(LIST).content.decode()
        act(viewer, "switch_off", endpoint)
        assert ProviderAccount.objects.get(slug="orders").is_on
        assert viewer.get(f"{LIST}add/").status_code == 403


def letter_for(endpoint: WebhookEndpoint) -> None:
    """A dead letter of an event for an endpoint."""
    name = endpoint.account.slug
    owner = factories.notification("webhook", recipient={"webhook": name})
    factories.message(State.DEAD_LETTERED, of=owner, account=endpoint.account, address=name)

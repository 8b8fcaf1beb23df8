"""The page that says who would send to an address."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client as Browser
from django.utils import timezone

from notifications.models import Message
from tests import factories

PAGE = "/admin/notifications/provideraccount/who-would-send/"
LIST = "/admin/notifications/provideraccount/"


def staff(*permissions: str) -> Browser:
    user = get_user_model().objects.create_user("looker", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    browser = Browser()
    browser.force_login(user)
    return browser


@pytest.fixture
def browser(seeded):
    return staff("view_provideraccount")


def ask(browser: Browser, address: str) -> str:
    response = browser.post(PAGE, {"address": address})
    assert response.status_code == 200
    return response.content.decode()


def rows(page: str) -> list[list[str]]:
    """The table's cells as they are read."""
    body = page.partition('id="explained"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    lines = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in body.split("</tr>")]
    return [line for line in lines if line]


def test_is_linked_from_the_list_for_those_who_may_only_look(browser):
    assert f'href="{PAGE}">Who would send?<' in browser.get(LIST).content.decode()
    assert rows(browser.get(PAGE).content.decode()) == []


def test_shows_who_comes_first_and_why_the_others_do_not(browser, settings):
    settings.DEFAULT_REGION = "DE"
    factories.account("second", priority=20, rate=10)
    factories.account("first", priority=1, prices={"DE": "0.075"})
    factories.account("off", is_on=False)

    page = ask(browser, "0151 12345601")

    assert rows(page) == [
        ["1", "first", "twilio", "priority 1, weight 1, price 0.075, from +15005550006"],
        ["2", "second", "twilio", "priority 20, weight 1, from +15005550006, rate 10/s"],
        ["–", "off", "twilio", "switched off"],
    ]
    assert "To a number in DE" in page
    assert "No account" not in page
    assert not Message.objects.exists()


def test_shows_accounts_as_they_are_by_now(browser):
    account = factories.account("main")
    assert rows(ask(browser, factories.NUMBER))[0][0] == "1"

    type(account).objects.update(opened_at=timezone.now(), opened_reason="AuthenticationFailed <20003>")
    page = ask(browser, factories.NUMBER)

    assert rows(page) == [["–", "main", "twilio", "opened: AuthenticationFailed &lt;20003&gt;"]]
    assert "No account would send to it now." in page


@pytest.mark.parametrize(
    ("address", "provider"), [("ana@example.org", "postmark"), ("+4915112345601", "twilio"), ("fcm:token-1", None)]
)
def test_takes_whatever_can_be_reached(browser, address, provider):
    factories.account("texts")
    factories.account("mails", provider="postmark")

    first = next((name for rank, _, name, _ in rows(ask(browser, address)) if rank == "1"), None)

    assert first == provider


def test_says_that_there_is_nobody(browser):
    assert "No account would send to it now." in ask(browser, factories.NUMBER)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "This field is required."),
        ("nobody", "Not a phone number; accepted is a phone number in international form"),
        ("+1500555000", "No number of this length exists there"),
        ("ana@", "Not an e-mail address"),
        ("letter:", "Not a device; accepted is a push service and its token"),
        ("\0", "Null characters are not allowed."),
        ("1" * 5000, "at most 4096 characters"),
    ],
)
def test_says_what_is_wrong(browser, address, words):
    page = ask(browser, address)

    assert words in page.partition('class="errorlist"')[2]
    assert 'id="explained"' not in page


def test_takes_no_address_from_a_url(browser):
    factories.account("main")

    page = browser.get(PAGE, {"address": factories.NUMBER}).content.decode()

    assert 'id="explained"' not in page
    assert factories.NUMBER not in page


def test_is_for_those_who_may_see_accounts(seeded):
    assert Browser().get(PAGE).status_code == 302
    assert staff("view_message").post(PAGE, {"address": factories.NUMBER}).status_code == 403

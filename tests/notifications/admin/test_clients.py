"""The page of a client: what it may send, and to whom."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth import get_user_model
from django.test import Client as Browser

from notifications.models import Client
from tests import factories

KINDS = (
    "mobile",
    "fixed_line",
    "fixed_or_mobile",
    "premium",
    "shared_cost",
    "toll_free",
    "personal",
    "voip",
    "unknown",
)


@pytest.fixture
def browser(seeded):
    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("boss"))
    return browser


def page_of(client: Client) -> str:
    return f"/admin/notifications/client/{client.id}/change/"


def save(browser: Browser, **fields: object) -> tuple[Client, str]:
    """The client, and the page that tells what is wrong."""
    client = factories.client()
    written = {"name": "shop", "is_active": "on", "long_sms": "refuse", "sms_hourly": "{}", **fields}
    return client, browser.post(page_of(client), written, follow=True).content.decode()


def test_offers_each_kind_that_has_addresses_as_a_box(browser):
    page = browser.get(page_of(factories.client())).content.decode()

    boxes = [line for line in page.split("<") if 'type="checkbox"' in line and 'name="sms_kinds"' in line]
    assert [box.split('value="')[1].split('"')[0] for box in boxes] == list(KINDS)


def test_keeps_what_is_chosen(browser):
    limits = {"DE": 5000, "*": 100}
    client, _ = save(browser, sms_kinds=["mobile", "fixed_line"], sms_hourly=json.dumps(limits), sms_countries="DE,AT")

    client.refresh_from_db()
    assert (client.sms_kinds, client.sms_hourly) == (["mobile", "fixed_line"], limits)
    assert client.sms_countries == ["DE", "AT"]


@pytest.mark.parametrize("empty", ["", "{}"])
def test_takes_nothing_for_no_limit(browser, empty):
    client, _ = save(browser, sms_hourly=empty)

    client.refresh_from_db()
    assert (client.sms_kinds, client.sms_countries, client.sms_hourly) == ([], [], {})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sms_hourly": '{"XX": 5}'}, "no such countries: XX"),
        ({"sms_hourly": '{"DE": 0}'}, "DE: not a positive whole number"),
        ({"sms_hourly": "[]"}, "not an object"),
        ({"sms_hourly": "{"}, "Enter a valid JSON"),
        ({"sms_countries": "DE,UK"}, "no such countries: UK"),
        ({"sms_kinds": ["short"]}, "Select a valid choice"),
    ],
)
def test_says_what_is_wrong(browser, fields, words):
    client, page = save(browser, default_route="sms", **fields)

    assert words in page
    client.refresh_from_db()
    assert client.default_route == ""

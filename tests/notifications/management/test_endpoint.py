"""Endpoints at the command line."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from notifications.models import ProviderAccount, WebhookEndpoint
from notifications.services import endpoints
from tests import factories

URL = "https://198.51.101.7/hooks"

pytestmark = pytest.mark.usefixtures("seeded")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("endpoint", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue().strip()


def test_adds_one_and_shows_its_secret():
    factories.client("shop")

    secret = run("add", "shop", "orders", URL, "--event", "notification.*", "--email", "ops@example.org")

    endpoint = WebhookEndpoint.objects.get()
    assert endpoint.account.credentials == {"url": URL, "secret": secret}
    assert (endpoint.client.name, endpoint.event_types) == ("shop", ["notification.*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "nobody", "orders", URL), "no client 'nobody'"),
        (("add", "shop", "orders", "https://10.0.0.1/"), "url: is not public"),
        (("rotate", "orders"), "no endpoint 'orders'"),
    ],
)
def test_says_what_is_wrong(arguments, said):
    factories.client("shop")

    with pytest.raises(CommandError, match=said):
        run(*arguments)


def test_lists_them():
    factories.endpoint("orders", URL, of="shop")
    endpoints.stop(factories.endpoint("billing", URL, of="shop"))

    assert run("list").splitlines() == ["billing (shop): off: switched off by hand", "orders (shop): on"]


def test_gives_one_a_new_secret():
    factories.endpoint("orders", URL, of="shop")

    secret = run("rotate", "orders")

    credentials = ProviderAccount.objects.get(slug="orders").credentials
    assert (credentials["secret"], credentials["previous_secret"]) == (secret, factories.ENDPOINT_SECRET)

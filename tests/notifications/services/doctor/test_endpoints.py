"""Endpoints that are off, or will be, are found."""

from __future__ import annotations

import pytest

from notifications.models import ProviderAccount
from notifications.services import endpoints
from notifications.services.doctor import accounts
from notifications.services.doctor.endpoints import findings
from tests import factories
from tests.notifications.finding import codes, said

URL = "https://shop.example.org/hooks"

pytestmark = pytest.mark.usefixtures("seeded")


def test_are_well():
    factories.endpoint("orders", URL)
    endpoints.stop(factories.endpoint("billing", URL))

    assert codes(findings()) == []


def test_that_were_switched_off_are_told_of():
    factories.endpoint("orders", URL, off_reason="the endpoint is gone")
    ProviderAccount.objects.update(is_on=False)

    assert "Endpoint orders was switched off: the endpoint is gone." in said(findings(), "W075")


def test_that_may_not_be_called_are_told_of():
    factories.endpoint("orders", "http://k7Qz41mX.example.org/hooks")

    assert "its next event: the address is not https." in said(findings(), "W076")
    assert "k7Qz41mX" not in " ".join(map(str, findings()))


def test_without_a_secret_are_told_of_as_any_account():
    factories.endpoint("orders", URL)
    ProviderAccount.objects.update(credentials={"url": URL})

    assert "Account orders lacks secret" in said(accounts.findings(), "E063")
    assert codes(findings()) == []


def test_their_accounts_need_nothing_that_they_do_not_have():
    factories.account("sms"), factories.account("mail", "postmark")
    factories.endpoint("orders", URL)

    assert [code for code in codes(accounts.findings()) if code != "W067"] == []

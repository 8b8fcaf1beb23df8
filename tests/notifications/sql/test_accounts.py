"""Accounts after a fault of ours: opened at once, tried again by one message at a time."""

from __future__ import annotations

import pytest
from django.utils import timezone

from notifications.models import ProviderAccount
from notifications.sql.accounts import close_account, open_account, take_probe
from tests import factories
from tests.factories import SECOND
from tests.notifications.racing import together

REST_SECONDS = 300.0

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def rested():
    """An account that was opened, and may be tried again."""
    account = factories.account()
    open_account(account.id, "AuthenticationFailed", REST_SECONDS)
    ProviderAccount.objects.update(opened_until=timezone.now() - SECOND)
    return account


def test_opening_keeps_the_first_time_and_renews_the_rest():
    account = factories.account()
    open_account(account.id, "AuthenticationFailed", REST_SECONDS)
    first = ProviderAccount.objects.get()

    open_account(account.id, "InsufficientBalance", REST_SECONDS)

    again = ProviderAccount.objects.get()
    assert again.opened_at == first.opened_at
    assert again.opened_until > first.opened_until
    assert again.opened_reason == "InsufficientBalance"


def test_an_account_is_not_probed_during_its_rest():
    account = factories.account()
    open_account(account.id, "AuthenticationFailed", REST_SECONDS)

    assert take_probe(account.id, REST_SECONDS) is False


def test_an_account_that_is_not_open_needs_no_probe():
    assert take_probe(factories.account().id, REST_SECONDS) is False


def test_one_of_many_wins_the_probe(rested, aside):
    won = together(aside, *[lambda: take_probe(rested.id, REST_SECONDS)] * 8)

    assert sorted(won) == [False] * 7 + [True]


def test_closing_takes_everything_back(rested):
    close_account(rested.id)

    account = ProviderAccount.objects.get()
    assert (account.opened_at, account.opened_until, account.opened_reason) == (None, None, "")

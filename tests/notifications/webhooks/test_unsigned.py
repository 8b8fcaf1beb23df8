"""Reports that nobody signs: only where their address is secret, and then only a reason to ask."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.accounts import accounts, webhook_url
from notifications.models import DeliveryEvent, OutboxEntry
from notifications.services.apply import apply_waiting
from notifications.states import State
from tests import factories
from tests.notifications.stories import told

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def account():
    row = factories.account("phones", provider="mysmsgate", credentials={"api_key": "k" * 32}, settings={})
    accounts.forget()
    return row


@pytest.fixture
def message(account):
    """Sent by a phone; its status will be asked for in an hour."""
    return factories.message(State.SENT, account=account, due_in=timedelta(hours=1))


@pytest.fixture
def report(client, message, settings):
    def report(path):
        body = {"message_id": message.attempts.get().provider_message_id, "status": "DELIVERED"}
        return client.post(path, json.dumps(body), content_type="application/json").status_code

    return report


def path_of(account, settings):
    return webhook_url(account).removeprefix(settings.PUBLIC_URL)


@pytest.mark.parametrize("path", ["/webhooks/phones/", "/webhooks/phones/0123456789abcdef/"])
def test_are_refused_without_the_secret(report, path):
    assert report(path) == 403
    assert not DeliveryEvent.objects.exists()


def test_with_it_deliver_nothing_and_have_the_provider_asked_at_once(report, account, message, settings):
    assert report(path_of(account, settings)) == 200

    apply_waiting()
    assert told(message)[0] == State.SENT
    assert DeliveryEvent.objects.get().kind == "unknown"
    assert OutboxEntry.objects.get().due_at <= timezone.now()


def test_the_secret_is_no_other_accounts(account, settings):
    other = factories.account("more-phones", provider="mysmsgate", credentials={"api_key": "k" * 32}, settings={})

    assert path_of(account, settings).split("/")[3] != path_of(other, settings).split("/")[3]


def test_an_account_whose_reports_are_signed_has_no_such_address(client, settings):
    row = factories.account("twilio")
    accounts.forget()

    assert path_of(row, settings) == "/webhooks/twilio/"
    assert client.post("/webhooks/twilio/secret/").status_code == 403

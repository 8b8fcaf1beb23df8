"""What a notification would come to, without one."""

from __future__ import annotations

import pytest

from notifications.accounts import accounts
from notifications.models import Notification, ProviderAccount
from tests import factories
from tests.notifications.api.conftest import BODY, NOTIFICATIONS

PATH = f"{NOTIFICATIONS}/dry-run"
BOTH = {
    "to": {"sms": "+4915112345601", "email": "ana@example.org"},
    "content": {"sms": {"text": "Table ready"}, "email": {"subject": "Table", "text": "Table ready"}},
}


@pytest.fixture(autouse=True)
def senders(caller):
    factories.account("sms-de", priority=1, countries=["DE"])
    factories.account("sms-world", priority=20)
    factories.account("mail", provider="postmark")
    accounts.forget()


def steps(caller, body):
    response = caller.post(PATH, body)
    assert response.status_code == 200, response.content
    return response.json()


def test_names_route_steps_accounts_and_how_many_sms_the_text_makes(caller):
    sms, email = (told := steps(caller, BOTH))["steps"]

    assert told["route"] == "sms-then-email"
    assert (sms["channel"], sms["address"], sms["country"], sms["account"]) == ("sms", "+49…01", "DE", "sms-de")
    assert (sms["encoding"], sms["segments"], sms["not_in_gsm7"]) == ("gsm7", 1, [])
    assert (email["channel"], email["account"], email["encoding"], email["segments"]) == ("email", "mail", "", 0)


def test_says_which_characters_make_a_text_dear(caller):
    text = "Prêt à table " * 6
    [step] = steps(caller, {"to": {"sms": "+33612345678"}, "content": {"sms": {"text": text}}})["steps"]

    assert (step["country"], step["account"]) == ("FR", "sms-world")
    assert (step["encoding"], step["segments"]) == ("ucs2", 2)
    assert step["not_in_gsm7"] == ["U+00EA LATIN SMALL LETTER E WITH CIRCUMFLEX at position 2"]


def test_estimates_what_each_step_costs_where_prices_are_known(caller):
    ProviderAccount.objects.filter(slug="sms-de").update(prices={"DE": "0.075"})
    accounts.forget()
    body = {**BOTH, "content": {**BOTH["content"], "sms": {"text": "Table ready. " * 13}}}

    sms, email = steps(caller, body)["steps"]

    assert (sms["segments"], sms["price"]) == (2, "0.150")
    assert email["price"] is None


def test_stores_nothing_and_uses_up_no_key(caller):
    for _ in range(2):
        caller.post(PATH, BOTH, Idempotency_Key="k1")

    assert not Notification.objects.exists()
    assert caller.submit(Idempotency_Key="k1").status_code == 202


def test_refuses_what_would_be_refused(caller):
    refused, submitted = caller.post(PATH, BODY | {"to": {"sms": "12"}}), caller.submit(BODY | {"to": {"sms": "12"}})

    assert refused.status_code == submitted.status_code == 422
    assert refused.json()["errors"] == submitted.json()["errors"]

"""A dry run of routing: who would send, and why not the others."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from notifications.accounts import accounts
from notifications.addresses import InvalidAddress
from notifications.models import Breaker, Cause
from notifications.services.route import explain
from tests import factories

pytestmark = pytest.mark.usefixtures("seeded")


def said(address=factories.NUMBER):
    accounts.forget()
    return {row.slug: (row.rank, row.reason) for row in explain(address, accounts.all(), region="DE").accounts}


def test_ranks_by_priority_and_names_the_sender_of_the_country():
    factories.account("first", priority=1, weight=3, settings={"from": "+15005550006", "senders": {"DE": "Landfall"}})
    factories.account("also-first", priority=1)
    factories.account("second", priority=20)

    assert said() == {
        "first": (1, "priority 1, weight 3, from Landfall"),
        "also-first": (1, "priority 1, weight 1, from +15005550006"),
        "second": (2, "priority 20, weight 1, from +15005550006"),
    }


def test_ranks_equals_by_price_where_the_price_of_each_is_known():
    factories.account("dear", priority=1, prices={"DE": "0.08"})
    factories.account("cheap", priority=1, prices={"*": "0.075"})
    factories.account("second", priority=2, prices={"DE": "0.01"})
    factories.account("also-second", priority=2)

    assert {slug: rank for slug, (rank, _) in said().items()} == {"cheap": 1, "dear": 2, "second": 3, "also-second": 3}
    assert said()["cheap"][1] == "priority 1, weight 1, price 0.075, from +15005550006"


def test_says_how_much_may_go_in_a_second():
    factories.account("both", rate=10, sender_rate=0.5)
    factories.account("senders", sender_rate=1)

    assert said()["both"][1].endswith(", rate 10/s and 0.5/s of a sender")
    assert said()["senders"][1].endswith(", rate 1/s of a sender")


def test_says_why_an_account_rests_in_a_country():
    for cause in Cause:
        row = factories.account(cause.value)
        Breaker.objects.create(account=row, country="DE", cause=cause, detail="Do this.", opened_until=timezone.now())

    reasons = {reason for _, reason in said().values()}
    assert "resting: its sender may not be used there: Do this." in reasons
    assert len(reasons) == len(Cause)


def test_ranks_a_last_resort_last():
    silent = factories.account("silent", priority=1)
    Breaker.objects.create(
        account=silent, country="DE", cause=Cause.RECEIPTS, detail="3 of 41 arrived", is_last_resort=True,
        opened_until=timezone.now(),
    )  # fmt: skip

    assert said()["silent"] == (1, "as a last resort: 3 of 41 arrived; priority 1, weight 1, from +15005550006")
    factories.account("second", priority=20)
    assert {slug: rank for slug, (rank, _) in said().items()} == {"second": 1, "silent": 2}
    Breaker.objects.update(calls_fail=True)
    assert said()["silent"] == (None, "resting: what it takes does not arrive there: 3 of 41 arrived")


def test_says_why_an_account_is_not_asked():
    factories.account("off", is_on=False)
    factories.account("mail", provider="postmark")
    factories.account("american", countries=["US", "CA"])
    factories.account("anywhere-else", denied_countries=["DE"])
    factories.account("resting", opened_at=timezone.now(), opened_reason="AuthenticationFailed 20003")

    assert said() == {
        "off": (None, "switched off"),
        "mail": (None, "does not send sms"),
        "american": (None, "only for CA, US"),
        "anywhere-else": (None, "not for DE"),
        "resting": (None, "opened: AuthenticationFailed 20003"),
    }


def test_reads_national_numbers_and_mailboxes():
    factories.account("mail", provider="postmark")
    accounts.forget()

    assert explain("0151 12345601", accounts.all(), region="DE").address == factories.NUMBER
    assert said("ana@example.org")["mail"][0] == 1
    with pytest.raises(InvalidAddress):
        explain("nobody", accounts.all(), region="DE")


class TestCommand:
    def test_prints_the_order(self):
        factories.account("twilio", priority=1)
        factories.account("off", is_on=False)
        accounts.forget()
        out = io.StringIO()

        call_command("route", factories.NUMBER, stdout=out)

        head, first, second = out.getvalue().splitlines()
        assert head == f"{factories.NUMBER}  DE"
        assert first.split()[:3] == ["1.", "twilio", "twilio"]
        assert second.split()[:2] == ["–", "off"]

    @pytest.mark.parametrize(
        ("address", "sentence"), [("nobody", "not a phone number"), ("+4915112345601", "no account")]
    )
    def test_says_what_is_wrong(self, address, sentence):
        accounts.forget()

        with pytest.raises(CommandError, match=sentence):
            call_command("route", address, stdout=io.StringIO())
